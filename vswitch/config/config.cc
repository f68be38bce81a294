// config.cc - the whole configuration: the switch's own keys and its sections, one after the other.
#include "vswitch/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kCoreMax = 1023;
constexpr std::array kAccountings{Word<Accounting>{"wire", Accounting::kWire},
                                  Word<Accounting>{"l2", Accounting::kL2}};
constexpr std::array kPollModes{Word<PollMode>{"busy", PollMode::kBusy},
                                Word<PollMode>{"adaptive", PollMode::kAdaptive}};
constexpr std::array kOnRefused{Word<OnRefused>{"hold", OnRefused::kHold},
                                Word<OnRefused>{"best_effort", OnRefused::kBestEffort}};
constexpr std::array kFlowOffloads{Word<FlowOffload>{"auto", FlowOffload::kAuto},
                                   Word<FlowOffload>{"off", FlowOffload::kOff}};

/// Whether the EAL argument sets the cores that `workers` and `agent_core` set. Short options may carry their
/// value: -l1.
bool sets_cores(std::string_view argument) {
    const std::string_view option = argument.substr(0, argument.find('='));
    return option == "--lcores" || option == "--main-lcore" || argument.starts_with("-l") ||
           argument.starts_with("-c");
}

void read_eal(ObjectReader& reader, std::vector<std::string>& out) {
    const json* list = reader.take("eal");
    if (list == nullptr)
        return;
    if (!list->is_array() ||
        !std::all_of(list->begin(), list->end(), [](const json& v) { return v.is_string(); })) {
        reader.fault("eal", "a list of strings, such as [\"--no-pci\"]", "wrong type");
        return;
    }
    out = list->get<std::vector<std::string>>();
    for (const std::string& argument : out) {
        if (argument.empty() || argument.find('\0') != std::string::npos)
            reader.fault("eal", "arguments that are not empty and hold no null byte",
                         "EAL does not accept this argument");
        if (sets_cores(argument))
            reader.fault("eal", "\"workers\" and \"agent_core\" for the cores",
                         argument + " is set by the switch itself");
    }
}

void read_workers(ObjectReader& reader, SwitchConfig& config) {
    reader.read_integer("agent_core", config.agent_core, {0, kCoreMax});
    const json* list = reader.take("workers");
    if (list != nullptr) {
        const auto is_core = [](const json& v) {
            return v.is_number_unsigned() && v.get<std::uint64_t>() <= kCoreMax;
        };
        if (!list->is_array() || list->empty() || list->size() > limits::kWorkersMax ||
            !std::all_of(list->begin(), list->end(), is_core)) {
            reader.fault(
                "workers",
                "a list of 1 to " + std::to_string(limits::kWorkersMax) + " cores, 0 to 1023, such as [1]",
                "this is not a list of cores");
            return;
        }
        config.workers = list->get<std::vector<unsigned>>();
    }
    std::vector<unsigned> sorted = config.workers;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        reader.fault("workers", "each core once", "two workers share a core");
    if (config.agent_core && std::binary_search(sorted.begin(), sorted.end(), *config.agent_core))
        reader.fault("agent_core", "a core without a worker", "a worker never yields its core to the agent");
}

void read_uplink(ObjectReader& reader, UplinkConfig& uplink) {
    if (!reader.has("device"))
        reader.fault("device", "a PCI address or a vdev, or no \"uplink\" at all",
                     "the uplink needs a device");
    read_device(reader, "device", uplink.device);
    reader.read_quantity("rate", Quantity::kBitRate, uplink.rate_bps, {1'000'000, kRateMax});
    read_part(reader, "headroom", uplink.headroom, {0, 500'000});
    reader.read_entry<SchedulerEntry>("scheduler", uplink.scheduler, kSchedulers);
    reader.read_word<FlowOffload>("flow_offload", uplink.flow_offload, kFlowOffloads);
    reader.read_integer("mtu", uplink.mtu, kMtuRange);
    if (reader.read_integer("descriptors", uplink.descriptors, {64, 4096}) &&
        (uplink.descriptors & (uplink.descriptors - 1)) != 0)
        reader.fault("descriptors", "a power of two, 64 to 4096",
                     "the number of slots of a ring is a power of two");
    reader.read_optional("best_effort_dscp", uplink.best_effort_dscp, {0, 63});
    reader.read_optional("best_effort_pcp", uplink.best_effort_pcp, {0, 7});
}

void read_feedback(ObjectReader& reader, FeedbackConfig& feedback, bool isolation) {
    feedback.enabled = true;
    reader.read_flag("enabled", feedback.enabled);
    reader.read_quantity("period", Quantity::kDuration, feedback.period, {50'000, 10'000'000});
    reader.read_entry<RateLawEntry>("law", feedback.law, kRateLaws);
    reader.read_quantity("rate_min", Quantity::kBitRate, feedback.rate_min_bps, {1'000'000, 1'000'000'000});
    read_file_path(reader, "key_file", feedback.key_file);
    if (feedback.enabled && !isolation)
        reader.fault("enabled", "\"isolation\": true, or no feedback",
                     "without isolation the switch keeps no rates");
}

void read_controller(ObjectReader& reader, ControllerConfig& controller) {
    if (require(reader, "connect", kEndpoints))
        read_endpoint(reader, "connect", controller.connect);
    read_curve_key(reader, "server_key", controller.server_key);
    read_file_path(reader, "secret_key_file", controller.secret_key_file);
    read_file_path(reader, "promises_file", controller.promises_file);
    reader.read_word<OnRefused>("on_refused", controller.on_refused, kOnRefused);
    reader.read_word<OnRefused>("on_unknown", controller.on_unknown, kOnRefused);
    if (controller.connect.starts_with("tcp://"))
        for (const char* key : {"server_key", "secret_key_file"})
            if (!reader.has(key))
                reader.fault(key, "a key; weir-ctrl --make-key FILE makes a pair",
                             "over a network both ends must prove their identity");
}

void read_switch(ObjectReader& reader, SwitchConfig& config) {
    std::string schema;  // for editors
    reader.read_text("$schema", schema);
    read_name(reader, "host", config.host);
    read_eal(reader, config.eal);
    read_workers(reader, config);
    reader.read_flag("isolation", config.isolation);
    reader.read_flag("overcommit", config.overcommit);
    reader.read_flag("balance", config.balance);
    if (config.balance && config.workers.size() < 2)
        reader.fault("balance", "two \"workers\" or more", "there is no other worker for a vNIC to move to");
    reader.read_word<Accounting>("accounting", config.accounting, kAccountings);
    read_socket_path(reader, "control_socket", config.control_socket);
    if (read_socket_path(reader, "control_read_socket", config.control_read_socket) &&
        config.control_read_socket == config.control_socket)
        reader.fault("control_read_socket", "another path than control_socket",
                     "there all commands are answered");
    read_file_path(reader, "cycle_costs", config.cycle_costs);
    reader.read_word<PollMode>("poll", config.poll, kPollModes);
    reader.read_quantity("poll_coalesce", Quantity::kDuration, config.poll_coalesce, {0, 50'000});
    reader.read_quantity("poll_sleep_max", Quantity::kDuration, config.poll_sleep_max, {10'000, 1'000'000});
    reader.read_quantity("mac_aging", Quantity::kDuration, config.mac_aging,
                         {kNanosPerSec, 86'400 * kNanosPerSec});
    reader.read_quantity("flood_limit", Quantity::kPacketRate, config.flood_limit_pps, {100, 100'000'000});
    reader.read_integer("buffers", config.buffers, {8'192, 8'388'608});
}

void read_vnics(ObjectReader& reader, SwitchConfig& config, Faults& faults) {
    std::uint64_t total = 0;
    std::uint64_t receive_total = 0;
    for (const json& object : read_list(reader, "vnics", limits::kVnicsMax, " vNICs")) {
        const std::string path = "vnics[" + std::to_string(config.vnics.size()) + ']';
        config.vnics.push_back(read_vnic(object, path, config, config.vnics, faults));
        total += uplink_reservation_bps(config.vnics.back(), config.accounting);
        receive_total += config.vnics.back().receive_reservation_bps.value_or(0);
    }
    if (!config.uplink.device.empty() && reservation_excess(config, total) > 0)
        faults.push_back({"vnics", "reservations of " + format_rate(total), reservation_rule(config),
                          "the uplink cannot keep these promises"});
    if (!config.uplink.device.empty() && reservation_excess(config, receive_total) > 0)
        faults.push_back({"vnics", "receive reservations of " + format_rate(receive_total),
                          reservation_rule(config), "the uplink cannot keep these promises"});
    check_buffers(config, faults);
}

}  // namespace

std::uint64_t UplinkConfig::capacity_bps() const {
    return rate_bps - static_cast<std::uint64_t>(std::llround(static_cast<double>(rate_bps) * headroom));
}

std::variant<SwitchConfig, Faults> parse_config(std::string_view text) {
    return parse_document<SwitchConfig>(text, [](const json& root, Faults& faults) {
        SwitchConfig config;
        ObjectReader reader(root, "", faults);
        read_switch(reader, config);
        read_object(reader, "uplink", faults, read_uplink, config.uplink);
        read_object(reader, "feedback", faults, read_feedback, config.feedback, config.isolation);
        read_object(reader, "controller", faults, read_controller, config.controller);
        read_object(reader, "metrics", faults, read_metrics, config.metrics);
        read_tunnels(reader, config.uplink, config.tunnels, faults);
        read_appliances(reader, config.appliances, faults);
        read_vnics(reader, config, faults);
        reader.finish();
        return config;
    });
}

std::variant<SwitchConfig, Faults> load_config(const std::string& path) {
    auto parsed = load_document(path, parse_config);
    auto* config = std::get_if<SwitchConfig>(&parsed);
    if (config == nullptr)
        return parsed;
    resolve_files(*config, path);
    if (config->host.empty()) {
        std::array<char, 256> name{};
        config->host = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
    }
    return parsed;
}

}  // namespace weir
