// controller_commands.cc - the commands that weirctl may send to the controller, and their data as JSON.
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "common/control_socket.h"
#include "common/error.h"
#include "common/stepped_clock.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/controller.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSchema = 1;
constexpr std::uint64_t kAuditEntriesMax = 1'000;

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

json bill_row(const BillSum& sum) {
    return {{"tenant", sum.tenant},
            {"vnic", sum.vnic},
            {"guarantee_kind", guarantee_name(sum.guarantee)},
            {"periods", sum.periods},
            {"seconds", sum.seconds},
            {"promised_bytes", sum.promised},
            {"delivered_bytes", sum.delivered},
            {"fulfillment", sum.fulfillment ? json(*sum.fulfillment) : json(nullptr)},
            {"charge", sum.charge}};
}

const char* state_of(const Session* session) {
    return session == nullptr      ? "absent"
           : session->is_silent    ? "silent"
           : !session->has_demands ? "welcomed"
                                   : "connected";
}

}  // namespace

/// One request. Each command reads its arguments, and returns its data unless there are faults.
class Controller::Commands {
  public:
    Commands(Controller& controller, const ConnectionCounters& connections, Nanos now, const StepTime& step,
             Faults& faults)
        : controller_(controller), connections_(connections), now_(now), step_(step), faults_(faults) {}

    json run(const json& request);

  private:
    json audit(ObjectReader& args);
    json bill(ObjectReader& args);
    json clock_step(ObjectReader& args);
    json pool_reset(ObjectReader& args);
    json pool_set(ObjectReader& args);
    json pool_show(ObjectReader& args);
    json running(ObjectReader& args);
    json status(ObjectReader& args);

    void read_pool_name(ObjectReader& args, PoolChange& change);
    json change_pool(const PoolChange& change);
    [[nodiscard]] bool are_valid(ObjectReader& args) const {
        args.finish();
        return faults_.empty();
    }

    Controller& controller_;
    const ConnectionCounters& connections_;
    Nanos now_;
    const StepTime& step_;
    Faults& faults_;
};

json Controller::Commands::run(const json& request) {
    struct Entry {
        const char* name;
        json (Commands::*run)(ObjectReader& args);
    };
    constexpr std::array kAll{
        Entry{"audit", &Commands::audit},           Entry{"bill", &Commands::bill},
        Entry{"clock.step", &Commands::clock_step}, Entry{"pool.reset", &Commands::pool_reset},
        Entry{"pool.set", &Commands::pool_set},     Entry{"pool.show", &Commands::pool_show},
        Entry{"running", &Commands::running},       Entry{"status", &Commands::status}};
    ObjectReader reader(request, "", faults_);
    std::uint64_t schema = 0;
    std::string name;
    reader.read_integer("schema", schema, {kSchema, kSchema});
    reader.read_text("command", name);
    const json* given = reader.take("args");
    const json none = json::object();
    ObjectReader args(given == nullptr ? none : *given, "args", faults_);
    std::string names;
    for (const Entry& command : kAll) {
        if (name == command.name)
            return (this->*command.run)(args);
        names += (names.empty() ? "" : ", ") + std::string(command.name);
    }
    reader.fault("command", names, "the controller has no such command; a switch may have it (--socket)");
    return {};
}

json Controller::Commands::audit(ObjectReader& args) {
    std::uint64_t last = 50;
    args.read_integer("last", last, {1, kAuditEntriesMax});
    if (!are_valid(args))
        return {};
    json entries = json::array();
    for (const AuditEntry& entry : controller_.store_.audit_tail(last))
        entries.push_back({{"number", entry.number},
                           {"time", entry.unix_time},
                           {"kind", entry.kind},
                           {"text", entry.text}});
    return {{"entries", entries}};
}

json Controller::Commands::bill(ObjectReader& args) {
    constexpr Range kSeconds{0, 4'000'000'000};
    constexpr auto kSecond = static_cast<std::int64_t>(kNanosPerSec);
    BillSpan span;
    args.read_text("tenant", span.tenant);
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    args.read_integer("from", from, kSeconds);
    const bool has_end = args.read_integer("to", to, kSeconds);
    bool verify = false;
    args.read_flag("verify", verify);
    if (has_end && to < from)
        args.fault("to", "a time after \"from\"", "the span ends before it begins");
    if (!are_valid(args))
        return {};
    span.from = static_cast<std::int64_t>(from) * kSecond;
    if (has_end)
        span.to = static_cast<std::int64_t>(to) * kSecond;
    BillStore& bill = controller_.store_.bill();
    json rows = json::array();
    double charge = 0;
    for (const BillSum& sum : bill.sum(span)) {
        charge += sum.charge;
        rows.push_back(bill_row(sum));
    }
    json data{{"rows", std::move(rows)},
              {"charge", charge},
              {"billing", controller_.config_.prices.has_value()},
              {"lines", bill.lines()},
              {"head", bill.head()}};
    if (verify) {
        const auto altered = bill.first_altered();
        data["first_altered"] = altered ? json(*altered) : json(nullptr);
    }
    return data;
}

json Controller::Commands::clock_step(ObjectReader& args) {
    Nanos span = 0;
    if (require(args, "span", "a time, such as 1s"))
        args.read_quantity("span", Quantity::kDuration, span, {1, ClockStep::kSpanMax});
    if (!are_valid(args))
        return {};
    if (!step_) {
        faults_.push_back({"command", "clock.step", "a controller that was started with --clock stepped",
                           "the time of this controller is real, and no command moves it"});
        return {};
    }
    return {{"now_ns", step_(span)}};
}

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
    PoolRates* pools = controller_.solver_.pools();
    if (pools == nullptr) {
        faults_.push_back({"name", '"' + change.name + '"', "nothing", "the cluster file has no \"pools\""});
        return {};
    }
    faults_ = pools->set(change);
    if (!faults_.empty())
        return {};
    try {
        controller_.store_.save_pool_settings(pools->settings());
        controller_.audit("pool",
                          change.name + (change.is_reset ? " reset to the cluster file" : " changed"));
    } catch (const HostError& error) {
        faults_.push_back({"store", error.what(), "a store that can be written",
                           "the change is in force, but only until the controller restarts"});
    }
    return json::object();
}

json Controller::Commands::pool_show(ObjectReader& args) {
    if (!are_valid(args))
        return {};
    const PoolRates* pools = controller_.solver_.pools();
    return {{"interval", controller_.interval_},
            {"pools", pools == nullptr ? json::array() : pools->describe()}};
}

json Controller::Commands::running(ObjectReader& args) {
    return are_valid(args) ? controller_.running() : json();
}

json Controller::Commands::status(ObjectReader& args) {
    if (!are_valid(args))
        return {};
    json data = controller_.status(now_);
    data["role"] = "controller";
    data["version"] = WEIR_VERSION;
    data["clock"] = step_ ? "stepped" : "real";
    data["now_ns"] = now_;
    data["sockets"] = {{"admitted", connections_.admitted},
                       {"denied", connections_.denied},
                       {"surplus", connections_.surplus},
                       {"odd_frames", connections_.odd_frames},
                       {"unreachable", connections_.unreachable},
                       {"full", connections_.full},
                       {"faults", connections_.faults}};
    if (controller_.loop_report_)
        data.update(controller_.loop_report_());
    return data;
}

std::string Controller::on_command(std::string_view request, const ConnectionCounters& connections, Nanos now,
                                   const StepTime& step) {
    JsonText text = read_json_text(request);
    Faults faults = std::move(text.faults);
    json data;
    try {
        if (faults.empty())
            data = Commands(*this, connections, now, step, faults).run(text.value);
    } catch (const HostError& error) {  // of the store: the loop goes on
        faults.push_back({"command", error.what(), "a store that can be read",
                          "the command was not answered; the controller goes on without it"});
    }
    json reply{{"schema", kSchema}, {"ok", faults.empty()}};
    if (faults.empty())
        reply["data"] = std::move(data);
    else
        reply["faults"] = faults_to_json(faults);
    std::string bytes = reply.dump(-1, ' ', false, json::error_handler_t::replace);
    if (bytes.size() <= static_cast<std::size_t>(kReplyBytesMax))
        return bytes;
    faults = {{"command", "a reply of " + std::to_string(bytes.size()) + " bytes",
               "at most " + std::to_string(kReplyBytesMax) + " bytes",
               "weirctl takes no longer reply; ask for less of it, such as `bill --tenant NAME`, or, for a "
               "cluster file of this size, use `plan FILE` instead of `apply --dry-run FILE`"}};
    return json{{"schema", kSchema}, {"ok", false}, {"faults", faults_to_json(faults)}}.dump();
}

json Controller::status(Nanos now) const {
    json hosts = json::array();
    for (HostIndex host = 0; host < config_.hosts.size(); ++host) {
        const Session* session = sessions_.of_host(host);
        json one{{"name", config_.hosts[host].name}, {"state", state_of(session)}};
        if (session != nullptr) {
            one["authenticated"] = session->is_authenticated;
            one["version"] = session->version;
            one["last_message_ms"] = (now - session->last_message) / 1'000'000;
            one["vnics"] = cluster_.vnics_of(host).size();
            one["flows"] = session->rates.size();
            one["refused_vnics"] = session->refused_vnics;
        }
        hosts.push_back(std::move(one));
    }
    json refusals = json::array();
    for (const auto& [what, times] : audited_)
        if (what.starts_with("refused: ") || what.starts_with("malformed: "))
            refusals.push_back({{"what", what}, {"times", times}});
    return {{"cluster", config_.name},
            {"epoch", epoch_},
            {"interval", interval_},
            {"interval_ns", config_.interval},
            {"flows", demands_.flows().size()},
            {"hosts", hosts},
            {"appliances", solver_.describe_appliances()},
            {"counters", counters_json(counters_)},
            {"refusals", refusals}};
}

json Controller::running() const {
    json hosts = json::object();
    for (HostIndex host = 0; host < config_.hosts.size(); ++host)
        for (const std::uint32_t id : cluster_.vnics_of(host))
            hosts[cluster_.name_of(*cluster_.find_end(id))] = config_.hosts[host].name;
    json use = json::object();
    for (const auto& [vnic, measured] : use_.all())
        if (measured.is_enough())
            use[vnic] = measured.bins();
    return {{"specification", store_.specification().value_or("")}, {"vnics", hosts}, {"use", use}};
}

}  // namespace weir
