#!/usr/bin/env python3
"""hostile.py - the table of attacks: the part of its promise that a victim keeps while others on its host do their worst, and its delays.

The victim (VM 0) offers nine tenths of its promised packets to the wire and receives as many from it. Floods come from its neighbors, or from the
wire; the generator plays them all, so that they share its core: frames that it could not offer count neither for nor against the switch. A guest
that breaks the rules of vhost-user and virtio is played by test/hostile on a vNIC of its own, with some 5 % of the generator's core (its priority),
and sends its frames to the victim; in the stretches without an attack a program in its place only spins. The generator does not time frames that
were on their way while another program had its core. A row that cannot be measured is an error of this bench.
"""
import collections
import functools
import json
import re
import subprocess
import sys
import time

from bench.lib.host import LOAD_CORE, parser, prepare, progress, run, tool
from bench.lib.record import Record
from bench.lib.report import finish
from bench.lib.system import Weir, ports_with_wire, wire_uplink
from bench.system.hostile_floods import ATTACKER, FLOODS, UNREAD, VICTIM, WIRE, Flood, addresses, mac
from bench.system.hostile_table import NONE, WAYS, Row, marks, missing, tables  # noqa: F401  (tables, marks: for bench/lib/report.py)
from processes import Process  # in test/support: bench/__init__.py

CORES_ARE_OF_ROWS = True    # each row names the distance of its cores: bench/lib/report.py
TOOL = "test/hostile/weir-hostile"
BARRED = "barred"           # the family of attacks that cost the attacker its socket: each has one of its own
ATTACKER_NICE = -7          # beside -20 of the bench: 5 % of a core that both want
PEERS = {VICTIM: 2, WIRE: 4, UNREAD[0]: 5}      # the same of ports that it sends to
PROMISED_PPS, OFFERED_PPS = 500_000, 450_000     # a queue of all that is promised would have no end
PROMISE = {"reservation": "2Gbit", "reservation_pps": f"{PROMISED_PPS // 1000}kpps"}
TRIES = 3                   # of a row in one round
VISITS_MOST = 30            # starts of a switch in one round: an attack may end it
FRESH = {"floods": 1, "guest floods": 1, "attacks": 4}      # stretches with an attack after one without
SWITCH_ENDED = {"switch_ended": 1, "attack_steps": 0, "attack_mpps": 0.0, **{f"{way}_percent": 0.0 for way in WAYS}}
MINUTES_MOST = 11           # a further round that would end later is not begun


class Host(Weir):
    """The victim, its neighbors and the wire, and vNICs whose guests are not the generator's: that of the attacker, and one for each attack after
    which the switch bars the socket."""

    def __init__(self, place):
        made = ports_with_wire(place, WIRE + 1)
        made[VICTIM]["vnic"] = PROMISE
        for vm in range(1, WIRE):
            made[vm]["vnic"] = {"reservation": "0Mbit", "addresses": addresses(vm)}
        for port, number in PEERS.items():
            made[port]["mac"] = mac(number)
        super().__init__(place, made, uplink=wire_uplink(made, "10Gbit"), feedback=True)
        self.attackers = {name: ATTACKER + 3 + place for place, name in enumerate(barred())}

    def attacker(self, attack):
        """(socket, number of the VM) of an attack."""
        vm = self.attackers.get(attack, ATTACKER)
        return self.place.file(f"attacker{vm}.sock"), vm

    def config(self):
        config = super().config()
        for socket, vm in (self.attacker(name) for name in (NONE, *self.attackers)):
            config["vnics"].append({"name": f"attacker{vm}", "socket": socket, "mode": "server", "reservation": "0Mbit", "mac": mac(vm)})
        return config

    def attack(self, name, peer, seconds):
        """Starts test/hostile for so many seconds; with NONE a program in its place that spins and touches no ring.

        @param peer the port that its frames go to
        """
        socket, vm = self.attacker(name)
        command = ([sys.executable, "-c", "while True: pass"] if name == NONE else
                   [tool(TOOL), "--socket", socket, "--vm", str(vm), "--peer", str(PEERS[peer]),
                    "--attack", name, "--seconds", str(seconds), "--json"])
        return Process(command, self.place.file(f"hostile-{name}.log"), cores=[LOAD_CORE], nice=ATTACKER_NICE)


def traffic(seconds, flood=Flood(NONE)):
    """The generator's run: the victim's frames both ways, and those of a flood."""
    victims = [{"name": "in", "from": WIRE, "to": VICTIM, "size": 64, "pps": OFFERED_PPS, "stamp": True},
               {"name": "out", "from": VICTIM, "to": WIRE, "size": 64, "pps": OFFERED_PPS, "stamp": True}]
    return {"name": "hostile", "seconds": seconds, "warmup": 0.5, "inspect": [VICTIM, WIRE],
            "streams": [*victims, *flood.streams()], "unread": list(flood.unread)}


def figures(result):
    """The victim's frames and one-way times, from the generator's result."""
    streams = {stream["name"]: stream for stream in result["streams"]}
    found = {}
    for way in WAYS:
        stream = streams[way]
        due = stream["accepted"] + stream["refused"]
        if due == 0:
            raise RuntimeError("the generator had no time to offer the victim's frames")
        delay = stream.get("delay_us", {})      # without one no frame arrived
        found |= {f"{way}_percent": 100 * stream["received"] / due, f"{way}_refused_percent": 100 * stream["refused"] / due,
                  f"{way}_p50_us": delay.get("p50"), f"{way}_p99_us": delay.get("p99_typical", delay.get("p99"))}
    floods = [stream["accepted"] for name, stream in streams.items() if name not in WAYS]
    if floods and not any(floods):
        raise RuntimeError("the flood offered no frame")
    return found | ({"attack_mpps": sum(floods) / result["seconds"] / 1e6} if floods else {})


def beside_guest(system, load, name, peer, what):
    """The victim's figures beside one attack of test/hostile, and the attacker's counts of that time."""
    seconds = what["seconds"] + what["warmup"] + 0.5
    attacker = system.attack(name, peer, seconds)
    try:
        if name == NONE:
            return figures(load.measure(what)[0])
        attacker.expect("begins")
        found = figures(load.measure(what)[0])
        done = what_was_done(attacker, seconds + 20)
        return (found | {f"attack_{key}": value for key, value in done.items() if key != "attack"}
                | {"attack_mpps": done["frames"] / seconds / 1e6})
    finally:
        attacker.kill()


def what_was_done(attacker, patience):
    """The attacker's own account of it, once it has ended. @param patience seconds"""
    try:
        status = attacker.child.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the attacker did not end within {patience:g} s") from None
    if status != 0:
        raise RuntimeError(f"the attacker ended with status {status}")
    done = json.loads(attacker.output().splitlines()[-1])
    if not done["steps"]:
        raise RuntimeError("the attacker took no step")
    return done


class Visit:
    """One switch with its generator: measures rows until it has all, or ends."""

    def __init__(self, record, system, load):
        self.record, self.system, self.load = record, system, load
        self.since = {}     # part: {distance: stretches since one without an attack}

    def measure(self, todo, tries):
        """Takes from the front of `todo` each row that is done, or given up: `tries` has the attempts at each."""
        while todo:
            row = todo[0]
            if tries[row] == TRIES:
                todo.popleft()
                continue
            tries[row] += 1
            if self.stale(row.part):
                self.stretch(Row(row.part, NONE, NONE))
            sample = self.stretch(row)
            if sample and sample.get("switch_ended"):
                todo.popleft()
                raise RuntimeError(f"the switch ended during {row.name}")
            if sample and sample["cores"] not in self.since.get(row.part, {}):
                self.stretch(Row(row.part, NONE, NONE))     # the cores moved in between
            if sample and sample["cores"] in self.since.get(row.part, {}):
                todo.popleft()
            else:
                todo.rotate(-1)

    def stale(self, part):
        """Whether the next attack needs a stretch without one before it."""
        return min(self.since.get(part, {}).values(), default=FRESH[part]) >= FRESH[part]

    def stretch(self, row):
        """Measures one row, or NONE. @return the sample, or None"""
        sample = self.record.stretch(lambda: self.figures(row), part=row.part, attack=row.name, group=row.group)
        if row.name != NONE:
            self.since[row.part] = {distance: count + 1 for distance, count in self.since.get(row.part, {}).items()}
        elif sample:
            self.since[row.part] = {sample["cores"]: 0}
        return sample

    def figures(self, row):
        flood = FLOODS.get(row.name, Flood(NONE)) if row.part != "attacks" else Flood(NONE)
        what = traffic(self.record.options.seconds, flood)
        try:
            if row.part == "floods":
                found = figures(self.load.measure(what)[0])
            else:
                found = beside_guest(self.system, self.load, *(flood.guest or (row.name, VICTIM)), what)
        except (RuntimeError, TimeoutError, OSError) as error:
            if self.system.child.alive():
                raise RuntimeError(f"{row.name}: {error}") from error
            found = {}
        return found if self.system.child.alive() else SWITCH_ENDED


def rounds(record, rows):
    """Measures all rows in turn, round after round, while a further round ends in time."""
    began, longest = time.monotonic(), 0.0
    for number_of_round in range(record.options.rounds):
        start = time.monotonic()
        if number_of_round and start - began + longest > 60 * record.options.minutes:
            progress(f"{number_of_round} of {record.options.rounds} rounds: a further one takes {longest:.0f} s, longer than --minutes allows")
            record.options.rounds = number_of_round
            return
        progress(f"round {number_of_round + 1} of {record.options.rounds}: {len(rows)} rows")
        measure_all(record, rows, number_of_round)
        longest = max(longest, time.monotonic() - start)


def measure_all(record, rows, number_of_round):
    """One round: each row once, on as many switches as it takes."""
    todo, tries = collections.deque(rows), collections.Counter()
    for _ in range(VISITS_MOST):
        if not todo:
            return
        record.visit(Host, lambda system, load: Visit(record, system, load).measure(todo, tries), system="weir", round=number_of_round)


@functools.cache
def attacks():
    """(name, family) of each attack that test/hostile lists."""
    return [re.match(r"(\S+)\s+(\S+)\s", line).groups() for line in run(tool(TOOL), "--list").splitlines()]


def barred():
    """The attacks after which the switch bars the socket."""
    return [name for name, family in attacks() if family == BARRED]


def every_row():
    """All rows: the floods, and the attacks that test/hostile lists."""
    return [*(Row("guest floods" if flood.guest else "floods", name, flood.group) for name, flood in FLOODS.items()),
            *(Row("attacks", name, family) for name, family in attacks())]


def chosen(rows, words):
    """The rows whose part, name or group contains one of the words; all without words."""
    for word in words:
        if not any(word in text for row in rows for text in (row.part, row.name, row.group)):
            sys.exit(f"hostile: --rows: found '{word}'; allowed: words of the rows that --list prints")
    return [row for row in rows if not words or any(word in text for word in words for text in (row.part, row.name, row.group))]


def reason_of(dropped, row):
    """Why the row was left out last."""
    reasons = [each["reason"] for each in dropped if each.get("attack") == row.name or each["reason"].startswith(f"{row.name}: ")]
    return (reasons or [each["reason"] for each in dropped] or ["nothing was left out"])[-1]


def main():
    known = parser("hostile", __doc__, rounds=3, seconds=1.0)
    known.add_argument("--rows", nargs="+", metavar="WORDS", default=[], help="only rows with these words in their part, kind or name")
    known.add_argument("--list", action="store_true", help="print the rows and exit")
    known.add_argument("--minutes", type=float, default=MINUTES_MOST, help="bound of all rounds but the first (default %(default)s)")
    known.add_argument("--quick", action="store_true", help="one round of half seconds")
    known.add_argument("--json", action="store_true", help="print the JSON instead of the tables")
    options = known.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    rows = chosen(every_row(), options.rows)
    if options.list:
        print("\n".join(f"{row.part:8} {row.group:12} {row.name}" for row in rows))
        return
    prepare()
    record = Record(options)
    rounds(record, rows)
    without_figures = missing(record.samples, rows)
    if without_figures:
        sys.exit("\n".join(f"hostile: could not be measured: {row.name}; {reason_of(record.dropped, row)}" for row in without_figures))
    finish(record, "bench.system.hostile")


if __name__ == "__main__":
    main()
