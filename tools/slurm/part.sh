#!/bin/sh
#SBATCH --job-name=pipecast
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
# One part of a study; submit.sh makes an array of it. Slurm puts it back into the queue when its node
# is lost or another job takes its place; it puts itself back two minutes before its time limit.
# usage: sbatch --array=1-PARTS part.sh STUDY.yaml FOLDER PARTS
set -u
study=$1
folder=$2
parts=$3
part=$SLURM_ARRAY_TASK_ID

again=no
"${PIPECAST:-pipecast}" sweep "$study" --out "$folder/$part.db" --shard "$part/$parts" \
  --jobs "${SLURM_CPUS_PER_TASK:-1}" &
sweep=$!
trap 'kill -TERM "$sweep"' TERM
trap 'again=yes; kill -TERM "$sweep"' USR1

# A trap ends wait too early; a child that is gone has been waited for.
wait "$sweep"
code=$?
while kill -0 "$sweep" 2>/dev/null; do
  wait "$sweep"
  code=$?
done

if [ "$code" = 130 ] && [ "$again" = yes ]; then
  exec scontrol requeue "${SLURM_ARRAY_JOB_ID}_$part"
fi
# 3: no candidate of this part is feasible, which is an answer.
[ "$code" = 3 ] && code=0
exit "$code"
