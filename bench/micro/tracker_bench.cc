// tracker_bench.cc - ns per segment of the request trackers, look-up of the connection included.
// Units: ns of the thread's own time, so that other programs on the core do not count. Threads: one.
//
//   body               1448 bytes within a body
//   get                a memcached get in a segment of its own, and a hit in another
//   binary             the same in memcached's binary protocol
//   redis              the same for Redis
//   nbd, iscsi, nvme   a read of 4 KiB in segments of 1448 bytes
//   mix                ten exchanges as caches see them: gets of 30 bytes to 8 KiB, a set, separate
//   acknowledgements split              a memcached get in two segments set                values of 16 KiB
//   in segments of 1448 bytes, and their responses pipelined          32 gets in one segment, 32 hits in
//   another: ns per get and its hit
//
// N connections take turns in random order, in bursts of 32 as in the poll loop: hash, prefetch, probe,
// track. 1,024 exchanges are outstanding, so that a connection's state has left the nearest caches when its
// next segment comes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "cost_functions/tracker/connection_table.h"
#include "cost_functions/tracker/tracker.h"

namespace weir::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::size_t kInFlight = 1024;
constexpr std::uint32_t kFirst = 1000;

struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t responses = 0;
    std::uint64_t others = 0;
    void request(const Request& request) { requests += request.keys; }
    void response(const Response& response, const Answer& answer) {
        responses += answer.matched;
        others += response.bytes + answer.latency;
    }
    void plain(Side, std::uint32_t bytes) { others += bytes; }
    void repeated(std::uint32_t bytes) { others += bytes; }
};

/// A segment of every exchange.
struct Piece {
    Side side;
    std::string bytes;
};
using Exchange = std::vector<Piece>;

/// A connection's turn.
struct Turn {
    std::uint32_t number;
    std::array<std::uint32_t, 2> seq{kFirst, kFirst};
};

class Rig {
  public:
    Rig(std::string_view protocol, std::size_t connections)
        : table_({.connections = static_cast<std::uint32_t>(std::bit_ceil(connections)),
                  .own = static_cast<std::uint32_t>(std::bit_ceil(connections))}),
          tracker_(kProtocols, {.pendings = {.own = 1 << 19}, .buffers = {.own = 1 << 14}}),
          turns_(connections) {
        const std::uint8_t index = protocol_index(protocol).value();
        for (std::uint32_t number = 0; number < connections; ++number) {
            turns_[number] = {.number = number};
            TrackedConnection& connection = *table_.add(id(number), 0, index, 0);
            for (const Side side : {Side::kRequests, Side::kResponses})
                tracker_.segment(connection, side, {.seq = kFirst - 1, .flags = Segment::kSyn, .payload = {}},
                                 0, counts_);
        }
        std::shuffle(turns_.begin(), turns_.end(), std::minstd_rand(1));
    }

    /// Bursts of the next turns: each piece as late as it would be with kInFlight exchanges at once; with few
    /// connections, piece after piece. @return segments
    std::size_t run(const Exchange& exchange) {
        if (turns_.size() < 4 * kInFlight) {
            for (Item& item : burst_) {
                item = {&turns_[turn_], &exchange[piece_]};
                if (++piece_ == exchange.size()) {
                    piece_ = 0;
                    turn_ = after(turn_);
                }
            }
            pass(true);
            return kBurst;
        }
        const std::size_t lag = kInFlight / exchange.size();
        for (std::size_t i = 0; i < exchange.size(); ++i)
            if (next_ >= i * lag)
                pass_piece(next_ - i * lag, exchange[i], true);
        next_ += kBurst;
        return kBurst * exchange.size();
    }
    /// Bytes of a body, again and again.
    std::size_t run_body(const Piece& piece) {
        pass_piece(next_, piece, false);
        next_ += kBurst;
        return kBurst;
    }
    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] double memory_mib() const {
        return static_cast<double>(table_.memory_bytes() + tracker_.memory_bytes()) / (1 << 20);
    }

  private:
    [[nodiscard]] ConnectionId id(std::uint32_t number) const {
        return hash_(0, 0x0a00'0000U + (number >> 12), 0x0a63'0001U,
                     {static_cast<std::uint16_t>(number << 2), 11211});
    }

    /// A segment and whose it is.
    struct Item {
        Turn* turn;
        const Piece* piece;
    };

    [[nodiscard]] std::size_t after(std::size_t turn) const {
        return turn + 1 == turns_.size() ? 0 : turn + 1;
    }

    void pass_piece(std::size_t first, const Piece& piece, bool advance) {
        std::size_t turn = first % turns_.size();
        for (Item& item : burst_) {
            item = {&turns_[turn], &piece};
            turn = after(turn);
        }
        pass(advance);
    }

    void pass(bool advance) {
        std::array<ConnectionId, kBurst> ids;
        std::array<ConnectionTable::Slot, kBurst> slots;
        for (std::size_t i = 0; i < kBurst; ++i) {
            ids[i] = id(burst_[i].turn->number);
            table_.prefetch(ids[i]);
        }
        for (std::size_t i = 0; i < kBurst; ++i)
            slots[i] = table_.probe(ids[i]);
        now_ += 1000;
        for (std::size_t i = 0; i < kBurst; ++i) {
            const Piece& piece = *burst_[i].piece;
            const Bytes bytes(reinterpret_cast<const std::uint8_t*>(piece.bytes.data()), piece.bytes.size());
            std::uint32_t& seq = burst_[i].turn->seq[static_cast<std::size_t>(piece.side)];
            tracker_.segment(*table_.at(ids[i], slots[i], now_), piece.side, {.seq = seq, .payload = bytes},
                             now_, counts_);
            if (advance)
                seq += static_cast<std::uint32_t>(bytes.size());
        }
    }

    ConnectionHash hash_{{0x243f'6a88'85a3'08d3, 0x1319'8a2e'0370'7344, 0xa409'3822'299f'31d0,
                          0x082e'fa98'ec4e'6c89, 0x4528'21e6'38d0'1377, 0xbe54'66cf'34e9'0c6c,
                          0xc0ac'29b7'c97c'50dd, 0x3f84'd5b5'b547'0917, 0x9216'd5d9'8979'fb1b,
                          0xd131'0ba6'98df'b5ac, 0x2ffd'72db'd01a'dfb7, 0xb8e1'afed'6a26'7e96}};
    ConnectionTable table_;
    Tracker tracker_;
    std::vector<Turn> turns_;
    std::array<Item, kBurst> burst_{};
    std::size_t next_ = 0;
    std::size_t turn_ = 0;
    std::size_t piece_ = 0;
    Nanos now_ = 0;
    Counts counts_;
};

/// Connections. A fixed number of bursts, because a million connections take longer to make than to measure.
void sizes(benchmark::internal::Benchmark* bench) {
    constexpr int kBursts = 8000;
    bench->Arg(1)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Iterations(kBursts);
}

/// Nanoseconds of this thread for each of so many.
benchmark::Counter each(double count) {
    return {count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

template <class Step>
void measure(benchmark::State& state, Rig& rig, Step&& step) {
    const auto connections = static_cast<std::size_t>(state.range(0));
    for (std::size_t done = 0; done < connections + 4 * kInFlight; done += kBurst)
        step();
    std::uint64_t segments = 0;
    const Counts before = rig.counts();
    for (auto _ : state)
        segments += step();
    state.counters["memory_mib"] = rig.memory_mib();
    const std::uint64_t requests = rig.counts().requests - before.requests;
    if (requests > segments)
        state.counters["ns_per_request_and_response"] = each(static_cast<double>(requests));
    else
        state.counters["ns_per_segment"] = each(static_cast<double>(segments));
    if (rig.counts().responses - before.responses + 64 * kInFlight < requests)
        state.SkipWithError("responses did not find their requests");
}

void exchange(benchmark::State& state, std::string_view protocol, const Exchange& pieces) {
    Rig rig(protocol, static_cast<std::size_t>(state.range(0)));
    measure(state, rig, [&] { return rig.run(pieces); });
}

std::string times(unsigned count, const std::string& text) {
    std::string all;
    while (count-- > 0)
        all += text;
    return all;
}

const std::string kGet = "get key:00012345\r\n";
const std::string kHit = "VALUE key:00012345 0 100\r\n" + std::string(100, 'v') + "\r\nEND\r\n";

/// Adds a message of one side, cut into segments.
Exchange& add_message(Exchange& exchange, Side side, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 1448)
        exchange.push_back({side, bytes.substr(at, 1448)});
    return exchange;
}

Exchange exchange_of(const std::string& request, const std::string& response) {
    Exchange exchange;
    add_message(exchange, Side::kRequests, request);
    return add_message(exchange, Side::kResponses, response);
}

std::string big(std::uint64_t value, unsigned bytes) {
    std::string text;
    while (bytes-- > 0)
        text += static_cast<char>(value >> 8 * bytes);
    return text;
}
std::string little(std::uint64_t value, unsigned bytes) {
    std::string text = big(value, bytes);
    std::ranges::reverse(text);
    return text;
}
std::string zeroes(std::size_t count) {
    return std::string(count, '\0');
}
const std::string kBlock(4096, 'd');

void body(benchmark::State& state) {
    Rig rig("memcached", static_cast<std::size_t>(state.range(0)));
    const Exchange begin{{Side::kRequests, "set key:00012345 0 0 1000000000\r\n"}};
    const Piece middle{Side::kRequests, std::string(1448, 'v')};
    for (std::int64_t done = 0; done < state.range(0); done += kBurst)
        rig.run(begin);
    measure(state, rig, [&] { return rig.run_body(middle); });
}
BENCHMARK(body)->Apply(sizes);

void get(benchmark::State& state) {
    exchange(state, "memcached", {{Side::kRequests, kGet}, {Side::kResponses, kHit}});
}
BENCHMARK(get)->Apply(sizes);

void redis(benchmark::State& state) {
    exchange(state, "redis",
             {{Side::kRequests, "*2\r\n$3\r\nGET\r\n$12\r\nkey:00012345\r\n"},
              {Side::kResponses, "$100\r\n" + std::string(100, 'v') + "\r\n"}});
}
BENCHMARK(redis)->Apply(sizes);

void binary(benchmark::State& state) {
    const auto message = [](unsigned magic, unsigned key, unsigned extras, std::size_t body) {
        return big(magic, 1) + zeroes(1) + big(key, 2) + big(extras, 1) + zeroes(3) + big(body, 4) +
               big(7, 4) + zeroes(8);
    };
    exchange(state, "memcached",
             exchange_of(message(0x80, 12, 0, 12) + "key:00012345",
                         message(0x81, 0, 4, 104) + zeroes(4) + std::string(100, 'v')));
}
BENCHMARK(binary)->Apply(sizes);

void nbd(benchmark::State& state) {
    exchange(
        state, "nbd",
        exchange_of(big(0x25609513, 4) + zeroes(4) + big(77, 8) + big(1 << 20, 8) + big(kBlock.size(), 4),
                    big(0x67446698, 4) + zeroes(4) + big(77, 8) + kBlock));
}
BENCHMARK(nbd)->Apply(sizes);

void iscsi(benchmark::State& state) {
    const std::string read = big(0x01c0, 2) + zeroes(14) + big(9, 4) + big(kBlock.size(), 4) + zeroes(8) +
                             big(0x2800, 2) + big(64, 4) + big(0, 1) + big(8, 2) + zeroes(7);
    const std::string data =
        big(0x2581, 2) + zeroes(3) + big(kBlock.size(), 3) + zeroes(8) + big(9, 4) + zeroes(28);
    exchange(state, "iscsi", exchange_of(read, data + kBlock));
}
BENCHMARK(iscsi)->Apply(sizes);

void nvme(benchmark::State& state) {
    const auto common = [](unsigned type, unsigned flags, unsigned header, unsigned offset,
                           std::size_t length) {
        return big(type, 1) + big(flags, 1) + big(header, 1) + big(offset, 1) + little(length, 4);
    };
    constexpr unsigned kCommand = 0x1234;
    const std::string read = common(4, 0, 72, 0, 72) + big(0x0240, 2) + little(kCommand, 2) + zeroes(20) +
                             zeroes(8) + little(kBlock.size(), 4) + zeroes(3) + big(0x5a, 1) + little(64, 8) +
                             little(7, 2) + zeroes(14);
    const std::string data = common(7, 4, 24, 24, 24 + kBlock.size()) + little(kCommand, 2) + zeroes(6) +
                             little(kBlock.size(), 4) + zeroes(4);
    const std::string done = common(5, 0, 24, 0, 24) + zeroes(12) + little(kCommand, 2) + zeroes(2);
    exchange(state, "nvme-tcp", exchange_of(read, data + kBlock + done));
}
BENCHMARK(nvme)->Apply(sizes);

void mix(benchmark::State& state) {
    Exchange all;
    for (const std::size_t bytes : {30, 100, 100, 300, 300, 500, 1000, 2000, 8192}) {
        add_message(all, Side::kRequests, kGet);
        add_message(all, Side::kResponses,
                    "VALUE key:00012345 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') +
                        "\r\nEND\r\n");
        all.push_back({Side::kRequests, ""});
    }
    add_message(all, Side::kRequests, "set key:00012345 0 0 300\r\n" + std::string(300, 'v') + "\r\n");
    add_message(all, Side::kResponses, "STORED\r\n");
    all.push_back({Side::kRequests, ""});
    exchange(state, "memcached", all);
}
BENCHMARK(mix)->Apply(sizes);

void split(benchmark::State& state) {
    exchange(
        state, "memcached",
        {{Side::kRequests, kGet.substr(0, 9)}, {Side::kRequests, kGet.substr(9)}, {Side::kResponses, kHit}});
}
BENCHMARK(split)->Apply(sizes);

void set(benchmark::State& state) {
    const std::string whole = "set key:00012345 0 0 16384\r\n" + std::string(16'384, 'v') + "\r\n";
    Exchange pieces;
    for (std::size_t at = 0; at < whole.size(); at += 1448)
        pieces.push_back({Side::kRequests, whole.substr(at, 1448)});
    pieces.push_back({Side::kResponses, "STORED\r\n"});
    exchange(state, "memcached", pieces);
}
BENCHMARK(set)->Apply(sizes);

void pipelined(benchmark::State& state) {
    exchange(state, "memcached", {{Side::kRequests, times(32, kGet)}, {Side::kResponses, times(32, kHit)}});
}
BENCHMARK(pipelined)->Apply(sizes);

}  // namespace
}  // namespace weir::bench
