"""demo_view.py - how the demo looks: a table redrawn in place on a terminal, plain lines elsewhere."""


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
        self.held = {}

    def note(self, text):
        self.drawn = 0
        print(text, file=self.stream, flush=True)

    def share_held(self, name, held_ns):
        """The share of the last second in which the switch held the guest's ring back, from the running total."""
        before, self.held[name] = self.held.get(name, 0), held_ns
        return min(max(held_ns - before, 0) / 1e9, 1.0)

    def second(self, isolation, second, rates, latency, held):
        """One more second of a phase: a Rate per VM, the victim's last latency (ms), held-back totals (ns)."""
        state = "on" if isolation else "off"
        lines = [f"isolation {state}, second {second:2}"]
        cells = []
        for name, rate in rates.items():
            arrived = f"{100 * rate.delivered / max(rate.offered, 1):.0f} %"
            share = f"{100 * self.share_held(name, held[name]):.0f} %"
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


def result_table(result):
    """The closing table as text."""
    lines = ["", f"{'isolation':11}{'vm':12}{'offered':>12}{'delivered':>12}{'arrived':>9}{'reservation':>13}"
                 f"{'latency p50':>13}{'p99':>10}"]
    for phase in result["phases"]:
        for vm in phase["vms"]:
            latency = vm["latency_ms"] or {"p50": None, "p99": None}
            reserved = f"{vm['reservation_bps'] / 1e6:.0f} Mbit" if vm["reservation_bps"] else "-"
            lines.append(f"{'on' if phase['isolation'] else 'off':11}{vm['name']:12}"
                         f"{mbit(vm['offered_bps']):>7} Mbit{mbit(vm['delivered_bps']):>7} Mbit"
                         f"{100 * vm['delivered_bps'] / max(vm['offered_bps'], 1):>7.0f} %{reserved:>13}"
                         f"{milliseconds(latency['p50']):>13}{milliseconds(latency['p99']):>10}")
    lines.append(f"wire {mbit(result['wire_bps'])} Mbit, guests on {result['accelerator']}, rates in wire bytes, "
                 f"{result['seconds']} s each")
    return "\n".join(lines)
