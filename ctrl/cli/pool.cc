// pool.cc - weirctl pool: a table per appliance, each node above the pools and vNICs that share its part.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

std::string token_rate_at(const json& value, const char* pointer) {
    return human_token_rate(number_at(value, pointer));
}

/// null is no limit; a member that is missing is not known.
std::string token_limit_at(const json& value, const char* pointer) {
    return value.contains(json::json_pointer(pointer)) && at(value, pointer).is_null()
               ? "none"
               : token_rate_at(value, pointer);
}

class PoolTable {
  public:
    /// @param nodes parents come before their children
    PoolTable(const json& nodes, const Terminal& terminal) : nodes_(nodes), terminal_(terminal) {
        for (std::size_t i = 0; nodes.is_array() && i < nodes.size(); ++i)
            if (const json& parent = at(nodes[i], "/parent"); parent.is_number_unsigned() && parent < i)
                children_.emplace(parent.get<std::size_t>(), i);
    }

    [[nodiscard]] std::string render() {
        if (nodes_.is_array() && !nodes_.empty())
            add(0, 0);
        return table_.render(terminal_.columns, terminal_.color);
    }

  private:
    void add(std::size_t index, std::size_t depth) {
        const json& node = nodes_[index];
        const bool is_absent = at(node, "/present") == false;
        const double reservation = number_at(node, "/static/reservation");
        const bool short_of =
            number_at(node, "/delivered") < kNearly * reservation && number_at(node, "/demand") > reservation;
        const char* const mark = node.contains("configured") ? " *" : "";
        table_.add_row({{std::string(2 * depth, ' ') + text_at(node, "/name") + mark,
                         is_absent ? Style::kDim : Style::kPlain},
                        token_rate_at(node, "/static/reservation"),
                        token_limit_at(node, "/static/limit"),
                        whole_text(number_at(node, "/static/shares")),
                        token_rate_at(node, "/dynamic/reservation"),
                        token_limit_at(node, "/dynamic/limit"),
                        decimal_text(number_at(node, "/dynamic/shares")),
                        token_rate_at(node, "/demand"),
                        token_rate_at(node, "/entitlement"),
                        {token_rate_at(node, "/delivered"), short_of ? Style::kWarn : Style::kPlain},
                        is_absent ? "absent" : text_at(node, "/host")});
        const auto [first, last] = children_.equal_range(index);
        for (auto child = first; child != last; ++child)
            add(child->second, depth + 1);
    }

    static constexpr double kNearly = 0.95;  // part of the reservation; less is marked when more was wanted

    const json& nodes_;
    const Terminal& terminal_;
    std::multimap<std::size_t, std::size_t> children_;  // by the index of the parent
    Table table_{{{"POOL"},
                  {"RESERVATION", true},
                  {"LIMIT", true},
                  {"SHARES", true},
                  {"RESERVED NOW", true, 3},
                  {"LIMIT NOW", true, 2},
                  {"SHARES NOW", true, 4},
                  {"DEMAND", true},
                  {"ENTITLEMENT", true},
                  {"DELIVERED", true},
                  {"HOST", false, 1}}};
};

/// Options of `pool set` and `pool reset`.
struct PoolOptions {
    std::string name;
    std::string appliance;
    std::vector<std::string> pairs;

    [[nodiscard]] json args() const {
        json args{{"name", name}};
        if (!appliance.empty())
            args["appliance"] = appliance;
        return args;
    }
};

std::shared_ptr<PoolOptions> add_node(CLI::App& command) {
    auto options = std::make_shared<PoolOptions>();
    command.add_option("NAME", options->name, "a pool, or a vNIC in one")->required();
    command.add_option("--appliance", options->appliance, "the appliance, for a vNIC in pools of several")
        ->type_name("NAME");
    return options;
}

}  // namespace

std::string pools_text(const json& reply, const std::string& appliance, const Terminal& terminal) {
    std::string text;
    std::string others;
    for (const json& pools : list_at(reply, "/pools")) {
        const std::string name = text_at(pools, "/appliance");
        if (!appliance.empty() && name != appliance) {
            others += (others.empty() ? "" : ", ") + name;
            continue;
        }
        const json& nodes = list_at(pools, "/nodes");
        text += (text.empty() ? "" : "\n") + name + ": capacity " + token_rate_at(pools, "/capacity") + "\n" +
                PoolTable(nodes, terminal).render();
        if (std::any_of(nodes.begin(), nodes.end(),
                        [](const json& node) { return node.contains("configured"); }))
            text += "* set by weirctl pool set; the cluster file has another value\n";
    }
    if (!text.empty())
        return text;
    return others.empty()
               ? "no pools: the cluster file has no \"pools\"\n"
               : "no pools of appliance " + appliance + "; appliances with pools: " + others + '\n';
}

std::string not_lasting_text(const json& reply) {
    if (at(reply, "/lasting") != false)
        return {};
    return "NOT LASTING: the store could not be written (" + text_at(reply, "/fault") +
           "); the change is in force, and is lost if weir-ctrl restarts before the store is written again\n";
}

void add_pool_show(CLI::App& command, Session& session) {
    auto appliance = std::make_shared<std::string>();
    command.add_option("APPLIANCE", *appliance, "only the pools of this appliance");
    command.footer(
        "Example:\n"
        "  weirctl pool show disk --socket /run/weir/admin/ctrl.sock\n"
        "RESERVATION, LIMIT and SHARES are configured; the columns NOW are the parts of the whole tree that\n"
        "the node has in this interval. A vNIC is absent while its host is silent.");
    command.callback([&session, appliance] {
        session.print(session.ask("pool.show"), [&](const json& reply, const Terminal& terminal) {
            return pools_text(reply, *appliance, terminal);
        });
    });
}

void add_pool_set(CLI::App& command, Session& session) {
    const auto options = add_node(command);
    command
        .add_option("PAIRS", options->pairs,
                    "KEY=VALUE, each a new value of reservation, limit or shares; none removes a limit")
        ->required();
    command.footer(
        "The change is stored and outlives weir-ctrl, until pool reset or until the cluster file has a new "
        "value.\n"
        "Example:\n"
        "  weirctl pool set sales reservation=1500tokens limit=none --socket /run/weir/admin/ctrl.sock");
    command.callback([&session, options] {
        json args = options->args();
        args["change"] = object_of_pairs(options->pairs);
        const json reply = session.ask("pool.set", args);
        session.print(reply, options->name + " changed as of the next interval\n" + not_lasting_text(reply));
    });
}

void add_pool_reset(CLI::App& command, Session& session) {
    const auto options = add_node(command);
    command.footer("Example:\n  weirctl pool reset sales --socket /run/weir/admin/ctrl.sock");
    command.callback([&session, options] {
        const json reply = session.ask("pool.reset", options->args());
        session.print(reply, options->name + " returns to the cluster file as of the next interval\n" +
                                 not_lasting_text(reply));
    });
}

}  // namespace weir::cli
