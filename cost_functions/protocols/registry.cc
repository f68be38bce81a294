// registry.cc - the only list of protocols.
#include <algorithm>
#include <array>

#include "cost_functions/protocols/bytes.h"

namespace weir {
namespace {

constexpr std::array<const Protocol*, 1> kProtocols{
    &kBytesProtocol,
};

}  // namespace

std::span<const Protocol* const> protocols() {
    return kProtocols;
}

const Protocol* find_protocol(std::string_view name) {
    const auto found = std::ranges::find(kProtocols, name, &Protocol::name);
    return found == kProtocols.end() ? nullptr : *found;
}

}  // namespace weir
