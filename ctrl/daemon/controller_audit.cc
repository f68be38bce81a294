// controller_audit.cc - the command audit: the last entries of the audit trail, with those that wait for the
// disk.
#include <nlohmann/json.hpp>

#include "ctrl/daemon/controller_commands.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kAuditEntriesMax = 1'000;

json audit_json(const AuditEntry& entry, bool is_stored) {
    json out{{"number", entry.number},
             {"time", entry.unix_time},
             {"kind", entry.kind},
             {"text", entry.text},
             {"stored", is_stored}};
    if (!entry.peer.empty())
        out["peer"] = entry.peer;
    if (entry.revision != 0)
        out["revision"] = entry.revision;
    if (entry.values_in_all == 0)
        return out;
    json values = json::parse(entry.values, nullptr, false);
    out["changes"] = values.is_array() ? std::move(values) : json::array();
    out["changes_in_all"] = entry.values_in_all;
    return out;
}

}  // namespace

json Controller::Commands::audit(ObjectReader& args) {
    std::uint64_t last = 50;
    std::uint64_t since = 0;
    bool of_operators = false;
    args.read_integer("last", last, {1, kAuditEntriesMax});
    args.read_integer("since", since, {0, UINT32_MAX});
    args.read_flag("changes", of_operators);
    if (!are_valid(args))
        return {};
    (void)controller_.writes_.flush(controller_.unix_time_);
    std::vector<AuditEntry> tail = controller_.store_.audit_tail(last, of_operators);
    const std::size_t stored = tail.size();
    for (AuditEntry entry : controller_.writes_.waiting()) {
        if (of_operators && entry.peer.empty())
            continue;
        entry.number = tail.empty() ? 1 : tail.back().number + 1;
        tail.push_back(std::move(entry));
    }
    json entries = json::array();
    for (std::size_t i = tail.size() > last ? tail.size() - last : 0; i < tail.size(); ++i)
        if (tail[i].unix_time >= static_cast<std::int64_t>(since))
            entries.push_back(audit_json(tail[i], i < stored));
    return {{"entries", entries}, {"more", entries.size() == last}};
}

}  // namespace weir
