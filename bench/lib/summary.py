"""summary.py - the README's one table: Weir beside OVS-DPDK and the bare rte_vhost loop, from the JSON of three benches.

Every row is of near cores, those that share a cache, of one commit and of one family of processors.
"""
from bench.lib.cores import NEAR
from bench.lib.figures import median_of, ratio_to_raw, select
from bench.lib.report import Table, number, number_or_doubt
from bench.system import forwarding, isolation, latency

BENCHES = ("forwarding", "latency", "isolation")
TITLE = f"Medians; two VMs on one worker, {NEAR} cores. `x` is the ratio to the bare loop, measured just before and just after"


def beside_raw(value, ratio, digits):
    return number(value, digits) + (f" ({number_or_doubt(ratio)} x)" if value is not None and ratio[0] is not None else "")


def cycles_rows(samples):
    for size in forwarding.SIZES:
        at = {"case": "size", "size": size}
        yield [f"busy cycles per packet, {size} B",
               *(beside_raw(median_of(samples, "cycles_per_packet", system=system, **at),
                            ratio_to_raw(samples, system=system, **at), 0) for system in ("weir", "ovs-normal")),
               number(median_of(samples, "cycles_per_packet", system="raw", **at), 0)]


def round_trip_row(samples):
    at = {"load": latency.FIRST}
    return ["round trip of a 64-byte frame, p50, us",
            *(beside_raw(median_of(samples, "p50", system=system, **at), latency.ratio(samples, system, latency.FIRST), 2)
              for system in ("weir", "ovs-normal")), number(median_of(samples, "p50", system="raw", **at))]


def victim_rows(samples):
    for flood in list(isolation.FLOODS)[1:]:
        cells = [[median_of(samples, key, system=system, flood=flood) for key in ("delivered_percent", "p50_us")]
                 for system in ("weir", "ovs-policer")]
        yield [f"a victim beside a {flood}: frames that arrive; one way p50",
               *("-" if part is None else f"{part:.1f} %; {number(delay, 1)} us" for part, delay in cells), "-"]


def table(measured):
    """The table of {bench: content of its JSON}; None where a bench or its near cores are missing, or where the benches are not of one commit
    and one family of processors."""
    samples = {name: select(each["samples"], cores=NEAR) for name, each in measured.items()}
    origins = {(each["machine"]["commit"], each["machine"].get("family")) for each in measured.values()}
    if set(measured) != set(BENCHES) or not all(samples.values()) or len(origins) > 1:
        return None
    (_, family), = origins
    return Table(f"{TITLE}; {family}" if family else TITLE, ["", "Weir", "OVS-DPDK", "bare rte_vhost loop"],
                 [*cycles_rows(samples["forwarding"]), round_trip_row(samples["latency"]), *victim_rows(samples["isolation"])])
