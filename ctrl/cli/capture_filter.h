// capture_filter.h - a filter expression, compiled by libpcap.
// Source: libpcap. Threads: any.
//
// It is compiled here and not in the switch, because names in an expression ("host example.com") are looked
// up on the network. The switch checks the instructions again.
#pragma once

#include <string>
#include <vector>

#include "vswitch/base/capture.h"

namespace weir::cli {

/// @param snap bytes that are kept of each frame  @throws Failure (kExitBadInput) with libpcap's message
[[nodiscard]] std::vector<FilterInstruction> compile_filter(const std::string& expression,
                                                            std::uint32_t snap);

}  // namespace weir::cli
