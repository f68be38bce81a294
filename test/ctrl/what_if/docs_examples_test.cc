// docs_examples_test.cc - the examples of docs/what_if.md: each has its answer, and every kind has one.
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/what_if/registry.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"

using namespace weir;
using nlohmann::json;

namespace {

struct Example {
    std::string problem;
    std::string answer;
};

// The text between ```json WORD and ```, from `at`, which moves behind it; empty when there is none.
std::string block(const std::string& page, const std::string& word, std::size_t& at) {
    const std::string opening = "```json " + word + "\n";
    const std::size_t begin = page.find(opening, at);
    if (begin == std::string::npos)
        return {};
    const std::size_t end = page.find("```", begin + opening.size());
    REQUIRE(end != std::string::npos);
    at = end;
    return page.substr(begin + opening.size(), end - begin - opening.size());
}

std::string page() {
    std::ifstream file(test::source_path("docs/what_if.md"));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Example> examples() {
    const std::string text = page();
    std::vector<Example> found;
    std::size_t at = 0;
    for (std::string problem; !(problem = block(text, "problem", at)).empty();)
        found.push_back({problem, block(text, "answer", at)});
    return found;
}

// Numbers as near as the page writes them; times are not compared.
bool same(const json& found, const json& wanted) {
    if (wanted.is_number())
        return found.is_number() && std::abs(found.get<double>() - wanted.get<double>()) <=
                                        1e-4 * (1 + std::abs(wanted.get<double>()));
    if (wanted.is_structured() != found.is_structured() || wanted.size() != found.size())
        return false;
    if (wanted.is_array())
        return std::equal(wanted.begin(), wanted.end(), found.begin(),
                          [](const json& w, const json& f) { return same(f, w); });
    if (!wanted.is_object())
        return found == wanted;
    for (const auto& [key, value] : wanted.items())
        if (!found.contains(key) || (key != "solve_us" && !same(found[key], value)))
            return false;
    return true;
}

}  // namespace

TEST_CASE("every example of docs/what_if.md has the answer that follows it") {
    const std::vector<Example> all = examples();
    REQUIRE(!all.empty());
    for (const Example& example : all) {
        INFO(example.problem);
        const what_if::Solved solved = what_if::solve_text(example.problem);
        if (const Faults* faults = std::get_if<Faults>(&solved))
            FAIL(test::lines_of(*faults));
        const json& answer = std::get<json>(solved);
        INFO(answer.dump());
        CHECK(same(answer, json::parse(example.answer)));
    }
}

TEST_CASE("every kind has an example") {
    std::set<std::string> shown;
    for (const Example& example : examples())
        shown.insert(json::parse(example.problem)["kind"].get<std::string>());
    for (const what_if::Kind& kind : what_if::kKinds)
        CHECK(shown.count(std::string(kind.name)) == 1);
}

TEST_CASE("docs/what_if.md has a row for every mechanism") {
    const std::string text = page();
    for (const alloc::MechanismEntry& mechanism : alloc::kMechanisms)
        CHECK(text.find("\n| `" + std::string(mechanism.name) + "` | ") != std::string::npos);
}
