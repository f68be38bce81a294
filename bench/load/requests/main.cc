// main.cc - weir-requests: plays VMs that ask a memcached, and the memcached, on virtio-user ports from one
// polling core.
//   weir-requests SPEC.json     ports as weir-load's; then one JSON object per line of standard input, each a
//   run
// Events, one a line: listening, ready, measuring, measured, result, error. bench/README.md has the keys.
// Threads: main talks, the first worker lcore polls.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/load/virtio/port.h"
#include "bench/load/virtio/spec.h"
#include "bench/load/requests/exchange.h"

namespace weir::requests {
namespace {

using Json = nlohmann::json;
using Ports = std::vector<std::unique_ptr<load::Port>>;

constexpr unsigned kBuffers = 16'383;
constexpr unsigned kPoolCache = 256;
constexpr double kDrainSeconds = 0.5;
constexpr std::uint32_t kFramesUnderWay = 384;

void say(const Json& event) {
    std::cout << event << std::endl;
}

Spec parse(const Json& object, std::size_t ports) {
    Spec spec;
    spec.client = object.value("client", spec.client);
    spec.server = object.value("server", ports - 1);
    const std::string operation = object.value("operation", "get");
    spec.put = operation == "put";
    spec.bytes = object.value("bytes", spec.bytes);
    const std::uint32_t segments = 1 + (spec.bytes + 100) / kSegmentBytes;
    spec.connections = object.value("connections", std::min(256U, kFramesUnderWay / segments));
    spec.warmup = object.value("warmup", spec.warmup);
    spec.seconds = object.value("seconds", spec.seconds);
    if (operation != "get" && operation != "put")
        throw std::invalid_argument("operation: found '" + operation + "'; allowed: get, put");
    if (spec.client >= ports || spec.server >= ports || spec.client == spec.server)
        throw std::invalid_argument("client, server: two of the ports, by index");
    if (spec.connections == 0 || spec.connections * segments > 4096)
        throw std::invalid_argument("connections: allowed 1.. as many as have 4096 segments under way");
    return spec;
}

/// One run, on the polling core.
struct Run {
    Run(const Spec& what, const Ports& ports, rte_mempool* pool, std::uint32_t serial)
        : spec(what), exchange(what, *ports[what.client], *ports[what.server], pool, serial) {}

    static int poll(void* self) {
        auto& run = *static_cast<Run*>(self);
        try {
            run.go();
        } catch (const std::exception& error) {
            run.error = error.what();
        }
        run.enter(kDone);
        return 0;
    }

    enum Phase { kWarmUp, kMeasure, kDrain, kDone };
    void enter(Phase next) {
        phase.store(next);
        phase.notify_all();
    }
    void wait_past(Phase last) const {
        for (Phase seen = phase.load(); seen <= last; seen = phase.load())
            phase.wait(seen);
    }

    Spec spec;
    Exchange exchange;
    std::atomic<Phase> phase{kWarmUp};
    Tally measured;
    std::uint64_t cycles = 0;
    std::string error;

  private:
    void go() {
        exchange.start();
        (void)poll_for(spec.warmup);
        exchange.tally = {};
        enter(kMeasure);
        cycles = poll_for(spec.seconds);
        measured = exchange.tally;
        enter(kDrain);
        exchange.stop();
        const std::uint64_t end = rte_rdtsc() + in_cycles(kDrainSeconds);
        while (exchange.under_way() > 0 && rte_rdtsc() < end)
            exchange.turn();
    }
    static std::uint64_t in_cycles(double seconds) {
        return static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    }
    std::uint64_t poll_for(double seconds) {
        const std::uint64_t begin = rte_rdtsc();
        const std::uint64_t end = begin + in_cycles(seconds);
        std::uint64_t now = begin;
        while (now < end) {
            const bool idle = exchange.turn() == 0;
            const std::uint64_t later = rte_rdtsc();
            exchange.tally.idle_cycles += idle ? later - now : 0;
            now = later;
        }
        return now - begin;
    }
};

void execute(const Spec& spec, const Ports& ports, rte_mempool* pool) {
    static std::uint32_t serial = 0;
    Run run(spec, ports, pool, ++serial);
    const unsigned core = rte_get_next_lcore(~0U, 1, 0);
    rte_eal_remote_launch(Run::poll, &run, core);
    run.wait_past(Run::kWarmUp);
    say({{"event", "measuring"}});
    run.wait_past(Run::kMeasure);
    say({{"event", "measured"}});
    rte_eal_wait_lcore(core);
    if (!run.error.empty())
        throw std::runtime_error(run.error);
    const auto cycles = static_cast<double>(run.cycles);
    const auto answered = static_cast<double>(run.measured.answered);
    say({{"event", "result"},
         {"seconds", cycles / static_cast<double>(rte_get_tsc_hz())},
         {"connections", spec.connections},
         {"answered", run.measured.answered},
         {"per_second", answered * static_cast<double>(rte_get_tsc_hz()) / cycles},
         {"frames_per_request", static_cast<double>(run.measured.frames) / answered},
         {"idle", static_cast<double>(run.measured.idle_cycles) / cycles},
         {"strays", run.measured.strays},
         {"unanswered", run.exchange.under_way()},
         {"ring_full", run.exchange.refused()}});
}

void start_eal(const load::LoadSpec& spec) {
    std::vector<std::string> words{"weir-requests"};
    words.insert(words.end(), spec.eal.begin(), spec.eal.end());
    std::vector<char*> args;
    for (std::string& word : words)
        args.push_back(word.data());
    if (rte_eal_init(static_cast<int>(args.size()), args.data()) < 0)
        throw std::runtime_error("EAL does not start");
    if (rte_get_next_lcore(~0U, 1, 0) == RTE_MAX_LCORE)
        throw std::runtime_error("eal: two lcores are needed, e.g. --lcores 0@0,1@1");
}

void converse(const load::LoadSpec& spec) {
    start_eal(spec);
    Ports ports;
    for (std::size_t i = 0; i < spec.ports.size(); ++i) {
        say({{"event", "listening"}, {"port", i}, {"path", spec.ports[i].path}});
        ports.push_back(std::make_unique<load::Port>(i, spec.ports[i]));
    }
    rte_mempool* pool =
        rte_pktmbuf_pool_create("frames", kBuffers, kPoolCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (pool == nullptr)
        throw std::runtime_error("pool: " + std::string(rte_strerror(rte_errno)));
    say({{"event", "ready"}, {"tsc_hz", rte_get_tsc_hz()}});
    for (std::string line; std::getline(std::cin, line);) {
        try {
            execute(parse(Json::parse(line), ports.size()), ports, pool);
        } catch (const std::exception& error) {
            say({{"event", "error"}, {"message", error.what()}});
        }
    }
}

}  // namespace
}  // namespace weir::requests

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: weir-requests SPEC.json\n";
        return 2;
    }
    try {
        std::ifstream file(argv[1]);
        weir::requests::converse(weir::load::parse_load(nlohmann::json::parse(file)));
    } catch (const std::exception& error) {
        std::cerr << "weir-requests: " << argv[1] << ": " << error.what() << '\n';
        return 2;
    }
    return rte_eal_cleanup() == 0 ? 0 : 1;
}
