"""traffic.py - traffic between guests: a steady iperf3 flow, a flood, pings; all read while they run."""

import itertools
import re
from collections import namedtuple

from wait import until

PAYLOAD = 1448                                      # UDP payload of one frame
HEADERS = 8 + 20 + 14                               # UDP, IPv4, Ethernet
WIRE_EXTRA = 4 + 20                                 # FCS, preamble and gap
WIRE_BITS = 8 * (PAYLOAD + HEADERS + WIRE_EXTRA)    # of one frame
INTERVAL = re.compile(r"-\s*(\d+\.\d+)\s+sec.*?(-?\d+)/\s*(-?\d+) \(")
PING_TIME = re.compile(r"time=([\d.]+) ms")
NUMBERS = itertools.count()

Reading = namedtuple("Reading", "time packets")     # a running count, at a time in seconds of the clock beside the counter
Sample = namedtuple("Sample", "sent arrived")       # two Readings
Rate = namedtuple("Rate", "offered delivered")      # bit/s on the wire


def rate(before, after):
    """Rates between two samples of one source of traffic, bit/s on the wire."""
    return Rate(*((new.packets - old.packets) * WIRE_BITS / max(new.time - old.time, 1e-3)
                  for old, new in zip(before, after)))


def serve(guest, options=""):
    """An iperf3 server in a guest, listening: (its job, its log in the guest)."""
    log = f"/tmp/server{next(NUMBERS)}.log"
    job = guest.start(f"echo $$ >{log}.pid; exec iperf3 -s -i 1 --forceflush {options} >{log}")
    until(lambda: "listening" in guest.run(f"cat {log}", check=False), f"{guest.name}: iperf3 server")
    return job, log


class Flow:
    """iperf3 over UDP at `bps` (0: as fast as the socket takes it) from `sender` to a server in `receiver`, which counts by
    sequence numbers; until stopped. Each flow to the same receiver has a port of its own."""

    def __init__(self, sender, receiver, address, bps, port=5201):
        self.sender, self.receiver = sender, receiver
        self.server, self.log = serve(receiver, f"-p {port}")
        self.client = sender.start(f"echo $$ >{self.log}.pid; exec iperf3 -c {address} -p {port} -u -b {bps} -l {PAYLOAD} -t 0 -i 0")

    def sample(self):
        """The sum over the whole seconds so far."""
        if not self.client.answer.empty():
            self.client.wait()
            raise RuntimeError("the iperf3 flow has ended early")
        rows = INTERVAL.findall(self.receiver.run(f"cat {self.log}").split("- - -")[0]) or [("0", 0, 0)]
        sent, lost = (sum(int(row[column]) for row in rows) for column in (2, 1))
        time = float(rows[-1][0])
        return Sample(Reading(time, sent), Reading(time, sent - lost))

    def stop(self):
        """Ends both sides: the client first, so that no datagram meets a closed port."""
        for guest, job in ((self.sender, self.client), (self.receiver, self.server)):
            guest.run(f"kill $(cat {self.log}.pid)", check=False)
            job.wait(check=False)


PKTGEN = "/proc/net/pktgen"


def generate(guest, interface, *settings):
    """Starts the kernel's packet generator on one interface of a guest; its job ends with the last packet."""
    lines = [f"echo {line} >{PKTGEN}/kpktgend_0" for line in ("rem_device_all", f"add_device {interface}")]
    lines += [f"echo {setting} >{PKTGEN}/{interface}" for setting in settings]
    guest.run(" && ".join(lines))
    return guest.start(f"echo start >{PKTGEN}/pgctrl")


class Flood:
    """The kernel's packet generator in `sender`: UDP as fast as the card takes it, to a port without a socket."""

    def __init__(self, sender, receiver, address, mac):
        self.sender, self.receiver = sender, receiver
        self.job = generate(sender, "eth0", "count 0", f"pkt_size {PAYLOAD + HEADERS}", "delay 0", f"dst {address}",
                            f"dst_mac {mac}")

    def sample(self):
        """Sent as the generator counts, arrived as the receiver's kernel counts datagrams to ports without a socket."""
        sent = self.sender.run(f"cat /proc/uptime; grep -o 'sofar: [0-9]*' {PKTGEN}/eth0").split()
        names, counts, uptime = self.receiver.run("grep Udp: /proc/net/snmp; cat /proc/uptime").splitlines()
        arrived = counts.split()[names.split().index("NoPorts")]
        return Sample(Reading(float(sent[0]), int(sent[-1])), Reading(float(uptime.split()[0]), int(arrived)))

    def stop(self):
        self.sender.run(f"echo stop >{PKTGEN}/pgctrl")
        self.job.wait()


class Ping:
    """Round trips from a guest, one every `interval` seconds until stopped."""

    def __init__(self, guest, address, interval):
        self.guest = guest
        self.log = f"/tmp/ping{next(NUMBERS)}.log"
        self.job = guest.start(f"exec ping -i {interval} {address} >{self.log}")

    def times(self):
        """Round-trip times so far, ms."""
        return [float(time) for time in PING_TIME.findall(self.guest.run(f"cat {self.log}", check=False))]

    def latest(self):
        times = self.times()
        return times[-1] if times else None

    def stop(self):
        """Ends it; returns the percentiles in ms, or None for each when nothing came back."""
        self.guest.run("killall ping")
        self.job.wait(check=False)
        times = sorted(self.times())

        def at(share):
            return times[min(int(len(times) * share), len(times) - 1)] if times else None
        return {"p50": at(0.5), "p99": at(0.99), "max": at(1.0), "answers": len(times)}


def wait_reachable(guest, address):
    """Waits until a guest gets an answer to a ping."""
    until(lambda: "1 packets received" in guest.run(f"ping -c 1 -W 1 {address}", check=False),
          f"{guest.name} reaching {address}")
