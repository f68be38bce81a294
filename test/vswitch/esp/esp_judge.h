// esp_judge.h - opens ESP packets by OpenSSL alone: shares nothing with the switch.
// Source: RFC 4303; RFC 4106; RFC 3602; RFC 4868. Units: bytes. Threads: tests only.
#pragma once

#include <optional>

#include "test/support/frames.h"
#include "vswitch/esp/esp_sa.h"

namespace weir::testing {

struct OpenedEsp {
    std::uint32_t spi;
    std::uint32_t sequence;
    std::uint8_t next_header;
    FrameBytes packet;
};

/// @param esp from the SPI to the ICV. @return nothing when the ICV or the padding is wrong
[[nodiscard]] std::optional<OpenedEsp> open_esp(EspAlgorithm algorithm, const EspKeys& keys,
                                                const FrameBytes& esp);

}  // namespace weir::testing
