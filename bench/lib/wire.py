"""wire.py - frames from the wire to one VM, the only ones that are metered: Weir with feedback off and on.

The generator plays the wire on the uplink, as in isolation.py. It ignores what it is told, so that the load stays.
"""
from lib.system import Weir, vm_ports

VM, WIRE = 0, 1  # port indices
SIZES = (64, 1500)
SENDERS = (1, 1_000)
# What the link may carry is what the receiver divides: far more than arrives, so that nobody is held back, or far less.
ROOMY, NARROW = "400Gbit", "5Gbit"
SYSTEMS = {"wire-off": {"rate": ROOMY, "feedback": False},
           "wire-on": {"rate": ROOMY, "feedback": True},
           "wire-told": {"rate": NARROW, "feedback": True}}


def ports(place):
    made = vm_ports(place)
    made[WIRE] |= {"name": "wire", "wire": True}
    return made


def weir(place, made, rate, feedback):
    uplink = {"device": f"net_vhost0,iface={made[WIRE]['socket']},queues=1", "rate": rate}
    return Weir(place, made, uplink=uplink, feedback=feedback)


def one_way(size, senders, seconds):
    """Senders in random order, the worst for caches. A fifth of the other cases' time, as there are many of these."""
    return {"name": f"wire-{size}-{senders}", "seconds": seconds / 5, "warmup": 0.1,
            "streams": [{"from": WIRE, "to": VM, "size": size, "src_macs": senders, "random": True}]}
