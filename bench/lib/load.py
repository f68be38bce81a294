"""load.py - weir-load and weir-requests as objects: ports at the start, then one run after another."""
import json

from bench.lib.child import Child
from bench.lib.host import EAL_LOAD, tool


class Load:
    """The generator, which plays every VM (and the wire) of a bench."""

    def __init__(self, place, ports, listens, program="bench/load/weir-load"):
        """@param ports dictionaries with mac, socket and perhaps devargs
        @param listens the generator makes the sockets and the switch connects"""
        spec = {"eal": EAL_LOAD,
                "ports": [{"path": port["socket"], "mac": port["mac"], "server": listens,
                           "devargs": port.get("devargs", ""), "queues": port.get("queues", 1)} for port in ports]}
        self._child = Child(program, [tool(program), place.write("load.json", spec)], place.file("load.log"))
        if listens:
            self._child.event("listening")
        self.tsc_hz = None

    @property
    def pid(self):
        return self._child.pid

    def wait_ready(self):
        self.tsc_hz = self._child.event("ready")["tsc_hz"]

    def links_up(self, seconds):
        """Whether every port gets a peer within so many seconds."""
        self.begin({"wait_links": seconds})
        return self._child.event("links", seconds + 5)["up"]

    def begin(self, run):
        """Starts the run and returns at once."""
        self._child.write_line(json.dumps(run))

    def wait_measuring(self):
        """Until the run that began is under way."""
        self._child.event("measuring")

    def result(self, run):
        return self._child.event("result", run["seconds"] + 30)

    def measure(self, run, system=None):
        """One run: (the generator's result, the system's counts of that time or None)."""
        self.begin(run)
        self._child.event("measuring")
        if system:
            system.begin()
        self._child.event("measured", run["seconds"] + 20)
        busy = system.end() if system else None
        return self.result(run), busy

    def stop(self):
        self._child.stop()


def pair(size, seconds, **stream):
    """A run in which ports 0 and 1 flood each other, or send at stream['pps'] each."""
    return {"name": f"pair-{size}", "seconds": seconds, "warmup": 0.2,
            "streams": [{"from": 0, "to": 1, "size": size, **stream}, {"from": 1, "to": 0, "size": size, **stream}]}
