"""frames.py - Ethernet frames as bytes, and pcap files, which a vNIC on DPDK's net_pcap device sends from and receives to."""

import struct

BROADCAST = "ff:ff:ff:ff:ff:ff"
IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
UDP, FEEDBACK = 17, 143
PCAP_HEAD = struct.Struct("<IHHiIII")
PCAP_RECORD = struct.Struct("<IIII")
PCAP_MAGIC = 0xA1B2C3D4
ETHERNET = 1
SNAP_LENGTH = 65535


def mac(number):
    """The address of VM `number`."""
    return f"52:54:00:00:00:{number:02x}"


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def frame(source, destination, size=60, kind=IPV4, vlan=None, payload=b""):
    """An untagged or tagged frame of `size` bytes without FCS, filled up with zeros; never shorter than its head."""
    tag = struct.pack("!HH", VLAN, vlan) if vlan is not None else b""
    head = mac_bytes(destination) + mac_bytes(source) + tag + struct.pack("!H", kind)
    return (head + payload).ljust(size, b"\0")


def numbered(source, destination, count, size=60):
    """`count` frames that carry their number, so that a receiver can check which of them arrived, in which order."""
    return [frame(source, destination, size, payload=struct.pack("!I", number)) for number in range(count)]


def checksum(data):
    """The Internet's, of an even number of bytes (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def ipv4(source, destination, protocol, size=1514):
    """An IPv4 frame of `size` bytes; its addresses are 10.0.0.x by the last byte of the MACs. Protocol 17 has UDP's ports."""
    head = struct.pack("!BBHHHBBH4B4B", 0x45, 0, size - 14, 0, 0, 64, protocol, 0,
                       10, 0, 0, mac_bytes(source)[-1], 10, 0, 0, mac_bytes(destination)[-1])
    udp = struct.pack("!4H", 9, 9, size - 34, 0) if protocol == UDP else b""
    return frame(source, destination, size, payload=head[:10] + checksum(head) + head[12:] + udp)


def ipv6(source, destination, protocol, size=1514):
    """The same for IPv6: fd00::x, and UDP has the checksum that it must have there."""
    length = size - 54
    ends = b"".join(b"\xfd" + bytes(14) + mac_bytes(address)[-1:] for address in (source, destination))
    udp = struct.pack("!3H", 9, 9, length) if protocol == UDP else b""
    if udp:
        udp += checksum(ends + struct.pack("!II", length, protocol) + udp)
    return frame(source, destination, size, IPV6, payload=struct.pack("!IHBB", 6 << 28, length, protocol, 64) + ends + udp)


def write_pcap(path, frames):
    with open(path, "wb") as stream:
        stream.write(PCAP_HEAD.pack(PCAP_MAGIC, 2, 4, 0, 0, SNAP_LENGTH, ETHERNET))
        for data in frames:
            stream.write(PCAP_RECORD.pack(0, 0, len(data), len(data)) + data)
    return path


def read_pcap(path):
    """The frames of a file written by DPDK or by us, seconds and microseconds left out."""
    with open(path, "rb") as stream:
        data = stream.read()
    frames, at = [], PCAP_HEAD.size
    while at < len(data):
        _, _, length, _ = PCAP_RECORD.unpack_from(data, at)
        at += PCAP_RECORD.size
        frames.append(data[at:at + length])
        at += length
    return frames
