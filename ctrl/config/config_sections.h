// config_sections.h - the lists of the cluster file, each checked within itself. Internal to ctrl/config*.
// Threads: any; never used on a poll thread.
#pragma once

#include "common/config/config_reader.h"
#include "ctrl/config/config.h"

namespace weir {

inline constexpr std::uint64_t kLinkRateMax = 400'000'000'000;     // bit/s
inline constexpr std::uint64_t kTokenRateMax = 1'000'000'000'000;  // tokens per second
inline constexpr Range kTokenRange{1, kTokenRateMax};

void read_topology(ObjectReader& root, ClusterConfig& config, Faults& faults);
void read_cluster_appliances(ObjectReader& root, ClusterConfig& config, Faults& faults);
void read_tenants(ObjectReader& root, ClusterConfig& config, Faults& faults);
void read_pools(ObjectReader& root, std::vector<PoolConfig>& out, Faults& faults);
void check_pools(const ClusterConfig& config, Faults& faults);
/// What holds between the lists: names that must exist, and be unique.
void check_cluster(const ClusterConfig& config, Faults& faults);

}  // namespace weir
