"""weir_stl.py - TRex stateless profile: one stream a port at a set frame size and number of 5-tuples, and a thin latency stream.

    start -f weir_stl.py -m 100% -t size=64,flows=10000
"""
import argparse

from trex_stl_lib.api import (IP, UDP, Ether, STLFlowLatencyStats, STLPktBuilder, STLScVmRaw, STLStream, STLTXCont,
                              STLVmFlowVar, STLVmWrFlowVar)

LATENCY_PPS = 1000
FIRST_PORT = 1024


def packet(size, flows):
    """size: frame bytes with FCS; the tester adds the FCS itself."""
    headers = Ether() / IP(src="198.18.0.1", dst="198.18.1.1") / UDP(sport=FIRST_PORT, dport=9, chksum=0)
    padded = headers / (b"\x00" * max(0, size - 4 - len(headers)))
    if flows == 1:
        return STLPktBuilder(pkt=padded)
    ports = STLVmFlowVar("port", min_value=FIRST_PORT, max_value=FIRST_PORT + flows - 1, size=2, op="inc")
    return STLPktBuilder(pkt=padded, vm=STLScVmRaw([ports, STLVmWrFlowVar("port", pkt_offset="UDP.sport")]))


class Weir:
    def get_streams(self, direction=0, port_id=0, tunables=(), **_):
        parser = argparse.ArgumentParser()
        parser.add_argument("--size", type=int, default=64)
        parser.add_argument("--flows", type=int, default=1)
        wanted = parser.parse_args(list(tunables))
        load = STLStream(packet=packet(wanted.size, wanted.flows), mode=STLTXCont(percentage=99))
        late = STLStream(packet=packet(max(wanted.size, 68), 1), mode=STLTXCont(pps=LATENCY_PPS),
                         flow_stats=STLFlowLatencyStats(pg_id=port_id + 1))
        return [load, late]


def register():
    return Weir()
