// registry.cc - solution of one problem by its kind.
#include "ctrl/what_if/registry.h"

#include "common/config/json_text.h"
#include "ctrl/what_if/fields.h"

namespace weir::what_if {

using nlohmann::json;

Solved solve(const json& problem) {
    Faults faults;
    ObjectReader reader(problem, "", faults);
    const Kind* kind = problem.is_object() ? require_entry<Kind>(reader, "kind", kKinds) : nullptr;
    if (kind == nullptr)
        return faults;
    json answer = kind->solve(reader, faults);
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
