// tunnel_fuzzer.cc - any bytes as frames from the wire to a switch with a tunnel: as they are, behind the
// right outer header, encrypted by the other end, and encrypted and then changed. The sums hold, no buffer is
// lost.
//
// A frame is 4 bytes of head and its content: length (2), shape (1), bytes per buffer (1).
#include <rte_mbuf.h>

#include <algorithm>

#include "test/fuzz/checks.h"
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"
#include "vswitch/esp/key_agreement.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;

constexpr std::size_t kHeadBytes = 4;
constexpr std::size_t kFramesMax = 64;
constexpr std::size_t kFrameMax = 1600;
enum Shape { kRaw, kBehindHeader, kBehindSpi, kMessage, kEncrypted, kChanged, kShapes };

struct Target {
    Target()
        : right(false),
          header(tunnel_end(true).header),
          sa(tunnel_device(), tunnel_keys(kSpiLeft, 0), EspSa::Parameters{.header = header}) {
        right.agree();
    }
    TunnelHost right;
    FrameBytes header;
    EspSa sa;
};

/// The content behind the other end's outer header and an SPI.
FrameBytes behind(const FrameBytes& header, FrameBytes more, std::uint32_t spi) {
    FrameBytes frame = header;
    write16(frame, 16, static_cast<std::uint16_t>(frame.size() - 14 + more.size()));
    if (spi != 0 && more.size() >= 4)
        write32(more, 0, spi);
    frame.insert(frame.end(), more.begin(), more.end());
    return frame;
}

FrameBytes encrypted(Target& target, const FrameBytes& content) {
    rte_mbuf* frame = to_mbuf(buffer_pool(), content);
    EspOutcomes outcomes;
    tunnel_engine().encrypt(target.sa, {&frame, 1}, outcomes);
    const FrameBytes bytes = outcomes[0] == EspOutcome::kDone ? bytes_of(frame) : content;
    rte_pktmbuf_free(frame);
    return bytes;
}

FrameBytes shaped(Target& target, unsigned shape, const FrameBytes& content) {
    const std::uint32_t session = kSpiLeft | kTag << kSpiTagShift;
    switch (shape % kShapes) {
        case kBehindHeader:
            return behind(target.header, content, 0);
        case kBehindSpi:
            return behind(target.header, content, session);
        case kMessage:
            return behind(target.header, content, kSpiLeft | kSpiMessage);
        case kEncrypted:
            return encrypted(target, content);
        case kChanged: {
            FrameBytes frame = encrypted(target, content);
            for (std::size_t at = 0; at + 1 < content.size() && at < 16; at += 2)
                frame[content[at] * frame.size() / 256] ^= content[at + 1];
            return frame;
        }
        default:
            return content;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    buffer_pool();
    static Target target;
    TunnelHost& right = target.right;
    for (std::size_t frames = 0; frames < kFramesMax && size > kHeadBytes; ++frames) {
        const std::size_t bytes = std::clamp<std::size_t>(data[0] + data[1] * std::size_t{256}, 1,
                                                          std::min(size - kHeadBytes, kFrameMax));
        const FrameBytes content(data + kHeadBytes, data + kHeadBytes + bytes);
        right.nic.arrive(to_mbuf(buffer_pool(), shaped(target, data[2], content), data[3]));
        data += kHeadBytes + bytes;
        size -= kHeadBytes + bytes;
    }
    right.host.settle();
    for (KeyMessage message{}; right.host.worker().key_messages().pop(message);)
        rte_pktmbuf_free(message.frame);
    right.nic.drain();
    for (VnicId id = 0; id < right.host.ids(); ++id) {
        right.host.port(id).drain();
        require(balanced(right.host.stats(id).to_vm), "every frame offered to a VM is accounted for");
    }
    require(balanced(right.tunnel().in), "every frame for the tunnel is accounted for");
    require(balanced(right.from_wire()), "every frame from the wire is accounted for");
    require(buffers_in_use() == 0, "no buffer is lost");
    return 0;
}
