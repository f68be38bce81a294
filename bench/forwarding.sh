#!/usr/bin/env bash
# forwarding.sh - busy cycles per packet and packets/s of Weir, a raw vhost loop, testpmd and OVS-DPDK, interleaved.
#
#   bench/forwarding.sh [--peers] [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench forwarding.py "$@"
