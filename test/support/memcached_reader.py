#!/usr/bin/env python3
"""memcached_reader.py - gets one value from a memcached again and again, on each connection one get after the other.

    memcached_reader.py ADDRESS PORT CONNECTIONS SIZE
"""

import sys
import threading

from nbd_client import connected, receive


def main(address, port, connections, size):
    key = f"value-{size}"
    answer = len(f"VALUE {key} 0 {size}\r\n") + int(size) + len("\r\nEND\r\n")
    links = [connected(address, int(port)) for _ in range(int(connections))]
    links[0].sendall(f"set {key} 0 0 {size}\r\n".encode() + bytes(int(size)) + b"\r\n")
    receive(links[0], len("STORED\r\n"))

    def run(link):
        while True:
            link.sendall(f"get {key}\r\n".encode())
            receive(link, answer)

    threads = [threading.Thread(target=run, args=(link,), daemon=True) for link in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
