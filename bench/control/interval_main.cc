// main.cc - a whole interval of the controller: 24,000 flows of 2,000 switches, received, estimated, solved,
// sent, over real sockets. Source: Pulsar 6.3, 6.4 (12 flows a server, 44 % to appliances).
//
//     interval-bench [HOSTS] [ROUNDS]
//
// Prints JSON. `work_ms` is the controller's: from its first message of the interval to its last answer
// handed over; `round_ms` what the switches see: from their first word to the last rate heard. Both run on
// this machine's cores.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/control/interval_switches.h"
#include "ctrl/daemon/rate_solver.h"
#include "ctrl/daemon/server.h"

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

constexpr unsigned kVnicsPerHost = 12;
constexpr unsigned kTenantsPerHost = 3;
constexpr unsigned kVnicsPerTenant = 48;

/// What this thread has computed; beside others on a busy machine it tells more than the clock.
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

/// Hosts with vNICs of three tenants each; a tenant's are on twelve hosts.
struct Shape {
    ClusterConfig config;
    std::vector<bench::SwitchPlan> plans;

    Shape(unsigned hosts, const std::string& folder) {
        config.listen = {"ipc://" + folder + "/ctrl.ipc"};
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

/// The controller's loop, with ticks when everybody has spoken.
class Cell {
  public:
    Cell(const Shape& shape, Store& store)
        : solver_(shape.config),
          controller_(shape.config, solver_, store, 1'000),
          server_(shape.config, ""),
          hosts_(shape.config.hosts.size()) {}

    void serve() {
        server_.serve(std::chrono::milliseconds(1), {[this](const Peer& peer, auto header, auto body) {
                                                         if (heard_++ == 0)
                                                             begin();
                                                         controller_.receive(peer, header, body, clock_now());
                                                     },
                                                     [](std::string_view) { return std::string(); }});
        server_.send(controller_.take_outgoing());
    }
    /// Milliseconds of receiving, solving and sending, by the clock and of this thread's computing.
    struct Spent {
        std::array<double, 3> wall;
        std::array<double, 3> cpu;
    };
    /// Waits for a demand of every host, and answers.
    Spent interval() {
        heard_ = 0;
        while (heard_ < hosts_)
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
    RateSolver solver_;
    Controller controller_;
    Server server_;
    std::size_t hosts_;
    std::size_t heard_ = 0;
    Clock::time_point began_;
    double cpu_began_ = 0;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

nlohmann::json measure(const Shape& shape, Store& store, unsigned rounds) {
    Cell cell(shape, store);
    std::atomic<bool> ready{false};
    std::atomic<unsigned> asked{0};
    std::atomic<unsigned> done{0};
    std::atomic<bool> failed{false};
    std::vector<double> seen;
    std::uint64_t up = 0;
    std::uint64_t down = 0;
    std::thread switches([&] {
        bench::Switches all(shape.config.listen.front(), shape.plans);
        failed = !all.settle();
        ready = true;
        for (unsigned round = 0; round < rounds && !failed; ++round) {
            while (asked <= round)
                std::this_thread::yield();
            const std::uint64_t before_up = all.bytes_up();
            const std::uint64_t before_down = all.bytes_down();
            const auto began = Clock::now();
            all.speak(1 + 0.5 * (round % 2));
            failed = failed || !all.hear_all();
            seen.push_back(millis(Clock::now() - began));
            up = all.bytes_up() - before_up;
            down = all.bytes_down() - before_down;
            done = round + 1;
        }
    });
    while (!ready)
        cell.serve();
    std::vector<double> work[3];
    std::vector<double> computed[3];
    std::vector<double> total_cpu;
    std::vector<double> total;
    for (unsigned round = 0; round < rounds && !failed; ++round) {
        asked = round + 1;
        const auto spent = cell.interval();
        for (std::size_t i = 0; i < 3; ++i) {
            work[i].push_back(spent.wall[i]);
            computed[i].push_back(spent.cpu[i]);
        }
        total.push_back(spent.wall[0] + spent.wall[1] + spent.wall[2]);
        total_cpu.push_back(spent.cpu[0] + spent.cpu[1] + spent.cpu[2]);
        while (done <= round && !failed)
            cell.serve();
    }
    switches.join();
    if (failed || total.empty())
        return {{"failed", "the switches did not all hear"}};
    const std::size_t flows = shape.config.hosts.size() * kVnicsPerHost;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {{"hosts", shape.config.hosts.size()},
            {"flows", flows},
            {"rounds", rounds},
            {"work_ms", median(total)},
            {"receive_ms", median(work[0])},
            {"solve_ms", median(work[1])},
            {"send_ms", median(work[2])},
            {"cpu_ms", median(total_cpu)},
            {"receive_cpu_ms", median(computed[0])},
            {"solve_cpu_ms", median(computed[1])},
            {"send_cpu_ms", median(computed[2])},
            {"round_ms", median(seen)},
            {"bytes_up_per_flow", static_cast<double>(up) / static_cast<double>(flows)},
            {"bytes_down_per_flow", static_cast<double>(down) / static_cast<double>(flows)},
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
        result = measure(Shape(std::max(10U, number(1, 2'000)), folder), store, std::max(1U, number(2, 15)));
    }
    std::filesystem::remove_all(folder);
    std::printf("%s\n", result.dump(2).c_str());
    return result.contains("failed") ? 1 : 0;
}
