#!/usr/bin/env bash
# run.sh - the micro benches of qos/ as a table and as JSON of medians and ratios: `bench/micro/run.sh [FOLDER]`.
# FOLDER is a build folder configured with -Dbench=true (default: build). Repetitions of all benches are interleaved,
# so that what else the machine does meets them alike; medians are reported. --json prints only the JSON.
# --trackers measures the request trackers of cost_functions/ instead, --alloc the controller's allocation.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
json=no
folder=$root/build
program=qos-bench
report=report.py
repetitions=11
for argument in "$@"; do
    case $argument in
        --json) json=yes ;;
        --trackers) program=tracker-bench; repetitions=7 ;;
        --alloc) program=alloc-bench; report=alloc_report.py; repetitions=5 ;;
        -*) echo "run.sh: unknown option $argument (see the head of $0)" >&2; exit 2 ;;
        *) folder=$argument ;;
    esac
done
bench=$folder/bench/micro/$program
[ -x "$bench" ] || { echo "run.sh: no $bench; configure with -Dbench=true and build" >&2; exit 2; }

echo "run.sh: $repetitions interleaved repetitions, one to three minutes" >&2
timeout 300 "$bench" --benchmark_format=json --benchmark_repetitions=$repetitions --benchmark_min_time=0.1 \
    --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true 2>/dev/null |
    python3 "$root/bench/micro/$report" "$json"
