#!/bin/sh
# Installs what is missing, builds, and forecasts one training step of a scenario: prints the summary,
# writes the results and says where.
# usage: tools/run.sh [SCENARIO.yaml]         default: scenarios/zero-bubble-1.5b.yaml
set -eu
. "$(dirname "$0")/prepare.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac
[ $# -le 1 ] || give_up "takes one scenario, got $#"
scenario=${1:-$root/scenarios/zero-bubble-1.5b.yaml}
[ -r "$scenario" ] || give_up "cannot read the scenario '$scenario'"
scenario=$(cd "$(dirname "$scenario")" && pwd)/$(basename "$scenario")
cd "$root"

need_packages $build_packages
# A build directory that tools/test.sh has configured keeps its tests.
if grep -qs 'PIPECAST_TESTS:BOOL=ON' "$build/release/CMakeCache.txt"; then
  configure
else
  configure -DPIPECAST_TESTS=OFF -DPIPECAST_BENCH=OFF
fi
build_targets pipecast

name=$(basename "$scenario" .yaml)
mkdir -p out
"$build/release/pipecast" run "$scenario" \
  --json "out/$name.json" --trace "out/$name.trace.json.gz" --timeline "out/$name.csv" --report "out/$name.html"
say "summary        out/$name.json"
say "Chrome trace   out/$name.trace.json.gz   (open it at https://ui.perfetto.dev)"
say "report         out/$name.html   (one page, opens offline in any browser)"
say "timeline       out/$name.csv"
