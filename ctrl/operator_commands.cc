// operator_commands.cc - status, audit.
#include "ctrl/operator_commands.h"

#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"

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
    reader.fault("command", "audit, status", "the controller has no such command; the switches may");
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
    for (const Fault& fault : faults)
        reply["faults"].push_back({{"path", fault.path},
                                   {"found", fault.found},
                                   {"allowed", fault.allowed},
                                   {"message", fault.message}});
    return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace weir
