// million_requests_test.cc - a million mixed requests over many connections, with 1 % loss and reordering:
// the counts are exact.
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "cost_functions/tracker/connection_table.h"
#include "test/cost_functions/tracker/conversation.h"
#include "test/cost_functions/tracker/mixed_client.h"
#include "test/cost_functions/tracker/rough_path.h"
#include "test/support/catch.h"
#include "test/support/sanitized.h"

using namespace weir;
using weir::testing::MixedClient;
using weir::testing::Random32;

namespace {

constexpr unsigned kRequests = 1'000'000;
constexpr std::uint32_t kConnections = 60;
constexpr unsigned kRound = 50;  // exchanges of a connection at once
const ConnectionKey kKey{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

struct Counts {
    std::array<std::uint64_t, kOperations> requests{};
    std::uint64_t request_bytes = 0;
    std::uint64_t responses = 0;
    std::uint64_t strays = 0;
    std::uint64_t response_bytes = 0;
    std::uint64_t plain_bytes = 0;
    std::uint64_t repeated_bytes = 0;

    void request(const Request& request) {
        ++requests[static_cast<std::size_t>(request.operation)];
        request_bytes += request.request_bytes;
    }
    void response(const Response& response, const Answer& answer) {
        responses += answer.matched;
        strays += !answer.matched;
        response_bytes += response.bytes;
    }
    void plain(Side, std::uint32_t bytes) { plain_bytes += bytes; }
    void repeated(std::uint32_t bytes) { repeated_bytes += bytes; }
    [[nodiscard]] std::uint64_t total() const {
        return std::accumulate(requests.begin(), requests.end(), std::uint64_t{0});
    }
};

/// A host's connections as the data path keeps them.
class Host {
  public:
    void open(std::uint32_t number, std::string_view protocol, std::uint32_t first) {
        const std::uint8_t index = protocol_index(protocol).value();
        REQUIRE(table_.add(id(number), static_cast<VnicId>(number % 4), index, 0) != nullptr);
        pass(number, Side::kRequests, first - 1, "", Segment::kSyn);
        pass(number, Side::kResponses, first - 1, "", Segment::kSyn | Segment::kAck, first);
    }
    void pass(std::uint32_t number, Side side, std::uint32_t seq, std::string_view text,
              std::uint8_t flags = Segment::kAck, std::uint32_t ack = 0) {
        const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        TrackedConnection* const connection = table_.find(id(number), 0);
        tracker_.segment(*connection, side, {.seq = seq, .ack = ack, .flags = flags, .payload = bytes}, 0,
                         counts);
    }
    [[nodiscard]] std::uint32_t outstanding() {
        std::uint32_t all = 0;
        for (std::uint32_t number = 0; number < kConnections; ++number)
            all += table_.find(id(number), 0)->outstanding();
        return all;
    }
    [[nodiscard]] const Tracker& tracker() const { return tracker_; }

    Counts counts;

  private:
    ConnectionId id(std::uint32_t number) const {
        return hash_(0, 10 + number, 7, {static_cast<std::uint16_t>(1000 + number), 1});
    }

    ConnectionHash hash_{kKey};
    ConnectionTable table_{{.connections = 64, .vnics = 4, .own = 16}};
    Tracker tracker_{kProtocols, weir::testing::small_profile()};
};

}  // namespace

TEST_CASE("a million mixed requests with 1 % loss and reordering are counted exactly") {
    Host smooth;
    Host rough;
    Random32 random(11);
    std::vector<MixedClient> clients;
    std::vector<std::array<std::uint32_t, 2>> seq(kConnections);
    for (std::uint32_t number = 0; number < kConnections; ++number) {
        clients.emplace_back(MixedClient::kinds()[number % MixedClient::kinds().size()], number);
        seq[number] = {random(), 0};
        seq[number][1] = seq[number][0];
        smooth.open(number, clients[number].protocol(), seq[number][0]);
        rough.open(number, clients[number].protocol(), seq[number][0]);
    }
    std::uint64_t asked = 0;
    std::uint64_t asked_bytes = 0;
    for (std::uint32_t number = 0; asked < weir::testing::rounds(kRequests);
         number = (number + 1) % kConnections) {
        std::array<std::string, 2> sent;
        for (unsigned i = 0; i < kRound; ++i) {
            const weir::testing::Exchange exchange = clients[number].next();
            sent[0] += exchange.request;
            sent[1] += exchange.response;
            asked += exchange.requests;
        }
        asked_bytes += sent[0].size();
        for (const Side side : {Side::kRequests, Side::kResponses}) {
            const std::string& bytes = sent[static_cast<std::size_t>(side)];
            std::uint32_t& first = seq[number][static_cast<std::size_t>(side)];
            smooth.pass(number, side, first, bytes);
            for (const auto& [from, to] :
                 weir::testing::rough_path(bytes.size(), {.late = 20, .repeated = 5}, random))
                rough.pass(number, side, first + static_cast<std::uint32_t>(from),
                           std::string_view(bytes).substr(from, to - from));
            first += static_cast<std::uint32_t>(bytes.size());
        }
    }
    for (Host* host : {&smooth, &rough}) {
        CHECK(host->counts.total() == asked);
        CHECK(host->counts.request_bytes == asked_bytes);
        CHECK(host->counts.plain_bytes == 0);
        CHECK(host->outstanding() == 0);
    }
    CHECK(rough.counts.requests == smooth.counts.requests);
    CHECK(rough.counts.responses == smooth.counts.responses);
    CHECK(rough.counts.response_bytes == smooth.counts.response_bytes);
    CHECK(rough.counts.strays == 0);
    CHECK(rough.tracker().stats().holes > asked / 100);
}
