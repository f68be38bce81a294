// main.cc - weir-switch: reads the configuration, starts DPDK, builds the switch, and is its agent until a
// signal ends it. Threads: main becomes the agent.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/cores.h"
#include "common/error.h"
#include "common/http/listen.h"
#include "common/http/metrics_endpoint.h"
#include "common/process.h"
#include "common/run_lock.h"
#include "cost_functions/program/ebpf_program.h"
#include "vswitch/agent/agent.h"
#include "vswitch/agent/commands.h"
#include "vswitch/config/config.h"
#include "vswitch/config/config_cores.h"
#include "vswitch/config/config_files.h"
#include "vswitch/metrics/switch_metrics.h"
#include "vswitch/ports/eal.h"
#include "vswitch/ports/guest_socket.h"
#include "vswitch/ports/run_locks.h"
#include "vswitch/ports/telemetry.h"
#include "vswitch/topology/topology.h"

namespace {

std::variant<std::shared_ptr<const weir::CostProgram>, weir::Fault> read_program(const std::string& file) {
    auto loaded = weir::EbpfProgram::read(file);
    if (auto* fault = std::get_if<weir::Fault>(&loaded))
        return std::move(*fault);
    return std::get<std::shared_ptr<const weir::EbpfProgram>>(std::move(loaded));
}

int refuse(const weir::Faults& faults, const std::string& file) {
    weir::complain(faults, file);
    return weir::kBadConfiguration;
}

/// Looks for faults of the host that show without a start. Hugepages and sockets are left out, as a running
/// switch has them.
/// @return why the start would end at once; empty: nothing seen
std::string host_fault(const weir::SwitchConfig& config) {
    std::string fault = weir::core_fault(config, weir::core_sets(), weir::cpuset_name());
    return !fault.empty() ? fault : weir::socket_claim_fault(config.control_socket, "control_socket");
}

int check_host(const weir::SwitchConfig& config, const std::string& file) {
    if (const std::string fault = host_fault(config); !fault.empty()) {
        std::fprintf(stderr, "weir-switch: %s\n", fault.c_str());
        return weir::kHostFailed;
    }
    for (const weir::VnicConfig& vnic : config.vnics) {
        const std::string fault =
            vnic.socket.empty()
                ? ""
                : weir::GuestSocket(vnic.socket, vnic.mode == weir::VhostMode::kServer).folder_fault();
        if (!fault.empty())
            std::fprintf(stderr, "weir-switch: vNIC %s will wait: %s\n", vnic.name.c_str(), fault.c_str());
    }
    std::printf("%s: valid\n", file.c_str());
    return 0;
}

/// @param clock null: time is real
int run(const weir::SwitchConfig& config, const weir::ConfigFiles& files, weir::SteppedClock* clock) {
    const std::atomic<bool>& stop = weir::stop_on_signals();
    weir::raise_file_limit();  // the front-end of a vNIC may send hundreds
    try {
        if (const std::string fault = host_fault(config); !fault.empty())
            throw weir::HostError(fault);
        const weir::RunLocks locks(config);
        const int listener =
            config.metrics.listen.empty() ? -1 : weir::listen_on(config.metrics.listen, weir::kMetricsListen);
        if (config.feedback.enabled && !config.feedback.is_on())
            spdlog::warn("feedback is off: {}", weir::kFeedbackWithoutKey);
        weir::Eal eal(config, clock);
        weir::Topology topology(eal, config, files);
        const weir::TelemetryEndpoint telemetry(weir::telemetry_commands(),
                                                [&](const std::string& path, const std::string& parameter) {
                                                    return weir::telemetry_answer(topology, path, parameter);
                                                });
        std::optional<weir::CtrlLink> link;
        if (!config.controller.connect.empty())
            link.emplace(topology, config.controller, config.control_socket);
        weir::metrics::SnapshotDesk<weir::SwitchReport> desk;
        weir::Agent agent(topology, config.control_socket, config.control_read_socket,
                          link ? &*link : nullptr, clock);
        agent.serve(desk);
        std::optional<weir::MetricsEndpoint<weir::SwitchReport>> metrics;
        if (listener >= 0)
            metrics.emplace(listener, desk, weir::write_switch_metrics);
        if (clock != nullptr)
            spdlog::warn("{}", weir::kSteppedWarning);
        spdlog::info("weir-switch {}: {} vNIC(s), {} worker(s), commands on {}", WEIR_VERSION,
                     config.vnics.size(), config.workers.size(), config.control_socket);
        agent.run(stop);
        spdlog::info("stopping");
        return 0;
    } catch (const weir::HostError& error) {
        std::fprintf(stderr, "weir-switch: %s\n", error.what());
        return weir::kHostFailed;
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"weir-switch - the virtual switch that keeps its promises"};
    std::string file;
    bool check = false;
    std::string clock = "real";
    app.add_option("--config", file, "configuration file (JSON with comments)")->required();
    app.add_flag("--check", check, "validate the configuration and exit");
    app.add_option("--clock", clock, weir::kClockHelp)
        ->check(CLI::IsMember({"real", "stepped"}))
        ->capture_default_str();
    app.set_version_flag("--version", WEIR_VERSION);
    CLI11_PARSE(app, argc, argv);

    const auto outcome = weir::load_config(file);
    if (const auto* faults = std::get_if<weir::Faults>(&outcome))
        return refuse(*faults, file);
    const auto& config = std::get<weir::SwitchConfig>(outcome);
    const auto files = weir::load_files(config, read_program);
    if (const auto* faults = std::get_if<weir::Faults>(&files))
        return refuse(*faults, file);
    if (check)
        return check_host(config, file);
    weir::SteppedClock stepped;
    return run(config, std::get<weir::ConfigFiles>(files), clock == "stepped" ? &stepped : nullptr);
}
