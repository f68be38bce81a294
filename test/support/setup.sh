#!/usr/bin/env bash
# setup.sh - makes a Debian machine ready: packages, hugepages, hugetlbfs. Idempotent; instant when nothing is missing.
#
#   test/support/setup.sh [--guests] [--tests] [--memory] [--bench] [--peers]   packages to build and run Weir, and those of the named options
#   test/support/setup.sh --release                                              ends the caller's use of the hugepages that were reserved
#
# Hugepages that are free already are used as they are; missing ones are reserved on top. Each caller is noted as a user until it calls
# --release or has ended, and the reserved ones go back with the last user, so that two checkouts may run tests at once. Pages that
# files without a process hold are named.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/progress.sh"
source "$here/build.sh"

pages=/sys/kernel/mm/hugepages/hugepages-2048kB
state=/run/weir-setup.owner
user=$PPID
pages_wanted=1024
pages_least=256

base="g++ ccache meson ninja-build pkg-config git libdpdk-dev dpdk dpdk-dev libzmq3-dev cppzmq-dev libsodium-dev libpcap-dev nlohmann-json3-dev
      libspdlog-dev libssl-dev libsqlite3-dev libcli11-dev libmicrohttpd-dev catch2 python3 iproute2 kmod"
guests="qemu-system-x86 linux-image-cloud-amd64 busybox-static iperf3 cpio"
tests="clang-$clang clang-format-$clang clang-tidy-$clang libclang-rt-$clang-dev iperf3 tshark nbdkit libnbd-bin qemu-utils memcached iptables zsh
      openssl prometheus chromium"
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

free_pages() { cat "$pages/free_hugepages"; }
# Without the surplus: pages that the kernel takes back as soon as they are free.
reserved_pages() { echo $(($(cat "$pages/nr_hugepages") - $(cat "$pages/surplus_hugepages"))); }

# `state` has a line for each user: its process id, and how many pages were reserved for it. Users that have ended, and the process $1, become
# one line of process 0. When no other line is left, all these pages go back.
settle_users() {
    local process count others="" ended=0 now
    [ -e "$state" ] || return 0
    while read -r process count; do
        if [ "$process" != "${1:-}" ] && [ "$process" != 0 ] && [ -d "/proc/$process" ]; then
            others+="$process $count"$'\n'
        else
            ended=$((ended + count))
        fi
    done <"$state"
    if [ -n "$others" ]; then
        printf '%s0 %d\n' "$others" "$ended" >"$state"
    else
        now=$(reserved_pages)
        echo "$((now > ended ? now - ended : 0))" >"$pages/nr_hugepages"
        rm -f "$state"
    fi
}

# Hugepage files that no process has open or mapped, one path a line: left by programs that were killed.
leftovers() {
    local file
    for file in $(awk '$3 == "hugetlbfs" { print $2 }' /proc/mounts | xargs -I{} find {} -maxdepth 1 -type f); do
        [ -n "$(find /proc/[0-9]*/fd /proc/[0-9]*/map_files -lname "$file" -print -quit 2>/dev/null)" ] || printf '%s\n' "$file"
    done
}

# Why there are too few free pages, and the way to mend it, as one sentence.
why_too_few() {
    local files
    files=$(leftovers | tr '\n' ' ')
    if [ -n "$files" ]; then
        printf 'killed programs left files that hold pages; remove them: rm %s' "$files"
    else
        printf 'programs that run hold the other pages (grep -l hugepages /proc/[0-9]*/maps), or memory is short or fragmented'
    fi
}

reserve_hugepages() {
    local free_kib count before missing
    [ -w "$pages/nr_hugepages" ] || fail "this kernel has no 2 MiB hugepages (no $pages)"
    exec 9>"$state.lock"
    flock 9
    settle_users
    missing=$((pages_wanted - $(free_pages)))
    if [ "$missing" -le 0 ]; then
        echo "$user 0" >>"$state"
        exec 9>&-
        return
    fi
    free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    count=$((free_kib / 2 / 2048))
    [ "$count" -le "$missing" ] || count=$missing
    [ $(($(free_pages) + count)) -ge "$pages_least" ] ||
        fail "only $((free_kib / 1024)) MiB of memory are free; $((pages_least * 4)) MiB are needed"
    before=$(reserved_pages)
    echo "$((before + count))" >"$pages/nr_hugepages"
    count=$(($(reserved_pages) - before))
    echo "$user $count" >>"$state"
    if [ "$(free_pages)" -lt "$pages_least" ]; then
        settle_users "$user"
        fail "of $pages_least hugepages of 2 MiB that are needed $(free_pages) are free: $(why_too_few)"
    fi
    exec 9>&-
    report "reserved $count hugepages of 2 MiB"
}

release_hugepages() {
    exec 9>"$state.lock"
    flock 9
    settle_users "$user"
    exec 9>&-
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

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"    # sourced: its functions alone
