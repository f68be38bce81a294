#!/usr/bin/env bash
# latency.sh - round trip through two vhost ports at low load: the raw loop, Weir, OVS-DPDK.
#
#   bench/latency.sh [--peers] [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench latency.py "$@"
