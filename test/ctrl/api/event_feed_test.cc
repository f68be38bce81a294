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
    auto text = feed.subscribe("viewer", {});
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
    auto first = feed.subscribe("viewer", {});
    CHECK(feed.take(entries(100, 120)));
    auto back = feed.subscribe("viewer", 118);
    const std::string since = *back();
    CHECK_FALSE(has(since, "id: 118\n"));
    CHECK(has(since, "id: 119\n"));
    CHECK(has(since, "id: 120\n"));
    CHECK_FALSE(has(since, "gap"));
    auto late = feed.subscribe("viewer", 50);
    CHECK(has(*late(), "event: gap\ndata: {\"from\":51,\"to\":99}\n\nid: 100\n"));
    auto ahead = feed.subscribe("viewer", 1'000'000);  // of another store
    CHECK_FALSE(has(*ahead(), "id: "));
    feed.beat();
    CHECK(first() == ": events of the audit trail\n\n: beat\n\n");
    CHECK(back() == ": beat\n\n");
}

TEST_CASE("entries that no question got are a gap for every client, also for one that comes back later") {
    EventFeed feed;
    auto viewer = feed.subscribe("viewer", {});
    CHECK(feed.take(entries(1, 10)));
    (void)viewer();
    CHECK(feed.take(entries(300, 301)));  // more were written than a question asks for
    CHECK(viewer()->starts_with("event: gap\ndata: {\"from\":11,\"to\":299}\n\nid: 300\n"));
    auto back = feed.subscribe("viewer", 9);
    const std::string since = *back();
    CHECK(has(since, "id: 10\n"));
    CHECK(since.find("id: 10\n") < since.find("{\"from\":11,\"to\":299}"));
    viewer = {};
    back = {};
    auto late = feed.subscribe("viewer", 301);  // nothing was taken while there was no stream
    CHECK(feed.take(entries(500, 500)));
    CHECK(has(*late(), "{\"from\":302,\"to\":499}"));
}

TEST_CASE("streams are bounded, and a client that comes when there was none gets no old entries") {
    EventFeed feed;
    std::vector<std::function<std::optional<std::string>()>> streams;
    while (auto one = feed.subscribe("greedy", {}))
        streams.push_back(std::move(one));
    CHECK(streams.size() == EventFeed::kStreamsPerClient);
    CHECK(feed.streams_of("greedy") == EventFeed::kStreamsPerClient);
    CHECK(feed.streams_of("operator") == 0);
    for (int client = 0; client < 3; ++client)
        while (auto one = feed.subscribe(std::to_string(client), {}))
            streams.push_back(std::move(one));
    CHECK(streams.size() == EventFeed::kStreamsMax);
    CHECK_FALSE(feed.subscribe("operator", {}));
    streams.erase(streams.begin());
    CHECK(feed.subscribe("operator", {}));
    CHECK(feed.streams_of("greedy") == EventFeed::kStreamsPerClient - 1);
    streams.push_back(feed.subscribe("operator", {}));
    CHECK(feed.streams() == EventFeed::kStreamsMax);
    feed.take(entries(1, 3));
    streams.clear();
    CHECK(feed.streams() == 0);
    auto next = feed.subscribe("viewer", {});
    (void)next();
    feed.take(entries(1, 9));
    CHECK(next() == "");
}
