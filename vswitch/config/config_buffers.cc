// config_buffers.cc - the pools of packet buffers, and the quotas that each must have room for.
// Source: docs/algorithms.md 3.7. Units: buffers (mbufs).
//
// A quota holds only if the pool has buffers for all quotas at once. Example: one worker and an uplink of
// 1,024 descriptors need 2 x 1,024 + 2,048 + 1,024 + 4,096 = 9,216, each vNIC 1,920 as a sender and 66 as a
// receiver more: with 4 vNICs 17,160. Each NUMA node that has a worker has a pool of this size, as each vNIC
// may move to any worker.
#include <algorithm>

#include "common/config/config_text.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"

namespace weir {
namespace {

/// Buffers of frames of the wire and of other workers that may wait for a vNIC even if others use all common
/// ones.
constexpr std::uint32_t kReceiving = 2 * limits::kReceiveBuffersOwn;

std::uint32_t quota_of(const VnicConfig& vnic) {
    return vnic.buffers != 0 ? std::max(vnic.buffers, limits::kVnicBuffersMin)
                             : limits::kVnicBuffers * vnic.members;
}

/// Buffers that the vNIC may hold: its quota, those of frames that wait for it, and the rings of its device.
std::uint64_t buffers_of_vnic(const VnicConfig& vnic, const SwitchConfig& config) {
    return quota_of(vnic) + kReceiving * vnic.members +
           (vnic.device.empty() ? 0 : 2 * config.uplink.descriptors);
}

/// Buffers that workers, the uplink's rings and `vnics` may hold together.
std::uint64_t buffers_held(const SwitchConfig& config, const std::vector<VnicConfig>& vnics) {
    const std::uint64_t workers = config.workers.size();
    const std::uint64_t uplink = config.uplink.device.empty() ? 0 : 2 * config.uplink.descriptors;
    const std::uint64_t inbox = workers > 1 ? limits::kInboxBuffers + limits::kInboxPieceBuffers : 0;
    std::uint64_t held = workers * (uplink + inbox + limits::kInFlightBuffers + limits::kCachedBuffers +
                                    limits::kReceiveBuffers);
    for (const VnicConfig& vnic : vnics)
        held += buffers_of_vnic(vnic, config);
    return held;
}

}  // namespace

std::uint32_t pool_buffers(const SwitchConfig& config) {
    constexpr std::uint32_t kVnicsAddedLater = 8;  // room for `weirctl vnic add`
    if (config.buffers != 0)
        return config.buffers;
    return static_cast<std::uint32_t>(buffers_held(config, config.vnics) +
                                      kVnicsAddedLater * (limits::kVnicBuffers + kReceiving));
}

void check_buffers(const SwitchConfig& config, Faults& faults) {
    const std::uint64_t held = buffers_held(config, config.vnics);
    if (config.buffers != 0 && config.buffers < held)
        faults.push_back({"buffers", std::to_string(config.buffers),
                          "at least " + std::to_string(held) + ", or no key: the sum is the default",
                          "vNICs, rings and workers may hold " + std::to_string(held) + " together"});
}

void check_buffers(const VnicConfig& vnic, const std::string& path, const SwitchConfig& base,
                   const std::vector<VnicConfig>& others, Faults& faults) {
    const std::uint64_t own = buffers_of_vnic(vnic, base);
    const std::uint64_t held = buffers_held(base, others);
    if (base.buffers == 0 || held + own <= base.buffers)
        return;
    const std::uint64_t beside = own - quota_of(vnic);
    const std::uint64_t left = base.buffers - std::min<std::uint64_t>(base.buffers, held + beside);
    faults.push_back({path + ".buffers", std::to_string(quota_of(vnic)),
                      "at most " + std::to_string(left) + ", what is left",
                      "of the switch's " + std::to_string(base.buffers) + " buffers the others may hold " +
                          std::to_string(held) +
                          "; start the switch with \"buffers\": " + std::to_string(held + own)});
}

}  // namespace weir
