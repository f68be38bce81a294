#!/usr/bin/env bash
# run.sh - builds Weir and runs its tests: `test/run.sh`. The last line is `N passed, N failed`.
#
#   test/run.sh                                     the default tier: minutes, deterministic; CI runs it for every commit
#   test/run.sh --only SUITE [--test WORDS] [--repeat N]
#   test/run.sh --deep [SHARD...]                   sanitizers, fuzzers, guests, real time, fresh machines; proved shards are not run again
#   test/run.sh --deep --status                     the shards that are proved, stale, failed
#   test/run.sh --help                              all options, suites and shards
#
# Installs missing packages, leaves nothing running and gives back the hugepages that it reserved. test/README.md has the suites.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
command -v python3 >/dev/null || "$root/test/support/setup.sh" --tests
exec python3 "$root/test/runner/run.py" "$@"
