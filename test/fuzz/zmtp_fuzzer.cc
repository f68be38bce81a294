// zmtp_fuzzer.cc - a client's bytes in cuts that the input chooses: no message and no answer beyond its
// bounds. Source: ZeroMQ RFC 23.
#include <algorithm>

#include "common/zmtp/zmtp_reader.h"
#include "test/fuzz/checks.h"

using namespace weir;
using weir::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr zmtp::MessageBounds kBounds{.bytes = 4'096, .parts = 3};
    if (size == 0)
        return 0;
    const std::size_t piece = 1 + data[0];
    std::span<const std::uint8_t> left(data + 1, size - 1);
    zmtp::Reader reader(kBounds);
    while (!left.empty() && reader.fault().empty()) {
        const std::size_t given = std::min(piece, left.size());
        const std::size_t used = reader.read(left.first(given));
        require(used == given || reader.has_message() || !reader.fault().empty(),
                "bytes are used up to a message or a fault");
        left = left.subspan(used);
        require(reader.held() <= kBounds.bytes, "a message is held within its bound");
        require(reader.take_answers().size() <= 64 + 25 * piece, "answers are no larger than pings");
        if (reader.has_message()) {
            std::size_t bytes = 0;
            const zmtp::Parts parts = reader.take_message();
            for (const std::string& part : parts)
                bytes += part.size();
            require(!parts.empty() && parts.size() <= kBounds.parts && bytes <= kBounds.bytes,
                    "a message keeps to its bounds");
        }
    }
    return 0;
}
