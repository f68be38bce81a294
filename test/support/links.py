"""links.py - the kernel's side of a wire: veth pairs, taps, a bottleneck. Only inside a network namespace of the tests."""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17


class LinkError(Exception):
    """A network command failed; the text is the command and its output."""


def command(*lines):
    """Runs shell-free command lines one after the other; the first that fails is a LinkError."""
    for line in lines:
        done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LinkError(f"{line}: {(done.stderr or done.stdout).strip()}")


NAMESPACE = "WEIR_NAMESPACE"    # set in the environment of programs that run in namespaces of their own
# Hugepage files and DPDK's runtime folders in mounts that end with the namespace: nothing stays behind, even after SIGKILL.
OWN_MOUNTS = """mkdir -p /dev/hugepages /run/dpdk
mount -t hugetlbfs -o pagesize=2M weir /dev/hugepages && mount -t tmpfs weir /run/dpdk || exit 1
exec "$@\""""


def own_namespace():
    """True when this process is alone in a new network namespace: it has no interface but the loopback."""
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def enter_own_namespace():
    """Starts this program again in network and mount namespaces of its own, if it is in none; its loopback is up then."""
    if os.environ.get(NAMESPACE) != "own":
        os.environ[NAMESPACE] = "own"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--", "sh", "-c", OWN_MOUNTS, "sh", *sys.orig_argv])
    if not own_namespace():
        raise LinkError("even a new network namespace has interfaces besides lo; unload the tunnel modules that make them")
    command("ip link set lo up")


def up(*names):
    """Sets interfaces up, without the kernel's own IPv6 chatter on them."""
    for name in names:
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w") as stream:
            stream.write("1")
        command(f"ip link set {name} up")


def veth(one, other):
    """A pair of joined interfaces."""
    command(f"ip link add {one} type veth peer name {other}")
    up(one, other)


def whole_checksums(name):
    """Makes the kernel write the checksums that it would leave to the interface (and so also cut its own segments)."""
    value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_STXCSUM, 0))
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP", name.encode(), ctypes.addressof(value)))


def receive_on(name, cores, inside=""):
    """These cores process the frames that `name` receives, not the core that happens to send them. `inside`: the words before
    a command to run in its namespace."""
    mask = f"{sum(1 << core for core in cores):x}"
    steps = f"mount -t sysfs none /sys && echo {mask} > /sys/class/net/{name}/queues/rx-0/rps_cpus"
    done = subprocess.run([*inside.split(), "unshare", "--mount", "sh", "-c", steps], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LinkError(f"cores of {name}: {done.stderr.strip()}")


def tap(name):
    """An interface whose other side a program holds."""
    command(f"ip tuntap add {name} mode tap")
    up(name)


def bridge(name, *members):
    """Joins interfaces that exist."""
    command(f"ip link add {name} type bridge", *(f"ip link set {member} master {name}" for member in members))
    up(name)


def bottleneck(name, rate, queue, burst="16k"):
    """Frames leave `name` at most at `rate` (as in 100mbit), through one first-in first-out queue of `queue` (as in 256k)
    bytes that drops at its end. After a pause a `burst` passes at once: the smaller, the more like a port."""
    command(f"tc qdisc add dev {name} root tbf rate {rate} burst {burst} limit {queue}")


def wire(uplink, far, rate, queue):
    """A wire with a bottleneck: frames that enter `uplink` leave at the tap `far`."""
    veth(uplink, "wire0")
    tap(far)
    bridge("wire1", "wire0", far)
    bottleneck(far, rate, queue)


def rack(*uplinks):
    """The wires of several switches' uplinks, and the bridge `cable` that joins them."""
    for name in uplinks:
        veth(name, f"{name}w")
    bridge("cable", *(f"{name}w" for name in uplinks))


def cable(one, other, *bottle):
    """A wire between two switches' uplinks; with more (rate, queue, burst) a bottleneck on the way to `other`."""
    rack(one, other)
    if bottle:
        bottleneck(f"{other}w", *bottle)
