// controller_billing.cc - what the switches counted goes on the bill, and they hear up to when.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/config/guarantee_words.h"
#include "common/wire/usage.h"
#include "ctrl/daemon/session.h"

namespace weir {

using nlohmann::json;

namespace {

constexpr std::size_t kUseParts = 60;

}  // namespace

/// Without an answer the switch says it again: so when the store cannot be written now.
void Controller::usage(Session& session, std::span<const std::uint8_t> body) {
    std::vector<wire::Usage> periods;
    counters_.refused_records += wire::decode(body, periods);
    std::uint64_t through = 0;
    std::vector<billing::Record> records;
    for (const wire::Usage& period : periods) {
        through = std::max(through, period.ended);
        const ClusterEnd* end = cluster_.find_end(period.vnic);
        if (end == nullptr || end->host != session.host) {
            ++counters_.foreign_flows;
            continue;
        }
        const TenantConfig& tenant = config_.tenants[end->tenant];
        records.push_back({.vnic = tenant.vnics[end->index].name,
                           .tenant = tenant.name,
                           .guarantee = period.guarantee,
                           .began = static_cast<std::int64_t>(period.began),
                           .ended = static_cast<std::int64_t>(period.ended),
                           .promised = period.promised,
                           .delivered = period.delivered});
    }
    for (const billing::Record& record : records)
        use_.add(record, session.since);
    try {
        if (config_.prices && !records.empty()) {
            const BillStore::Appended appended = store_.bill().append(records, *config_.prices);
            counters_.records += appended.taken;
            if (appended.refused != 0)
                note("refused", std::to_string(appended.refused) + " periods of host " +
                                    config_.hosts[session.host].name + ", which run backwards or overlap");
        }
    } catch (const HostError& error) {
        return note("lost", std::string("no bill now: ") + error.what());
    }
    wire::Header header = session.origin.next(wire::Type::kBilled, interval_);
    header.count = 1;
    send(session, header, wire::encode_billed(through));
}

/// A part of them each interval, so that none of them takes long.
void Controller::save_use() {
    try {
        store_.use().save(use_.all(), interval_ % kUseParts, kUseParts);
    } catch (const HostError& error) {
        note("lost", std::string("what was used is not stored now: ") + error.what());
    }
}

json Controller::bill(const BillSpan& span, bool verify) {
    json rows = json::array();
    double charge = 0;
    for (const BillSum& sum : store_.bill().sum(span)) {
        charge += sum.charge;
        rows.push_back({{"tenant", sum.tenant},
                        {"vnic", sum.vnic},
                        {"guarantee", guarantee_name(sum.guarantee)},
                        {"periods", sum.periods},
                        {"seconds", sum.seconds},
                        {"promised_bytes", sum.promised},
                        {"delivered_bytes", sum.delivered},
                        {"fulfillment", sum.fulfillment ? json(*sum.fulfillment) : json(nullptr)},
                        {"charge", sum.charge}});
    }
    json out{{"rows", std::move(rows)},
             {"charge", charge},
             {"billing", config_.prices.has_value()},
             {"lines", store_.bill().lines()},
             {"head", store_.bill().head()}};
    if (verify) {
        const auto altered = store_.bill().first_altered();
        out["first_altered"] = altered ? json(*altered) : json(nullptr);
    }
    return out;
}

}  // namespace weir
