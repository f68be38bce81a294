// solve_fuzzer.cc - any bytes as a what-if problem: an answer or faults, and allocations within the
// capacities.
#include <cmath>
#include <string>

#include "ctrl/what_if/registry.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using nlohmann::json;

// Numbers of an answer are finite: JSON shows any other as null, which a reader takes for "none".
void check_numbers(const json& value) {
    if (value.is_number_float())
        require(std::isfinite(value.get<double>()), "answers hold numbers");
    if (value.is_structured())
        for (const json& member : value)
            check_numbers(member);
}

void check_resources(const json& answer) {
    for (const json& resource : answer["resources"])
        require(resource["used"].get<double>() <= resource["capacity"].get<double>() * (1 + 1e-12),
                "no resource is over its capacity");
}

void check_allocation(const json& problem, const json& answer) {
    check_resources(answer);
    require(answer["flows"].size() == problem["flows"].size(), "every flow has an answer");
    for (std::size_t i = 0; i < answer["flows"].size(); ++i) {
        const json& flow = answer["flows"][i];
        require(flow["fill"] >= 0.0 && flow["fill"] <= 1.0, "a fill is a part");
        for (const auto& [resource, tokens] : flow["allocation"].items())
            require(tokens.get<double>() <= problem["flows"][i]["demand"][resource].get<double>(),
                    "no flow has more than it wants");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const what_if::Solved solved = what_if::solve_text(text);
    if (const Faults* faults = std::get_if<Faults>(&solved)) {
        check_faults(*faults);
        return 0;
    }
    const json& answer = std::get<json>(solved);
    check_numbers(answer);
    const json problem = json::parse(text, nullptr, true, true);
    if (problem["kind"] == "allocation")
        check_allocation(problem, answer);
    if (problem["kind"] == "vdc")
        check_resources(answer);
    return 0;
}
