// json_text_test.cc - texts that a JSON parser accepts and this reader refuses, and the places of faults.
#include "common/config/json_text.h"

#include <string>

#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using namespace weir::test;

namespace {

Fault only_fault(std::string_view text) {
    const JsonText parsed = read_json_text(text);
    INFO(lines_of(parsed.faults));
    REQUIRE(parsed.faults.size() == 1);
    return parsed.faults.front();
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i)
        out += text;
    return out;
}

}  // namespace

TEST_CASE("JSON with comments and a byte order mark is read") {
    const JsonText parsed = read_json_text("\xEF\xBB\xBF/* a */ {\"a\": [1, 2.5, \"x\", null, true] // b\n}");
    REQUIRE(parsed.readable);
    CHECK(parsed.value == nlohmann::json{{"a", {1, 2.5, "x", nullptr, true}}});
}

TEST_CASE("a syntax error has its line, its column and the text around it") {
    const Fault fault = only_fault("{\n  \"a\": 1,\n}");
    CHECK(fault.path == "line 3, column 1");
    CHECK(fault.found == "}");
    CHECK(fault.message.find("trailing commas are not") != std::string::npos);
    CHECK(only_fault("{\"a\" x}").path == "line 1, column 6");
    CHECK(only_fault("").found == "nothing");
}

TEST_CASE("text behind the value is an error") {
    CHECK(only_fault("{} x").path == "line 1, column 4");
    CHECK(only_fault("{}{}").path == "line 1, column 3");
}

TEST_CASE("a duplicate key is a fault at its second place, at any depth") {
    const JsonText parsed = read_json_text("{\"a\": {\"b\": 1,\n\"b\": 2}, \"a\": 3}");
    REQUIRE(parsed.readable);
    REQUIRE(parsed.faults.size() == 2);
    CHECK(parsed.faults[0].path == "a.b");
    CHECK(parsed.faults[1].path == "a");
    CHECK(parsed.faults[1].to_line() == "a: found a again; allowed: each key once; duplicate key");
}

TEST_CASE("a null byte is a fault at any place, not the end of the text") {
    using namespace std::string_literals;
    CHECK(only_fault("{}\0{"s).path == "line 1, column 3");
    CHECK(only_fault("{\n\"a\0b\": 1}"s).path == "line 2, column 3");
}

TEST_CASE("text that is not UTF-8 is refused, and shown in UTF-8") {
    const Fault fault = only_fault("{\"host\": \"\xFF\xFE\"}");
    CHECK(fault.path == "line 1, column 11");
    CHECK_NOTHROW(nlohmann::json(fault.found).dump());
}

TEST_CASE("size, depth and number of values are bounded") {
    CHECK(only_fault(std::string(10U << 20, ' ')).message == "the text is too large");
    CHECK(only_fault(repeated("[", 1'000'000)).message == "this is nested deeper than 128 levels");
    CHECK(only_fault(repeated("{\"a\":", 500'000)).message == "this is nested deeper than 128 levels");
    CHECK(only_fault("[" + repeated("1,", 1'000'000) + "1]").message == "there are more than 200000 values");
    CHECK(read_json_text("[1, 2, 3]", {.values = 4}).readable);
    CHECK(read_json_text("[1, 2, 3]", {.values = 3}).faults[0].message == "there are more than 3 values");
    CHECK(read_json_text("{}" + std::string(1U << 20, ' '), {.bytes = 1U << 20}).faults[0].allowed ==
          "at most 1 MiB");
    CHECK(read_json_text("{\"" + repeated("k", 1024) + "\": [1]}").readable);
    CHECK(only_fault("{\"" + repeated("k", 1025) + "\": [1]}").message ==
          "the names above this are longer than 1024 bytes together");
    CHECK(read_json_text(repeated("[", 128) + repeated("]", 128)).readable);
}

TEST_CASE("numbers that no double holds are refused; others are kept") {
    CHECK(only_fault("[1e999]").message == "the number is too large");
    CHECK(only_fault("[-1e999]").message == "the number is too large");
    CHECK(read_json_text("[1e308, 1e-999]").readable);
    for (const char* text : {"[NaN]", "[Infinity]", "[-Infinity]", "[0x10]", "[01]", "[+1]", "[.5]", "[1.]",
                             "['a']", "[undefined]"})
        CHECK(only_fault(text).message.find("not JSON") != std::string::npos);
}

TEST_CASE("places of values take bounded memory, and none where no person reads the text") {
    constexpr std::size_t kValues = 199'000;
    std::string text = "{\"" + std::string(1000, 'k') + "\":[1";
    for (std::size_t i = 1; i < kValues; ++i)
        text += ",1";
    text += "]}";
    const JsonText noted = read_json_text(text);
    CHECK(noted.readable);
    CHECK(noted.places.path_bytes() <= TextPlaces::kPathBytesMax);
    CHECK(noted.places.offset_of(std::string(1000, 'k') + "[0]") == 1006);
    const JsonText plain = read_json_text(text, {.notes_places = false});
    CHECK(plain.readable);
    CHECK(plain.places.path_bytes() == 0);
    CHECK(plain.value == noted.value);
}
