// sender_table_test.cc - which sender gets an entry, and how far a look-up walks.
#include "vswitch/qos/feedback/sender_table.h"

#include <array>
#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

constexpr std::uint64_t kMac = 0x0200'0000'0000;

/// Adds senders to a vNIC until `more` in a row were refused.
void fill(SenderTable& table, VnicId vnic, SenderList& list, unsigned more = 64) {
    for (std::uint64_t address = kMac, refused = 0; refused < more; ++address)
        refused = table.find_or_add(vnic, address, list) == SenderTable::kNone ? refused + 1 : 0;
}

/// Ends a period in which all senders of a vNIC sent a small frame.
void end_period(SenderTable& table, SenderList& list) {
    std::vector<std::uint32_t> room(SenderTable::kOfVnicMax + 1);
    Sender unlisted;
    table.visit(list, [](Sender& sender) {
        sender.window_bytes = 84;
        return true;
    });
    (void)close_windows(table, list, unlisted, 1'250'000'000, 200'000, room);
}

}  // namespace

TEST_CASE("a vNIC has at most 1,024 senders, and adds one only while it has fewer than are free") {
    SenderTable table(8192);
    std::array<SenderList, 12> lists;
    for (VnicId vnic = 0; vnic < 7; ++vnic) {
        fill(table, vnic, lists[vnic]);
        CHECK(lists[vnic].count == 1024);
    }
    fill(table, 7, lists[7]);
    CHECK(lists[7].count == 512);
    fill(table, 8, lists[8]);
    CHECK(lists[8].count == 256);
}

TEST_CASE("vNICs that filled the table leave room for others, their fast senders last") {
    SenderTable table(8192);
    std::vector<SenderList> lists(40);
    for (VnicId vnic = 0; vnic < 40; ++vnic)
        fill(table, vnic, lists[vnic]);
    REQUIRE(lists[39].count == 0);  // the table is full
    const std::uint32_t fast = table.find_or_add(0, kMac, lists[0]);
    table[fast].rate = 3e9F;
    for (int period = 0; period < 200; ++period)
        for (VnicId vnic = 0; vnic < 40; ++vnic) {
            end_period(table, lists[vnic]);
            fill(table, vnic, lists[vnic], 1);
        }
    for (VnicId vnic = 0; vnic < 40; ++vnic) {
        INFO(vnic);
        CHECK(lists[vnic].count >= 190);  // 8192 / 41 are 199.8
        CHECK(lists[vnic].count <= 210);
    }
    CHECK(table.find_or_add(0, kMac, lists[0]) == fast);
}

TEST_CASE("senders are found again, each with its own entry") {
    SenderTable table(1024, {1, 2, 3});
    std::array<SenderList, 2> lists;
    weir::testing::Random32 random{1};
    std::vector<std::pair<std::uint64_t, std::uint32_t>> added;
    for (int i = 0; i < 600; ++i) {
        const std::uint64_t address = std::uint64_t{random()} << 16 ^ random();
        const auto vnic = static_cast<VnicId>(address % 2);
        if (const std::uint32_t at = table.find_or_add(vnic, address, lists[vnic]); at != SenderTable::kNone)
            added.emplace_back(address, at);
    }
    CHECK(added.size() == table.size());
    for (const auto& [address, at] : added) {
        CHECK(table[at].address == address);
        CHECK(table.find_or_add(static_cast<VnicId>(address % 2), address, lists[address % 2]) == at);
    }
}

TEST_CASE("addresses of any pattern spread: one is refused for its bucket at most") {
    // 0x9E3779B97F4A7C15 times its inverse is 1: multiples of the inverse meet in one bucket of a hash that
    // multiplies by that constant alone.
    constexpr std::uint64_t kInverse = 0xF1DE'83E1'9937'733D;
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1} << 8, std::uint64_t{1} << 24,
                                     std::uint64_t{1} << 32, std::uint64_t{1} << 36, kInverse}) {
        SenderTable table(8192, {0x8A5C'D789'635D'2DFF, 0x121F'D215'5C47'2F96, 0x5D1C'22A8'B4F7'0E39});
        SenderList list;
        for (std::uint64_t i = 0; i < 1024; ++i)
            (void)table.find_or_add(1, i * step & 0xFFFF'FFFF'FFFF, list);
        INFO(step);
        CHECK(list.count >= 1023);
    }
}

TEST_CASE("a look-up visits at most 16 entries, even if all addresses meet in one bucket") {
    SenderTable table(8192, {0, 0, 0});  // of the address 0 and the vNIC 0 all products are 0
    SenderList list;
    for (std::uint64_t i = 0; i < 1000; ++i)
        (void)table.find_or_add(0, i, list);
    CHECK(list.count == SenderTable::kBucketMax);
}
