// bill_store_test.cc - appending to the bill, adding it up, and finding altered lines.
#include "ctrl/store/bill_store.h"

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;
using billing::GuaranteeKind;
using billing::Record;

namespace {

constexpr std::int64_t kBillSecond = kNanosPerSec;
constexpr billing::Prices kPrices{.p0 = 1, .beta = 0.5, .link = 1000};

/// 100 Mbit/s strict; `mbit` over the second that ends at `ended`.
Record second(std::int64_t ended, std::uint64_t mbit, const std::string& vnic = "vm1") {
    return {.vnic = vnic,
            .tenant = vnic == "other" ? "B" : "A",
            .guarantee_kind = GuaranteeKind::kStrict,
            .began = (ended - 1) * kBillSecond,
            .ended = ended * kBillSecond,
            .promised = 100 * 125'000,
            .delivered = mbit * 125'000};
}

struct File {
    weir::test::TempFolder folder;
    std::string path = folder.file("bill.db");
};

}  // namespace

TEST_CASE("a bill by numbers: 100 Mbit strict on 1 Gbit, P0 1, beta 1/2 (SoftBW 4.2)") {
    File file;
    Database database(file.path);
    BillStore bill(database);
    // 100 x (1 + 100/1000); then 80 of it; then 50 more at the fair price, 150/1000 x 1/2.
    const std::vector<Record> records{second(1, 100), second(2, 80), second(3, 150)};
    CHECK(bill.append(records, kPrices).added == 3);
    const std::vector<BillSum> sums = bill.sum({});
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].charge == Approx(110 + 88 + 110 + 50 * 0.15 * 0.5));
    CHECK(sums[0].periods == 3);
    CHECK(*sums[0].fulfillment == Approx(1.1));
    CHECK(bill.sum({.from = kBillSecond, .to = 2 * kBillSecond})[0].charge == Approx(88));
    CHECK(bill.sum({.tenant = "B"}).empty());
    CHECK(bill.sum({.from = 5 * kBillSecond, .to = kBillSecond}).empty());
}

TEST_CASE("a repeated period counts once; a period that runs backwards or overlaps another is refused") {
    File file;
    Database database(file.path);
    BillStore bill(database);
    CHECK(bill.append(std::vector{second(1, 10), second(2, 10), second(2, 10)}, kPrices).repeated == 1);
    const BillStore::Appended again =
        bill.append(std::vector{second(1, 10), second(2, 10), second(3, 10)}, kPrices);
    CHECK(again.repeated == 2);
    CHECK(again.added == 1);
    Record backwards = second(5, 10);
    std::swap(backwards.began, backwards.ended);
    Record over = second(4, 10);
    over.began -= kBillSecond / 2;
    Record nothing = second(6, 10);
    nothing.began = nothing.ended;
    CHECK(bill.append(std::vector{backwards, over, nothing}, kPrices).refused == 3);
    CHECK(bill.append(std::vector{second(4, 10), second(1, 10, "other")}, kPrices).added == 2);
    CHECK(bill.lines() == 5);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("after a crash the bill continues: lines on disk are not counted twice") {
    File file;
    std::string head;
    {
        Database database(file.path);
        BillStore bill(database);
        bill.append(std::vector{second(1, 10), second(2, 20)}, kPrices);
        head = bill.head();
    }
    {
        Database database(file.path);
        BillStore bill(database);
        CHECK(bill.head() == head);
        CHECK(bill.lines() == 2);
        {  // the machine goes down in the middle of the third
            const Database::Transaction lost(database);
            database.run(
                "INSERT INTO bill VALUES (3, 'vm1', 'A', 0, 2000000000, 3000000000, 0, 0, '0', x'00')");
        }
    }
    Database database(file.path);
    BillStore bill(database);
    CHECK(bill.lines() == 2);
    const BillStore::Appended resent = bill.append(std::vector{second(2, 20), second(3, 30)}, kPrices);
    CHECK(resent.repeated == 1);
    CHECK(resent.added == 1);
    CHECK(bill.sum({})[0].delivered == 60 * 125'000);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("triggers refuse to alter a line, and the hashes show a line that was altered without them") {
    for (const char* change :
         {"UPDATE bill SET charge = '0' WHERE number = 2", "UPDATE bill SET tenant = 'C' WHERE number = 2",
          "UPDATE bill SET hash = x'00' WHERE number = 2", "DELETE FROM bill WHERE number = 2"}) {
        File file;
        Database database(file.path);
        BillStore bill(database);
        bill.append(std::vector{second(1, 10), second(2, 20), second(3, 30)}, kPrices);
        CHECK_THROWS_AS(database.run(change), HostError);
        CHECK_FALSE(bill.first_altered());
        database.run("DROP TRIGGER bill_is_kept; DROP TRIGGER bill_is_not_changed;");
        database.run(change);
        INFO(change);
        CHECK(bill.first_altered() == 2);
    }
    File file;
    Database database(file.path);
    BillStore bill(database);
    bill.append(std::vector{second(1, 10), second(2, 20)}, kPrices);
    database.run("DROP TRIGGER bill_is_kept; DELETE FROM bill WHERE number = 2;");
    CHECK(bill.first_altered() == 2);  // removed at the end
}
