// pool_view.cc - one table per appliance; below each node those that it divides its part among.
#include "ctrl/cli/pool_view.h"

#include <algorithm>
#include <map>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

class Tree {
  public:
    Tree(const json& nodes, const Terminal& terminal) : nodes_(nodes), terminal_(terminal) {
        for (std::size_t i = 0; nodes.is_array() && i < nodes.size(); ++i)
            if (const json& parent = at(nodes[i], "/parent"); parent.is_number_unsigned() && parent < i)
                children_.emplace(parent.get<std::size_t>(), i);
    }

    [[nodiscard]] std::string render() {
        if (nodes_.is_array() && !nodes_.empty())
            add(0, 0);
        return table_.render(terminal_.columns, terminal_.colour);
    }

  private:
    void add(std::size_t node, std::size_t depth) {
        const json& shown = nodes_[node];
        const bool away = at(shown, "/there") == false;
        const bool short_of =
            number_at(shown, "/delivered") < kNearly * number_at(shown, "/static/reservation") &&
            number_at(shown, "/demand") > number_at(shown, "/static/reservation");
        const char* const mark = shown.contains("filed") ? " *" : "";
        table_.add_row({{std::string(2 * depth, ' ') + text_at(shown, "/name") + mark,
                         away ? Style::kDim : Style::kPlain},
                        rate_at(shown, "/static/reservation"),
                        limit_at(shown, "/static/limit"),
                        whole_text(number_at(shown, "/static/shares")),
                        rate_at(shown, "/dynamic/reservation"),
                        limit_at(shown, "/dynamic/limit"),
                        decimal_text(number_at(shown, "/dynamic/shares")),
                        rate_at(shown, "/demand"),
                        rate_at(shown, "/entitlement"),
                        {rate_at(shown, "/delivered"), short_of ? Style::kWarn : Style::kPlain},
                        away ? "away" : text_at(shown, "/host")});
        const auto [first, last] = children_.equal_range(node);
        for (auto child = first; child != last; ++child)
            add(child->second, depth + 1);
    }

    static std::string rate_at(const json& value, const char* pointer) {
        return human_token_rate(number_at(value, pointer));
    }
    /// null is no limit; what is not there is not known.
    static std::string limit_at(const json& value, const char* pointer) {
        return value.contains(json::json_pointer(pointer)) && at(value, pointer).is_null()
                   ? "none"
                   : rate_at(value, pointer);
    }

    static constexpr double kNearly = 0.95;

    const json& nodes_;
    const Terminal& terminal_;
    std::multimap<std::size_t, std::size_t> children_;
    Table table_{{{"POOL"},
                  {"RESERVATION", true},
                  {"LIMIT", true},
                  {"SHARES", true},
                  {"NOW RESERVED", true, 3},
                  {"LIMIT", true, 2},
                  {"SHARES", true, 4},
                  {"DEMAND", true},
                  {"ENTITLED", true},
                  {"DELIVERED", true},
                  {"HOST", false, 1}}};
};

}  // namespace

std::string pools_text(const json& shown, const std::string& appliance, const Terminal& terminal) {
    std::string text;
    std::string others;
    for (const json& pools : list_at(shown, "/pools")) {
        if (!appliance.empty() && text_at(pools, "/appliance") != appliance) {
            others += (others.empty() ? "" : ", ") + text_at(pools, "/appliance");
            continue;
        }
        text += (text.empty() ? "" : "\n") + text_at(pools, "/appliance") + ": " +
                human_token_rate(number_at(pools, "/capacity")) + " to divide\n" +
                Tree(list_at(pools, "/nodes"), terminal).render();
        const json& nodes = list_at(pools, "/nodes");
        if (std::any_of(nodes.begin(), nodes.end(), [](const json& node) { return node.contains("filed"); }))
            text += "* set by weirctl pool set; the cluster file says otherwise\n";
    }
    if (!text.empty())
        return text;
    return others.empty() ? "no pools: the cluster file has no \"pools\"\n"
                          : "no pools of " + appliance + "; there are some of " + others + '\n';
}

}  // namespace weir::cli
