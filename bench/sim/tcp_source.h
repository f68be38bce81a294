// tcp_source.h - load over TCP: transfers, requests with responses, flows that arrive by themselves.
// Source: EyeQ 5, 5.3.
// Units: payload bytes; ns.
// Threads: one.
#pragma once

#include <deque>
#include <vector>

#include "bench/sim/random.h"
#include "bench/sim/samples.h"
#include "bench/sim/source.h"
#include "bench/sim/tcp_connection.h"

namespace weir::sim {

/// Connections between all pairs, and their counters.
class TcpSource : public Source, public TcpApplication, public Handler {
  protected:
    TcpSource(const Site& site, const SourceSpec& spec) : site_(site), spec_(spec) {}
    ~TcpSource() override = default;

    TcpConnection& connect(std::uint32_t from, std::uint32_t to);
    /// Calls make(from, to) for every pair of hosts.
    template <class Make>
    void for_pairs(Make&& make) {
        for (const std::uint32_t from : spec_.from)
            for (const std::uint32_t to : spec_.to)
                if (from != to)
                    make(from, to);
    }
    /// Connections, retransmits, timeouts and delivered bytes of both directions.
    [[nodiscard]] nlohmann::json totals() const;
    [[nodiscard]] Nanos now() const { return site_.world.now(); }

    const Site& site_;
    const SourceSpec& spec_;
    std::deque<TcpConnection> connections_;  // by tag
};

/// Transfers of `bytes`, or without end, one on each connection.
class BulkSource final : public TcpSource {
  public:
    BulkSource(const Site& site, const SourceSpec& spec);
    void fire(std::uint32_t) override;
    void message_arrived(TcpConnection& connection, unsigned side) override;
    [[nodiscard]] nlohmann::json summary() override;

  private:
    Samples completion_;
};

/// Requests that are answered after a service time; their latency from when they were wanted.
class RequestSource final : public TcpSource {
  public:
    RequestSource(const Site& site, const SourceSpec& spec, std::uint64_t index);
    void fire(std::uint32_t what) override;
    void message_arrived(TcpConnection& connection, unsigned side) override;
    [[nodiscard]] nlohmann::json summary() override;

  private:
    /// `what` of an event: a connection's answer is ready; else the pair, or at the start of closed loops the
    /// connection, that wants to ask.
    static constexpr std::uint32_t kAnswer = 1U << 31;

    void ask(std::uint32_t tag);
    void next_arrival(std::uint32_t pair);

    Random random_;
    std::vector<std::deque<Nanos>> asked_;  // by connection: when each open request was wanted
    std::vector<Nanos> answer_at_;          // by connection: when the last answer was or will be given
    std::uint64_t requests_ = 0;
    std::uint64_t answered_ = 0;
    Samples latency_;
};

/// Each host starts flows to random others, at times of a Poisson process, on connections that stay open.
class PoissonSource final : public TcpSource {
  public:
    PoissonSource(const Site& site, const SourceSpec& spec, std::uint64_t index);
    void fire(std::uint32_t what) override;
    void message_arrived(TcpConnection& connection, unsigned side) override;
    [[nodiscard]] nlohmann::json summary() override;

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr std::uint64_t kSmall = 100'000;      // bytes: flows up to it are mice
    static constexpr std::uint64_t kMedium = 10'000'000;  // beyond it, elephants
    struct Flow {
        Nanos start;
        std::uint64_t bytes;
    };

    [[nodiscard]] std::uint64_t draw_size();
    void next_arrival(std::uint32_t sender);

    Random random_;
    double mean_gap_;                      // ns between a host's flows
    std::vector<std::uint32_t> tags_;      // connection of sender and destination, or kNone
    std::vector<std::deque<Flow>> flows_;  // by connection
    std::uint64_t started_ = 0;
    std::uint64_t offered_bytes_ = 0;
    Samples small_;
    Samples medium_;
    Samples large_;
};

/// The mean of a size table.
[[nodiscard]] double mean_size(const SizeTable& sizes);
/// The table's inverse, linear between its points and from 0. @param part 0 <= part < 1
[[nodiscard]] double size_at(const SizeTable& sizes, double part);

}  // namespace weir::sim
