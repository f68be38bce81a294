#!/usr/bin/env bash
# encryption.sh - what our ESP takes per frame of 1400 bytes beside what the crypto device itself takes.
#
#   bench/encryption.sh [options: see --help]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/bench/lib/bench.sh"
bench encryption.py "$@"
