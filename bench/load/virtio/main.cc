// main.cc - weir-load: plays several VMs on virtio-user ports from one polling core and prints JSON events.
//
//   weir-load SPEC.json    executes the runs of the file or, where it has none, one run per line of standard
//   input
//
// Events, one a line: listening, ready, measuring, measured, result, links, error. bench/README.md has the
// keys. Threads: main reads and prints, the first worker lcore polls.
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/load/virtio/program.h"
#include "bench/load/virtio/run.h"

namespace weir::load {
namespace {

using Json = nlohmann::json;

/// The polling core: executes one run after another.
struct Poller {
    std::atomic<Run*> current{nullptr};
    std::atomic<bool> stop{false};

    static int loop(void* self) {
        auto& poller = *static_cast<Poller*>(self);
        while (!poller.stop.load(std::memory_order_relaxed)) {
            Run* run = poller.current.load(std::memory_order_acquire);
            if (run == nullptr) {
                std::this_thread::sleep_for(std::chrono::microseconds(100));  // others may need the core now
                continue;
            }
            poller.current.store(nullptr, std::memory_order_relaxed);
            while (run->step(rte_rdtsc())) {
            }
        }
        return 0;
    }
};

void execute(const RunSpec& spec, Ports& ports, Poller& poller) {
    Run run(spec, ports);
    poller.current.store(&run, std::memory_order_release);
    run.wait_past(Run::Phase::kWarmUp);
    print_event({{"event", "measuring"}, {"name", spec.name}});
    run.wait_past(Run::Phase::kMeasure);
    print_event({{"event", "measured"}, {"name", spec.name}});
    run.wait_past(Run::Phase::kDrain);
    print_event(run.result());
}

void wait_links(double seconds, const Ports& ports) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    bool up = false;
    while (!up && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        up = true;
        for (const auto& port : ports)
            up = port->link_up() && up;
    }
    print_event({{"event", "links"}, {"up", up}});
}

void generate(const LoadSpec& spec) {
    Ports ports = open_ports("weir-load", spec);
    Poller poller;
    rte_eal_remote_launch(Poller::loop, &poller, polling_core());
    print_event({{"event", "ready"}, {"tsc_hz", rte_get_tsc_hz()}});
    for (const RunSpec& run : spec.runs)
        execute(run, ports, poller);
    if (spec.runs.empty())
        serve_lines([&](const Json& command) {
            if (command.contains("wait_links"))
                wait_links(command.at("wait_links").get<double>(), ports);
            else
                execute(parse_run(command, ports.size()), ports, poller);
        });
    poller.stop.store(true);
    rte_eal_wait_lcore(polling_core());
}

}  // namespace
}  // namespace weir::load

int main(int argc, char** argv) {
    return weir::load::run_program("weir-load", argc, argv, weir::load::generate);
}
