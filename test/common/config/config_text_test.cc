// config_text_test.cc - values as faults show them.
#include "common/config/config_text.h"

#include <nlohmann/json.hpp>
#include <string>

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("values are shown in one short line of whole characters") {
    CHECK(show_value(5) == "5");
    CHECK(show_value("a\"b") == "\"a\"b\"");
    CHECK(show_value({1, 2}) == "a list");
    CHECK(show_value({{"a", 1}}) == "an object");
    CHECK(show_value(nlohmann::json::object()) == "{}");
    CHECK(show_text("tab\tand\nline") == "tab and line");
    std::string umlauts;
    for (int i = 0; i < 29; ++i)
        umlauts += "\xC3\xA4";
    CHECK(show_text(umlauts + umlauts + umlauts) == umlauts + "...");
}
