"""hostile_floods.py - the floods beside a victim: the ports that send, their destinations and their frames.

VM 0 is the victim, VMs 1 to NEIGHBORS are its neighbors, the last port is the wire: the generator plays them all. Each neighbor's vNIC lists its
addresses, so that the guard reads every frame. Frames go as fast as the switch takes them, but for those from the wire, whose ring they share with
the victim's. Super-frames need a guest with segmentation, which the generator's ports do not have: test/hostile sends them.
"""
import dataclasses
import typing

VICTIM = 0
NEIGHBORS = 28
WIRE = NEIGHBORS + 1
ALL = range(1, WIRE)
UNREAD = list(ALL[NEIGHBORS // 2:])     # neighbors that read nothing, in floods that fill buffers
SOURCES = 60_000                # made-up addresses that a stream goes through
ATTACKER = 3                    # the VM that test/hostile plays, by the number in its MAC address
WIRE_PPS = 2_000_000            # less than the uplink takes: frames that a full ring refuses never come to the switch


def mac(number):
    """As test/hostile makes them."""
    return f"52:54:00:00:00:{number:02x}"


def address(vm):
    """The IPv4 address of a neighbor; its IPv6 address ends with it."""
    return f"10.1.0.{vm}"


def addresses(vm):
    """The addresses that the neighbor's vNIC may use."""
    return [address(vm), f"2001:db8::{address(vm)}"]


def next_of(vm):
    """The neighbor that a neighbor sends to in a ring of them."""
    return vm % NEIGHBORS + 1


def stream(vm, to=None, size=64, **keys):
    return {"from": vm, **({} if to is None else {"to": to}), "size": size, "src_ip": address(vm), **keys}


def broadcast(vm, size=64, **keys):
    return stream(vm, size=size, broadcast=True, **keys)


def from_wire(receivers=ALL[:4], **keys):
    return [{"from": WIRE, "to": vm, "size": 64, "pps": WIRE_PPS / len(receivers), **keys} for vm in receivers]


def to_attacker():
    return [stream(vm, dst_mac=mac(ATTACKER)) for vm in ALL[:4]]


@dataclasses.dataclass(frozen=True)
class Flood:
    """@param group rows of one kind stand together
    @param streams makes the generator's streams
    @param unread ports that read nothing meanwhile
    @param guest (attack of test/hostile, port that it sends to), where that plays the flood"""
    group: str
    streams: typing.Callable = list
    unread: tuple = ()
    guest: tuple | None = None


FLOODS = {
    "64-byte frames, each to the next": Flood("neighbors", lambda: [stream(vm, next_of(vm)) for vm in ALL]),
    "64-byte frames to the wire": Flood("neighbors", lambda: [stream(vm, WIRE) for vm in ALL]),
    "1500-byte frames to the wire": Flood("neighbors", lambda: [stream(vm, WIRE, 1500) for vm in ALL]),
    "64-byte frames to the victim": Flood("fan-in", lambda: [stream(vm, VICTIM) for vm in ALL]),
    "1500-byte frames to the victim": Flood("fan-in", lambda: [stream(vm, VICTIM, 1500) for vm in ALL]),
    "super-frames to the victim": Flood("splitting", guest=("small-segments", VICTIM)),
    "super-frames to the wire": Flood("splitting", guest=("small-segments", WIRE)),
    "broadcasts": Flood("broadcasts", lambda: [broadcast(vm) for vm in ALL]),
    "broadcast super-frames": Flood("broadcasts", guest=("broadcast-segments", VICTIM)),
    "frames to unknown addresses": Flood("broadcasts", lambda: [stream(vm, WIRE, dst_macs=SOURCES, random=True) for vm in ALL]),
    "64-byte frames to a VM that rewrites its headers": Flood("headers", to_attacker, guest=("receive-headers", VICTIM)),
    "64-byte frames to a VM with empty buffers": Flood("walks", to_attacker, guest=("walk-receive", VICTIM)),
    "64-byte frames to a VM with 19,000 waiters": Flood("signals", to_attacker, guest=("call-waiters", VICTIM)),
    "8 IPv6 extension headers in 1500 B": Flood("headers", lambda: [stream(vm, next_of(vm), 1500, extensions=8) for vm in ALL]),
    "64 IPv6 extension headers in 1500 B": Flood("headers", lambda: [stream(vm, next_of(vm), 1500, extensions=64) for vm in ALL]),
    "made-up MAC addresses": Flood("spoofing", lambda: [stream(vm, next_of(vm), src_macs=SOURCES, random=True) for vm in ALL]),
    "made-up IP addresses": Flood("spoofing", lambda: [stream(vm, next_of(vm), src_ips=SOURCES, random=True) for vm in ALL]),
    "made-up senders on the wire": Flood("spoofing", lambda: from_wire(src_macs=SOURCES, src_ips=SOURCES, random=True)),
    "1500-byte frames to VMs that read nothing": Flood("buffers", lambda: [stream(vm, UNREAD[vm % len(UNREAD)], 1500) for vm in ALL], UNREAD),
    "super-frames to a VM that reads nothing": Flood("buffers", unread=UNREAD, guest=("small-segments", UNREAD[0])),
}
