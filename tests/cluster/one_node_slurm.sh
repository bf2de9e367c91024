# Sourced, POSIX sh: a Slurm of one node that lives in the folder $slurm and leaves the machine's own alone.

slurm_config() {
  host=$(hostname -s)
  port=$((20000 + $$ % 20000))
  cat <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket,cred_expire=5
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1,sched_min_interval=100000
MailProg=/bin/true
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

start_slurm() {
  mkdir -p "$slurm/munge" "$slurm/state" "$slurm/spool"
  chmod 755 "$slurm" "$slurm/munge"
  head -c 1024 /dev/urandom >"$slurm/munge/key"
  chmod 400 "$slurm/munge/key"
  SLURM_CONF=$slurm/slurm.conf
  export SLURM_CONF
  slurm_config >"$SLURM_CONF"
  munged --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" --seed-file="$slurm/munge/seed" \
    --pid-file="$slurm/munge/pid" --log-file="$slurm/munge/log" || give_up "munged does not start"
  slurmctld || give_up "slurmctld does not start"
  slurmd || give_up "slurmd does not start"
  wait_for 30 "the node of Slurm, see $slurm/slurmctld.log" node_is_idle
}

node_is_idle() { [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; }

queue_is_empty() { [ -z "$(squeue --noheader 2>&1)" ]; }

# Ends what start_slurm has started, jobs first.
stop_slurm() {
  scancel --quiet --user="$(id -un)" 2>/dev/null || true
  for pid_file in slurmd.pid slurmctld.pid munge/pid; do
    [ ! -s "$slurm/$pid_file" ] || end_process "$(cat "$slurm/$pid_file")"
  done
}

end_process() {
  kill "$1" 2>/dev/null || return 0
  wait_for 20 "the end of process $1" eval "! kill -0 $1 2>/dev/null"
}
