// one_frame.h - a frame alone, as a run. Units: bytes as accounted. Threads: any (values).
#pragma once

#include <rte_mbuf.h>

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/offload.h"

namespace weir {

/// The run points into it.
struct OneFrame {
    OneFrame(rte_mbuf* what, std::uint32_t accounted_bytes)
        : frame(what), bytes(accounted_bytes), wire_frames(offload::wire_frames(what)) {}
    [[nodiscard]] Run run() {
        const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
        return {&frame,
                &bytes,
                &wire_frames,
                1,
                bytes,
                wire_frames,
                super_frame ? 0 : frame->pkt_len,
                frame->ol_flags & kOffloadFlags};
    }
    rte_mbuf* frame;
    std::uint32_t bytes;
    std::uint16_t wire_frames;
};

}  // namespace weir
