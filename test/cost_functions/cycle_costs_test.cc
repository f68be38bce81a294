// cycle_costs_test.cc - a table of cycles holds only on the machine where it was measured.
#include "cost_functions/cycle_costs.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/temp_folder.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

const Machine kThisMachine{"h1", "Fast CPU 3000"};
const json kCycleTable{
    {"name", "cycles"},
    {"unit", "1 cycle"},
    {"source", "a test"},
    {"operations",
     {{"otherwise", {{"size", "sum"}, {"shape", "linear"}, {"base", 300}, {"tokens", 1}, {"per", "1B"}}}}}};

struct CycleFile {
    TempFolder folder;
    std::string path = folder.file("cycles.json");
    void write(const std::string& text) const { std::ofstream(path) << text; }
    [[nodiscard]] Faults faults() const {
        const auto loaded = load_cycle_costs(path, kThisMachine);
        const Faults* found = std::get_if<Faults>(&loaded);
        return found == nullptr ? Faults{} : *found;
    }
};

}  // namespace

TEST_CASE("cycles that were measured on this machine are charged") {
    const CycleFile file;
    file.write(cycle_costs_text(kThisMachine, kCycleTable));
    const auto loaded = load_cycle_costs(file.path, kThisMachine);
    REQUIRE(std::holds_alternative<std::shared_ptr<const CostTable>>(loaded));
    CHECK(std::get<std::shared_ptr<const CostTable>>(loaded)->tokens(Operation::kRead, 10, 20) == 330);
}

TEST_CASE("cycles of another host or another CPU are refused with the command that measures them here") {
    const CycleFile file;
    for (const Machine& other :
         {Machine{"h2", kThisMachine.cpu}, Machine{kThisMachine.host, "Slow CPU 10"}}) {
        file.write(cycle_costs_text(other, kCycleTable));
        const Faults faults = file.faults();
        REQUIRE(faults.size() == 1);
        CHECK(has_fault(faults, "cycle_costs", "measured on " + other.host + " (" + other.cpu + ")"));
        CHECK(has_fault(faults, "cycle_costs", "this host is h1 (Fast CPU 3000)"));
        CHECK(has_fault(faults, "cycle_costs", "weir-calibrate switch --output " + file.path));
    }
}

TEST_CASE("a file of cycles that cannot be read is a fault with its reason") {
    const CycleFile file;
    CHECK(has_fault(file.faults(), "cycle_costs", "No such file"));
    file.write(kCycleTable.dump());  // a table alone does not name its machine
    CHECK(has_fault(file.faults(), "cycle_costs", "host: this is needed"));
    CHECK(has_fault(file.faults(), "cycle_costs", "unknown key"));
    json wrong = json::parse(cycle_costs_text(kThisMachine, kCycleTable));
    wrong["costs"]["operations"]["otherwise"]["shape"] = "round";
    file.write(wrong.dump());
    CHECK(has_fault(file.faults(), "cycle_costs", "costs.operations.otherwise.shape"));
    file.write("{");
    CHECK(has_fault(file.faults(), "cycle_costs", "line 1"));
}

TEST_CASE("the machine is its network name and the model of its CPU") {
    const TempFolder folder;
    std::filesystem::create_directories(folder.file("proc"));
    std::ofstream(folder.file("proc/cpuinfo"))
        << "processor\t: 0\nmodel name\t: Fast CPU 3000\nmodel name\t: other\n";
    CHECK(this_machine(folder.path()).cpu == "Fast CPU 3000");
    CHECK_FALSE(this_machine().host.empty());
    CHECK(this_machine("/nonexistent").cpu == "unknown");
}
