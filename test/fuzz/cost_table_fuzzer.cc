// cost_table_fuzzer.cc - any bytes as a cost table: a table or faults, never both; sequential and repeated
// requests never cost more than plain ones.

#include "cost_functions/cost_table_reader.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;

void check_table(const CostTable& table) {
    require(!table.facts().name.empty() && !table.facts().unit.empty() && !table.facts().source.empty(),
            "a table has a name, a unit and a source");
    for (std::size_t i = 0; i < kOperations; ++i) {
        const auto operation = static_cast<Operation>(i);
        for (unsigned bit = 0; bit < 33; ++bit) {
            const auto size = static_cast<std::uint32_t>((1ULL << bit) - (bit % 2));
            const std::uint32_t plain = table.tokens(operation, size, size / 3);
            require(table.tokens(operation, size, size / 3, Access::kPlain) == plain, "plain is plain");
            require(table.tokens(operation, size, size / 3, Access::kSequential) <= plain,
                    "sequential is not dearer");
            require(table.tokens(operation, size, size / 3, Access::kRepeat) <= plain,
                    "a repeat is not dearer");
        }
        for (const std::uint64_t corner : table.row(operation).plain.corners())
            (void)table.row(operation).plain.at(corner);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse_cost_table({reinterpret_cast<const char*>(data), size});
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        check_faults(*faults);
    else
        check_table(std::get<CostTable>(parsed));
    return 0;
}
