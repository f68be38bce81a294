// controller_status.cc - what `weirctl status` and `weirctl audit` show of the controller, as JSON.
#include <nlohmann/json.hpp>

#include "ctrl/daemon/pool_rates.h"
#include "ctrl/daemon/session.h"

namespace weir {
namespace {

using nlohmann::json;

json counters_json(const ControllerCounters& counters) {
    json malformed = json::object();
    for (std::size_t i = 1; i < wire::kMalformedReasons; ++i)
        malformed[wire::name_of(static_cast<wire::Malformed>(i))] = counters.malformed[i];
    return {{"messages", counters.messages},
            {"records", counters.records},
            {"records_out", counters.records_out},
            {"bytes_in", counters.bytes_in},
            {"bytes_out", counters.bytes_out},
            {"solves", counters.solves},
            {"early_solves", counters.early_solves},
            {"refused",
             {{"malformed", malformed},
              {"bad_json", counters.bad_json},
              {"wrong_type", counters.wrong_type},
              {"stale", counters.stale},
              {"foreign", counters.foreign},
              {"hosts", counters.refused_hosts},
              {"vnics", counters.refused_vnics},
              {"records", counters.refused_records},
              {"flows", counters.foreign_flows}}}};
}

}  // namespace

json Controller::status(Nanos now) const {
    json hosts = json::array();
    for (HostIndex host = 0; host < config_.hosts.size(); ++host) {
        const Session* session = sessions_[host].get();
        json one{{"name", config_.hosts[host].name},
                 {"state", session == nullptr   ? "absent"
                           : session->silent    ? "silent"
                           : !session->has_told ? "welcomed"
                                                : "connected"}};
        if (session != nullptr) {
            one["proven"] = session->proven;
            one["version"] = session->version;
            one["heard_ms"] = (now - session->heard) / 1'000'000;
            one["vnics"] = cluster_.vnics_of(host).size();
            one["flows"] = session->rates.size();
            one["refused_vnics"] = session->refused_vnics;
        }
        hosts.push_back(std::move(one));
    }
    json refusals = json::array();
    for (const auto& [what, times] : notes_)
        if (what.starts_with("refused: ") || what.starts_with("malformed: "))
            refusals.push_back({{"what", what}, {"times", times}});
    json report{{"cluster", config_.name},
                {"epoch", epoch_},
                {"interval", interval_},
                {"interval_ns", config_.interval},
                {"flows", demands_.size()},
                {"hosts", hosts},
                {"counters", counters_json(counters_)},
                {"refusals", refusals}};
    solver_.describe(report);
    return report;
}

json Controller::pools() const {
    json list = json::array();
    solver_.describe_pools(list);
    return {{"interval", interval_}, {"pools", list}};
}

/// What operators set in the last life. The audit trail says what of it the cluster file has overtaken.
void Controller::restore_pools() {
    const std::vector<std::string> lost = solver_.restore_pools(store_.pool_settings());
    for (const std::string& each : lost)
        note("pool", each);
    if (!lost.empty())
        store_.save_pool_settings(solver_.pool_settings());
}

Faults Controller::set_pool(const PoolChange& change) {
    Faults faults = solver_.set_pool(change);
    if (!faults.empty())
        return faults;
    try {
        store_.save_pool_settings(solver_.pool_settings());
        note("pool", change.name + (change.as_filed ? " as the cluster file says" : " changed"));
    } catch (const HostError& error) {
        faults.push_back({"store", error.what(), "a store that can be written",
                          "the change counts, but only until the controller starts again"});
    }
    return faults;
}

json Controller::running() {
    json hosts = json::object();
    for (HostIndex host = 0; host < config_.hosts.size(); ++host)
        for (const std::uint32_t id : cluster_.vnics_of(host))
            hosts[cluster_.name_of(*cluster_.find_end(id))] = config_.hosts[host].name;
    json use = json::object();
    for (const auto& [vnic, measured] : use_.all())
        if (measured.enough())
            use[vnic] = measured.bins();
    return {{"specification", store_.specification().value_or("")}, {"vnics", hosts}, {"use", use}};
}

json Controller::audit(std::size_t most) {
    json entries = json::array();
    for (const AuditEntry& entry : store_.audit_tail(most))
        entries.push_back({{"number", entry.number},
                           {"time", entry.unix_time},
                           {"kind", entry.kind},
                           {"text", entry.text}});
    return {{"entries", entries}};
}

}  // namespace weir
