// cost_table_fuzzer.cc - any bytes as a cost table: a table or faults, never both; what costs less never
// costs more.
#include <cstdio>
#include <cstdlib>

#include "cost_functions/cost_table_reader.h"

namespace {

using namespace weir;

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

void check_faults(const Faults& faults) {
    require(!faults.empty(), "a refusal has faults");
    for (const Fault& fault : faults) {
        require(!fault.allowed.empty() && !fault.message.empty(),
                "a fault says what is allowed and what is wrong");
        const nlohmann::json text = fault.to_line();
        require(!text.dump().empty(), "a fault is UTF-8");  // dump() throws when it is not
    }
}

void check_table(const CostTable& table) {
    require(!table.facts().name.empty() && !table.facts().unit.empty() && !table.facts().source.empty(),
            "a table says what it is");
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
