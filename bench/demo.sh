#!/usr/bin/env bash
# demo.sh - the noisy neighbor, live: three QEMU guests on a narrow wire; the victim alone, isolation off, on.
#
#   bench/demo.sh [--json] [--seconds N] [--publish]
#
# Installs missing packages, builds, runs in a network namespace of its own and leaves nothing behind but build/. `--json` prints
# the result on standard output as JSON; everything else goes to standard error. `--publish` writes the closing table, with the
# commit, into README.md and docs/results.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

guests=
finish() {
    [ -z "$guests" ] || wait "$guests" || true   # an installation that is cut short leaves dpkg locked
    "$root/test/support/setup.sh" --release
}
trap finish EXIT
mkdir -p "$root/build"
"$root/test/support/setup.sh"
# The guests' packages are installed while the switch is built.
"$root/test/support/setup.sh" --guests >"$root/build/setup-guests.log" 2>&1 &
guests=$!
build "$root/build" release vswitch/weir-switch || fail "the build failed; see build/build.log"
step "waiting for the guests' packages" /dev/null wait "$guests" || {
    tail -n 20 "$root/build/setup-guests.log" >&2
    fail "the guests' packages could not be installed; see build/setup-guests.log"
}
publish='' options=()
for option in "$@"; do
    if [ "$option" = --publish ]; then publish=1; else options+=("$option"); fi
done
python3 "$root/bench/demo.py" "${options[@]}"
if [ -n "$publish" ]; then PYTHONPATH=$root python3 -m bench.lib.results_page >&2; fi
