#!/bin/sh
# Runs a study as a job array of Slurm, one part per task, and joins the parts in a job after it.
# usage: tools/slurm/submit.sh STUDY.yaml STUDY.db PARTS [sbatch option…]
# The same command again goes on from where a node, a time limit or a person stopped it.
# PIPECAST names the program where PATH of the nodes does not have it. See docs/cluster.md.
set -eu

give_up() {
  printf 'submit.sh: %s\n' "$*" >&2
  exit 2
}

[ $# -ge 3 ] || give_up "usage: submit.sh STUDY.yaml STUDY.db PARTS [sbatch option…]"
study=$1
out=$2
parts=$3
shift 3
case $parts in
  '' | 0* | *[!0-9]*) give_up "'$parts' is not a number of parts, such as 16" ;;
esac
[ -r "$study" ] || give_up "there is no study '$study'"
command -v sbatch >/dev/null || give_up "there is no sbatch here: submit from a machine of the cluster"

here=$(cd "$(dirname "$0")" && pwd)
folder=${out%.db}.parts
mkdir -p "$folder"
array=$(sbatch --parsable --array="1-$parts" --output="$folder/%a.log" "$@" \
  "$here/part.sh" "$study" "$folder" "$parts")
array=${array%%;*}
merge=$(sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --output="$folder/merge.log" "$here/merge.sh" "$folder" "$out")
printf 'array %s with %s parts, then merge %s; logs in %s\n' "$array" "$parts" "${merge%%;*}" "$folder"
