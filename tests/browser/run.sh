#!/bin/sh
# Opens what pipecast writes in headless Chromium. Exit code 77 (skipped) where Node, Chromium or the npm
# packages are missing: the other suites need none of them.
# usage: tests/browser/run.sh PIPECAST WORK_FOLDER [PART_OF_A_CHECK'S_NAME]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pipecast=$1
work=$2
skip() {
  echo "browser tests skipped: $*"
  exit 77
}
command -v node >/dev/null && command -v npm >/dev/null || skip "they need node and npm (apt-get install nodejs npm)"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "they need Chromium (apt-get install chromium)"
[ "$(node -p 'process.versions.node.split(".")[0] >= 18')" = true ] || skip "they need Node 18 or newer"
mkdir -p "$work"
if ! cmp -s "$here/package-lock.json" "$work/package-lock.json" || [ ! -d "$work/node_modules/playwright-core" ]; then
  cp "$here/package.json" "$work"
  (cd "$work" && cp "$here/package-lock.json" . && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
    { rm -f "$work/package-lock.json"; skip "npm cannot fetch playwright-core and speedscope ($work/npm.log)"; }
fi
cp "$here"/*.mjs "$work"
cd "$work"
exec node run.mjs "$pipecast" "$chromium" "$here/../.." "$work/out" "${3:-}"
