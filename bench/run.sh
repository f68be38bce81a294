#!/usr/bin/env bash
# run.sh - runs a bench by its name, or lists them.
#
#   bench/run.sh                    the names, each with its duration and a phrase
#   bench/run.sh NAME [OPTIONS]     installs missing packages, builds NAME's programs, measures; prints tables, writes JSON
#   bench/run.sh NAME --publish     the same, and writes the tables into their blocks of README.md and docs/results
#   bench/run.sh NAME --help        the options of NAME
#   bench/run.sh --stale [--json]   the blocks that README.md and docs/results publish: commit, and age in commits, oldest first
#
# With WEIR_BUILD=FOLDER nothing is installed or built, and the programs of that folder are measured.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

# bench NAME DURATION NEEDS MODULE PHRASE TARGETS...: one bench. Lists it, or takes it when it is the wanted one.
# NEEDS is root (hugepages, network namespaces), plot (matplotlib) or -.
bench() {
    names+=" $1"
    if [ -z "$wanted" ]; then
        printf '%-17s %-7s %s\n' "$1" "$2" "$5"
    elif [ "$1" = "$wanted" ]; then
        needs=$3 module=$4 targets=("${@:6}")
    fi
}

switch="vswitch/weir-switch ctrl/cli/weirctl bench/load/weir-load bench/raw/raw-vhost-loop bench/raw/core-distance"

all_benches() {
    bench compare          "15 min" root system.compare          "whether anything became slower than in an earlier commit's build folder" \
        $switch bench/micro/request-path-bench bench/micro/alloc-bench bench/micro/qos-bench bench/micro/tracker-bench bench/micro/uplink-bench
    bench forwarding       "5 min"  root system.forwarding       "cycles per packet beside the raw loop, testpmd and OVS-DPDK, at part loads too" $switch
    bench hosts            "6 min"  root system.hosts            "many ports, VLANs, part loads, many destinations and senders, beside an earlier commit's build" $switch
    bench feedback         "4 min"  root system.feedback         "the cost of metering and feedback per frame from the wire" $switch
    bench latency          "3 min"  root system.latency          "round trip through two ports, of single frames and of bursts at part loads" $switch
    bench isolation        "2 min"  root system.isolation        "a victim with a reservation beside a flooding neighbor at a 1 Gbit/s bottleneck" $switch
    bench hostile          "12 min" root system.hostile          "the table of attacks: what a victim keeps beside floods and a guest that breaks the rules" \
        $switch test/hostile/weir-hostile
    bench idle             "2 min"  root system.idle             "CPU time of an idle switch, delay of the first packet, time to full speed" $switch bench/raw/wake-delay
    bench startup          "1 min"  root system.startup          "process start and restart to first packet, memory, weirctl vnic add to first packet" $switch
    bench encryption       "2 min"  root system.encryption       "cycles per frame into ESP, beside those of the crypto device alone" \
        $switch bench/micro/esp-bench
    bench requests         "3 min"  root system.requests         "the worker's cycles for tracking memcached requests" \
        $switch bench/load/weir-requests
    bench qos              "3 min"  -    micro.qos               "buckets, wheel, limits, receiver and schedulers alone" bench/micro/qos-bench
    bench stages           "2 min"  root micro.stages            "cycles per frame of each stage of the poll loop, alone" bench/micro/stages-bench
    bench trackers         "3 min"  -    micro.trackers          "ns per segment of the request trackers alone" bench/micro/tracker-bench
    bench workers          "2 min"  root micro.workers           "two workers over one, and the limit of a vNIC on both" bench/micro/workers-bench
    bench allocation       "3 min"  -    micro.allocation        "ms per allocation of up to a million flows" bench/micro/alloc-bench
    bench interval         "1 min"  -    control.interval        "a whole interval of the controller with 2,000 switches over sockets" bench/control/interval-bench
    bench flow-setup       "10 s"   root control.flow_setup      "from a new flow to its limiter" bench/control/flow-setup-bench
    bench eyeq             "1 min"  plot papers.eyeq             "EyeQ's evaluation in virtual time" bench/sim/weir-sim
    bench softbw           "5 min"  plot papers.softbw           "SoftBW's evaluation in virtual time" bench/sim/weir-sim
    bench srp              "10 s"   plot papers.srp              "Storage Resource Pools' evaluation in virtual time" \
        bench/sim/weir-sim ctrl/cli/weirctl
    bench pulsar           "5 min"  plot papers.pulsar           "Pulsar's evaluation in virtual time" \
        bench/sim/weir-sim bench/sim/demand-error bench/control/interval-bench ctrl/cli/weirctl
    bench pulsar-dataplane "20 min" root papers.pulsar-dataplane "costs and guarantees of Pulsar's data plane, with real packets and services" \
        $switch bench/load/weir-requests bench/load/kv-load bench/micro/esp-bench bench/micro/tracker-bench test/rough-wire
    bench calibrate        "6 min"  root papers.calibrate        "Pulsar's Fig. 4: the cost of requests to a memcached and an NBD store" \
        $switch ctrl/calibrate/weir-calibrate
    bench counts           "1 min"  root papers.counts           "a million requests on wires that lose and reorder, counted by client, server and switch" \
        $switch test/rough-wire
    bench htb              "2 min"  root papers.htb              "EyeQ's Fig. 7: HTB's cycles per packet beside those of destination limits" \
        bench/load/udp-classes bench/micro/qos-bench bench/raw/core-distance
    bench memcached        "2 min"  root papers.memcached        "EyeQ's Table 1 with a real memcached beside bursts of UDP" \
        $switch bench/load/set-load bench/load/udp-bursts
    bench memcached-sizes  "30 min" root papers.memcached_sizes  "Pulsar's Fig. 15 with a real memcached" \
        $switch bench/load/kv-load
    bench pools            "4 min"  root papers.pools            "SRP's Fig. 5 and 6 with a real NBD store" \
        $switch ctrl/weir-ctrl
    bench two-buckets      "30 s"   root papers.two_buckets      "the example of Pulsar 4.4 with real NBD reads" $switch
    bench vm-count         "15 min" root papers.vm_count         "SoftBW's Fig. 10: cycles per packet with 1 to 16 VMs" \
        $switch bench/micro/qos-bench
    bench results          "1 s"    -    lib.results_page        "writes the tables of the JSON that is there into docs/results"
}

# interpreter NEEDS: python3, or the one that has matplotlib where a plot is needed: a version manager's may stand before the distribution's.
interpreter() {
    local candidate
    [ "$1" = plot ] || { echo python3; return; }
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c 'import matplotlib' 2>/dev/null; then echo "$candidate"; return; fi
    done
    fail "matplotlib is missing: apt-get install --no-install-recommends python3-matplotlib"
}

# prepare [OPTIONS]: makes the machine ready and builds the targets; --peers among the options installs OVS-DPDK.
prepare() {
    local folder=$root/build setup=(--bench)
    if [ "$needs" = root ] || [ "$(id -u)" -eq 0 ]; then
        [[ " $* " != *" --peers "* ]] || setup+=(--peers)
        [[ " ${targets[*]} " != *" test/rough-wire "* ]] || setup+=(--tests)
        "$root/test/support/setup.sh" "${setup[@]}"
        trap '"$root/test/support/setup.sh" --release' EXIT
    fi
    [ ${#targets[@]} -gt 0 ] || return 0
    mkdir -p "$folder"
    if [ ! -e "$folder/build.ninja" ]; then
        step "configuring" "$folder/setup.log" meson setup --buildtype=release -Dbench=true "$folder" "$root" || fail "see build/setup.log"
    elif [ ! -d "$folder/bench/load" ]; then
        meson configure "$folder" -Dbench=true
    fi
    build "$folder" release "${targets[@]}" || fail "the build failed; see build/build.log"
}

main() {
    local wanted=${1:-} names="" needs="" module="" targets=() options=() publish="" option python
    if [ "$wanted" = --stale ]; then
        PYTHONPATH=$root python3 -m bench.lib.published "${@:2}"
        return
    fi
    # shellcheck disable=SC2086  # lists of targets
    all_benches
    if [ -z "$wanted" ]; then
        echo "bench/demo.sh     1 min   the noisy neighbor with three QEMU guests"
        echo "--stale           1 s     the blocks that README.md and docs/results publish, and their ages in commits; also --json"
        return
    fi
    [ -n "$module" ] || fail "unknown bench $wanted; there are:$names"
    shift
    for option in "$@"; do
        if [ "$option" = --publish ]; then publish=1; else options+=("$option"); fi
    done
    python=$(interpreter "$needs")
    if [ -z "${WEIR_BUILD:-}" ] && [[ " $* " != *" --help "* ]]; then prepare "${options[@]}"; fi
    PYTHONPATH=$root "$python" -m "bench.$module" "${options[@]}"
    if [ -n "$publish" ]; then PYTHONPATH=$root python3 -m bench.lib.results_page; fi
}

main "$@"
