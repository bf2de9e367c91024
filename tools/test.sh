#!/bin/sh
# Installs what the tests need, builds, runs the whole test suite.
# usage: tools/test.sh [ctest argument…]      PIPECAST_SLOW=1 adds the exhaustive suites
set -eu
. "$(dirname "$0")/prepare.sh"
cd "$root"

need_packages $build_packages $test_packages
configure -DPIPECAST_TESTS=ON -DPIPECAST_BENCH=ON
build_targets

if [ "${PIPECAST_SLOW:-0}" != 1 ]; then
  set -- -LE slow "$@"
fi
exec ctest --test-dir "$build/release" --output-on-failure --parallel "$(jobs_for_this_machine)" "$@"
