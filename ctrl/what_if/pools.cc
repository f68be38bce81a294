// pools.cc - what-if kind `pools`: a capacity divided down a tree of pools, and among hosts.
// Source: SRP 3; docs/design.md 5.4
// Units: tokens/s; seconds for the latency.
#include <algorithm>
#include <cmath>

#include "ctrl/pools/division.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;
using pools::Controls;
using pools::kRoot;
using pools::NodeIndex;

namespace {

constexpr std::uint32_t kNoHost = UINT32_MAX;
constexpr const char* kHostsAllowed = "hosts of leaves, such as {\"vm1\": \"h1\"} or {\"h1\": [\"vm1\"]}";

struct PoolProblem {
    Names names;
    pools::PoolTree tree;
    std::vector<double> demands;
    Names hosts;
    std::vector<std::uint32_t> host_of;
    std::optional<double> latency;
};

class NodeReader {
  public:
    NodeReader(PoolProblem& problem, Faults& faults) : problem_(problem), faults_(faults) {}

    /// Reads a node and its children. @return its reservation
    double read(ObjectReader& reader, NodeIndex parent, bool is_root) {
        if (is_root && !reader.has("id"))
            problem_.names.add("root");
        else
            problem_.names.add(reader);
        Controls own = read_controls(reader);
        const NodeIndex node = is_root ? kRoot : problem_.tree.add(parent, own);
        problem_.demands.push_back(pools::kAbsent);
        problem_.host_of.push_back(kNoHost);
        double below = 0;  // reservations of the children
        if (reader.has("children"))
            below = read_children(reader, node);
        if (problem_.tree.is_leaf(node))
            read_leaf(reader, node);
        if (!reader.has("reservation"))
            own.reservation = std::max(own.reservation, below);
        if (own.reservation < below * (1 - 1e-12))
            reader.fault("reservation", "at least the sum of its children, " + json(below).dump(),
                         "reservations beyond the parent's cannot be kept");
        problem_.tree.set(node, own);
        return own.reservation;
    }

  private:
    double read_children(ObjectReader& reader, NodeIndex node) {
        double below = 0;
        for_objects(reader, "children", false, faults_, [&](ObjectReader& child) {
            if (problem_.tree.size() <= kListMost)
                below += read(child, node, false);
        });
        if (problem_.tree.size() > kListMost)
            reader.fault("children", "at most 100000 nodes", "the tree is too large");
        return below;
    }

    void read_leaf(ObjectReader& reader, NodeIndex node) {
        if (reader.has("outstanding") && problem_.latency) {
            double outstanding = 0;
            read_number(reader, "outstanding", outstanding, kTokenBounds);
            problem_.demands[node] = pools::demand_rate(outstanding, *problem_.latency);
        } else {
            problem_.demands[node] = read_demand(reader, "demand");
        }
        std::string host;
        if (reader.read_text("host", host))
            problem_.host_of[node] = problem_.hosts.add(host);
        bool absent = false;
        if (reader.read_flag("absent", absent) && absent)
            problem_.demands[node] = pools::kAbsent;
    }

    PoolProblem& problem_;
    Faults& faults_;
};

/// Sets the host of one leaf, by names.
void put(PoolProblem& problem, const std::string& leaf, const std::string& host, const std::string& path,
         Faults& faults) {
    const auto node = problem.names.find(leaf);
    if (!node || !problem.tree.is_leaf(*node))
        faults.push_back({path, show(leaf), "the id of a leaf", "unknown leaf"});
    else if (problem.host_of[*node] != kNoHost)
        faults.push_back({path, show(leaf), "each leaf once", "this leaf has a host already"});
    else
        problem.host_of[*node] = problem.hosts.add(host);
}

void read_hosts(ObjectReader& reader, PoolProblem& problem, Faults& faults) {
    const json* hosts = reader.take("hosts");
    if (hosts == nullptr || hosts->is_null())
        return;
    const auto is_text = [](const json& value) { return value.is_string(); };
    if (!hosts->is_object())
        return reader.fault("hosts", kHostsAllowed, "wrong type");
    for (const auto& [key, value] : hosts->items()) {
        const std::string path = "hosts." + key;
        if (value.is_string())
            put(problem, key, value.get<std::string>(), path, faults);
        else if (value.is_array() && std::all_of(value.begin(), value.end(), is_text))
            for (const json& leaf : value)
                put(problem, leaf.get<std::string>(), key, path, faults);
        else
            faults.push_back({path, value.dump().substr(0, 60), kHostsAllowed, "wrong type"});
    }
}

json number_or_null(double value) {
    return std::isfinite(value) ? json(value) : json();
}

json answer_of(const PoolProblem& problem, const pools::Division& division, double window, double capacity) {
    json nodes = json::array();
    for (NodeIndex node = 0; node < problem.tree.size(); ++node)
        nodes.push_back({{"id", problem.names[node]},
                         {"demand", number_or_null(std::max(division.demand[node], 0.0))},
                         {"reservation", division.reservation[node]},
                         {"limit", number_or_null(division.limit[node])},
                         {"shares", division.shares[node]},
                         {"entitlement", division.entitlement[node]}});
    json hosts = json::array();
    const std::vector<double> windows =
        pools::host_windows(division, problem.tree, problem.host_of, problem.hosts.size(), window, capacity);
    for (std::uint32_t host = 0; host < problem.hosts.size(); ++host)
        hosts.push_back({{"id", problem.hosts[host]}, {"queue_depth", windows[host]}});
    return {{"nodes", std::move(nodes)}, {"hosts", std::move(hosts)}, {"unassigned", division.unassigned}};
}

}  // namespace

json solve_pools(ObjectReader& problem, Faults& faults) {
    PoolProblem pools;
    double capacity = 0;
    double latency = 1;
    require_number(problem, "capacity", capacity, kTokenBounds);
    if (read_number(problem, "latency", latency, {1e-6, 3600}))
        pools.latency = latency;
    double window = capacity * latency;
    read_number(problem, "queue_depth", window, kTokenBounds);
    require(problem, "root", "a pool: {\"reservation\": 1000, \"children\": [...]}");
    read_object(problem, "root", faults,
                [&](ObjectReader& reader) { NodeReader(pools, faults).read(reader, kRoot, true); });
    read_hosts(problem, pools, faults);
    if (!faults.empty())
        return {};
    pools::Division division;
    pools::Divider().divide(pools.tree, pools.demands, capacity, division);
    return answer_of(pools, division, window, capacity);
}

}  // namespace weir::what_if
