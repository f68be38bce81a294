#!/usr/bin/env bash
# isolation.sh - a victim with a reservation beside a flooding neighbour at a 1 Gbit bottleneck: Weir, and OVS-DPDK.
#
#   bench/isolation.sh [--peers] [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench isolation.py "$@"
