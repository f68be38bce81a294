#!/usr/bin/env bash
# fresh.sh - commands of the README on a minimal Debian: `fresh.sh [--kept] SUITE COMMAND...`, by `test/run.sh --deep`.
#
# The machine is a minimal Debian (debootstrap) in a folder with a clean clone of HEAD; each COMMAND runs there in turn, as root.
# /dev, /proc, /sys and the hugepages are this machine's, so nothing else that uses hugepages may run meanwhile. Packages come from
# the mirror that this machine's apt uses. All mounts are in a namespace of their own and end with it, however it ends. The minimal
# system is kept as an archive in WEIR_FRESH (default: weir-fresh in the temporary folder). A run without --kept begins without packages
# and objects of the compiler and keeps those that it downloads and makes; one with --kept has those. The last line is `N passed, N failed`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/test/support/progress.sh"

kept=
[ "${1:-}" != --kept ] || { kept=yes; shift; }
suite=${1:?usage: fresh.sh [--kept] SUITE COMMAND...; SUITE is a Debian release such as bookworm}
shift
work=${WEIR_FRESH:-${TMPDIR:-/tmp}/weir-fresh}
machine=$work/machine
archive=$work/$suite.tar.gz
caches=$work/$suite-caches

mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null \
        | awk '/^URIs:/ { print $2 } /^deb / { print ($2 ~ /^\[/) ? $3 : $2 }' | grep -v security | head -n 1
}

minimal_debian() {
    if [ ! -e "$archive" ]; then
        command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap >"$work/install.log" 2>&1
        step "making a minimal $suite" "$work/debootstrap.log" \
            debootstrap --variant=minbase --include=ca-certificates "$suite" "$machine" "$(mirror)" || return
        tar -C "$machine" -czf "$archive.new" . && mv "$archive.new" "$archive"
    else
        tar -C "$machine" -xzf "$archive"
    fi
}

# This machine's way to packages and names: mirror, proxy, certificates. No package beyond the minimal ones.
same_network() {
    echo "deb $(mirror) $suite main" >"$machine/etc/apt/sources.list"
    cp /etc/resolv.conf /etc/hosts "$machine/etc/"
    { grep -lsE 'Acquire::(Check|http)' /etc/apt/apt.conf.d/* || true; } | xargs -r cp -t "$machine/etc/apt/apt.conf.d"
    cp -r /usr/local/share/ca-certificates/. "$machine/usr/local/share/ca-certificates/" 2>/dev/null || true
    chroot "$machine" update-ca-certificates >/dev/null 2>&1 || true
}

# In the mount namespace: the machine's folder becomes a mount point, so that programs in it may have namespaces too.
inside() {
    local command passed=0 failed=0 began
    mount --bind "$machine" "$machine"
    mount -t proc proc "$machine/proc"
    mount --rbind /dev "$machine/dev"
    mount --rbind /sys "$machine/sys"
    mkdir -p "$machine/var/cache/ccache" "$machine/var/cache/apt/archives"
    mount --bind "$caches/ccache" "$machine/var/cache/ccache"
    mount --bind "$caches/packages" "$machine/var/cache/apt/archives"
    for command in "$@"; do
        began=$SECONDS
        if chroot "$machine" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CCACHE_DIR=/var/cache/ccache bash -c "cd /src/weir && $command"; then
            passed=$((passed + 1))
            report "fresh $suite: $command passed after $((SECONDS - began)) s"
        else
            failed=$((failed + 1))
            report "fresh $suite: $command failed after $((SECONDS - began)) s"
        fi
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

if [ "${WEIR_FRESH_INSIDE:-}" = yes ]; then
    inside "$@"
    exit
fi
[ "$(id -u)" -eq 0 ] || fail "fresh.sh must run as root: it makes a root folder and mounts"
mkdir -p "$work"
exec 8>"$work/lock"
flock -n 8 || fail "another run makes its machine in $work: wait until it has ended, or set WEIR_FRESH to another folder"
rm -rf --one-file-system "$machine"
[ -n "$kept" ] || rm -rf --one-file-system "$caches"
mkdir -p "$machine" "$caches/ccache" "$caches/packages/partial"
minimal_debian || fail "no minimal $suite; see $work/debootstrap.log"
same_network
git clone -q "$root" "$machine/src/weir"
trap 'rm -rf --one-file-system "$machine"' EXIT
WEIR_FRESH_INSIDE=yes unshare --mount --propagation private "$0" "$suite" "$@"
