#!/usr/bin/env bash
# requests.sh - what it costs to track requests: memcached GETs and PUTs of 512 B to 64 KiB between two VMs, with and without.
#
#   bench/requests.sh [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench requests.py "$@"
