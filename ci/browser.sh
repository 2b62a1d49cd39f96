#!/usr/bin/env bash
# Tries the pages of `seatrial view` in a real browser: no error in the console, filters, keys, deep links, live update,
# hostile texts, both colour schemes, 320 to 2,560 pixels, and axe. It needs Node.js with npm and Chromium (CHROMIUM names
# it), and installs pinned versions of playwright-core and axe-core into a temporary folder, or into BROWSER_MODULES,
# which is kept.
#
#   ci/browser.sh [FOLDER]    also writes screenshots of the main pages into the folder
#
# TRIAL=axe tries the one of that name alone.
set -euo pipefail

playwright_version=1.65.1
axe_version=4.14.1

chromium="${CHROMIUM:-/usr/bin/chromium}"
[[ -x "$chromium" ]] || { echo "$chromium is missing: install Chromium, or set CHROMIUM" >&2; exit 1; }
command -v npm >/dev/null || { echo "npm is missing: install Node.js" >&2; exit 1; }
shots=""
if [[ $# -gt 0 ]]; then
  mkdir -p "$1"
  shots="$(realpath "$1")"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"

work="$(mktemp -d)"
started=()
finish() {
  for pid in "${started[@]}"; do
    kill -TERM "$pid" 2>/dev/null || true
  done
  wait
  rm -rf "$work"
}
trap finish EXIT

modules="${BROWSER_MODULES:-$work/modules}"
mkdir -p "$modules"
if [[ "$(cat "$modules/versions" 2>/dev/null || true)" != "$playwright_version $axe_version" ]]; then
  (
    cd "$modules"
    printf '{"private": true}\n' >package.json
    npm install --silent --no-audit --no-fund --ignore-scripts "playwright-core@$playwright_version" "axe-core@$axe_version"
    printf '%s %s\n' "$playwright_version" "$axe_version" >versions
  )
fi
cp ci/browser/trial.mjs "$modules/trial.mjs"

go build -o "$work/seatrial" ./cmd/seatrial
export XDG_CACHE_HOME="$work/cache"
cd "$work"

# A suite whose first request is hostile, and a run in which one agent answers with hostile texts.
node "$root/ci/browser/questions.mjs" "$root/examples/bakery/questions.jsonl" questions.jsonl
./seatrial build --corpus "sql:$root/examples/bakery/bakery.sqlite,questions.jsonl" --neighbours 3 --fault exec.timeout \
  --fault spec.unit --out suite >/dev/null
./seatrial run suite --agent blind --agent recover --agent "cmd: node $root/ci/browser/hostile.mjs" --open-files \
  --max-failures 0 --out whole.run >/dev/null

# A run that is in progress while its pages are open.
./seatrial run suite --agent "cmd: sleep 1" --open-files --max-failures 0 --workers 1 --concurrency 1 --out live.run \
  >live.log 2>&1 &
started+=("$!")
while [[ ! -s live.run ]]; do sleep 0.2; done

./seatrial view whole.run live.run --json >view.json 2>view.log &
started+=("$!")
while [[ ! -s view.json ]]; do sleep 0.2; done
CHROMIUM="$chromium" SHOTS="$shots" node "$modules/trial.mjs" "$(node -p 'JSON.parse(require("fs").readFileSync("view.json")).url')"
