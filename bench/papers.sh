#!/usr/bin/env bash
# papers.sh - runs a paper's evaluation in virtual time and writes docs/results/PAPER.md with its plots.
#
#   bench/papers.sh eyeq [--quick]     --quick: short runs that show that everything works; writes to build/ only
#
# Builds weir-sim if there is none (WEIR_BUILD=FOLDER uses that folder's), runs the scenarios on all cores but never
# more than needed, and keeps what each printed in build/papers/.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

paper=${1:-}
[ -n "$paper" ] && [ -e "$root/bench/papers/$paper.py" ] ||
    fail "which paper? there are: $(cd "$root/bench/papers" && ls ./*.md.in | sed 's|./||; s|[.]md[.]in||' | xargs)"
shift

# The interpreter that has matplotlib: a version manager's python3 may stand before the distribution's.
python=""
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import matplotlib' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || fail "matplotlib is missing: apt-get install --no-install-recommends python3-matplotlib"

folder=${WEIR_BUILD:-$root/build}
if [ -z "${WEIR_BUILD:-}" ]; then
    build "$folder" release bench/sim/weir-sim || fail "the build failed; see build/build.log"
fi
exec "$python" "$root/bench/papers/$paper.py" --sim "$folder/bench/sim/weir-sim" --work "$folder/papers/$paper" "$@"
