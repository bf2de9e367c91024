#!/bin/sh
# Builds bundle/page.js and bundle/page.css, which the library embeds, from src/ and the npm packages of
# package-lock.json. Only whoever changes the page needs this, Node and npm.
# usage: sim/report/page/build.sh [FOLDER]     default: bundle/ beside this script
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/bundle}
cd "$here"
[ -d node_modules/echarts ] || npm ci --no-audit --no-fund --ignore-scripts
options="--bundle --minify --charset=ascii --target=es2022 --legal-comments=none"
banner="/* Holds Apache ECharts (Copyright 2017-2026 The Apache Software Foundation, Apache-2.0) and zrender (BSD-3-Clause). */"
mkdir -p "$out"
node_modules/.bin/esbuild src/main.js $options --format=iife --banner:js="$banner" --outfile="$out/page.js" --log-level=warning
node_modules/.bin/esbuild src/style.css --minify --charset=ascii --outfile="$out/page.css" --log-level=warning
# Whole literals may not hold what would end them or their element.
if grep -q -e ')~bundle~"' -e '</script' -e '<!--' "$out/page.js" || grep -q '</style' "$out/page.css"; then
  echo "build.sh: the bundle holds what would end its element" >&2
  exit 1
fi
