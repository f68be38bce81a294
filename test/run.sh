#!/usr/bin/env bash
# run.sh - builds and runs all tests: `test/run.sh`. The last line is `N passed, N failed`.
#
#   test/run.sh [--quick] [--only SUITE]...
#
# Suites: tidy (length and folder rules), docs (they name what there is), unit, process (testpmd as VMs), asan (unit and
# process tests under ASan and UBSan, by clang without warnings), tsan (rings, counters, workers in threads), fuzz
# (15 s of each target of test/fuzz under ASan), guests (QEMU).
# `--quick`: tidy, docs, unit, process. Only when named, as they take longer: memory (unit tests under Valgrind, five minutes), and
# fresh (this command and bench/demo.sh, in both orders, on a minimal Debian 12; unit and process on a minimal Debian 13; 90 minutes).
# Installs what is missing, leaves nothing running and gives back the hugepages that it reserved.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

suites="tidy docs unit process asan tsan fuzz guests"
when_named="memory fresh"
passed=0
failed=0

# tally NAME COMMAND...: runs one suite; its last line says `N passed, N failed`, else it counts as one failure.
tally() {
    local name=$1 log=$root/build/$1.log began=$SECONDS counts
    shift
    report "== $name"
    "$@" 2>&1 | tee "$log"
    counts=$(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    read -r good bad <<<"${counts:-0 1}"
    passed=$((passed + good))
    failed=$((failed + bad))
    report "== $name: $good passed, $bad failed, $((SECONDS - began)) s"
}

unit() { python3 "$root/test/support/meson_tests.py" "$root/$1" "${@:2}"; }
e2e() { WEIR_BUILD=$root/$1 python3 "$root/test/e2e/run.py" "$2"; }
asan_unit() { build "$root/build-asan" address && unit build-asan unit; }
tsan() { build "$root/build-tsan" thread common/libweir_common.a && unit build-tsan tsan; }
fuzz() { build "$root/build-asan" address timed-fuzzers && python3 "$root/test/support/fuzz.py" "$root/build-asan" 15; }

suite_tidy() { tally tidy python3 "$root/test/tidy_test.py"; }
suite_docs() { tally docs python3 "$root/test/docs_test.py"; }
suite_unit() {
    tally unit unit build unit
    tally registry python3 "$root/test/registry_test.py"
}
suite_process() { tally process e2e build process; }
suite_asan() {
    tally asan-unit asan_unit
    WEIR_SANITIZED=1 tally asan-process e2e build-asan process
}
suite_tsan() { tally tsan tsan; }
suite_fuzz() { tally fuzz fuzz; }
suite_guests() { tally guests e2e build guests; }
suite_fresh() {
    local fresh=$root/test/support/fresh.sh
    tally fresh-demo-first "$fresh" bookworm bench/demo.sh test/run.sh
    tally fresh-tests-first "$fresh" bookworm test/run.sh bench/demo.sh
    tally fresh-trixie "$fresh" trixie "test/run.sh --only unit --only process"
}
suite_memory() { tally memory unit build unit "valgrind --quiet --error-exitcode=1"; }

main() {
    local chosen="" suite needs=(--guests --tests)
    while [ $# -gt 0 ]; do
        case $1 in
            --quick) chosen="tidy docs unit process" ;;
            --only) shift; chosen+=" ${1:?--only needs the name of a suite}" ;;
            *) fail "unknown option $1 (see the head of $0)" ;;
        esac
        shift
    done
    for suite in ${chosen:=$suites}; do
        [[ " $suites $when_named " == *" $suite "* ]] || fail "unknown suite $suite; there are: $suites $when_named"
    done
    if [[ " $chosen " == *" fresh "* ]]; then       # alone: hugepages and packages that this run reserves would hide what is missing
        [ "$chosen" = " fresh" ] || fail "the suite fresh runs alone"
        mkdir -p "$root/build"
        suite_fresh
        echo "$passed passed, $failed failed"
        exit "$((failed != 0))"
    fi
    [[ " $chosen " != *" memory "* ]] || needs+=(--memory)
    "$root/test/support/setup.sh" "${needs[@]}" || exit 1
    trap '"$root/test/support/setup.sh" --release' EXIT
    build "$root/build" release || { echo "0 passed, 1 failed"; exit 1; }
    for suite in $chosen; do "suite_$suite"; done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

main "$@"
