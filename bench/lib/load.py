"""load.py - driving weir-load: ports once, then one run after another."""
import json

from lib.child import Child
from lib.host import EAL_LOAD, tool


class Load:
    """The generator, playing every VM (and the wire) of a bench."""

    def __init__(self, place, ports, listens, program="bench/load/weir-load"):
        """ports: dicts with name, mac, socket, devargs; listens: the switch connects to us."""
        spec = {"eal": EAL_LOAD,
                "ports": [{"path": port["socket"], "mac": port["mac"], "server": listens,
                           "devargs": port.get("devargs", "")} for port in ports]}
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
        """Whether every port has a peer, within so many seconds."""
        self.begin({"wait_links": seconds})
        return self._child.event("links", seconds + 5)["up"]

    def begin(self, run):
        """Sends the run; returns at once."""
        self._child.say(json.dumps(run))

    def result(self, run):
        return self._child.event("result", run["seconds"] + 30)

    def measure(self, run, system=None):
        """One run with the system's own count of its cycles beside it: (generator's result, Busy or None)."""
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
    """A run in which two ports flood each other (or send at stream['pps'] each)."""
    return {"name": f"pair-{size}", "seconds": seconds, "warmup": 0.2,
            "streams": [{"from": 0, "to": 1, "size": size, **stream}, {"from": 1, "to": 0, "size": size, **stream}]}
