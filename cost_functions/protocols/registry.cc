// registry.cc - the only list of protocols.
#include <algorithm>
#include <array>

#include "cost_functions/protocols/bytes.h"
#include "cost_functions/protocols/iscsi.h"
#include "cost_functions/protocols/memcached.h"
#include "cost_functions/protocols/nbd.h"
#include "cost_functions/protocols/nvme_tcp.h"
#include "cost_functions/protocols/redis.h"

namespace weir {
namespace {

constexpr std::array kProtocols{
    &kBytesProtocol, &kIscsiProtocol, &kMemcachedProtocol, &kNbdProtocol, &kNvmeTcpProtocol, &kRedisProtocol,
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
