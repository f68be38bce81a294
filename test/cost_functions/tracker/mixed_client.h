// mixed_client.h - random sessions of the request protocols: requests of a client and replies of its server.
// Threads: tests only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "test/support/random.h"

namespace weir::testing {

/// One request and its reply, which is empty for quiet requests.
struct Exchange {
    std::string request;
    std::string response;
    std::uint32_t requests = 1;
};

/// Every request has a key or an offset of its own. Values hold no line ends.
class MixedClient {
  public:
    /// @param kind memcached, memcached-meta, memcached-binary, redis, nbd or nbd-structured
    MixedClient(std::string_view kind, std::uint32_t seed);

    [[nodiscard]] Exchange next();
    /// The name of its protocol.
    [[nodiscard]] std::string_view protocol() const;

    static const std::vector<std::string_view>& kinds();

  private:
    Exchange memcached();
    Exchange meta();
    Exchange binary();
    Exchange redis();
    Exchange nbd(bool structured);
    std::string key();
    std::string value();
    std::uint32_t below(std::uint32_t bound) { return random_() % bound; }

    std::string_view kind_;
    Random32 random_;
    std::uint32_t number_ = 0;
};

}  // namespace weir::testing
