#!/usr/bin/env bash
# setup.sh - makes a Debian machine ready: packages, hugepages, hugetlbfs. Idempotent; instant when nothing is missing.
#
#   test/support/setup.sh [--guests] [--tests] [--memory] [--bench] [--peers]   what builds and runs Weir, and what is named
#   test/support/setup.sh --release                                              gives back the hugepages that the caller reserved
#
# Hugepages are reserved only when there are none; an existing reservation is left alone. The reservation belongs to
# the calling process: --release frees it for its owner, or when the owner is gone, and does nothing for anybody else.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/progress.sh"

pages=/sys/kernel/mm/hugepages/hugepages-2048kB
state=/run/weir-setup.owner
pages_wanted=1024
pages_least=256

base="g++ meson ninja-build pkg-config git libdpdk-dev dpdk dpdk-dev libzmq3-dev cppzmq-dev libsodium-dev nlohmann-json3-dev
      libspdlog-dev libssl-dev libsqlite3-dev libcli11-dev catch2 python3 iproute2 kmod"
guests="qemu-system-x86 linux-image-cloud-amd64 busybox-static iperf3 cpio"
tests="clang-16 ccache tshark nbdkit libnbd-bin qemu-utils memcached iptables"
memory="valgrind"
bench="libbenchmark-dev python3-matplotlib memcached"
peers="openvswitch-switch-dpdk"

# missing PACKAGES...: those that are not installed.
missing() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" = 'ii ' ] || printf '%s ' "$name"
    done
}

install_packages() {
    local wanted
    wanted=$(missing "$@")
    [ -n "$wanted" ] || return 0
    command -v apt-get >/dev/null || fail "apt-get is missing; install by hand: $wanted"
    mkdir -p "$root/build"
    export DEBIAN_FRONTEND=noninteractive
    step "refreshing the package lists" "$root/build/apt-update.log" apt-get update \
        || fail "apt-get update failed; see build/apt-update.log"
    # shellcheck disable=SC2086  # a list of names
    step "installing: $wanted" "$root/build/apt-install.log" apt-get install -y --no-install-recommends $wanted \
        || fail "apt-get install failed; see build/apt-install.log"
}

owner_alive() { [ -d "/proc/$(cat "$state" 2>/dev/null || echo none)" ]; }

reserve_hugepages() {
    [ -w "$pages/nr_hugepages" ] || fail "this kernel has no 2 MiB hugepages (no $pages)"
    local have free_kib count
    have=$(cat "$pages/nr_hugepages")
    if [ "$have" -gt 0 ]; then
        # What a dead owner left behind becomes the caller's, so that somebody frees it.
        if [ -e "$state" ] && ! owner_alive; then echo "$PPID" >"$state"; fi
        [ "$(cat "$pages/free_hugepages")" -ge $((pages_least / 2)) ] ||
            fail "$have hugepages are reserved but nearly all are in use: stop what holds them (ls /dev/hugepages)"
        return 0
    fi
    free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    count=$((free_kib / 2 / 2048))
    [ "$count" -le "$pages_wanted" ] || count=$pages_wanted
    [ "$count" -ge "$pages_least" ] ||
        fail "only $((free_kib / 1024)) MiB of memory are free; $((pages_least * 4)) MiB are needed"
    echo "$PPID" >"$state"
    echo "$count" >"$pages/nr_hugepages"
    have=$(cat "$pages/nr_hugepages")
    [ "$have" -ge "$pages_least" ] || { release_hugepages; fail "memory is too fragmented: got $have of $count hugepages"; }
    say "reserved $have hugepages of 2 MiB"
}

release_hugepages() {
    [ -e "$state" ] || return 0
    if [ "$(cat "$state")" = "$PPID" ] || ! owner_alive; then
        echo 0 >"$pages/nr_hugepages"
        rm -f "$state"
    fi
}

mount_hugetlbfs() {
    grep -q '^[^ ]* /dev/hugepages hugetlbfs ' /proc/mounts && return 0
    mkdir -p /dev/hugepages
    mount -t hugetlbfs -o pagesize=2M nodev /dev/hugepages || fail "cannot mount hugetlbfs at /dev/hugepages"
}

main() {
    local packages=$base option
    [ "$(id -u)" -eq 0 ] || fail "must run as root (hugepages, packages): sudo $0 $*"
    for option in "$@"; do
        case $option in
            --guests) packages+=" $guests" ;;
            --tests) packages+=" $tests" ;;
            --memory) packages+=" $memory" ;;
            --bench) packages+=" $bench" ;;
            --peers) packages+=" $peers" ;;
            --release) release_hugepages; return ;;
            *) fail "unknown option $option (see the head of $0)" ;;
        esac
    done
    # shellcheck disable=SC2086  # a list of names
    install_packages $packages
    reserve_hugepages
    mount_hugetlbfs
}

main "$@"
