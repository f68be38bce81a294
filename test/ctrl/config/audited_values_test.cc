// audited_values_test.cc - an entry of the audit trail keeps the first values, and the number of all.
#include "ctrl/config/audited_values.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "test/support/catch.h"

using namespace weir;
using nlohmann::json;

TEST_CASE("of 20,000 changed values an audit entry keeps the first, and the number of all") {
    std::vector<ChangedValue> changes;
    for (int i = 0; i < 20'000; ++i)
        changes.push_back({"v" + std::to_string(i), "1", "2"});
    const AuditedValues audited = audited_values(changes);
    CHECK(audited.in_all == 20'000);
    CHECK(audited.list.size() <= AuditedValues::kBytesMax);
    const json list = json::parse(audited.list);
    CHECK(list.size() == AuditedValues::kValuesMax);
    CHECK(list[99] == json{{"path", "v99"}, {"before", "1"}, {"now", "2"}});
    CHECK(audited_values({}).list.empty());
}

TEST_CASE("a long value is cut in its audit entry, and says how long it is") {
    const std::vector<ChangedValue> changes(100, {"tenants.C", "", std::string(5'000, 'x')});
    const AuditedValues audited = audited_values(changes);
    CHECK(audited.in_all == 100);
    CHECK(audited.list.size() <= AuditedValues::kBytesMax);
    const json list = json::parse(audited.list);
    CHECK(list.size() > 20);
    CHECK(list[0]["now"] == std::string(200, 'x') + "... (5000 bytes)");
}

TEST_CASE("a cut inside a character, and a name that is no UTF-8, leave the audit entry readable") {
    std::string umlauts = "x";
    while (umlauts.size() < 300)
        umlauts += "\xc3\xbc";
    const std::vector<ChangedValue> changes{{umlauts, "\xff", ""}};
    CHECK(json::parse(audited_values(changes).list).size() == 1);
}
