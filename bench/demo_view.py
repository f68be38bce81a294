"""demo_view.py - how the demo looks: a table redrawn in place on a terminal, plain lines elsewhere; the closing table."""

TITLES = {"alone": "the victim alone", "off": "isolation off", "on": "isolation on"}
WHOLE = 0.99            # from this part of the offered frames on, a VM counts as having got all of them
NOTICED = 1.5           # a round trip that takes this many times another takes longer; a shorter one is noise of the guests' kernels


def mbit(bps):
    return f"{bps / 1e6:.1f}"


def milliseconds(value):
    return "-" if value is None else f"{value:.1f} ms"


class View:
    """Draws on `stream`, in place when it is a terminal."""

    HEAD = f"{'':12}{'offered':>14}{'delivered':>14}{'arrived':>9}{'held back':>11}{'latency':>12}"

    def __init__(self, stream):
        self.stream = stream
        self.drawn = 0

    def note(self, text):
        self.drawn = 0
        print(text, file=self.stream, flush=True)

    def second(self, phase, second, rates, latency, held):
        """One more second of a phase: a Rate per VM, the victim's last latency (ms), seconds in which rings were held back."""
        lines = [f"{TITLES[phase]}, second {second:2}"]
        cells = []
        for name, rate in rates.items():
            arrived = f"{100 * arrived_part(rate.offered, rate.delivered):.0f} %"
            share = f"{100 * min(held[name], 1):.0f} %"
            late = milliseconds(latency) if name == "victim" else ""
            cells.append(f"{name} {mbit(rate.delivered)}/{mbit(rate.offered)} Mbit, held back {share}")
            lines.append(f"{name:12}{mbit(rate.offered):>9} Mbit{mbit(rate.delivered):>9} Mbit{arrived:>9}"
                         f"{share:>11}{late:>12}")
        if not self.stream.isatty():
            self.note(f"{lines[0]}: {'; '.join(cells)}; latency {milliseconds(latency)}")
            return
        if self.drawn and second > 1:
            self.stream.write(f"\x1b[{self.drawn}A\x1b[J")
        print(lines[0], self.HEAD, *lines[1:], sep="\n", file=self.stream, flush=True)
        self.drawn = len(lines) + 1


def arrived_part(offered, delivered):
    return delivered / max(offered, 1)


def victim_of(result, phase):
    """(part of its frames that arrived, median latency in ms) of the victim in a phase."""
    vms = next(entry["vms"] for entry in result["phases"] if entry["phase"] == phase)
    vm = next(vm for vm in vms if vm["name"] == "victim")
    return arrived_part(vm["offered_bps"], vm["delivered_bps"]), (vm["latency_ms"] or {}).get("p50")


def seen(off, on, alone):
    """The switch's effect as the reader has just seen it, from (part that arrived, p50) in each phase: nothing that the table does not show."""
    helped = []
    if off[0] < WHOLE <= on[0]:
        helped.append("brings all of the victim's frames across")
    elif on[0] > off[0] and off[0] < WHOLE:
        helped.append("brings more of the victim's frames across")
    if None not in (off[1], on[1]) and off[1] > NOTICED * on[1]:
        helped.append("shortens its round trip")
        if alone[1] is not None and on[1] <= NOTICED * alone[1]:
            helped[-1] += " to about what it has alone"
    if not helped:
        return "this run does not show that the switch helps the victim"
    return ("the switch leaves the neighbor's frames in its ring\nwhile the victim uses its reservation, and that "
            + " and ".join(helped))


def closing(result):
    """One sentence that sums up the table, computed from it."""
    alone, off, on = (victim_of(result, phase) for phase in TITLES)

    def arrived(part):
        return "all" if part >= WHOLE else f"{100 * part:.0f} %"
    return (f"Beside a neighbor that floods the wire, {arrived(off[0])} of the victim's frames arrive and a round trip takes "
            f"{milliseconds(off[1])};\nwith isolation on {arrived(on[0])} of them arrive and it takes {milliseconds(on[1])}, where the "
            f"victim alone has {milliseconds(alone[1])}:\n{seen(off, on, alone)}.")


def result_table(result):
    """The closing table as text."""
    lines = ["", f"{'isolation':11}{'vm':12}{'offered':>12}{'delivered':>12}{'arrived':>9}{'reservation':>13}"
                 f"{'held back':>11}{'latency p50':>13}{'p99':>10}"]
    for phase in result["phases"]:
        for vm in phase["vms"]:
            latency = vm["latency_ms"] or {"p50": None, "p99": None}
            reserved = f"{vm['reservation_bps'] / 1e6:.0f} Mbit" if vm["reservation_bps"] else "-"
            part = arrived_part(vm["offered_bps"], vm["delivered_bps"])
            lines.append(f"{phase['phase']:11}{vm['name']:12}"
                         f"{mbit(vm['offered_bps']):>7} Mbit{mbit(vm['delivered_bps']):>7} Mbit"
                         f"{100 * part:>7.0f} %{reserved:>13}{100 * vm['held_back']:>9.0f} %"
                         f"{milliseconds(latency['p50']):>13}{milliseconds(latency['p99']):>10}")
    lines += [f"wire {mbit(result['wire_bps'])} Mbit, guests on {result['accelerator']}, rates in wire bytes, "
              f"{result['seconds']} s each; `alone`: the neighbor sends nothing", "", closing(result)]
    return "\n".join(lines)
