// liar.h - a host whose switch was taken over: messages that its program would never send.
// Threads: tests only.
//
// The lies come over the host's own connection, which has shown its own key: malformed headers and bodies,
// flows and periods of other hosts' vNICs, impossible amounts, other hosts' names and vNICs, messages of
// other hosts over again, and sequence numbers that make the host's own messages stale.
#pragma once

#include <optional>
#include <vector>

#include "test/ctrl/faults/lines.h"
#include "test/ctrl/faults/plan.h"

namespace weir::faults {

class Liar {
  public:
    /// @param plan outlives this
    explicit Liar(const Plan& plan) : plan_(plan) {}

    /// Takes in a message that some switch sends, to send it over again. @param host that sends it
    void overhear(std::uint32_t host, const LineMessage& message, Random32& random);
    /// A lie of the host. @param unix_now nanoseconds
    [[nodiscard]] LineMessage lie(std::uint32_t host, std::uint64_t unix_now, Random32& random);

  private:
    [[nodiscard]] wire::Header own_header(std::uint32_t host, wire::Type type, Random32& random) const;
    [[nodiscard]] LineMessage malformed(Random32& random) const;
    [[nodiscard]] LineMessage hello(std::uint32_t host, Random32& random) const;
    [[nodiscard]] LineMessage demands(std::uint32_t host, Random32& random) const;
    [[nodiscard]] LineMessage usage(std::uint32_t host, std::uint64_t unix_now, Random32& random) const;

    static constexpr std::size_t kOverheardMost = 32;

    const Plan& plan_;
    std::vector<LineMessage> overheard_;
    std::vector<std::optional<wire::Header>> last_;  // by host: of its own last message
};

}  // namespace weir::faults
