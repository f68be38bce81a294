// main.cc - weir-load: plays several VMs on virtio-user ports from one polling core and prints JSON events.
//   weir-load SPEC.json        runs of the file, or, if it has none, one JSON object per line of standard
//   input
// Events, one a line: listening, ready, measuring, measured, result, links, error. bench/README.md has the
// keys. Threads: main talks, the first worker lcore polls.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/load/virtio/port.h"
#include "bench/load/virtio/run.h"
#include "bench/load/virtio/spec.h"

namespace weir::load {
namespace {

using Json = nlohmann::json;

void say(const Json& event) {
    std::cout << event << std::endl;
}

/// The polling core: works off one run after another.
struct Poller {
    std::atomic<Run*> current{nullptr};
    std::atomic<bool> stop{false};

    static int loop(void* self) {
        auto& poller = *static_cast<Poller*>(self);
        while (!poller.stop.load(std::memory_order_relaxed)) {
            Run* run = poller.current.load(std::memory_order_acquire);
            if (run == nullptr) {
                rte_pause();
                continue;
            }
            poller.current.store(nullptr, std::memory_order_relaxed);
            while (run->step(rte_rdtsc())) {
            }
        }
        return 0;
    }
};

void start_eal(const LoadSpec& spec) {
    std::vector<std::string> words{"weir-load"};
    words.insert(words.end(), spec.eal.begin(), spec.eal.end());
    std::vector<char*> args;
    for (auto& word : words) {
        args.push_back(word.data());
    }
    if (rte_eal_init(static_cast<int>(args.size()), args.data()) < 0) {
        throw std::runtime_error("EAL does not start");
    }
    if (rte_get_next_lcore(~0U, 1, 0) == RTE_MAX_LCORE) {
        throw std::runtime_error("eal: two lcores are needed, e.g. --lcores 0@0,1@1");
    }
}

void execute(const RunSpec& spec, std::vector<std::unique_ptr<Port>>& ports, Poller& poller) {
    Run run(spec, ports);
    poller.current.store(&run, std::memory_order_release);
    run.wait_past(Run::Phase::kWarmUp);
    say({{"event", "measuring"}, {"name", spec.name}});
    run.wait_past(Run::Phase::kMeasure);
    say({{"event", "measured"}, {"name", spec.name}});
    run.wait_past(Run::Phase::kDrain);
    say(run.result());
}

void wait_links(double seconds, const std::vector<std::unique_ptr<Port>>& ports) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    bool up = false;
    while (!up && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        up = true;
        for (const auto& port : ports) {
            up = port->link_up() && up;
        }
    }
    say({{"event", "links"}, {"up", up}});
}

void obey(const std::string& line, std::vector<std::unique_ptr<Port>>& ports, Poller& poller) {
    try {
        const Json command = Json::parse(line);
        if (command.contains("wait_links")) {
            wait_links(command.at("wait_links").get<double>(), ports);
        } else {
            execute(parse_run(command, ports.size()), ports, poller);
        }
    } catch (const std::exception& error) {
        say({{"event", "error"}, {"message", error.what()}});
    }
}

void generate(const LoadSpec& spec) {
    start_eal(spec);
    std::vector<std::unique_ptr<Port>> ports;
    for (std::size_t i = 0; i < spec.ports.size(); ++i) {
        say({{"event", "listening"}, {"port", i}, {"path", spec.ports[i].path}});
        ports.push_back(std::make_unique<Port>(i, spec.ports[i]));
    }
    Poller poller;
    const unsigned core = rte_get_next_lcore(~0U, 1, 0);
    rte_eal_remote_launch(Poller::loop, &poller, core);
    say({{"event", "ready"}, {"tsc_hz", rte_get_tsc_hz()}});
    for (const auto& run : spec.runs) {
        execute(run, ports, poller);
    }
    for (std::string line; spec.runs.empty() && std::getline(std::cin, line);) {
        obey(line, ports, poller);
    }
    poller.stop.store(true);
    rte_eal_wait_lcore(core);
}

}  // namespace
}  // namespace weir::load

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: weir-load SPEC.json\n";
        return 2;
    }
    try {
        std::ifstream file(argv[1]);
        weir::load::generate(weir::load::parse_load(nlohmann::json::parse(file)));
    } catch (const std::exception& error) {
        std::cerr << "weir-load: " << argv[1] << ": " << error.what() << '\n';
        return 2;
    }
    return rte_eal_cleanup() == 0 ? 0 : 1;
}
