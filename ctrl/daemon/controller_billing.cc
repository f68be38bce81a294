// controller_billing.cc - USAGE messages: billing periods go on the bill, and into each vNIC's measured use.
#include <algorithm>

#include "common/wire/records.h"
#include "ctrl/daemon/controller.h"

namespace weir {
namespace {

/// Measured use is stored in this many parts, one per interval, so that no interval waits long for the disk.
constexpr std::size_t kUseParts = 60;

}  // namespace

/// Answers with BILLED once the periods are stored. Without that answer the switch sends them again, so
/// nothing is lost while the store cannot be written.
void Controller::on_usage(Session& session, std::span<const std::uint8_t> body) {
    std::vector<wire::Usage> periods;
    counters_.refused_records += wire::decode(body, periods);
    std::uint64_t last_ended = 0;
    std::vector<billing::Record> records;
    for (const wire::Usage& period : periods) {
        last_ended = std::max(last_ended, period.ended);
        const ClusterEnd* end = cluster_.find_end(period.vnic);
        if (end == nullptr || end->host != session.host) {
            ++counters_.foreign_flows;
            continue;
        }
        const TenantConfig& tenant = config_.tenants[end->tenant];
        records.push_back({.vnic = tenant.vnics[end->index].name,
                           .tenant = tenant.name,
                           .guarantee_kind = period.guarantee,
                           .began = static_cast<std::int64_t>(period.began),
                           .ended = static_cast<std::int64_t>(period.ended),
                           .promised = period.promised,
                           .delivered = period.delivered});
        use_.add(records.back(), session.since);
    }
    try {
        if (config_.prices && !records.empty()) {
            const BillStore::Appended appended = store_.bill().append(records, *config_.prices);
            counters_.records += appended.added;
            if (appended.refused != 0)
                audit("refused", std::to_string(appended.refused) + " periods of host " +
                                     config_.hosts[session.host].name +
                                     ", which end before they begin or overlap others");
        }
    } catch (const HostError& error) {
        return audit("store", std::string("billing periods were not written: ") + error.what());
    }
    wire::Header header = session.sequencer.next(wire::Type::kBilled, interval_);
    header.count = 1;
    send(session.route, header, wire::encode_billed(last_ended));
}

void Controller::save_measured_use() {
    try {
        store_.save_measured_use(use_.all(), interval_ % kUseParts, kUseParts);
    } catch (const HostError& error) {
        audit("store", std::string("measured use was not written: ") + error.what());
    }
}

}  // namespace weir
