#!/usr/bin/env bash
# startup.sh - from process start to the first forwarded packet, memory for two ports, and a port added at run time.
#
#   bench/startup.sh [--peers] [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench startup.py "$@"
