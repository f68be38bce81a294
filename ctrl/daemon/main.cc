// main.cc - weir-ctrl: options, start and stop. Exit 0: stopped; 1: the host refuses; 2: bad usage or file.
// Source: docs/design.md 2
// Threads: main runs the loop.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <list>
#include <string_view>

#include "common/config/config_text.h"
#include "common/process.h"
#include "common/run_lock.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/key_file.h"
#include "ctrl/daemon/loop.h"
#include "ctrl/daemon/removed_vnics.h"
#include "ctrl/placement/cluster_plan.h"

namespace {

int refuse(const weir::Faults& faults, const std::string& file) {
    weir::complain(faults, file);
    return weir::kBadConfiguration;
}

/// ZeroMQ takes a socket of the file system away from the process that listens on it. The kernel guards
/// ports of TCP.
std::list<weir::RunLock> lock_sockets(const weir::ClusterConfig& config) {
    std::list<weir::RunLock> locks;
    const auto lock = [&](const std::string& path, const char* key) {
        locks.emplace_back(weir::socket_claim(path, config.control_socket, key));
    };
    lock(config.control_socket, "control_socket");
    for (const std::string& endpoint : config.listen)
        if (constexpr std::string_view kIpc = "ipc://"; endpoint.starts_with(kIpc))
            lock(endpoint.substr(kIpc.size()), "listen");
    return locks;
}

/// @param clock null: time is real
int serve(const weir::ClusterConfig& config, const std::string& text, weir::StoreTerms terms,
          weir::SteppedClock* clock) {
    const std::atomic<bool>& stop = weir::stop_on_signals();
    weir::raise_file_limit();  // each switch is a connection, and there may be thousands
    const std::string key = config.secret_key_file.empty() ? "" : weir::read_key(config.secret_key_file);
    const std::list<weir::RunLock> locks = lock_sockets(config);
    std::error_code error;  // not read: the opening of the store reports the fault
    std::filesystem::create_directories(std::filesystem::path(config.store).parent_path(), error);
    terms.cluster = config.name;
    weir::Store store(config.store, terms);
    if (const std::int64_t lines = store.bill_lines_taken_over(); lines != 0)
        spdlog::info("the bill, {} lines, was moved from the store to {}", lines,
                     weir::Store::bill_folder(config.store));
    weir::note_removed_vnics(store, config, std::time(nullptr));
    store.save_specification(text, std::time(nullptr));
    store.bill().start([] { return static_cast<std::int64_t>(std::time(nullptr)); });
    weir::IntervalSolver solver(config);
    weir::Controller controller(config, solver, store, std::time(nullptr));
    weir::Server server(config, key);
    spdlog::info("weir-ctrl {}: cluster {}, epoch {}, {} host(s), {} tenant(s), commands on {}", WEIR_VERSION,
                 config.name, controller.epoch(), config.hosts.size(), config.tenants.size(),
                 config.control_socket);
    if (clock != nullptr)
        spdlog::warn("{}", weir::kSteppedWarning);
    weir::run_intervals(config, controller, server, stop, clock);
    spdlog::info("stopping");
    return 0;
}

int run(const std::string& file, bool check_only, const weir::StoreTerms& terms, weir::SteppedClock* clock) {
    const auto text = weir::read_text_file(file);
    if (const auto* fault = std::get_if<weir::Fault>(&text))
        return refuse({*fault}, file);
    const auto outcome = weir::parse_cluster(std::get<std::string>(text), weir::placement_faults);
    if (const auto* faults = std::get_if<weir::Faults>(&outcome))
        return refuse(*faults, file);
    if (!check_only)
        return serve(std::get<weir::ClusterConfig>(outcome), std::get<std::string>(text), terms, clock);
    std::printf("%s: valid\n", file.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"weir-ctrl - the controller that gives every tenant its reservations"};
    std::string file;
    std::string key;
    bool check = false;
    std::string clock = "real";
    weir::SteppedClock stepped;
    weir::StoreTerms terms;
    auto* config_option = app.add_option("--config", file, "cluster file (JSON with comments)");
    app.add_flag("--check", check, "validate the cluster file and exit");
    app.add_option("--make-key", key,
                   "make a CURVE key pair: writes the secret key to this file, prints the public key")
        ->excludes(config_option);
    app.add_option("--clock", clock, weir::kClockHelp)
        ->check(CLI::IsMember({"real", "stepped"}))
        ->capture_default_str();
    app.add_option("--epoch-above", terms.epoch_above,
                   "begin with an epoch above N: for a store that was lost, when the switches ignore the "
                   "controller for its lower epoch")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, weir::StoreTerms::kEpochAboveMax));
    app.add_option("--renamed-from", terms.renamed_from,
                   "name of the cluster so far: its store becomes that of the name in the cluster file")
        ->type_name("NAME");
    app.set_version_flag("--version", WEIR_VERSION);
    CLI11_PARSE(app, argc, argv);
    if (key.empty() && file.empty()) {
        std::fprintf(stderr, "weir-ctrl: --config FILE or --make-key FILE is needed; see --help\n");
        return weir::kBadConfiguration;
    }
    try {
        if (key.empty())
            return run(file, check, terms, clock == "stepped" ? &stepped : nullptr);
        std::printf("%s\n", weir::make_key(key).c_str());
        return 0;
    } catch (const weir::HostError& error) {
        std::fprintf(stderr, "weir-ctrl: %s\n", error.what());
        return weir::kHostFailed;
    }
}
