// deferred_writes_test.cc - a store that cannot be written for a while: no exception, nothing newest is lost,
// and the audit trail within its bounds.
#include "ctrl/store/deferred_writes.h"

#include <algorithm>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

/// A store whose next writes can be made to fail, as those of a full disk do.
struct FailingStore {
    test::TempFolder folder;
    std::string file = folder.file("ctrl.db");
    std::optional<Store> store{file};
    DeferredWrites writes{*store};

    FailingStore() { store->begin_epoch(1); }
    /// SQLite's own bound on the file's pages makes "database or disk is full".
    void set_full(bool is_full) { store->set_pages_max(is_full ? 1 : 1'000'000); }
    void fill() {  // rows that are there may be replaced within their pages
        writes.note("test", std::string(100'000, 'x'), 5);
    }
};

StoredAllocation rates_of(std::uint32_t interval) {
    return {5, interval, {{.flow = {1, 2}, .rate = {interval, 7, wire::kNoStatement}}}, interval};
}

}  // namespace

TEST_CASE(
    "while the store is full nothing is thrown; when there is room again, the newest of all is stored") {
    FailingStore world;
    world.set_full(true);
    world.writes.set_allocation("h1", rates_of(1));
    world.writes.set_pool_settings({{"disk", "sales", false, "limit", 1, 700}});
    world.fill();
    world.writes.end_tick(1'000);
    CHECK(world.writes.state().failing_since == 1'000);
    CHECK(world.writes.state().fault.find("full") != std::string::npos);
    world.writes.set_allocation("h1", rates_of(2));
    world.writes.set_pool_settings({{"disk", "sales", false, "limit", 2, 700}});
    world.writes.note_change({.unix_time = 1'001, .kind = "pool", .text = "sales: limit 1 -> 2"});
    CHECK_FALSE(world.writes.flush(1'001));
    CHECK(world.writes.state().refused == 2);
    CHECK(world.writes.state().failing_since == 1'000);
    CHECK(world.store->allocations().empty());  // all or nothing

    world.set_full(false);
    world.writes.end_tick(1'060);
    CHECK_FALSE(world.writes.state().is_failing());
    CHECK(world.writes.state().refused == 2);
    CHECK(world.store->allocations().at("h1").interval == 2);
    CHECK(world.store->pool_settings().at(0).value == 2);
    world.writes.end_tick(1'061);
    const auto tail = world.store->audit_tail(2);
    CHECK(tail.at(0).text == "sales: limit 1 -> 2");
    CHECK(tail.at(1).kind == "store");
    CHECK(tail.at(1).text.starts_with("written again after 60 s"));
}

TEST_CASE("of many entries in one interval the first 200 are stored, and the number of the others") {
    FailingStore world;
    for (int i = 0; i < 1'000; ++i)
        world.writes.note("refused", std::to_string(i), 7);
    world.writes.note_change({.unix_time = 7, .kind = "pool", .text = "an operator's"});
    CHECK(world.writes.flush(7));  // a command reads the trail meanwhile: the bound is the interval's
    for (int i = 0; i < 1'000; ++i)
        world.writes.note("refused", std::to_string(i), 7);
    world.writes.end_tick(7);
    const auto tail = world.store->audit_tail(1'000);
    CHECK(tail.size() == 1 + DeferredWrites::kNotesPerTick + 2);  // with the start of the epoch
    CHECK(tail.at(tail.size() - 2).text == "an operator's");
    CHECK(tail.back().text == "1800 more entries in this interval");
    CHECK(world.writes.state().audit_omitted == 1'800);
    world.writes.note("refused", "the next interval", 8);
    world.writes.end_tick(8);
    CHECK(world.store->audit_tail(1).front().text == "the next interval");
}

TEST_CASE("the entries of one peer hide those of no other, and none of the controller's") {
    FailingStore world;
    for (int i = 0; i < 1'000; ++i)
        world.writes.note("refused", std::to_string(i), 7, "host bad");
    for (int host = 0; host < 30; ++host)
        for (int i = 0; i < 21; ++i)
            world.writes.note("refused", std::to_string(i), 7, "host h" + std::to_string(host));
    world.writes.note("lost", "host h7", 7);
    world.writes.end_tick(7);
    const auto tail = world.store->audit_tail(1'000);
    const auto count = [&tail](const std::string& text) {
        return std::ranges::count(tail, text, &AuditEntry::text);
    };
    CHECK(count("19") == DeferredWrites::kNotesPerTick / DeferredWrites::kNotesPerPeer);  // of ten peers
    CHECK(count("20") == 0);
    CHECK(count("host h7") == 1);
    CHECK(count("980 more entries in this interval, of host bad") == 1);
    CHECK(count("1 more entries in this interval, of host h3") == 1);
    CHECK(count("21 more entries in this interval, of host h18") == 1);
    CHECK(count("231 more entries in this interval") == 1);  // of those beyond 20 that are named
    CHECK(world.writes.state().audit_omitted == 980 + 9 + 21 * 21);
}

TEST_CASE("entries that find no room in memory are counted, and the trail states how many") {
    FailingStore world;
    world.set_full(true);
    world.fill();
    const std::size_t ticks = DeferredWrites::kNotesWaitingMax / DeferredWrites::kNotesPerTick + 10;
    for (std::size_t tick = 0; tick < ticks; ++tick) {
        for (std::size_t i = 0; i < DeferredWrites::kNotesPerTick; ++i)
            world.writes.note("lost", "host", 9);
        world.writes.end_tick(9);
    }
    CHECK(world.writes.waiting().size() == DeferredWrites::kNotesWaitingMax);
    const std::uint64_t lost = world.writes.state().audit_lost;
    CHECK(lost >= 9 * DeferredWrites::kNotesPerTick);
    world.set_full(false);
    world.writes.end_tick(10);
    world.writes.end_tick(11);
    const std::string last = world.store->audit_tail(1).front().text;
    CHECK(last.find(std::to_string(lost) + " entries were lost") != std::string::npos);
}
