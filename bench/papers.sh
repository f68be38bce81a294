#!/usr/bin/env bash
# papers.sh - runs a paper's evaluation and writes docs/results/PAPER.md with its plots.
#
#   bench/papers.sh eyeq [--quick]               in virtual time
#   bench/papers.sh softbw [--quick]             in virtual time: five minutes
#   bench/papers.sh srp [--quick]                in virtual time, seconds
#   bench/papers.sh pulsar [--quick]             in virtual time, and how long the solver takes: five minutes
#   bench/papers.sh pulsar-dataplane [--quick]   with real packets and services: ten minutes, root
#                                                --quick: short runs that show that everything works; writes to build/ only
#
# Builds what it needs (WEIR_BUILD=FOLDER uses that folder's) and keeps what each run printed in build/. Scenarios in virtual
# time run on all cores; where packets are real, nothing else should run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

paper=${1:-}
[ -n "$paper" ] && [ -e "$root/bench/papers/$paper.py" ] ||
    fail "which paper? there are: $(cd "$root/bench/papers" && ls ./*.md.in | sed 's|./||; s|[.]md[.]in||' | xargs)"
shift

if [ "$paper" = pulsar-dataplane ]; then
    source "$root/bench/lib/bench.sh"
    more_targets=(bench/load/kv-load bench/micro/tracker-bench test/rough-wire)
    bench "papers/$paper.py" "$@"
    exit
fi

# The interpreter that has matplotlib: a version manager's python3 may stand before the distribution's.
python=""
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import matplotlib' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || fail "matplotlib is missing: apt-get install --no-install-recommends python3-matplotlib"

folder=${WEIR_BUILD:-$root/build}
more=()
targets=(bench/sim/weir-sim)
if [ "$paper" = srp ]; then
    targets+=(ctrl/cli/weirctl)
    more=(--weirctl "$folder/ctrl/cli/weirctl")
elif [ "$paper" = pulsar ]; then
    targets+=(bench/sim/demand-error bench/micro/alloc-bench bench/control/interval-bench ctrl/cli/weirctl)
fi
if [ -z "${WEIR_BUILD:-}" ]; then
    build "$folder" release "${targets[@]}" || fail "the build failed; see build/build.log"
fi
exec "$python" "$root/bench/papers/$paper.py" --sim "$folder/bench/sim/weir-sim" --work "$folder/papers/$paper" "${more[@]}" "$@"
