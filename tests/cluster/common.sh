# Sourced by the tests of this folder, POSIX sh: what they have in common.
# Sets: root (the repository), work (an empty folder, the current one); pipecast is first in PATH.

say() { printf '%s\n' "$*" >&2; }

give_up() {
  say "$0: $*"
  exit 1
}

skip() {
  say "skipped: $*"
  exit 77
}

# need PACKAGE PROGRAM…: skips the test where a program is missing.
need() {
  package=$1
  shift
  for program in "$@"; do
    command -v "$program" >/dev/null || skip "$program is missing: apt-get install $package"
  done
}

# wait_for SECONDS WHAT COMMAND…: until the command succeeds.
wait_for() {
  left=$(($1 * 5))
  what=$2
  shift 2
  until "$@"; do
    [ "$left" -gt 0 ] || give_up "waited in vain for $what"
    left=$((left - 1))
    sleep 0.2
  done
}

# write_study N: study.yaml of N × 6,000 candidates; 6,000 take about three seconds.
write_study() {
  cat >study.yaml <<END
name: cluster
scenario:
  pipeline: {schedule: 1f1b, ranks: 4, microbatches: 8}
  workload:
    costs: {forward: 10 ms, backward_input: 10 ms, backward_weight: 9 ms}
    activation: {held_by_forward: 2 GiB, released_by_backward_input: 100 MiB}
    message: 27 MiB
  platform: {preset: dgx-h100-ib}
axes:
  pipeline.schedule: [gpipe, 1f1b, zb-h1, interleaved-1f1b]
  pipeline.ranks: [2, 4, 8, 16]
  workload.message: {range: [1 MiB, $1 MiB]}
  workload.activation.held_by_forward: [500 MiB, 1 GiB, 2 GiB]
  pipeline.microbatches: {range: [4, 128]}
objectives: [step_s, peak_memory_bytes]
simgrid: {best: 5}
END
}

# same_as_whole DATABASE: its export is, byte for byte, that of the study run in one piece.
same_as_whole() {
  pipecast sweep study.yaml --out whole.db --quiet || give_up "the study in one piece failed"
  pipecast study export whole.db --csv whole.csv
  pipecast study export "$1" --csv merged.csv
  cmp whole.csv merged.csv || give_up "$1 is not the study run in one piece"
  grep -q simgrid whole.csv || give_up "SimGrid ran nothing"
}

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$(dirname "$1"):$PATH
work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"
