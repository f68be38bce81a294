// main.cc - weir-ctrl: the controller of one cluster. Exit 0 done, 1 the host refuses, 2 wrong usage or
// cluster file. Threads: main runs the epoch loop.
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "common/config/config_text.h"
#include "common/config/fault_report.h"
#include "common/daemon.h"
#include "ctrl/daemon/epoch_loop.h"
#include "ctrl/daemon/rate_solver.h"
#include "ctrl/daemon/server.h"
#include "ctrl/placement/cluster_plan.h"

namespace {

int refuse(const weir::Faults& faults, const std::string& file) {
    weir::complain(faults, file);
    return weir::kBadConfiguration;
}

/// Every switch is a connection, and there may be thousands.
void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void make_store_folder(const std::string& store) {
    std::error_code error;  // the store says it better
    std::filesystem::create_directories(std::filesystem::path(store).parent_path(), error);
}

int run(const weir::ClusterConfig& config, const std::string& text) {
    const std::atomic<bool>& stop = weir::stop_on_signals();
    raise_file_limit();
    try {
        const std::string key = config.secret_key_file.empty() ? "" : weir::read_key(config.secret_key_file);
        make_store_folder(config.store);
        weir::Store store(config.store);
        store.save_specification(text, std::time(nullptr));
        weir::RateSolver solver(config);
        weir::Controller controller(config, solver, store, std::time(nullptr));
        weir::Server server(config, key);
        spdlog::info("weir-ctrl {}: cluster {}, epoch {}, {} host(s), {} tenant(s), commands on {}",
                     WEIR_VERSION, config.name, controller.epoch(), config.hosts.size(),
                     config.tenants.size(), config.control_socket);
        weir::run_epochs(config, controller, server, stop);
        spdlog::info("stopping");
        return 0;
    } catch (const weir::HostError& error) {
        std::fprintf(stderr, "weir-ctrl: %s\n", error.what());
        return weir::kHostFailed;
    }
}

int print_new_key(const std::string& file) {
    try {
        std::printf("%s\n", weir::make_key(file).c_str());
        return 0;
    } catch (const weir::HostError& error) {
        std::fprintf(stderr, "weir-ctrl: %s\n", error.what());
        return weir::kHostFailed;
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"weir-ctrl - the controller that gives every tenant what it was promised"};
    std::string file;
    std::string key;
    bool check = false;
    auto* config_option = app.add_option("--config", file, "cluster file (JSON with comments)");
    app.add_flag("--check", check, "validate the cluster file and exit");
    app.add_option("--make-key", key, "make a key pair: the secret into this file, the public key printed")
        ->excludes(config_option);
    app.set_version_flag("--version", WEIR_VERSION);
    CLI11_PARSE(app, argc, argv);
    if (!key.empty())
        return print_new_key(key);
    if (file.empty()) {
        std::fprintf(stderr, "weir-ctrl: --config FILE or --make-key FILE is needed; --help says more\n");
        return weir::kBadConfiguration;
    }
    const auto text = weir::read_text_file(file);
    if (const auto* fault = std::get_if<weir::Fault>(&text))
        return refuse({*fault}, file);
    const auto outcome = weir::parse_cluster(std::get<std::string>(text), weir::placement_faults);
    if (const auto* faults = std::get_if<weir::Faults>(&outcome))
        return refuse(*faults, file);
    if (check) {
        std::printf("%s: valid\n", file.c_str());
        return 0;
    }
    return run(std::get<weir::ClusterConfig>(outcome), std::get<std::string>(text));
}
