// units_test.cc - quantities are parsed exactly, printed in a form that is parsed again, and refused with a
// reason.
#include "common/units.h"

#include <cmath>
#include <limits>
#include <utility>

#include "test/support/catch.h"

using namespace weir;

namespace {

std::uint64_t parsed(Quantity quantity, std::string_view text) {
    const ParsedQuantity result = parse_quantity(quantity, text);
    INFO(text << ": " << result.fault);
    REQUIRE(result.ok());
    return result.value;
}

std::string_view fault(Quantity quantity, std::string_view text) {
    const ParsedQuantity result = parse_quantity(quantity, text);
    INFO(text << " gave " << result.value);
    REQUIRE_FALSE(result.ok());
    return result.fault;
}

}  // namespace

TEST_CASE("a rate is read in bits and in bytes per second") {
    CHECK(parsed(Quantity::kBitRate, "10Gbit") == 10'000'000'000);
    CHECK(parsed(Quantity::kBitRate, "400Mbit") == 400'000'000);
    CHECK(parsed(Quantity::kBitRate, "1.5Gbit") == 1'500'000'000);
    CHECK(parsed(Quantity::kBitRate, "50MB") == 400'000'000);
    CHECK(parsed(Quantity::kBitRate, "50MB/s") == 400'000'000);
    CHECK(parsed(Quantity::kBitRate, "9.42 Gbit/s") == 9'420'000'000);
    CHECK(parsed(Quantity::kBitRate, "0bit") == 0);
}

TEST_CASE("packet rates, sizes, times and percents are read in their base unit") {
    CHECK(parsed(Quantity::kPacketRate, "2Mpps") == 2'000'000);
    CHECK(parsed(Quantity::kSize, "64KiB") == 65'536);
    CHECK(parsed(Quantity::kSize, "64kB") == 64'000);
    CHECK(parsed(Quantity::kDuration, "200us") == 200'000);
    CHECK(parsed(Quantity::kDuration, "10ms") == 10'000'000);
    CHECK(parsed(Quantity::kDuration, "1s") == 1'000'000'000);
    CHECK(parsed(Quantity::kDuration, "24h") == 86'400'000'000'000);
    CHECK(parsed(Quantity::kPercent, "5%") == 50'000);
    CHECK(parsed(Quantity::kPercent, "12.5%") == 125'000);
}

TEST_CASE("tokens are an amount, and per second where a rate is meant") {
    CHECK(parsed(Quantity::kTokens, "64ktokens") == 64'000);
    CHECK(parsed(Quantity::kTokenRate, "800tokens") == 800);
    CHECK(parsed(Quantity::kTokenRate, "1.5Mtokens/s") == 1'500'000);
    CHECK(parsed(Quantity::kTokenRate, "400Gtokens") == 400'000'000'000);
    CHECK(parsed(Quantity::kCycleRate, "50Mcycles/s") == 50'000'000);
    CHECK(fault(Quantity::kCycleRate, "50Mtokens") == "has an unknown unit (units are case sensitive)");
    CHECK(fault(Quantity::kTokens, "800tokens/s") == "has an unknown unit (units are case sensitive)");
    CHECK(fault(Quantity::kTokens, "64Ktokens") == "has an unknown unit (units are case sensitive)");
    CHECK(fault(Quantity::kTokenRate, "0.5tokens") == "is finer than the smallest unit");
    CHECK(fault(Quantity::kTokenRate, "800") == "is a bare number and needs a unit");
}

TEST_CASE("decimal fractions are exact where binary ones would not be") {
    CHECK(parsed(Quantity::kBitRate, "0.1Gbit") == 100'000'000);
    CHECK(parsed(Quantity::kBitRate, "1.000000001Gbit") == 1'000'000'001);
    CHECK(parsed(Quantity::kDuration, "0.000000001s") == 1);
    CHECK(fault(Quantity::kBitRate, "1.0000000001Gbit") == "is finer than the smallest unit");
    CHECK(fault(Quantity::kPacketRate, "0.5pps") == "is finer than the smallest unit");
}

TEST_CASE("a bare number where a unit is needed is refused") {
    for (const std::string_view text : {"10", "10.5", "0", "10 ", "10/s"})
        CHECK(fault(Quantity::kBitRate, text) == "is a bare number and needs a unit");
}

TEST_CASE("units of another quantity, in another case, or followed by other characters are unknown") {
    for (const std::string_view text :
         {"10gbit", "10GBIT", "10mbit", "10Mpps", "10Gbit ", "10 Gbit/h", "10  Gbit", "10Gbit/s/s"})
        CHECK(fault(Quantity::kBitRate, text) == "has an unknown unit (units are case sensitive)");
    CHECK(fault(Quantity::kDuration, "10ms/s") == "has an unknown unit (units are case sensitive)");
}

TEST_CASE("a text that does not begin with a plain number is refused") {
    for (const std::string_view text :
         {"", "Gbit", "-1Gbit", "+1Gbit", ".5Gbit", "5.Gbit", " 5Gbit", "infGbit", "nan", "0x10bit\x01"})
        CHECK_FALSE(parse_quantity(Quantity::kBitRate, text).ok());
    CHECK(fault(Quantity::kBitRate, "1e9bit") == "has an unknown unit (units are case sensitive)");
    CHECK(fault(Quantity::kBitRate, "1.2.3Gbit") == "has an unknown unit (units are case sensitive)");
}

TEST_CASE("numbers beyond 64 bits are refused and never wrap") {
    CHECK(parsed(Quantity::kBitRate, "18446744073709551615bit") == std::numeric_limits<std::uint64_t>::max());
    CHECK(fault(Quantity::kBitRate, "18446744073709551616bit") == "is too large");
    CHECK(fault(Quantity::kBitRate, "999999999999999999999999Tbit") == "is too large");
    CHECK(fault(Quantity::kBitRate, "1000000000000000000000000bit") == "has more than 24 digits");
}

TEST_CASE("printing chooses the largest unit and stays exact") {
    CHECK(format_rate(10'000'000'000) == "10Gbit");
    CHECK(format_rate(1'500'000'000) == "1.5Gbit");
    CHECK(format_rate(0) == "0bit");
    CHECK(format_rate(1'000'001) == "1.000001Mbit");
    CHECK(format_packet_rate(20'000) == "20kpps");
    CHECK(format_duration(200'000) == "200us");
    CHECK(format_quantity(Quantity::kSize, 65'536) == "64KiB");
    CHECK(format_quantity(Quantity::kSize, 65'537) == "65537B");
    CHECK(format_quantity(Quantity::kPercent, 125'000) == "12.5%");
}

TEST_CASE("every printed value reads back as itself") {
    constexpr Quantity kAll[] = {Quantity::kBitRate,   Quantity::kPacketRate, Quantity::kSize,
                                 Quantity::kDuration,  Quantity::kPercent,    Quantity::kTokens,
                                 Quantity::kTokenRate, Quantity::kCycleRate};
    std::uint64_t state = 1;  // a linear congruential sequence, cut to every length
    for (int i = 0; i < 2'000; ++i) {
        state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
        const std::uint64_t value = state >> (i % 64);
        for (const Quantity quantity : kAll)
            CHECK(parsed(quantity, format_quantity(quantity, value)) == value);
    }
    for (const Quantity quantity : kAll)
        CHECK(parsed(quantity, format_quantity(quantity, UINT64_MAX)) == UINT64_MAX);
}

TEST_CASE("units_of() lists the units of a quantity, with an example that parses") {
    CHECK(units_of(Quantity::kPacketRate) == "a number with a unit (pps, kpps, Mpps, Gpps), such as 2Mpps");
    CHECK(units_of(Quantity::kTokenRate) ==
          "a number with a unit (tokens, ktokens, Mtokens, Gtokens), such as 16ktokens");
    CHECK(units_of(Quantity::kPercent) == "a number with a unit (%), such as 5%");
}

TEST_CASE("tables show three significant digits") {
    CHECK(human_rate(9.42e9) == "9.42 Gbit/s");
    CHECK(human_rate(942e6) == "942 Mbit/s");
    CHECK(human_rate(999.6e6) == "1 Gbit/s");
    CHECK(human_rate(0) == "0 bit/s");
    CHECK(human_rate(2.5e16) == "25000 Tbit/s");
    CHECK(human_packet_rate(1.2e6) == "1.2 Mpps");
    CHECK(human_packet_rate(12) == "12 pps");
    CHECK(human_token_rate(16'384) == "16.4 ktokens/s");
    CHECK(human_token_rate(783) == "783 tokens/s");
    CHECK(human_duration(1'800) == "1.8 us");
    CHECK(human_duration(94.26) == "94.3 ns");
    CHECK(human_count(12'345) == "12.3 k");
    CHECK(human_count(999) == "999");
    CHECK(human_count(-1'500) == "-1.5 k");
    CHECK(human_rate(std::nan("")) == "-");
}
