// solve.cc - finds the kind, and says what is wrong in the order of the text.
#include "ctrl/what_if/solve.h"

#include <array>
#include <span>
#include <string>

#include "common/config/config_text.h"
#include "ctrl/what_if/kinds.h"

namespace weir::what_if {
namespace {

using nlohmann::json;

#define WEIR_KIND_WORD(name) Word<SolveKind*>{#name, solve_##name},
constexpr std::array kKinds{WEIR_SOLVE_KINDS(WEIR_KIND_WORD)};
#undef WEIR_KIND_WORD

}  // namespace

Solved solve(const json& problem) {
    Faults faults;
    ObjectReader reader(problem, "", faults);
    SolveKind* kind = nullptr;
    if (problem.is_object() && !reader.has("kind"))
        reader.fault("kind", "a kind, such as \"allocation\"", "this is needed");
    reader.read_word("kind", kind, std::span<const Word<SolveKind*>>(kKinds));
    if (kind == nullptr)
        return faults;
    json answer = kind(reader, faults);
    reader.finish();
    if (!faults.empty())
        return faults;
    return answer;
}

Solved solve_text(std::string_view text) {
    return parse_document<json>(text, [](const json& problem, Faults& faults) {
        Solved solved = solve(problem);
        if (Faults* found = std::get_if<Faults>(&solved)) {
            faults.insert(faults.end(), found->begin(), found->end());
            return json();
        }
        return std::get<json>(std::move(solved));
    });
}

}  // namespace weir::what_if
