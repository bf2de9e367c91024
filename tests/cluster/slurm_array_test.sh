#!/bin/sh
# tools/slurm on a Slurm of one node: a part is killed half-way, the same command is given again, another
# part is stopped as at its time limit, and the merged study equals the one run in one piece.
# usage: slurm_array_test.sh PIPECAST WORK
set -eu
. "$(dirname "$0")/one_node_slurm.sh"
. "$(dirname "$0")/common.sh"
need "slurm-wlm munge" slurmctld slurmd sbatch munged

# Sockets have short names, and munge wants a folder that only its owner may write.
slurm=$(mktemp -d /tmp/pipecast-slurm-XXXXXX)
trap 'stop_slurm; rm -rf "$slurm"' EXIT
start_slurm
write_study 8

submit() {
  "$root/tools/slurm/submit.sh" study.yaml study.db 4 --cpus-per-task=1 >submitted
  array=$(sed 's/array \([0-9]*\) .*/\1/' submitted)
}

# The process of a part that is not a worker of another.
process_of_part() {
  for process in $(pgrep -f "sweep study.yaml --out study.parts/$1.db"); do
    parent=$(sed -n 's/^PPid:\t//p' "/proc/$process/status" 2>/dev/null) || continue
    grep -q '^Name:.pipecast$' "/proc/$process/status" 2>/dev/null || continue
    grep -q '^Name:.pipecast$' "/proc/$parent/status" 2>/dev/null || printf '%s\n' "$process"
  done
}

bytes_of() { stat -c %s "$1" 2>/dev/null || echo 0; }

# Rows go to the write-ahead log first; it goes with the end of the part.
log_of_part_2() { bytes_of study.parts/2.db-wal; }
log_is_beyond() { [ "$(log_of_part_2)" -gt "$1" ]; }

say "kill part 2 half-way"
submit
wait_for 60 "rows of part 2" log_is_beyond 150000
victim=$(process_of_part 2)
[ -n "$victim" ] || give_up "part 2 has no process"
kill -9 "$victim"
wait_for 120 "the end of the array" queue_is_empty
[ ! -e study.db ] || give_up "merged without part 2"
[ "$(log_of_part_2)" -gt 0 ] || give_up "part 2 was not killed while it wrote"

say "the same command again; part 2 meets its time limit"
before=$(log_of_part_2)
submit
wait_for 60 "more rows of part 2" log_is_beyond $((before + 150000))
scancel --batch --signal=USR1 "${array}_2"
wait_for 120 "the end of the array" queue_is_empty
grep -q "stopped; what is done is in" study.parts/2.log || give_up "part 2 was not stopped"
[ -e study.db ] || give_up "nothing was merged: $(tail -n 5 study.parts/*.log)"
grep -q "48000 candidates" study.parts/merge.log || give_up "the merge printed no answer"

say "compare with the study in one piece"
same_as_whole study.db

say "a part that cannot work fails, and nothing is merged"
sed -i "s/step_s, peak/beauty, peak/" study.yaml
rm study.db
submit
wait_for 60 "the end of the array" queue_is_empty
[ ! -e study.db ] || give_up "merged although every part failed"
grep -q "beauty" study.parts/1.log || give_up "the log does not say why"
