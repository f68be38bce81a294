// pool_layout.h - the pools of one appliance as the cluster file names them, and as the tree that is divided.
// Source: SRP 2.1. Units: tokens/s. Threads: one owner.
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

/// VMs, wherever they are, that share an appliance, or a part of what their parent has of it.
struct PoolConfig {
    std::string name{};
    std::string parent{};                               ///< empty = the appliance itself
    std::string appliance{};                            ///< empty = the parent's
    std::optional<std::uint64_t> reservation_tokens{};  ///< absent = what is reserved in it
    std::optional<std::uint64_t> limit_tokens{};
    std::uint32_t shares = 100;
    std::vector<PoolVnicConfig> vnics{};
};

/// What a pool was given in the file: by default of the reservation what is reserved below it.
[[nodiscard]] std::vector<std::uint64_t> pool_reservations(const std::vector<PoolConfig>& pools);
/// The first pool of each chain of parents; kNoPool where there is none, which is a fault.
inline constexpr std::uint32_t kNoPool = UINT32_MAX;
[[nodiscard]] std::vector<std::uint32_t> pool_tops(const std::vector<PoolConfig>& pools);
/// Appliances that pools divide.
[[nodiscard]] std::set<std::string> pooled_appliances(const std::vector<PoolConfig>& pools);
/// Tokens per second that vNICs have of their pools' reservations when nobody says what they want, by name.
[[nodiscard]] std::unordered_map<std::string, double> reserved_in_pools(const std::vector<PoolConfig>& pools,
                                                                        const std::string& appliance);
/// Parents that are not there or lead back to themselves, reservations above the parent's, names and vNICs
/// that stand twice.
void check_pool_tree(const std::vector<PoolConfig>& pools, Faults& faults);

class PoolLayout {
  public:
    struct Name {
        std::string text;
        bool vnic = false;
    };

    /// @param pools     valid; those of other appliances are left out
    /// @param appliance its name is the root's
    /// @param capacity  that it surely has: what is reserved in all
    PoolLayout(const std::vector<PoolConfig>& pools, const std::string& appliance, double capacity);

    [[nodiscard]] const pools::PoolTree& tree() const { return tree_; }
    [[nodiscard]] const Name& name(pools::NodeIndex node) const { return names_[node]; }
    /// Of a pool, or of a vNIC: no two have the same.
    [[nodiscard]] std::optional<pools::NodeIndex> find(std::string_view name, bool vnic) const;
    /// A vNIC that is in no pool, below the root; one that is, where it is.
    pools::NodeIndex add_vnic(const std::string& name);

    /// Changes a node while all runs. @return what is wrong with it; then nothing is changed
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
