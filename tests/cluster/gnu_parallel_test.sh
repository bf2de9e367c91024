#!/bin/sh
# The commands of docs/cluster.md for GNU parallel, as they stand there.
# usage: gnu_parallel_test.sh PIPECAST WORK
set -eu
. "$(dirname "$0")/common.sh"
need parallel parallel
parallel --version | grep -q "GNU parallel" || skip "parallel is not GNU parallel: apt-get install parallel"
write_study 1
HOME=$work
export HOME

# The first block of the section.
awk '/^## /{inside = /GNU parallel/} inside && /^```/{if (shown) exit; shown = !shown; next} inside && shown' \
  "$root/docs/cluster.md" >commands
grep -q "parallel --" commands || give_up "docs/cluster.md shows no command for GNU parallel"
sh -eu commands >printed 2>messages || give_up "$(cat messages)"
grep -q "6000 candidates" printed || give_up "the merge printed no answer"
same_as_whole study.db
