#!/usr/bin/env bash
# run.sh - runs a bench by its name, or lists them.
#
#   bench/run.sh                    the names, each with its duration and a phrase
#   bench/run.sh NAME [OPTIONS]     installs what is missing, builds what NAME needs, measures; prints tables, writes JSON
#   bench/run.sh NAME --help        the options of NAME
#
# With WEIR_BUILD=FOLDER nothing is installed or built, and the programs of that folder are measured.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/support/progress.sh"
source "$root/test/support/build.sh"

# NAME | duration | what it needs | module | targets of the build | phrase
# Needs: root (hugepages, network namespaces), plot (matplotlib). `switch` among the targets stands for the switch, weirctl, the generator, the
# raw loop and core-distance.
benches="
compare          | 30 min  | root | system.compare    | switch bench/micro/request-path-bench bench/micro/alloc-bench bench/micro/qos-bench bench/micro/tracker-bench bench/micro/uplink-bench | whether anything became slower: a build folder of an earlier commit beside this one, interleaved
forwarding       | 5 min   | root | system.forwarding | switch | cycles per packet and Mpps at 64, 512, 1500 bytes beside the raw loop, testpmd, OVS-DPDK; part loads; VM to wire
feedback         | 4 min   | root | system.feedback   | switch | what metering and feedback add per frame from the wire
latency          | 3 min   | root | system.latency    | switch | round trip through two ports, of single frames and of bursts at part loads
isolation        | 2 min   | root | system.isolation  | switch | a victim with a reservation beside a flooding neighbor at a 1 Gbit/s bottleneck
idle             | 2 min   | root | system.idle       | switch | CPU time of an idle switch, delay of the first packet, time to full speed
startup          | 1 min   | root | system.startup    | switch | process start to first packet, memory, weirctl vnic add to first packet
encryption       | 2 min   | root | system.encryption | switch bench/micro/esp-bench | cycles per frame into ESP, beside what the crypto device alone takes
requests         | 3 min   | root | system.requests   | switch bench/load/weir-requests | what tracking memcached requests takes of the worker
qos              | 3 min   | -    | micro.qos         | bench/micro/qos-bench | buckets, wheel, limits, receiver and schedulers alone
trackers         | 3 min   | -    | micro.trackers    | bench/micro/tracker-bench | ns per segment of the request trackers alone
allocation       | 3 min   | -    | micro.allocation  | bench/micro/alloc-bench | ms per allocation of up to a million flows
interval         | 1 min   | -    | control.interval  | bench/control/interval-bench | a whole interval of the controller with 2,000 switches over sockets
flow-setup       | 10 s    | root | control.flow_setup | bench/control/flow-setup-bench | from a new flow to its limiter
eyeq             | 1 min   | plot | papers.eyeq       | bench/sim/weir-sim | EyeQ's evaluation in virtual time
softbw           | 5 min   | plot | papers.softbw     | bench/sim/weir-sim | SoftBW's evaluation in virtual time
srp              | 10 s    | plot | papers.srp        | bench/sim/weir-sim ctrl/cli/weirctl | Storage Resource Pools' evaluation in virtual time
pulsar           | 5 min   | plot | papers.pulsar     | bench/sim/weir-sim bench/sim/demand-error bench/micro/alloc-bench bench/control/interval-bench ctrl/cli/weirctl | Pulsar's evaluation in virtual time, and the solver's times
pulsar-dataplane | 20 min  | root | papers.pulsar-dataplane | switch bench/load/weir-requests bench/load/kv-load bench/micro/esp-bench bench/micro/tracker-bench test/rough-wire | what Pulsar's data plane takes, with real packets and services
calibrate        | 6 min   | root | papers.calibrate  | switch ctrl/calibrate/weir-calibrate | Pulsar's Fig. 4: what requests take of a memcached and an NBD store
counts           | 1 min   | root | papers.counts     | switch test/rough-wire | a million requests on wires that lose and reorder, counted by client, server and switch
htb              | 2 min   | root | papers.htb        | bench/load/udp-classes bench/micro/qos-bench bench/raw/core-distance | EyeQ's Fig. 7: HTB's cycles per packet beside those of destination limits
memcached        | 2 min   | root | papers.memcached  | switch bench/load/set-load bench/load/udp-bursts | EyeQ's Table 1 with a real memcached beside bursts of UDP
memcached-sizes  | 30 min  | root | papers.memcached_sizes | switch bench/load/kv-load | Pulsar's Fig. 15 with a real memcached
pools            | 4 min   | root | papers.pools      | switch ctrl/weir-ctrl | SRP's Fig. 5 and 6 with a real NBD store
two-buckets      | 30 s    | root | papers.two_buckets | switch | the example of Pulsar 4.4 with real NBD reads
vm-count         | 15 min  | root | papers.vm_count   | switch bench/micro/qos-bench | SoftBW's Fig. 10: cycles per packet with 1 to 16 VMs
results          | 1 s     | -    | lib.results_page  | | writes the tables of the JSON that is there into docs/results
"
switch_targets="vswitch/weir-switch ctrl/cli/weirctl bench/load/weir-load bench/raw/raw-vhost-loop bench/raw/core-distance"

list() {
    awk -F ' *\\| *' 'NF { printf "%-17s %-7s %s\n", $1, $2, $6 }' <<<"$benches"
    echo "bench/demo.sh     30 s    the noisy neighbor with three QEMU guests"
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

# prepare NEEDS TARGETS [OPTIONS]: makes the machine ready and builds; --peers among the options installs OVS-DPDK.
prepare() {
    local needs=$1 targets=$2 folder=$root/build setup=(--bench)
    shift 2
    if [ "$needs" = root ] || [ "$(id -u)" -eq 0 ]; then
        [[ " $* " != *" --peers "* ]] || setup+=(--peers)
        [[ "$targets" != *test/rough-wire* ]] || setup+=(--tests)
        "$root/test/support/setup.sh" "${setup[@]}"
        trap '"$root/test/support/setup.sh" --release' EXIT
    fi
    [ -n "$targets" ] || return 0
    mkdir -p "$folder"
    if [ ! -e "$folder/build.ninja" ]; then
        step "configuring" "$folder/setup.log" meson setup --buildtype=release -Dbench=true "$folder" "$root" || fail "see build/setup.log"
    elif [ ! -d "$folder/bench/load" ]; then
        meson configure "$folder" -Dbench=true
    fi
    # shellcheck disable=SC2086  # a list of names
    build "$folder" release ${targets/#switch/$switch_targets} || fail "the build failed; see build/build.log"
}

main() {
    [ $# -gt 0 ] || { list; return; }
    local row needs module targets python
    row=$(grep -m 1 "^$1 *|" <<<"$benches") || fail "unknown bench $1; there are: $(awk -F ' *\\| *' 'NF { print $1 }' <<<"$benches" | xargs)"
    IFS='|' read -r _ _ needs module targets _ <<<"$row"
    read -r needs <<<"$needs"
    read -r module <<<"$module"
    read -r targets <<<"$targets" || true
    shift
    python=$(interpreter "$needs")
    if [ -z "${WEIR_BUILD:-}" ] && [[ " $* " != *" --help "* ]]; then prepare "$needs" "$targets" "$@"; fi
    PYTHONPATH=$root "$python" -m "bench.$module" "$@"
}

main "$@"
