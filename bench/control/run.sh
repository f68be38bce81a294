#!/usr/bin/env bash
# run.sh - from a new flow to its limiter, as tables and as JSON: `bench/control/run.sh [--json] [FOLDER]`, seconds.
# FOLDER is a build folder configured with -Dbench=true (default: build).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
options=()
folder=$root/build
for argument in "$@"; do
    case $argument in
        --json) options=(--json) ;;
        -*) echo "run.sh: unknown option $argument (see the head of $0)" >&2; exit 2 ;;
        *) folder=$argument ;;
    esac
done
bench=$folder/bench/control/flow-setup-bench
[ -x "$bench" ] || { echo "run.sh: no $bench; configure with -Dbench=true and build" >&2; exit 2; }
timeout 300 "$bench" | python3 "$root/bench/control/report.py" "${options[@]}"
