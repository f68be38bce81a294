// interval_bench.cc - a whole interval of the controller over real sockets: 24,000 flows of 2,000 switches
// received, estimated, solved and sent.
// Source: Pulsar 6.3, 6.4 (12 flows a server, 44 % to appliances). Units: ms. Threads: one is the controller,
// one all switches; both on this machine's cores.
//
//   interval-bench [HOSTS] [ROUNDS] [tcp]
//
// The sockets are ipc, or tcp over the loopback with CURVE, as between machines.
//
// Prints JSON. `work_ms` is the controller's time from an interval's first message to its last answer;
// `round_ms` the switches', from the first demand that they send to the last allocation that they receive.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <tuple>
#include <zmq.hpp>

#include "bench/control/interval_switches.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/server.h"

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

constexpr unsigned kVnicsPerHost = 12;
constexpr unsigned kTenantsPerHost = 3;
constexpr unsigned kVnicsPerTenant = 48;

/// CPU time of this thread; on a busy machine it varies less than the clock's.
double thread_cpu_ms() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

double millis(Clock::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

Nanos clock_now() {
    return static_cast<Nanos>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

std::string name(const char* kind, std::size_t number) {
    return kind + std::to_string(number);
}

/// Public and secret key of one end.
std::pair<std::string, std::string> make_keys() {
    std::array<char, 41> open{};
    std::array<char, 41> secret{};
    if (zmq_curve_keypair(open.data(), secret.data()) != 0)
        throw std::runtime_error("this libzmq has no CURVE");
    return {open.data(), secret.data()};
}

/// A cluster: each host has vNICs of three tenants, and a tenant has vNICs on twelve hosts.
struct Shape {
    ClusterConfig config;
    std::vector<bench::SwitchPlan> plans;
    std::pair<std::string, std::string> keys;  ///< of the controller; empty with ipc

    Shape(unsigned hosts, const std::string& folder, bool tcp) {
        config.listen = {tcp ? "tcp://127.0.0.1:" + std::to_string(20'000 + getpid() % 10'000)
                             : "ipc://" + folder + "/ctrl.ipc"};
        if (tcp)
            keys = make_keys();
        config.control_socket = folder + "/ctrl.sock";
        const unsigned tenants = std::max(1U, hosts * kVnicsPerHost / kVnicsPerTenant);
        for (unsigned i = 0; i < hosts / 10; ++i)
            config.appliances.push_back(
                {.name = name("app", i), .capacity_min = 20'000, .capacity_max = 20'000});
        for (unsigned i = 0; i < tenants; ++i) {
            TenantConfig tenant;
            tenant.name = name("t", i);
            for (unsigned a = 0; a < 4; ++a)
                tenant.appliances.push_back(
                    {.name = config.appliances[(i * 4 + a) % config.appliances.size()].name,
                     .reservation_tokens = 500});
            config.tenants.push_back(std::move(tenant));
        }
        for (unsigned h = 0; h < hosts; ++h)
            add_host(h, tenants);
        point_flows();
    }

  private:
    void add_host(unsigned h, unsigned tenants) {
        config.hosts.push_back({.name = name("h", h)});
        bench::SwitchPlan plan;
        plan.host = name("h", h);
        if (!keys.first.empty()) {
            std::tie(plan.public_key, plan.secret_key) = make_keys();
            config.hosts.back().key = plan.public_key;
        }
        for (unsigned v = 0; v < kVnicsPerHost; ++v) {
            TenantConfig& tenant = config.tenants[(h * kTenantsPerHost + v % kTenantsPerHost) % tenants];
            tenant.vnics.push_back(
                {.name = name("v", h * kVnicsPerHost + v), .reservation_bps = 500'000'000});
            plan.vnics.push_back(tenant.vnics.back().name);
        }
        plans.push_back(std::move(plan));
    }
    /// 44 of 100 flows go to one of the tenant's appliances, the others to the next vNIC of the tenant.
    void point_flows() {
        std::map<std::string, std::string> to;
        std::size_t number = 0;
        for (const TenantConfig& tenant : config.tenants)
            for (std::size_t v = 0; v < tenant.vnics.size(); ++v, ++number)
                to[tenant.vnics[v].name] =
                    number % 100 < 44 || tenant.vnics.size() < 2
                        ? tenant.appliances[v % tenant.appliances.size()].name
                        : tenant.vnics[(v + kTenantsPerHost + 1) % tenant.vnics.size()].name;
        for (bench::SwitchPlan& plan : plans)
            for (const std::string& vnic : plan.vnics)
                plan.destinations.push_back(to.at(vnic));
    }
};

/// The controller's loop, which ticks when every switch has sent its demands.
class Cell {
  public:
    Cell(const Shape& shape, Store& store)
        : solver_(shape.config),
          controller_(shape.config, solver_, store, 1'000),
          server_(shape.config, shape.keys.second),
          hosts_(shape.config.hosts.size()) {}

    void serve() {
        server_.serve(std::chrono::milliseconds(1), {[this](const Peer& peer, auto header, auto body) {
                                                         if (messages_++ == 0)
                                                             begin();
                                                         controller_.on_message(peer, header, body,
                                                                                clock_now());
                                                     },
                                                     [](std::string_view) { return std::string(); }});
        server_.send(controller_.take_outgoing());
    }
    /// Milliseconds of receiving, solving and sending, by the clock and of this thread's CPU time.
    struct Spent {
        std::array<double, 3> wall;
        std::array<double, 3> cpu;
    };
    /// Waits for a message of every host, and answers.
    Spent interval() {
        messages_ = 0;
        while (messages_ < hosts_)
            serve();
        const auto received = Clock::now();
        const double cpu_received = thread_cpu_ms();
        controller_.tick(clock_now(), 1'000);
        const auto solved = Clock::now();
        const double cpu_solved = thread_cpu_ms();
        server_.send(controller_.take_outgoing());
        const auto sent = Clock::now();
        const double cpu_sent = thread_cpu_ms();
        return {{millis(received - began_), millis(solved - received), millis(sent - solved)},
                {cpu_received - cpu_began_, cpu_solved - cpu_received, cpu_sent - cpu_solved}};
    }
    void begin() {
        began_ = Clock::now();
        cpu_began_ = thread_cpu_ms();
    }
    [[nodiscard]] const ControllerCounters& counters() const { return controller_.counters(); }

  private:
    IntervalSolver solver_;
    Controller controller_;
    Server server_;
    std::size_t hosts_;
    std::size_t messages_ = 0;
    Clock::time_point began_;
    double cpu_began_ = 0;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// The switches' thread and the controller's take turns, round by round.
struct Rounds {
    std::atomic<bool> ready{false};
    std::atomic<bool> failed{false};
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> done{0};
    // Written by the switches' thread, read after it has ended.
    std::vector<double> round_ms;
    std::uint64_t bytes_up = 0;    ///< of the last round
    std::uint64_t bytes_down = 0;  ///< of the last round
};

void run_switches(const Shape& shape, unsigned count, Rounds& rounds) {
    bench::Switches all(shape.config.listen.front(), shape.keys.first, shape.plans);
    rounds.failed = !all.settle();
    rounds.ready = true;
    for (unsigned round = 0; round < count && !rounds.failed; ++round) {
        while (rounds.begun <= round)
            std::this_thread::yield();
        const std::uint64_t up = all.bytes_up();
        const std::uint64_t down = all.bytes_down();
        const auto began = Clock::now();
        all.send_demands(1 + 0.5 * (round % 2));
        rounds.failed = rounds.failed || !all.receive_allocations();
        rounds.round_ms.push_back(millis(Clock::now() - began));
        rounds.bytes_up = all.bytes_up() - up;
        rounds.bytes_down = all.bytes_down() - down;
        rounds.done = round + 1;
    }
}

/// Medians over the intervals: receiving, solving, sending, and all three.
std::array<double, 4> medians(const std::vector<std::array<double, 3>>& intervals) {
    std::array<double, 4> found{};
    for (std::size_t part = 0; part < found.size(); ++part) {
        std::vector<double> values;
        for (const auto& each : intervals)
            values.push_back(part < 3 ? each[part] : each[0] + each[1] + each[2]);
        found[part] = median(values);
    }
    return found;
}

nlohmann::json measure(const Shape& shape, Store& store, unsigned count) {
    Cell cell(shape, store);
    Rounds rounds;
    std::thread switches([&] { run_switches(shape, count, rounds); });
    while (!rounds.ready)
        cell.serve();
    std::vector<std::array<double, 3>> wall;
    std::vector<std::array<double, 3>> cpu;
    for (unsigned round = 0; round < count && !rounds.failed; ++round) {
        rounds.begun = round + 1;
        const auto spent = cell.interval();
        wall.push_back(spent.wall);
        cpu.push_back(spent.cpu);
        while (rounds.done <= round && !rounds.failed)
            cell.serve();
    }
    switches.join();
    if (rounds.failed || wall.empty())
        return {{"failed", "a switch did not receive its allocations within a minute"}};
    const auto wall_ms = medians(wall);
    const auto cpu_ms = medians(cpu);
    const std::size_t flows = shape.config.hosts.size() * kVnicsPerHost;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {{"hosts", shape.config.hosts.size()},
            {"flows", flows},
            {"rounds", count},
            {"work_ms", wall_ms[3]},
            {"receive_ms", wall_ms[0]},
            {"solve_ms", wall_ms[1]},
            {"send_ms", wall_ms[2]},
            {"cpu_ms", cpu_ms[3]},
            {"receive_cpu_ms", cpu_ms[0]},
            {"solve_cpu_ms", cpu_ms[1]},
            {"send_cpu_ms", cpu_ms[2]},
            {"round_ms", median(rounds.round_ms)},
            {"bytes_up_per_flow", static_cast<double>(rounds.bytes_up) / static_cast<double>(flows)},
            {"bytes_down_per_flow", static_cast<double>(rounds.bytes_down) / static_cast<double>(flows)},
            {"header_bytes_per_switch", wire::kHeaderBytes},
            {"refused_flows", cell.counters().foreign_flows},
            {"peak_memory_mib", usage.ru_maxrss / 1024}};
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
    };
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::string folder = (std::filesystem::temp_directory_path() / "weir-interval-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        return 1;
    nlohmann::json result;
    {
        Store store(folder + "/ctrl.db");
        const bool tcp = argc > 3 && std::string_view(argv[3]) == "tcp";
        result =
            measure(Shape(std::max(10U, number(1, 2'000)), folder, tcp), store, std::max(1U, number(2, 15)));
        result["sockets"] = tcp ? "tcp, CURVE" : "ipc";
    }
    std::filesystem::remove_all(folder);
    std::printf("%s\n", result.dump(2).c_str());
    return result.contains("failed") ? 1 : 0;
}
