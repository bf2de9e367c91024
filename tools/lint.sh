#!/bin/sh
# clang-tidy over the sources that differ from a git revision (default: main), or over given files.
# usage: tools/lint.sh [REVISION | FILE.cpp…]
set -eu
. "$(dirname "$0")/prepare.sh"
cd "$root"

tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || give_up "needs clang-tidy: apt-get install clang-tidy-14"
[ -f "$build/release/compile_commands.json" ] || give_up "needs a configured build: run tools/test.sh first"
case ${1:-main} in
  *.cpp) files=$* ;;
  *) files=$(git diff --name-only --diff-filter=d "${1:-main}" -- '*.cpp'; git ls-files --others --exclude-standard -- '*.cpp') ;;
esac
[ -n "$files" ] || { say "no source differs from ${1:-main}"; exit 0; }
"$tidy" --quiet -p "$build/release" $files
