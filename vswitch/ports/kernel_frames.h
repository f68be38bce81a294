// kernel_frames.h - frames that a kernel's interface gave, whose checksums their sender left to a device.
// Source: Linux checksum-offloads; RFC 768; RFC 8200; RFC 9293. Units: bytes.
// Threads: any (pure).
//
// A veth hands a packet on as its sender made it: with the sum of the pseudo header in place of the checksum,
// because the sender's kernel takes the veth for a device that fills it in. An AF_PACKET ring gives such a
// frame without the mark that it has in the kernel (DPDK's driver does not read it). So it is recognized by
// the field itself: it holds exactly that sum, and the packet is wrong with it. Any other wrong checksum is
// left as it is.
//
// Cost: the sum of 12 or 40 bytes per packet; that of all bytes only for a packet whose field holds the
// former.
#pragma once

#include <cstdint>

struct rte_mbuf;

namespace weir {

/// Finishes the TCP or UDP checksums, over IPv4 and IPv6, of the frames that have an unfinished one, behind
/// any VLAN tags and IPv6 extension headers in their first buffer. Fragments are left as they are.
/// @param frames `count` frames as an interface gave them, which have no other reader
void finish_kernel_checksums(rte_mbuf* const* frames, std::uint16_t count);

}  // namespace weir
