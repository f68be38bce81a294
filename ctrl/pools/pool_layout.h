// pool_layout.h - pools of the cluster file, and those of one appliance as a tree with names.
// Source: SRP 2.1; docs/algorithms.md 9.2
// Units: tokens/s. Threads: one owner; the functions any (pure).
//
// Pools are valid when check_pool_tree() adds no fault, each pool without a parent has an appliance, and each
// vNIC is in one pool of an appliance: parse_cluster() refuses others. Functions do not fail on others, but
// their results are those below for valid pools only.
//
// Example:
//     check_pool_tree(pools, faults);                  // then, if there are none:
//     PoolLayout layout(pools, "disk", 3'000);         // the root reserves 3,000 tokens/s
//     layout.add_vnic("vm9");                          // is in no pool; before demands are sized
//     std::vector<double> demands(layout.tree().size(), pools::kAbsent);
//     demands[*layout.find("vm9", true)] = 500;
//     divider.divide(layout.tree(), demands, 3'000, division);  // division.entitlement, by node
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "ctrl/pools/pool_tree.h"

namespace weir {

struct PoolVnicConfig {
    std::string name{};
    std::uint64_t reservation_tokens = 0;
    std::optional<std::uint64_t> limit_tokens{};  ///< at least the reservation; absent: none
    std::uint32_t shares = 100;                   ///< among its siblings, 1 to 10,000

    bool operator==(const PoolVnicConfig&) const = default;
};

/// vNICs on any hosts that share an appliance, or the part of it that their parent has.
struct PoolConfig {
    std::string name{};
    std::string parent{};                               ///< empty: the appliance itself
    std::string appliance{};                            ///< empty: the parent's
    std::optional<std::uint64_t> reservation_tokens{};  ///< absent: the sum of the reservations in it
    std::optional<std::uint64_t> limit_tokens{};
    std::uint32_t shares = 100;
    std::vector<PoolVnicConfig> vnics{};

    bool operator==(const PoolConfig&) const = default;
};

/// Reservation of each pool, in the order of `pools`: its own, or by default the sum of those in it.
[[nodiscard]] std::vector<std::uint64_t> pool_reservations(const std::vector<PoolConfig>& pools);
/// Per pool the index of the topmost of its chain of parents, which may be the pool itself; kNoPool where the
/// chain leads in a circle or to an unknown pool.
inline constexpr std::uint32_t kNoPool = pools::kNoParent;
[[nodiscard]] std::vector<std::uint32_t> pool_tops(const std::vector<PoolConfig>& pools);
/// Names of the appliances that pools divide.
[[nodiscard]] std::set<std::string> pooled_appliances(const std::vector<PoolConfig>& pools);
/// A vNIC's part of the top pools' reservations and limits if every vNIC wants more than its part.
struct PoolPart {
    double reservation = 0;  ///< tokens/s
    double limit = 0;        ///< tokens/s; infinite = none
};
/// The part of each vNIC of a pool, by name: its floor while demands are not known. vNICs in no pool are not
/// in the map.
[[nodiscard]] std::unordered_map<std::string, PoolPart> parts_in_pools(const std::vector<PoolConfig>& pools,
                                                                       const std::string& appliance);
/// Adds a fault, at "pools[i].KEY", for each unknown parent, circle of parents, sum of reservations above
/// that of their pool, and repeated name. Reservations against the appliance's capacity are not checked here.
void check_pool_tree(const std::vector<PoolConfig>& pools, Faults& faults);

/// A node is a number below tree().size(), unchecked; pools::kRoot is the appliance. Nodes are only added: a
/// number stays valid, and is above that of the node's parent.
class PoolLayout {
  public:
    struct Name {
        std::string text;
        bool vnic = false;
    };

    /// @param pools valid, not kept; pools of other appliances are left out
    /// @param appliance its name becomes the root's
    /// @param capacity the appliance's least capacity, finite: the reservation of the root
    PoolLayout(const std::vector<PoolConfig>& pools, const std::string& appliance, double capacity);

    [[nodiscard]] const pools::PoolTree& tree() const { return tree_; }
    /// Valid until the next add_vnic().
    [[nodiscard]] const Name& name(pools::NodeIndex node) const { return names_[node]; }
    /// The node of a pool or the root, or (`vnic`) of a vNIC; a pool and a vNIC may have the same name.
    [[nodiscard]] std::optional<pools::NodeIndex> find(std::string_view name, bool vnic) const;
    /// Adds a vNIC below the root, without reservation and limit, with 100 shares, unless it has a node.
    /// @return its node
    pools::NodeIndex add_vnic(const std::string& name);

    /// Changes a node's settings; the next division of tree() uses them. @param controls not negative
    /// @return faults, with which nothing changes: a "limit" below the reservation; a "reservation" below the
    /// sum of the children's, or raised beyond the rest of the parent's
    [[nodiscard]] Faults set(pools::NodeIndex node, const pools::Controls& controls);

  private:
    pools::NodeIndex add(pools::NodeIndex parent, const pools::Controls& controls, const std::string& name,
                         bool vnic);

    pools::PoolTree tree_;
    std::vector<Name> names_;
    std::map<std::string, pools::NodeIndex, std::less<>> pools_;
    std::map<std::string, pools::NodeIndex, std::less<>> vnics_;
};

}  // namespace weir
