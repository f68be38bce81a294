// bill_test.cc - a bill as a table and as CSV; times as the operator writes them.
#include <nlohmann/json.hpp>

#include "ctrl/cli/commands.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using nlohmann::json;
using weir::cli::test::kPipe;

namespace {

json bill() {
    return json::parse(R"({"billing": true, "charge": 1.75, "lines": 7, "head": "ab12", "rows": [
        {"tenant": "A", "vnic": "vm1", "guarantee_kind": "strict", "periods": 5, "seconds": 5.0, "promised_bytes": 62500000.0,
         "delivered_bytes": 50000000, "fulfillment": 0.8, "charge": 1.5},
        {"tenant": "B", "vnic": "vm2", "guarantee_kind": "fairness", "periods": 2, "seconds": 2.0, "promised_bytes": 0.0,
         "delivered_bytes": 1000, "fulfillment": null, "charge": 0.25}]})");
}

}  // namespace

TEST_CASE("a bill is a table that ends in the total charge") {
    CHECK(bill_text(bill(), kPipe) ==
          "TENANT  VNIC  GUARANTEE  TIME  GUARANTEED  DELIVERED  FULFILLMENT  CHARGE\n"
          "A       vm1   strict      5 s     62.5 MB      50 MB        80.0%     1.5\n"
          "B       vm2   fairness    2 s           -       1 kB            -    0.25\n"
          "total charge 1.75; the bill has 7 lines, hash of the last ab12\n");
}

TEST_CASE("a bill that was verified shows whether it was altered") {
    json whole = bill();
    whole["first_altered"] = nullptr;
    CHECK(bill_text(whole, kPipe).find("no line was altered") != std::string::npos);
    whole["first_line"] = 12;
    CHECK(bill_text(whole, kPipe).find("of the lines from 12 on, which are there, none was altered") !=
          std::string::npos);
    whole["sums_altered"] = true;
    CHECK(bill_text(whole, kPipe).find("ALTERED: a stored sum is not that of its lines") !=
          std::string::npos);
    whole["first_altered"] = 3;
    CHECK(bill_text(whole, kPipe).find("ALTERED: line 3 does not match its hash") != std::string::npos);
    whole["billing"] = false;
    CHECK(bill_text(whole, kPipe).find("the cluster file has no \"prices\"") != std::string::npos);
}

TEST_CASE("a bill as comma-separated values") {
    CHECK(bill_csv(bill()) ==
          "tenant,vnic,guarantee_kind,periods,seconds,promised_bytes,delivered_bytes,fulfillment,charge\n"
          "A,vm1,strict,5,5.0,62500000.0,50000000,0.8,1.5\n"
          "B,vm2,fairness,2,2.0,0.0,1000,,0.25\n");
}
