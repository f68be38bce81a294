// table_support.h - short ways to a cost table in tests.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "cost_functions/cost_table_reader.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"

namespace weir::test {

inline constexpr std::uint32_t kKi = 1024;

inline CostTable valid_table(std::string_view text) {
    auto parsed = parse_cost_table(text);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        FAIL(lines_of(*faults));
    return std::get<CostTable>(parsed);
}

inline Faults table_faults(std::string_view text) {
    auto parsed = parse_cost_table(text);
    const Faults* faults = std::get_if<Faults>(&parsed);
    return faults == nullptr ? Faults{} : *faults;
}

/// A table of one row for every operation; `more` are further members of the table.
inline std::string table_of(const std::string& row, const std::string& more = "") {
    return R"({"name": "n", "unit": "u", "source": "s", )" + more + R"("operations": {"otherwise": )" + row +
           "}}";
}

inline CostTable shipped_table(const std::string& name) {
    auto loaded = read_cost_table(source_path("configs/costs/" + name + ".json"));
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        FAIL(lines_of(*faults));
    return std::get<CostTable>(loaded);
}

}  // namespace weir::test
