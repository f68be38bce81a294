// audit_test.cc - the audit trail as text: entries, operators, changed values.
#include <nlohmann/json.hpp>

#include "ctrl/cli/commands.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir::cli;
using nlohmann::json;
using weir::test::has;

TEST_CASE("the audit trail is shown in order, with its times") {
    const std::string text = audit_text(
        {{"entries",
          {{{"time", 0}, {"kind", "start"}, {"text", "epoch 1"}}, {{"kind", "lost"}, {"text", "host h1"}}}}},
        {});
    INFO(text);
    CHECK(has(text, "1970-01-01 00:00:00 UTC  start  -   epoch 1"));
    CHECK(has(text, "lost   -   host h1"));
}

TEST_CASE("an operator's change is shown with the user, the values, and the number of values left out") {
    json changes = json::array();
    for (int i = 0; i < 12; ++i)
        changes.push_back({{"path", "v" + std::to_string(i)}, {"before", "1"}, {"now", "2"}});
    const std::string text = audit_text({{"more", true},
                                         {"entries",
                                          {{{"time", 60},
                                            {"kind", "specification"},
                                            {"text", "revision 2"},
                                            {"peer", "uid 0, process 7"},
                                            {"changes", changes},
                                            {"changes_in_all", 20'000}}}}},
                                        {});
    INFO(text);
    CHECK(has(text, "specification  root (uid 0), process 7  revision 2\n"));
    CHECK(has(text, "v9 1 -> 2\n"));
    CHECK_FALSE(has(text, "v10"));
    CHECK(has(text, "and 19990 more\n"));
    CHECK(has(text, "older entries are not shown: --last N\n"));
}

TEST_CASE("the user of a command keeps its number where this machine has no name for it") {
    CHECK(peer_text({{"peer", "weir-ctrl --import, uid 0, process 7"}}, "/peer") ==
          "weir-ctrl --import, root (uid 0), process 7");
    CHECK(peer_text({{"peer", "uid 4000000123, process 7"}}, "/peer") == "uid 4000000123, process 7");
    CHECK(peer_text({{"peer", "uid x"}}, "/peer") == "uid x");
    CHECK(peer_text(json::object(), "/peer") == "-");
}
