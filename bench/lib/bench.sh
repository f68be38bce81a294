# bench.sh - what every bench script does first: make the machine ready, build what it measures, then run its program.
# Sourced with `root` set.
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

# What PROGRAM needs besides the switch and its load.
more_targets=()
# bench PROGRAM [OPTIONS...]: --peers among the options installs OVS-DPDK and is passed on.
bench() {
    local program=$1 build=${WEIR_BUILD:-$root/build} setup=(--bench)
    shift
    [[ " $* " != *" --peers "* ]] || setup+=(--peers)
    if [ -z "${WEIR_BUILD:-}" ]; then
        "$root/test/support/setup.sh" "${setup[@]}"
        trap '"$root/test/support/setup.sh" --release' EXIT
        mkdir -p "$build"
        [ -e "$build/build.ninja" ] || step "configuring" "$build/setup.log" \
            meson setup --buildtype=release -Dbench=true "$build" "$root" || fail "see build/setup.log"
        [ -d "$build/bench/load" ] || meson configure "$build" -Dbench=true
        build "$build" release vswitch/weir-switch ctrl/cli/weirctl bench/load/weir-load bench/raw/raw-vhost-loop \
            bench/load/weir-requests bench/micro/esp-bench "${more_targets[@]}" ||
            fail "the build failed; see build/build.log"
    fi
    python3 "$root/bench/$program" "$@"
}
