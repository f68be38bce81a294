// controller_billing.cc - USAGE in, BILLED out; vNICs that were removed from the cluster file.
#include <algorithm>
#include <map>
#include <utility>

#include "common/wire/records.h"
#include "ctrl/daemon/controller.h"

namespace weir {
namespace {

/// Whether the switch has the vNIC, which is refused because no cluster file has it.
bool is_refused(const Session& session, const std::string& vnic) {
    return std::ranges::any_of(session.refused_vnics,
                               [&vnic](const Refusal& each) { return each.vnic.name == vnic; });
}

}  // namespace

void Controller::set_removed_vnics(std::vector<RemovedVnic> vnics) {
    std::map<std::uint32_t, RemovedVnic> by_id;
    for (RemovedVnic& vnic : vnics)
        if (world_->cluster.find_end(vnic.id) == nullptr)
            by_id.emplace(vnic.id, std::move(vnic));
    usage_desk_.set_removed(std::move(by_id));
}

/// Gives the ids of vNICs whose last periods wait in the switch: of those that the cluster file no longer has
/// and the switch has, and of those that have left the switch. Without a host they are no peers of any vNIC.
void Controller::add_billed_vnics(const Session& session, wire::Tables& tables) const {
    std::map<std::uint32_t, std::string> names;
    for (const auto& [id, vnic] : usage_desk_.removed())
        if (is_refused(session, vnic.name))
            names.emplace(id, vnic.name);
    for (const std::string& name : session.unbilled)
        if (const ClusterEnd* const vnic = world_->cluster.find_vnic(name))
            names.emplace(vnic->id, name);
    if (names.empty())
        return;
    for (const wire::Endpoint& there : tables.endpoints)
        names.erase(there.id);
    for (auto& [id, name] : names)
        tables.endpoints.push_back({.id = id, .kind = wire::Endpoint::Kind::kVnic, .name = std::move(name)});
}

void Controller::on_usage(const Session& session, std::span<const std::uint8_t> body, Nanos now) {
    std::vector<wire::Usage> periods;
    counters_.refused_records += wire::decode(body, periods);
    usage_desk_.on_usage(
        {.host = session.host,
         .session = session.number,
         .since = session.since,
         .has_removed = [&session](const std::string& vnic) { return is_refused(session, vnic); }},
        periods, unix_nanos(now));
}

/// The Unix time was read at the last tick.
std::int64_t Controller::unix_nanos(Nanos now) const {
    const Nanos since = ticked_at_ == kNever || now < ticked_at_ ? 0 : now - ticked_at_;
    return unix_time_ * static_cast<std::int64_t>(kNanosPerSec) + static_cast<std::int64_t>(since);
}

void Controller::send_billed() {
    for (const UsageDesk::Billed& billed : usage_desk_.take_billed()) {
        Session* const session = sessions_.of_host(billed.host);
        if (session == nullptr || session->number != billed.session)
            continue;  // the switch sends the periods again in its new session
        wire::Header header = session->sequencer.next(wire::Type::kBilled, interval_);
        header.count = 1;
        send(session->route, header, wire::encode_billed(billed.through));
    }
}

std::vector<Outgoing> Controller::take_outgoing() {
    send_billed();
    return std::exchange(outgoing_, {});
}

}  // namespace weir
