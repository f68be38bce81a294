// cost_table_reader.cc - reads a table, its rows and the shapes of their curves; then checks rows against
// each other.
#include "cost_functions/cost_table_reader.h"

#include <algorithm>
#include <iterator>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/json_text.h"

namespace weir {
namespace {

using nlohmann::json;
using Price = CostCurve::Price;

constexpr Range kTokens{0, kCurveTokensMax};
constexpr Range kSizes{0, kCurveSizeMax};
constexpr Range kStrides{1, kCurveStrideMax};
constexpr Range kWindow{1'000, 86'400 * kNanosPerSec};
constexpr Range kCapacity{16, 1U << 20};
constexpr std::uint64_t kBlockMax = 1U << 30;
constexpr std::size_t kTextMax = 400;  // characters of texts without a meaning to the program

enum class Shape { kLinear, kMinimum, kSteps, kPoints };
constexpr std::array kShapes{Word<Shape>{"linear", Shape::kLinear}, Word<Shape>{"minimum", Shape::kMinimum},
                             Word<Shape>{"steps", Shape::kSteps}, Word<Shape>{"points", Shape::kPoints}};
constexpr std::array kCounted{Word<CountedSize>{kCountedSizeNames[0], CountedSize::kRequest},
                              Word<CountedSize>{kCountedSizeNames[1], CountedSize::kResponse},
                              Word<CountedSize>{kCountedSizeNames[2], CountedSize::kLarger},
                              Word<CountedSize>{kCountedSizeNames[3], CountedSize::kSum}};

// Properties of the whole table, by which its rows are checked.
struct Context {
    bool monotone = true;
    bool repeat = false;
};

void require(ObjectReader& reader, std::string_view key, std::string allowed) {
    if (!reader.has(key))
        reader.fault(key, std::move(allowed), "this is needed");
}

std::uint32_t read_tokens(ObjectReader& reader, std::string_view key, bool needed) {
    std::uint32_t tokens = 0;
    if (needed)
        require(reader, key, "tokens, such as 8192");
    reader.read_integer(key, tokens, kTokens);
    return tokens;
}

// `tokens` for every `stride_key` bytes.
Price read_price(ObjectReader& reader, std::string_view stride_key) {
    Price price;
    price.tokens = read_tokens(reader, "tokens", true);
    require(reader, stride_key, "a size, such as 1B or 4KiB");
    reader.read_quantity(stride_key, Quantity::kSize, price.bytes, kStrides);
    return price;
}

// One [size, tokens] of the list; false when it is at fault.
bool read_point(const json& value, const std::string& path, Faults& faults, CostCurve::Point& out) {
    if (!value.is_array() || value.size() != 2) {
        faults.push_back({path, show_value(value), "[size, tokens], such as [\"4KiB\", 1053]", "wrong type"});
        return false;
    }
    // As members of an object, for the same words about the same mistakes.
    const json members{{"size", value[0]}, {"tokens", value[1]}};
    Faults found;
    ObjectReader reader(members, path, found);
    std::uint64_t size = 0;
    std::uint32_t tokens = 0;
    reader.read_quantity("size", Quantity::kSize, size, kSizes);
    reader.read_integer("tokens", tokens, kTokens);
    for (Fault& fault : found) {
        fault.path = path + (fault.path.ends_with(".size") ? "[0]" : "[1]");
        faults.push_back(std::move(fault));
    }
    out = {size, tokens};
    return found.empty();
}

CostCurve read_points(ObjectReader& reader, const Context& context, Faults& faults) {
    const json* list = reader.take("points");
    const std::string allowed =
        "1 to " + std::to_string(kCurvePointsMax) + " points, such as [[\"1KiB\", 1000], [\"4KiB\", 1053]]";
    std::optional<Price> beyond;
    if (reader.has("tokens") || reader.has("per"))
        beyond = read_price(reader, "per");
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > kCurvePointsMax) {
        reader.fault("points", allowed, list == nullptr ? "this is needed" : "these are no points");
        return {};
    }
    std::vector<CostCurve::Point> points;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string path = reader.path_of("points") + '[' + std::to_string(i) + ']';
        CostCurve::Point point{};
        if (!read_point((*list)[i], path, faults, point))
            continue;
        if (!points.empty() && point.size <= points.back().size) {
            faults.push_back({path + "[0]", show_value((*list)[i][0]),
                              "more than " + format_size(points.back().size),
                              "sizes must grow from point to point"});
            continue;
        }
        if (context.monotone && !points.empty() && point.tokens < points.back().tokens)
            faults.push_back({path + "[1]", std::to_string(point.tokens),
                              std::to_string(points.back().tokens) + " or more",
                              "more bytes may cost less only with \"monotone\": false"});
        points.push_back(point);
    }
    return points.empty() ? CostCurve{} : CostCurve::points(points, beyond);
}

CostCurve read_shape(ObjectReader& reader, const Context& context, Faults& faults) {
    Shape shape = Shape::kLinear;
    require(reader, "shape", "linear, minimum, steps, points");
    if (!reader.read_word("shape", shape, std::span<const Word<Shape>>(kShapes))) {
        // Without a shape it is unknown which of the other keys are allowed.
        for (const std::string_view key : {"base", "minimum", "tokens", "per", "until", "every", "points"})
            (void)reader.take(key);
        return {};
    }
    switch (shape) {
        case Shape::kPoints:
            return read_points(reader, context, faults);
        case Shape::kSteps: {
            const std::uint32_t base = read_tokens(reader, "base", false);
            std::uint64_t until = 0;
            reader.read_quantity("until", Quantity::kSize, until, kSizes);
            return CostCurve::steps(base, until, read_price(reader, "every"));
        }
        case Shape::kMinimum: {
            const std::uint32_t minimum = read_tokens(reader, "minimum", true);
            const std::uint32_t base = read_tokens(reader, "base", false);
            if (base > minimum)
                reader.fault("minimum", std::to_string(base) + " or more",
                             "below the base it would never matter");
            return CostCurve::minimum(minimum, base, read_price(reader, "per"));
        }
        case Shape::kLinear:
            break;
    }
    const std::uint32_t base = read_tokens(reader, "base", false);
    return CostCurve::linear(base, read_price(reader, "per"));
}

// The first size at which `cheaper` is not, among all where either curve changes.
std::optional<std::uint64_t> dearer_at(const CostCurve& cheaper, const CostCurve& plain) {
    std::vector<std::uint64_t> sizes = plain.corners();
    std::ranges::copy(cheaper.corners(), std::back_inserter(sizes));
    for (std::uint64_t size = 1; size <= kCurveSizeMax; size *= 2)
        sizes.push_back(size);
    std::sort(sizes.begin(), sizes.end());
    const auto found = std::find_if(sizes.begin(), sizes.end(), [&](std::uint64_t size) {
        return size <= 2 * kCurveSizeMax && cheaper.at(size) > plain.at(size);
    });
    return found == sizes.end() ? std::nullopt : std::optional(*found);
}

// The price of an access that costs less than `plain` (null: which is at fault): a shape of its own.
std::optional<CostCurve> read_variant(ObjectReader& row, std::string_view key, const CostCurve* plain,
                                      const Context& context, Faults& faults) {
    const json* value = row.take(key);
    if (value == nullptr)
        return std::nullopt;
    const std::size_t before = faults.size();
    ObjectReader reader(*value, row.path_of(key), faults);
    if (!value->is_object())
        return std::nullopt;
    CostCurve curve = read_shape(reader, context, faults);
    reader.finish();
    if (faults.size() > before || plain == nullptr)
        return std::nullopt;
    if (const std::optional<std::uint64_t> size = dearer_at(curve, *plain)) {
        const auto show = [&](const CostCurve& of) { return std::to_string(of.at(*size)) + " tokens"; };
        faults.push_back({row.path_of(key), show(curve) + " for " + format_size(*size),
                          "at most " + show(*plain), "it would cost more than the row itself"});
    }
    return curve;
}

CostTable::Row read_row(const json& value, const std::string& path, const Context& context, Faults& faults) {
    CostTable::Row row;
    const std::size_t before = faults.size();
    ObjectReader reader(value, path, faults);
    if (!value.is_object())
        return row;
    require(reader, "size", "request, response, larger, sum");
    reader.read_word("size", row.counted, std::span<const Word<CountedSize>>(kCounted));
    row.key_tokens = read_tokens(reader, "key", false);
    row.plain = read_shape(reader, context, faults);
    const CostCurve* plain = faults.size() > before ? nullptr : &row.plain;
    row.sequential = read_variant(reader, "sequential", plain, context, faults);
    row.repeat = read_variant(reader, "repeat", plain, context, faults);
    if (reader.has("repeat") && !context.repeat)
        reader.fault("repeat", "\"repeat\" of the table, with window and capacity",
                     "the table does not define repeats");
    reader.finish();
    return row;
}

std::optional<RepeatRule> read_repeat(ObjectReader& table, Faults& faults) {
    const json* value = table.take("repeat");
    if (value == nullptr)
        return std::nullopt;
    RepeatRule rule;
    ObjectReader reader(*value, table.path_of("repeat"), faults);
    if (!value->is_object())
        return std::nullopt;
    require(reader, "window", "a time, such as 10s");
    reader.read_quantity("window", Quantity::kDuration, rule.window, kWindow);
    require(reader, "capacity", "places to remember, such as 4096");
    reader.read_integer("capacity", rule.capacity, kCapacity);
    std::uint64_t block = 1;
    if (reader.read_quantity("block", Quantity::kSize, block, {1, kBlockMax}) && !std::has_single_bit(block))
        reader.fault("block", "a power of two, such as 4KiB", "not a power of two");
    rule.block_bits = static_cast<unsigned>(std::countr_zero(block));
    reader.finish();
    return rule;
}

void read_text(ObjectReader& reader, std::string_view key, std::string& out) {
    const std::string allowed = "1 to " + std::to_string(kTextMax) + " characters";
    require(reader, key, allowed);
    if (reader.read_text(key, out) && (out.empty() || out.size() > kTextMax))
        reader.fault(key, allowed, "wrong length");
}

std::array<CostTable::Row, kOperations> read_rows(ObjectReader& table, const Context& context,
                                                  Faults& faults) {
    std::array<CostTable::Row, kOperations> rows;
    const json* value = table.take("operations");
    if (value == nullptr) {
        table.fault("operations", "an object with a row for each operation", "this is needed");
        return rows;
    }
    const std::string path = table.path_of("operations");
    ObjectReader reader(*value, path, faults);
    if (!value->is_object())
        return rows;
    const json* otherwise = reader.take("otherwise");
    if (otherwise != nullptr)
        rows.fill(read_row(*otherwise, reader.path_of("otherwise"), context, faults));
    for (std::size_t i = 0; i < kOperations; ++i) {
        const json* row = reader.take(kOperationNames[i]);
        if (row != nullptr)
            rows[i] = read_row(*row, reader.path_of(kOperationNames[i]), context, faults);
        else if (otherwise == nullptr)
            reader.fault(kOperationNames[i], "a row of its own, or one named \"otherwise\"",
                         "this operation has no price");
    }
    reader.finish();
    return rows;
}

}  // namespace

CostTable load_cost_table(const json& value, Faults& faults, const std::string& path) {
    const std::size_t before = faults.size();
    ObjectReader reader(value, path, faults);
    if (!value.is_object())
        return {};
    CostTable::Facts facts;
    std::string ignored;
    reader.read_text("$schema", ignored);  // for editors; this reader is the authority
    read_text(reader, "name", facts.name);
    read_text(reader, "unit", facts.unit);
    read_text(reader, "source", facts.source);
    Context context;
    reader.read_flag("monotone", context.monotone);
    facts.repeat = read_repeat(reader, faults);
    context.repeat = reader.has("repeat");
    std::array<CostTable::Row, kOperations> rows = read_rows(reader, context, faults);
    const auto repeats = [](const CostTable::Row& row) { return row.repeat.has_value(); };
    if (facts.repeat && faults.size() == before && std::none_of(rows.begin(), rows.end(), repeats))
        reader.fault("repeat", "a row with a \"repeat\" of its own", "no operation costs less when repeated");
    reader.finish();
    return {std::move(facts), std::move(rows)};
}

std::variant<CostTable, Faults> parse_cost_table(std::string_view text) {
    return parse_document<CostTable>(
        text, [](const json& value, Faults& faults) { return load_cost_table(value, faults); });
}

std::variant<CostTable, Faults> read_cost_table(const std::string& file) {
    return load_document(file, parse_cost_table);
}

}  // namespace weir
