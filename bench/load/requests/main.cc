// main.cc - weir-requests: plays VMs that send requests to a memcached, and the memcached, on virtio-user
// ports from one polling core.
//
//   weir-requests SPEC.json    ports as weir-load's; then one JSON object per line of standard input, each a
//   run
//
// Keys of a run: client, server (port indices), operation (get, put), bytes, connections, warmup, seconds.
// Events, one a line: listening, ready, measuring, measured, result, error.
// Threads: main reads and prints, the first worker lcore polls.
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bench/load/requests/exchange.h"
#include "bench/load/virtio/program.h"

namespace weir::requests {
namespace {

using Json = nlohmann::json;
using load::Ports;
using load::print_event;

constexpr unsigned kBuffers = 16'383;
constexpr unsigned kPoolCache = 256;
constexpr double kDrainSeconds = 0.5;
constexpr std::uint32_t kSegmentsOutstanding = 384;  ///< by default
constexpr std::uint32_t kSegmentsOutstandingMax = 4096;

Spec parse(const Json& object, std::size_t ports) {
    Spec spec;
    spec.client = object.value("client", spec.client);
    spec.server = object.value("server", ports - 1);
    const std::string operation = object.value("operation", "get");
    spec.put = operation == "put";
    spec.bytes = object.value("bytes", spec.bytes);
    const std::uint32_t segments = 1 + (spec.bytes + 100) / kSegmentBytes;
    spec.connections = object.value("connections", std::min(256U, kSegmentsOutstanding / segments));
    spec.warmup = object.value("warmup", spec.warmup);
    spec.seconds = object.value("seconds", spec.seconds);
    if (operation != "get" && operation != "put")
        throw std::invalid_argument("operation: found '" + operation + "'; allowed: get, put");
    if (spec.client >= ports || spec.server >= ports || spec.client == spec.server)
        throw std::invalid_argument("client, server: found " + std::to_string(spec.client) + ", " +
                                    std::to_string(spec.server) + "; allowed: two different ones of " +
                                    std::to_string(ports) + " ports, by index");
    if (spec.connections == 0 || spec.connections * segments > kSegmentsOutstandingMax)
        throw std::invalid_argument("connections: found " + std::to_string(spec.connections) +
                                    "; allowed: 1.." + std::to_string(kSegmentsOutstandingMax / segments) +
                                    " with values of this size");
    return spec;
}

/// One run, on the polling core.
struct Run {
    Run(const Spec& what, const Ports& ports, rte_mempool* pool, std::uint32_t serial)
        : spec(what), exchange(what, *ports[what.client], *ports[what.server], pool, serial) {}

    static int main(void* self) {
        auto& run = *static_cast<Run*>(self);
        try {
            run.execute();
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
    void execute() {
        exchange.start();
        (void)poll_for(spec.warmup);
        exchange.tally = {};
        enter(kMeasure);
        cycles = poll_for(spec.seconds);
        measured = exchange.tally;
        enter(kDrain);
        exchange.stop();
        const std::uint64_t end = rte_rdtsc() + in_cycles(kDrainSeconds);
        while (exchange.outstanding() > 0 && rte_rdtsc() < end)
            exchange.poll();
    }
    static std::uint64_t in_cycles(double seconds) {
        return static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    }
    std::uint64_t poll_for(double seconds) {
        const std::uint64_t begin = rte_rdtsc();
        const std::uint64_t end = begin + in_cycles(seconds);
        std::uint64_t now = begin;
        while (now < end) {
            const bool idle = exchange.poll() == 0;
            const std::uint64_t later = rte_rdtsc();
            exchange.tally.idle_cycles += idle ? later - now : 0;
            now = later;
        }
        return now - begin;
    }
};

Json result_of(const Run& run) {
    const auto cycles = static_cast<double>(run.cycles);
    const auto hz = static_cast<double>(rte_get_tsc_hz());
    const auto answered = static_cast<double>(run.measured.answered);
    return {{"event", "result"},
            {"seconds", cycles / hz},
            {"connections", run.spec.connections},
            {"answered", run.measured.answered},
            {"per_second", answered * hz / cycles},
            {"frames_per_request", static_cast<double>(run.measured.frames) / answered},
            {"idle", static_cast<double>(run.measured.idle_cycles) / cycles},
            {"unexpected", run.measured.unexpected},
            {"unanswered", run.exchange.outstanding()},
            {"ring_full", run.exchange.refused()}};
}

void execute(const Spec& spec, const Ports& ports, rte_mempool* pool) {
    static std::uint32_t serial = 0;
    Run run(spec, ports, pool, ++serial);
    rte_eal_remote_launch(Run::main, &run, load::polling_core());
    run.wait_past(Run::kWarmUp);
    print_event({{"event", "measuring"}});
    run.wait_past(Run::kMeasure);
    print_event({{"event", "measured"}});
    rte_eal_wait_lcore(load::polling_core());
    if (!run.error.empty())
        throw std::runtime_error(run.error);
    print_event(result_of(run));
}

void serve(const load::LoadSpec& spec) {
    const Ports ports = load::open_ports("weir-requests", spec);
    rte_mempool* pool =
        rte_pktmbuf_pool_create("frames", kBuffers, kPoolCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (pool == nullptr)
        throw std::runtime_error("pool: " + std::string(rte_strerror(rte_errno)));
    print_event({{"event", "ready"}, {"tsc_hz", rte_get_tsc_hz()}});
    load::serve_lines([&](const Json& run) { execute(parse(run, ports.size()), ports, pool); });
}

}  // namespace
}  // namespace weir::requests

int main(int argc, char** argv) {
    return weir::load::run_program("weir-requests", argc, argv, weir::requests::serve);
}
