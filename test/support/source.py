#!/usr/bin/env python3
"""source.py - a VM that sends UDP at a rate: `source.py ipv4|ipv6 INTERFACE BITS_PER_SECOND BYTES MAC PEER...`.

It sends frames of BYTES to each peer in turn. The rate is that of all peers together and counts 24 bytes more than each frame
has, as on the wire. Frames that a slow machine makes more than 20 ms late are not sent any more. Pauses are random, so that two
sources do not find the same queue full in every turn, or never.
"""

import random
import socket
import sys
import time

import frames

WIRE_BYTES = 24
PAUSE_SECONDS = 0.0005
LATE_SECONDS = 0.02


def main(kind, interface, rate, size, address, *peers):
    line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    line.bind((interface, 0))
    turn = [getattr(frames, kind)(address, peer, frames.UDP, int(size)) for peer in peers]
    seconds = len(turn) * 8 * (int(size) + WIRE_BYTES) / float(rate)
    due = time.monotonic()
    while True:
        now = time.monotonic()
        due = max(due, now - LATE_SECONDS)
        while due <= now:
            for data in turn:
                line.send(data)
            due += seconds
        time.sleep(random.uniform(0, 2 * PAUSE_SECONDS))


main(*sys.argv[1:])
