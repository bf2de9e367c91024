#!/bin/sh
# Installs what the tests need, builds, runs the whole test suite.
# usage: tools/test.sh [ctest argument…]      PIPECAST_SLOW=1 adds the exhaustive suites
# and those that run studies on a Slurm of one node and with GNU parallel, which it installs
set -eu
. "$(dirname "$0")/prepare.sh"
cd "$root"

if [ "${PIPECAST_SLOW:-0}" = 1 ]; then
  test_packages="$test_packages $cluster_packages"
else
  set -- -LE 'slow|cluster' "$@"
fi
need_packages $build_packages $test_packages
configure -DPIPECAST_TESTS=ON -DPIPECAST_BENCH=ON
build_targets

exec ctest --test-dir "$build/release" --output-on-failure --parallel "$(jobs_for_this_machine)" "$@"
