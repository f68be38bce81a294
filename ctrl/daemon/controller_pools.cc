// controller_pools.cc - the commands about pools: set, reset, show. Each change is in the audit trail.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/config/field_kinds.h"
#include "common/units.h"
#include "ctrl/config/audited_values.h"
#include "ctrl/daemon/controller_commands.h"

namespace weir {
namespace {

using nlohmann::json;

std::string value_text(const PoolSetting& setting, std::int64_t value) {
    return setting.key == "limit" && value == PoolSetting::kNoLimit ? "none" : std::to_string(value);
}

/// Where two lists of settings differ: pools.disk.sales.limit 700 -> 600. A value that is in one of them
/// alone is the cluster file's in the other.
std::vector<ChangedValue> changes_between(const std::vector<PoolSetting>& before,
                                          const std::vector<PoolSetting>& after) {
    std::vector<ChangedValue> changes;
    const auto same_place = [](const PoolSetting& one) {
        return [&one](const PoolSetting& other) {
            return one.appliance == other.appliance && one.name == other.name &&
                   one.is_vnic == other.is_vnic && one.key == other.key;
        };
    };
    const auto add = [&changes](const PoolSetting& setting, std::int64_t old_value, std::int64_t new_value) {
        if (old_value != new_value)
            changes.push_back({"pools." + setting.appliance + '.' + setting.name + '.' + setting.key,
                               value_text(setting, old_value), value_text(setting, new_value)});
    };
    for (const PoolSetting& each : after) {
        const auto old = std::ranges::find_if(before, same_place(each));
        add(each, old == before.end() ? each.configured : old->value, each.value);
    }
    for (const PoolSetting& each : before)
        if (std::ranges::none_of(after, same_place(each)))
            add(each, each.value, each.configured);
    return changes;
}

/// "limit 700 -> 600, shares 100 -> 300"
std::string changes_text(const std::vector<ChangedValue>& changes) {
    std::string text;
    for (const ChangedValue& each : changes)
        text += (text.empty() ? "" : ", ") + each.path.substr(each.path.rfind('.') + 1) + ' ' + each.before +
                " -> " + each.now;
    return text.empty() ? "no value differs" : text;
}

}  // namespace

void Controller::Commands::read_pool_name(ObjectReader& args, PoolChange& change) {
    if (require(args, "name", "the name of a pool, or of a vNIC in one"))
        args.read_text("name", change.name);
    args.read_text("appliance", change.appliance);
}

json Controller::Commands::pool_reset(ObjectReader& args) {
    PoolChange change{.is_reset = true};
    read_pool_name(args, change);
    return are_valid(args) ? change_pool(change) : json();
}

json Controller::Commands::pool_set(ObjectReader& args) {
    constexpr Range kTokens{0, kTokenRateMax};
    constexpr Range kShares{1, 10'000};
    PoolChange change;
    read_pool_name(args, change);
    const json* object = args.take("change");
    const json none = json::object();
    ObjectReader keys(object == nullptr ? none : *object, "change", faults_);
    std::uint64_t reservation = 0;
    if (keys.read_quantity("reservation", Quantity::kTokenRate, reservation, kTokens))
        change.reservation_tokens = reservation;
    std::optional<std::uint64_t> limit;
    if (keys.read_limit("limit", Quantity::kTokenRate, limit, kTokenRange))
        change.limit_tokens = limit;
    std::uint32_t shares = 0;
    if (keys.read_integer("shares", shares, kShares))
        change.shares = shares;
    keys.finish();
    return are_valid(args) ? change_pool(change) : json();
}

json Controller::Commands::change_pool(const PoolChange& change) {
    PoolRates* pools = controller_.world_->solver->pools();
    if (pools == nullptr) {
        faults_.push_back({"name", '"' + change.name + '"', "nothing", "the cluster file has no \"pools\""});
        return {};
    }
    const std::vector<PoolSetting> before = pools->settings();
    faults_ = pools->set(change);
    if (!faults_.empty())
        return {};
    const std::vector<PoolSetting> after = pools->settings();
    const std::vector<ChangedValue> changes = changes_between(before, after);
    AuditedValues audited = audited_values(changes);
    DeferredWrites& writes = controller_.writes_;
    writes.set_pool_settings(after);
    writes.note_change({.unix_time = controller_.unix_time_,
                        .kind = "pool",
                        .text = change.name + (change.is_reset ? " reset to the cluster file: " : ": ") +
                                changes_text(changes),
                        .peer = origin_.peer,
                        .revision = controller_.revision_,
                        .values = std::move(audited.list),
                        .values_in_all = audited.in_all});
    if (writes.flush(controller_.unix_time_))
        return {{"lasting", true}};
    const std::string& fault = writes.state().fault;
    return {{"lasting", false},
            {"fault", fault.empty() ? "the disk has not answered yet; it is written when it does" : fault}};
}

json Controller::Commands::pool_show(ObjectReader& args) {
    if (!are_valid(args))
        return {};
    const PoolRates* pools = controller_.world_->solver->pools();
    return {{"interval", controller_.interval_},
            {"pools", pools == nullptr ? json::array() : pools->describe()}};
}

}  // namespace weir
