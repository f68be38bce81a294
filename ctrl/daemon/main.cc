// main.cc - weir-ctrl: options, start and stop. Exit 0: stopped; 1: the host refuses; 2: bad usage or file.
// Source: docs/design.md 2
// Threads: main runs the loop.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <list>
#include <optional>
#include <string_view>

#include "common/config/config_text.h"
#include "common/http/http_service.h"
#include "common/http/listen.h"
#include "common/http/metrics_endpoint.h"
#include "common/private_file.h"
#include "common/process.h"
#include "common/run_lock.h"
#include "ctrl/api/api.h"
#include "ctrl/config/cluster_change.h"
#include "ctrl/console/console_files.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/key_file.h"
#include "ctrl/daemon/loop.h"
#include "ctrl/daemon/new_revision.h"
#include "ctrl/metrics/controller_metrics.h"
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
    if (!config.control_read_socket.empty())
        lock(config.control_read_socket, "control_read_socket");
    for (const std::string& endpoint : config.listen)
        if (constexpr std::string_view kIpc = "ipc://"; endpoint.starts_with(kIpc))
            lock(endpoint.substr(kIpc.size()), "listen");
    return locks;
}

/// The HTTP API, from before the loop until after it.
class ApiEndpoint {
  public:
    /// @throws HostError
    explicit ApiEndpoint(const weir::ApiConfig& config)
        : api_(desk_, weir::TokenFile(config.token_file), !config.key_file.empty(), weir::console_files()),
          service_(weir::listen_on(config.listen, "api.listen"), weir::kApiLimits, tls_of(config), api_) {
        desk_.set_wake([this] { service_.wake(); });
    }
    ~ApiEndpoint() { desk_.set_wake({}); }
    ApiEndpoint(const ApiEndpoint&) = delete;
    ApiEndpoint& operator=(const ApiEndpoint&) = delete;
    [[nodiscard]] weir::CommandDesk& desk() { return desk_; }

  private:
    static std::optional<weir::HttpService::Tls> tls_of(const weir::ApiConfig& config) {
        if (config.key_file.empty())
            return {};
        const auto certificate = weir::read_text_file(config.certificate_file);
        if (const auto* fault = std::get_if<weir::Fault>(&certificate))
            throw weir::HostError("api.certificate_file: " + fault->to_line());
        return weir::HttpService::Tls{std::get<std::string>(certificate),
                                      weir::read_private_file(config.key_file, "api.key_file")};
    }

    weir::CommandDesk desk_;
    weir::Api api_;
    weir::HttpService service_;  // last: its thread uses all others
};

/// How weir-ctrl begins.
struct Start {
    weir::StoreTerms terms;
    bool imports = false;                 ///< the file becomes the next revision of the specification
    weir::SteppedClock* clock = nullptr;  ///< null: time is real
};

/// The author of an imported revision. Example: "weir-ctrl --import, uid 0, process 1234"
std::string starter(bool imports) {
    return std::string(imports ? "weir-ctrl --import" : "weir-ctrl --config") + ", uid " +
           std::to_string(getuid()) + ", process " + std::to_string(getpid());
}

/// The file is imported into a store without a specification, or where the operator says so. Otherwise the
/// store's counts, with the process's own keys of the file: changes by weirctl outlive a restart.
weir::ClusterConfig specification_of(weir::Store& store, const weir::ClusterConfig& file,
                                     const std::string& text, bool imports) {
    if (imports || store.revision() == 0) {
        const std::int64_t number =
            weir::import_specification(store, file, text, starter(imports), std::time(nullptr));
        spdlog::info("the cluster file is revision {} of the specification", number);
        return file;
    }
    const std::string stored = store.specification().value_or("");
    const auto parsed = weir::parse_cluster(stored, weir::placement_faults);
    if (const auto* faults = std::get_if<weir::Faults>(&parsed))
        throw weir::HostError(
            "revision " + std::to_string(store.revision()) + " of the specification, in the store " +
            file.store + ", is not accepted by this weir-ctrl: " + faults->front().to_line() +
            "; start it once with --import, which makes the file of --config the next revision");
    if (!weir::changed_values(weir::cluster_part(stored), weir::cluster_part(text)).empty())
        spdlog::warn(
            "revision {} of the specification, in the store, counts; the cluster file differs, and is "
            "read for the process's own keys only: `weirctl apply FILE` or --import makes it the next "
            "revision",
            store.revision());
    return weir::with_process_of(file, std::get<weir::ClusterConfig>(parsed));
}

int serve(const weir::ClusterConfig& file, const std::string& text, Start start) {
    const std::atomic<bool>& stop = weir::stop_on_signals();
    weir::raise_file_limit();  // each switch is a connection, and there may be thousands
    const std::string key = file.secret_key_file.empty() ? "" : weir::read_key(file.secret_key_file);
    const std::list<weir::RunLock> locks = lock_sockets(file);
    const int listener =
        file.metrics.listen.empty() ? -1 : weir::listen_on(file.metrics.listen, weir::kMetricsListen);
    std::optional<ApiEndpoint> api;
    if (!file.api.listen.empty())
        api.emplace(file.api);
    std::error_code error;  // not read: the opening of the store reports the fault
    std::filesystem::create_directories(std::filesystem::path(file.store).parent_path(), error);
    start.terms.cluster = file.name;
    weir::Store store(file.store, start.terms);
    if (const std::int64_t lines = store.bill_lines_taken_over(); lines != 0)
        spdlog::info("the bill, {} lines, was moved from the store to {}", lines,
                     weir::Store::bill_folder(file.store));
    const weir::ClusterConfig config = specification_of(store, file, text, start.imports);
    store.bill().start([] { return static_cast<std::int64_t>(std::time(nullptr)); });
    weir::Controller controller(
        config, [](const weir::ClusterConfig& of) { return std::make_shared<weir::IntervalSolver>(of); },
        store, std::time(nullptr));
    controller.write_beside();
    weir::Server server(config, key);
    spdlog::info("weir-ctrl {}: cluster {}, epoch {}, {} host(s), {} tenant(s), commands on {}", WEIR_VERSION,
                 config.name, controller.epoch(), config.hosts.size(), config.tenants.size(),
                 config.control_socket);
    if (start.clock != nullptr)
        spdlog::warn("{}", weir::kSteppedWarning);
    weir::ReadingBoard board;
    std::optional<weir::MetricsEndpoint<weir::ControllerReading, weir::ReadingBoard>> metrics;
    if (listener >= 0)
        metrics.emplace(listener, board, weir::write_controller_metrics);
    weir::run_intervals(config, controller, server, stop, start.clock,
                        {.board = metrics ? &board : nullptr, .commands = api ? &api->desk() : nullptr});
    spdlog::info("stopping");
    return 0;
}

int run(const std::string& file, bool check_only, const Start& start) {
    const auto text = weir::read_text_file(file);
    if (const auto* fault = std::get_if<weir::Fault>(&text))
        return refuse({*fault}, file);
    const auto outcome = weir::parse_cluster(std::get<std::string>(text), weir::placement_faults);
    if (const auto* faults = std::get_if<weir::Faults>(&outcome))
        return refuse(*faults, file);
    if (!check_only)
        return serve(std::get<weir::ClusterConfig>(outcome), std::get<std::string>(text), start);
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
    Start start;
    auto* config_option = app.add_option("--config", file, "cluster file (JSON with comments)");
    app.add_flag("--check", check, "validate the cluster file and exit");
    app.add_option("--make-key", key,
                   "make a CURVE key pair: writes the secret key to this file, prints the public key")
        ->excludes(config_option);
    app.add_option("--clock", clock, weir::kClockHelp)
        ->check(CLI::IsMember({"real", "stepped"}))
        ->capture_default_str();
    app.add_option("--epoch-above", start.terms.epoch_above,
                   "begin with an epoch above N: for a store that was lost, when the switches ignore the "
                   "controller for its lower epoch")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, weir::StoreTerms::kEpochAboveMax));
    app.add_option("--renamed-from", start.terms.renamed_from,
                   "name of the cluster so far: its store becomes that of the name in the cluster file")
        ->type_name("NAME");
    app.add_flag("--import", start.imports,
                 "make the cluster file the next revision of the specification in the store, which counts "
                 "otherwise");
    app.set_version_flag("--version", WEIR_VERSION);
    CLI11_PARSE(app, argc, argv);
    if (key.empty() && file.empty()) {
        std::fprintf(stderr, "weir-ctrl: --config FILE or --make-key FILE is needed; see --help\n");
        return weir::kBadConfiguration;
    }
    start.clock = clock == "stepped" ? &stepped : nullptr;
    try {
        if (key.empty())
            return run(file, check, start);
        std::printf("%s\n", weir::make_key(key).c_str());
        return 0;
    } catch (const weir::HostError& error) {
        std::fprintf(stderr, "weir-ctrl: %s\n", error.what());
        return weir::kHostFailed;
    }
}
