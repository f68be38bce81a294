// pool_layout.h - pools of the cluster file, and those of one appliance as a tree with names.
// Source: SRP 2.1; docs/algorithms.md 9.2
// Units: tokens/s. Threads: one owner.
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
    std::optional<std::uint64_t> limit_tokens{};
    std::uint32_t shares = 100;
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
};

/// Reservation of each pool: its own, or by default the sum of the reservations in it.
[[nodiscard]] std::vector<std::uint64_t> pool_reservations(const std::vector<PoolConfig>& pools);
/// Per pool the topmost of its chain of parents; kNoPool where the chain is faulty.
inline constexpr std::uint32_t kNoPool = pools::kNoParent;
[[nodiscard]] std::vector<std::uint32_t> pool_tops(const std::vector<PoolConfig>& pools);
/// Names of the appliances that pools divide.
[[nodiscard]] std::set<std::string> pooled_appliances(const std::vector<PoolConfig>& pools);
/// What a vNIC has of the pools' reservations and limits when all vNICs want any amount.
struct PoolPart {
    double reservation = 0;  ///< tokens/s
    double limit = 0;        ///< tokens/s; infinite = none
};
/// Each vNIC's part by name, for demands that are not known.
[[nodiscard]] std::unordered_map<std::string, PoolPart> parts_in_pools(const std::vector<PoolConfig>& pools,
                                                                       const std::string& appliance);
/// Adds a fault for each unknown parent, circle of parents, reservation above the parent's, and repeated
/// name.
void check_pool_tree(const std::vector<PoolConfig>& pools, Faults& faults);

class PoolLayout {
  public:
    struct Name {
        std::string text;
        bool vnic = false;
    };

    /// @param pools valid; pools of other appliances are left out
    /// @param appliance its name becomes the root's
    /// @param capacity the appliance's least capacity: the reservation of the root
    PoolLayout(const std::vector<PoolConfig>& pools, const std::string& appliance, double capacity);

    [[nodiscard]] const pools::PoolTree& tree() const { return tree_; }
    [[nodiscard]] const Name& name(pools::NodeIndex node) const { return names_[node]; }
    /// The node of a pool, or of a vNIC. Names are unique among pools and among vNICs.
    [[nodiscard]] std::optional<pools::NodeIndex> find(std::string_view name, bool vnic) const;
    /// Adds a vNIC below the root, unless it has a node. @return its node
    pools::NodeIndex add_vnic(const std::string& name);

    /// Changes a node's settings. @return faults, with which nothing changes
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
