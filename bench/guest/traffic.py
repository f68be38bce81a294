"""traffic.py - what guests do to each other: iperf3 flows and pings, read while they run."""

import itertools
import re
from collections import namedtuple

from wait import until

PAYLOAD = 1448                                      # UDP payload of one frame
WIRE_BYTES = PAYLOAD + 8 + 20 + 14 + 4 + 20         # UDP, IPv4, Ethernet, FCS, preamble and gap
INTERVAL = re.compile(r"(\d+\.\d+)-\s*(\d+\.\d+)\s+sec.*?(-?\d+)/\s*(-?\d+) \(")
PING_TIME = re.compile(r"time=([\d.]+) ms")
NUMBERS = itertools.count()

Rate = namedtuple("Rate", "offered delivered")      # bit/s on the wire


class Flow:
    """iperf3 over UDP from `sender` to a server in `receiver`, as the receiver sees it; `bps` 0 = all it can.

    Offered is what the sender's socket took, by the sequence numbers that arrived.
    """

    def __init__(self, sender, receiver, address, port, seconds, bps):
        self.receiver = receiver
        self.log = f"/tmp/flow{next(NUMBERS)}.log"
        self.server = receiver.start(f"exec iperf3 -s -1 -p {port} -i 1 --forceflush >{self.log}")
        until(lambda: "listening" in receiver.run(f"cat {self.log}"), 10, f"iperf3 server on port {port}")
        self.client = sender.start(f"iperf3 -c {address} -p {port} -u -b {bps} -l {PAYLOAD} -t {seconds} -i 0")

    def intervals(self):
        """(end second, frames lost, frames sent) for each second so far."""
        text = self.receiver.run(f"cat {self.log}").split("- - -")[0]
        return [(float(end), int(lost), int(sent)) for _, end, lost, sent in INTERVAL.findall(text)]

    def seconds(self):
        """How many whole seconds it has run; an early end is an error."""
        if not self.client.answer.empty():
            self.client.wait()
            raise RuntimeError(f"iperf3 to {self.log} ended early")
        return len(self.intervals())

    def rate(self, first=None, last=None):
        """Mean over the seconds first..last, or the last second alone."""
        rows = self.intervals()[slice(first, last)] if last else self.intervals()[-1:]
        sent = sum(row[2] for row in rows)
        bits = WIRE_BYTES * 8 / max(len(rows), 1)
        return Rate(sent * bits, (sent - sum(row[1] for row in rows)) * bits)

    def stop(self, seconds=30):
        """Waits for its end."""
        self.client.wait(seconds)
        self.server.wait(seconds)


class Ping:
    """Round trips from a guest, one every `interval` seconds until stopped."""

    def __init__(self, guest, address, interval):
        self.guest = guest
        self.log = f"/tmp/ping{next(NUMBERS)}.log"
        self.job = guest.start(f"exec ping -i {interval} {address} >{self.log}")

    def times(self):
        """Round-trip times so far, ms."""
        return [float(time) for time in PING_TIME.findall(self.guest.run(f"cat {self.log}"))]

    def latest(self):
        times = self.times()
        return times[-1] if times else None

    def stop(self):
        """Ends it; returns the percentiles in ms, or None for each when nothing came back."""
        self.guest.run("killall ping")
        self.job.wait(check=False)
        times = sorted(self.times())
        at = lambda share: times[min(int(len(times) * share), len(times) - 1)] if times else None
        return {"p50": at(0.5), "p99": at(0.99), "max": at(1.0), "answers": len(times)}


def wait_reachable(guest, address, seconds=30):
    """Waits until a guest gets an answer to a ping."""
    until(lambda: "1 packets received" in guest.run(f"ping -c 1 -W 1 {address}", check=False), seconds,
          f"{guest.name} reaching {address}")
