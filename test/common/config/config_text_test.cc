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
    // U+009B begins a terminal's command, U+202E reverses the text behind it, U+2066 isolates it.
    CHECK(show_text("a\xC2\x9B"
                    "31mb") == "a 31mb");
    CHECK(show_text("a\xE2\x80\xAE"
                    "b\xE2\x81\xA6"
                    "c") == "a b c");
    CHECK(show_text("caf\xC3\xA9 \xE2\x82\xAC") == "caf\xC3\xA9 \xE2\x82\xAC");
    for (const char* text : {"\x1B", "\x7F", "\xC2\x85", "\xD8\x9C", "\xE2\x80\x8F", "\xE2\x81\xA9"})
        CHECK(control_bytes(text) == std::string_view(text).size());
    for (const char* text : {"", " ", "\xC2\xA0", "\xE2\x80\x93", "\xE2", "\xC2"})
        CHECK(control_bytes(text) == 0);
    std::string umlauts;
    for (int i = 0; i < 29; ++i)
        umlauts += "\xC3\xA4";
    CHECK(show_text(umlauts + umlauts + umlauts) == umlauts + "...");
}
