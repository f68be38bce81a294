#!/usr/bin/env bash
# idle.sh - what an idle switch costs and how fast it wakes: Weir with poll: adaptive, OVS-DPDK with pmd-sleep-max.
#
#   bench/idle.sh [--peers] [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench idle.py "$@"
