// units.cc - one table of units per quantity drives parsing, printing and the messages.
#include "common/units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "common/types.h"

namespace weir {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;  // base units in one of this unit
    bool printed = true;   // whether printing chooses it
};

constexpr std::array kBitRateUnits{
    Unit{"bit", 1},
    Unit{"kbit", 1'000},
    Unit{"Mbit", 1'000'000},
    Unit{"Gbit", 1'000'000'000},
    Unit{"Tbit", 1'000'000'000'000},
    Unit{"B", 8, false},
    Unit{"kB", 8'000, false},
    Unit{"MB", 8'000'000, false},
    Unit{"GB", 8'000'000'000, false},
};
constexpr std::array kPacketRateUnits{
    Unit{"pps", 1},
    Unit{"kpps", 1'000},
    Unit{"Mpps", 1'000'000},
    Unit{"Gpps", 1'000'000'000},
};
constexpr std::array kSizeUnits{
    Unit{"B", 1},
    Unit{"KiB", 1ULL << 10},
    Unit{"MiB", 1ULL << 20},
    Unit{"GiB", 1ULL << 30},
    Unit{"kB", 1'000, false},
    Unit{"MB", 1'000'000, false},
    Unit{"GB", 1'000'000'000, false},
};
constexpr std::array kDurationUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"min", 60'000'000'000, false},
    Unit{"h", 3'600'000'000'000, false},
};
constexpr std::array kPercentUnits{
    Unit{"%", 10'000},
};

constexpr std::array kTokenUnits{
    Unit{"tokens", 1},
    Unit{"ktokens", 1'000},
    Unit{"Mtokens", 1'000'000},
    Unit{"Gtokens", 1'000'000'000},
};

constexpr std::array kCycleUnits{
    Unit{"cycles", 1},
    Unit{"kcycles", 1'000},
    Unit{"Mcycles", 1'000'000},
    Unit{"Gcycles", 1'000'000'000},
};

struct QuantityTraits {
    std::span<const Unit> units;  // the printed ones first, ascending
    std::string_view example;
    bool decimal = true;      // factors are powers of ten: fractions print exactly
    bool per_second = false;  // `/s` may be written behind the unit
};

// In the order of Quantity.
constexpr std::array kTraits{
    QuantityTraits{.units = kBitRateUnits, .example = "10Gbit", .per_second = true},
    QuantityTraits{.units = kPacketRateUnits, .example = "2Mpps"},
    QuantityTraits{.units = kSizeUnits, .example = "64KiB", .decimal = false},
    QuantityTraits{.units = kDurationUnits, .example = "200us"},
    QuantityTraits{.units = kPercentUnits, .example = "5%"},
    QuantityTraits{.units = kTokenUnits, .example = "16ktokens"},
    QuantityTraits{.units = kTokenUnits, .example = "16ktokens", .per_second = true},
    QuantityTraits{.units = kCycleUnits, .example = "50Mcycles", .per_second = true},
};

const QuantityTraits& traits_of(Quantity quantity) {
    return kTraits[static_cast<std::size_t>(quantity)];
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A decimal number as digits / 10^decimals; `rest` is the text behind it.
struct Decimal {
    Wide digits = 0;
    Wide scale = 1;  // 10^decimals
    std::string_view rest;
    std::string_view fault;
};

Decimal parse_decimal(std::string_view text) {
    constexpr std::size_t kDigitsMax = 24;  // times the largest factor, still within 128 bits
    Decimal out;
    std::size_t at = 0;
    std::size_t digits = 0;
    bool point = false;
    bool last_is_digit = false;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point && digits > 0)); ++at) {
        last_is_digit = is_digit(text[at]);
        if (!last_is_digit) {
            point = true;
            continue;
        }
        if (++digits > kDigitsMax) {
            out.fault = "has more than 24 digits";
            return out;
        }
        out.digits = out.digits * 10 + static_cast<unsigned>(text[at] - '0');
        if (point)
            out.scale *= 10;
    }
    if (!last_is_digit)
        out.fault = "does not begin with a plain number";
    out.rest = text.substr(at);
    return out;
}

// value / factor as a decimal without trailing zeros; exact because factor divides a power of ten.
std::string exact_decimal(std::uint64_t value, std::uint64_t factor) {
    std::string text = std::to_string(value / factor);
    std::uint64_t remainder = value % factor;
    if (remainder != 0)
        text += '.';
    while (remainder != 0) {
        const Wide tenfold = Wide{remainder} * 10;
        text += static_cast<char>('0' + static_cast<int>(tenfold / factor));
        remainder = static_cast<std::uint64_t>(tenfold % factor);
    }
    return text;
}

// Three significant digits, trailing zeros cut: 9.42, 94.2, 942, 1.2.
std::string three_digits(double value) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::array<char, 48> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
    std::string text(buffer.data());
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.')
            text.pop_back();
    }
    return text;
}

constexpr std::array<std::string_view, 5> kThousands{"", "k", "M", "G", "T"};
constexpr std::array<std::string_view, 4> kThousandths{"n", "u", "m", ""};  // from nanoseconds up

std::string human(double value, std::string_view unit,
                  std::span<const std::string_view> prefixes = kThousands) {
    if (!std::isfinite(value))
        return "-";
    const double size = std::fabs(value);
    double scale = 1;
    std::size_t prefix = 0;
    while (prefix + 1 < prefixes.size() && size / scale >= 999.5) {
        scale *= 1000;
        ++prefix;
    }
    std::string text = (value < 0 ? "-" : "") + three_digits(size / scale);
    if (!prefixes[prefix].empty() || !unit.empty())
        text += ' ';
    return text.append(prefixes[prefix]).append(unit);
}

}  // namespace

ParsedQuantity parse_quantity(Quantity quantity, std::string_view text) {
    const Decimal number = parse_decimal(text);
    if (!number.fault.empty())
        return {0, number.fault};
    std::string_view name = number.rest;
    if (name.starts_with(' '))
        name.remove_prefix(1);
    const QuantityTraits& traits = traits_of(quantity);
    if (traits.per_second && name.ends_with("/s"))
        name.remove_suffix(2);
    if (name.empty())
        return {0, "is a bare number and needs a unit"};
    for (const Unit& unit : traits.units) {
        if (unit.name != name)
            continue;
        const Wide scaled = number.digits * unit.factor;
        if (scaled % number.scale != 0)
            return {0, "is finer than the smallest unit"};
        const Wide value = scaled / number.scale;
        if (value > std::numeric_limits<std::uint64_t>::max())
            return {0, "is too large"};
        return {static_cast<std::uint64_t>(value), {}};
    }
    return {0, "has an unknown unit (units are case sensitive)"};
}

std::string format_quantity(Quantity quantity, std::uint64_t value) {
    const QuantityTraits& traits = traits_of(quantity);
    const Unit* best = &traits.units.front();
    for (const Unit& unit : traits.units) {
        const bool exact = traits.decimal || value % unit.factor == 0;
        if (unit.printed && value >= unit.factor && exact)
            best = &unit;
    }
    return exact_decimal(value, best->factor).append(best->name);
}

std::string units_of(Quantity quantity) {
    const QuantityTraits& traits = traits_of(quantity);
    std::string text = "a number with a unit (";
    for (const Unit& unit : traits.units) {
        if (&unit != &traits.units.front())
            text += ", ";
        text += unit.name;
    }
    return text.append("), such as ").append(traits.example);
}

std::string human_rate(double bits_per_sec) {
    return human(bits_per_sec, "bit/s");
}

std::string human_packet_rate(double packets_per_sec) {
    return human(packets_per_sec, "pps");
}

std::string human_token_rate(double tokens_per_sec) {
    return human(tokens_per_sec, "tokens/s");
}

std::string human_cycle_rate(double cycles_per_sec) {
    return human(cycles_per_sec, "cycles/s");
}

std::string human_duration(double nanos) {
    return human(nanos, "s", kThousandths);
}

std::string human_count(double count) {
    return human(count, "");
}

}  // namespace weir
