// event_feed_test.cc - new entries, clients that come back, gaps, beats, and the bound of the streams.
#include "ctrl/api/event_feed.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir;
using nlohmann::json;
using test::has;

namespace {

json entries(std::uint64_t first, std::uint64_t last, bool is_stored = true) {
    json out = json::array();
    for (std::uint64_t number = first; number <= last; ++number)
        out.push_back({{"number", number}, {"kind", "start"}, {"text", "a\nb"}, {"stored", is_stored}});
    return out;
}

}  // namespace

TEST_CASE("a client gets the entries that come after it, each once") {
    EventFeed feed;
    auto text = feed.subscribe({});
    CHECK(text() == ": events of the audit trail\n\n");
    CHECK(feed.take(entries(1, 5)));
    CHECK(text() == "");
    CHECK(feed.take(entries(1, 6)));
    CHECK(text() ==
          "id: 6\nevent: audit\ndata: "
          "{\"kind\":\"start\",\"number\":6,\"stored\":true,\"text\":\"a\\nb\"}\n\n");
    CHECK_FALSE(feed.take(entries(1, 6)));
    CHECK(text() == "");
    CHECK_FALSE(feed.take(entries(7, 7, false)));  // it may still be lost
    CHECK(text() == "");
    CHECK(feed.take(entries(7, 7)));
    CHECK(has(*text(), "id: 7\n"));
}

TEST_CASE("a client that comes back gets the entries since, and a gap names those that are not kept") {
    EventFeed feed;
    auto first = feed.subscribe({});
    CHECK(feed.take(entries(100, 120)));
    auto back = feed.subscribe(118);
    const std::string since = *back();
    CHECK_FALSE(has(since, "id: 118\n"));
    CHECK(has(since, "id: 119\n"));
    CHECK(has(since, "id: 120\n"));
    CHECK_FALSE(has(since, "gap"));
    auto late = feed.subscribe(50);
    CHECK(has(*late(), "event: gap\ndata: {\"from\":51,\"to\":99}\n\nid: 100\n"));
    auto ahead = feed.subscribe(1'000'000);  // of another store
    CHECK_FALSE(has(*ahead(), "id: "));
    feed.beat();
    CHECK(first() == ": events of the audit trail\n\n: beat\n\n");
    CHECK(back() == ": beat\n\n");
}

TEST_CASE("streams are bounded, and a client that comes when there was none gets no old entries") {
    EventFeed feed;
    std::vector<std::function<std::optional<std::string>()>> streams;
    while (auto one = feed.subscribe({}))
        streams.push_back(std::move(one));
    CHECK(streams.size() == EventFeed::kStreamsMax);
    CHECK(feed.streams() == EventFeed::kStreamsMax);
    feed.take(entries(1, 3));
    streams.clear();
    CHECK(feed.streams() == 0);
    auto next = feed.subscribe({});
    (void)next();
    feed.take(entries(1, 9));
    CHECK(next() == "");
}
