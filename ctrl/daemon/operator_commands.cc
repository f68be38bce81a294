// operator_commands.cc - audit, bill, pool.reset, pool.set, pool.show, running, status.
#include "ctrl/daemon/operator_commands.h"

#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/config/fault_report.h"
#include "common/config/field_kinds.h"
#include "ctrl/config/config_sections.h"
#include "ctrl/daemon/pool_rates.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSchema = 1;
constexpr std::uint64_t kAuditMost = 1'000;

json status(const Controller& controller, const ServerCounters& server, Nanos now) {
    json out = controller.status(now);
    out["role"] = "controller";
    out["version"] = WEIR_VERSION;
    out["sockets"] = {{"admitted", server.admitted},
                      {"denied", server.denied},
                      {"odd_frames", server.odd_frames},
                      {"unreachable", server.unreachable},
                      {"full", server.full}};
    return out;
}

void name_pool(ObjectReader& args, PoolChange& wanted) {
    if (require(args, "name", "the name of a pool, or of a vNIC in one"))
        args.read_text("name", wanted.name);
    args.read_text("appliance", wanted.appliance);
}

json reset_pool(Controller& controller, ObjectReader& args, Faults& faults) {
    PoolChange wanted{.as_filed = true};
    name_pool(args, wanted);
    args.finish();
    if (faults.empty())
        faults = controller.set_pool(wanted);
    return json::object();
}

json set_pool(Controller& controller, ObjectReader& args, Faults& faults) {
    constexpr Range kTokens{0, kTokenRateMax};
    constexpr Range kShares{1, 10'000};
    PoolChange wanted;
    name_pool(args, wanted);
    const json* change = args.take("change");
    const json none = json::object();
    ObjectReader keys(change == nullptr ? none : *change, "change", faults);
    std::uint64_t reservation = 0;
    if (keys.read_quantity("reservation", Quantity::kTokenRate, reservation, kTokens))
        wanted.reservation_tokens = reservation;
    std::optional<std::uint64_t> limit;
    if (keys.read_limit("limit", Quantity::kTokenRate, limit, kTokenRange))
        wanted.limit_tokens = limit;
    std::uint32_t shares = 0;
    if (keys.read_integer("shares", shares, kShares))
        wanted.shares = shares;
    keys.finish();
    args.finish();
    if (faults.empty())
        faults = controller.set_pool(wanted);
    return json::object();
}

json bill(Controller& controller, ObjectReader& args, Faults& faults) {
    constexpr Range kSeconds{0, 4'000'000'000};
    constexpr std::int64_t kSecond = 1'000'000'000;
    BillSpan span;
    args.read_text("tenant", span.tenant);
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    args.read_integer("from", from, kSeconds);
    const bool ends = args.read_integer("to", to, kSeconds);
    bool verify = false;
    args.read_flag("verify", verify);
    if (ends && to < from)
        args.fault("to", "a time after \"from\"", "the span runs backwards");
    args.finish();
    span.from = static_cast<std::int64_t>(from) * kSecond;
    if (ends)
        span.to = static_cast<std::int64_t>(to) * kSecond;
    return faults.empty() ? controller.bill(span, verify) : json();
}

json run(Controller& controller, const ServerCounters& server, const json& request, Nanos now,
         Faults& faults) {
    ObjectReader reader(request, "", faults);
    std::uint64_t schema = 0;
    std::string command;
    reader.read_integer("schema", schema, {kSchema, kSchema});
    reader.read_text("command", command);
    const json* given = reader.take("args");
    const json none = json::object();
    ObjectReader args(given == nullptr ? none : *given, "args", faults);
    if (command == "status") {
        args.finish();
        return faults.empty() ? status(controller, server, now) : json();
    }
    if (command == "audit") {
        std::uint64_t last = 50;
        args.read_integer("last", last, {1, kAuditMost});
        args.finish();
        return faults.empty() ? controller.audit(last) : json();
    }
    if (command == "bill")
        return bill(controller, args, faults);
    if (command == "pool.show") {
        args.finish();
        return faults.empty() ? controller.pools() : json();
    }
    if (command == "pool.set")
        return set_pool(controller, args, faults);
    if (command == "pool.reset")
        return reset_pool(controller, args, faults);
    if (command == "running") {
        args.finish();
        return faults.empty() ? controller.running() : json();
    }
    reader.fault("command", "audit, bill, pool.reset, pool.set, pool.show, running, status",
                 "the controller has no such command; the switches may");
    return {};
}

}  // namespace

std::string answer_operator(Controller& controller, const ServerCounters& server, std::string_view request,
                            Nanos now) {
    JsonText text = read_json_text(request);
    Faults faults = std::move(text.faults);
    json data;
    if (faults.empty())
        data = run(controller, server, text.value, now, faults);
    json reply{{"schema", kSchema}, {"ok", faults.empty()}};
    if (faults.empty())
        reply["data"] = std::move(data);
    else
        reply["faults"] = faults_to_json(faults);
    return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace weir
