// adoption_bench.cc - a change of one vNIC in a running cluster of 24,000 vNICs on 2,000 hosts: the time for
// which the controller's loop is held, and the bytes that each host receives.
// Source: docs/design.md 10. Units: ms. Threads: the controller's, and the one beside it that parses.
//
//   adoption-bench [HOSTS] [CHANGES]
//
// Switches are messages without sockets; the store is a file. Prints JSON: `tick_ms` without a change,
// `request_ms` the first piece of the change on the loop and `piece_ms` the longest of the others,
// `beside_ms` the time until the reply without that, and `next_tick_ms` the first tick afterwards; and
// `reading_ms`, in which the loop takes a reading for metrics after a tick.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "ctrl/daemon/controller_reading.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/new_revision.h"
#include "test/ctrl/daemon/fake_switch.h"

namespace {

using namespace weir;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using test::FakeSwitch;

constexpr unsigned kVnicsPerHost = 12;
constexpr unsigned kVnicsPerTenant = 48;

double millis_since(Clock::time_point began) {
    return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// vNIC number v is on host v / 12, and one of tenant v % tenants.
json cluster_file(unsigned hosts) {
    json file{{"name", "bench"}, {"confirm_above", "100%"}};
    const unsigned tenants = std::max(1U, hosts * kVnicsPerHost / kVnicsPerTenant);
    for (unsigned i = 0; i < hosts; ++i)
        file["topology"]["hosts"].push_back({{"name", "h" + std::to_string(i)}});
    for (unsigned i = 0; i < std::max(4U, hosts / 10); ++i)
        file["appliances"].push_back({{"name", "app" + std::to_string(i)},
                                      {"capacity_min", "20ktokens"},
                                      {"capacity_max", "20ktokens"}});
    for (unsigned i = 0; i < tenants; ++i) {
        json tenant{{"name", "t" + std::to_string(i)}};
        for (unsigned a = 0; a < 4; ++a)
            tenant["appliances"].push_back(
                {{"name", "app" + std::to_string((i * 4 + a) % file["appliances"].size())},
                 {"reservation", "100tokens"}});
        file["tenants"].push_back(std::move(tenant));
    }
    for (unsigned v = 0; v < hosts * kVnicsPerHost; ++v)
        file["tenants"][v % tenants]["vnics"].push_back(
            {{"name", "v" + std::to_string(v)}, {"reservation", "100Mbit"}});
    return file;
}

class Bench {
  public:
    Bench(const std::string& store_file, unsigned hosts)
        : file_(cluster_file(hosts)), store_(store_file), config_(parsed()) {
        (void)import_specification(store_, config_, file_.dump(), "bench", 1'000);
        controller_ = std::make_unique<Controller>(
            config_, [](const ClusterConfig& of) { return std::make_shared<IntervalSolver>(of); }, store_,
            1'000);
        for (unsigned host = 0; host < hosts; ++host)
            join(host);
    }
    double tick() {
        now_ += kNanosPerSec;
        for (FakeSwitch& each : switches_)
            give(each, each.send_demands());
        const auto began = Clock::now();
        controller_->tick(now_, 1'000);
        const double spent = millis_since(began);
        deliver();
        return spent;
    }
    /// The reading for metrics.
    double read() {
        const auto began = Clock::now();
        const ControllerReading reading = controller_->read({}, now_);
        if (reading.hosts.size() != switches_.size())
            throw std::logic_error("the reading has another number of hosts");
        return millis_since(began);
    }
    struct Change {
        double request_ms = 0;
        double beside_ms = 0;
        double piece_ms = 0;
        double next_tick_ms = 0;
        std::size_t hosts = 0;
        std::size_t bytes_most = 0;
    };
    Change change(unsigned number) {
        file_["tenants"][number % file_["tenants"].size()]["vnics"][0]["reservation"] =
            std::to_string(100 + number) + "Mbit";
        const std::string request =
            json{{"schema", 1}, {"command", "apply"}, {"args", {{"text", file_.dump()}, {"yes", true}}}}
                .dump();
        auto began = Clock::now();
        std::string text = controller_->on_command(request, {}, now_, {}, {.ticket = number + 1});
        Change change;
        change.request_ms = millis_since(began);
        began = Clock::now();
        while (text.empty()) {
            const auto turn = Clock::now();
            for (SideWork::Reply& reply : controller_->take_replies(now_)) {
                change.piece_ms = std::max(change.piece_ms, millis_since(turn));
                text = std::move(reply.text);
            }
        }
        change.beside_ms = millis_since(began) - change.piece_ms;
        if (json::parse(text)["ok"] != true)
            throw std::runtime_error(text);
        std::map<std::string, std::size_t> bytes;
        for (const Outgoing& message : controller_->take_outgoing())
            bytes[message.route] += message.header.size() + message.body.size();
        change.hosts = bytes.size();
        for (const auto& [route, amount] : bytes)
            change.bytes_most = std::max(change.bytes_most, amount);
        change.next_tick_ms = tick();
        return change;
    }

  private:
    [[nodiscard]] ClusterConfig parsed() const {
        auto outcome = parse_cluster(file_.dump());
        if (const auto* faults = std::get_if<Faults>(&outcome))
            throw std::runtime_error(faults->front().to_line());
        return std::get<ClusterConfig>(std::move(outcome));
    }
    void join(unsigned host) {
        std::vector<std::string> vnics;
        for (unsigned v = 0; v < kVnicsPerHost; ++v)
            vnics.push_back("v" + std::to_string(host * kVnicsPerHost + v));
        FakeSwitch& made =
            switches_.emplace_back("h" + std::to_string(host), vnics, "r" + std::to_string(host));
        for (const auto& appliance : config_.appliances)
            made.hello.appliances.push_back({.name = appliance.name});
        made.hello.capabilities = {std::string(wire::capability::kTablesByNeed)};
        give(made, made.send_hello());
        deliver();
        const std::size_t tenants = config_.tenants.size();
        for (unsigned v = 0; v < kVnicsPerHost; ++v) {
            const unsigned vnic = host * kVnicsPerHost + v;
            const auto& parts = config_.tenants[vnic % tenants].appliances;
            made.want("v" + std::to_string(vnic), parts[v % parts.size()].name, {50'000, 500, 50'000});
        }
    }
    void give(FakeSwitch& from, const FakeSwitch::Message& message) {
        controller_->on_message(from.peer, message.header, message.body, now_);
    }
    void deliver() {
        for (const Outgoing& message : controller_->take_outgoing())
            switches_[std::stoul(message.route.substr(1))].receive(message);
    }

    json file_;
    Store store_;
    ClusterConfig config_;
    std::unique_ptr<Controller> controller_;
    std::deque<FakeSwitch> switches_;
    Nanos now_ = kNanosPerSec;
};

json measure(const std::string& folder, unsigned hosts, unsigned changes) {
    Bench bench(folder + "/ctrl.db", hosts);
    std::vector<double> ticks;
    std::vector<double> readings;
    for (unsigned i = 0; i < 5; ++i) {
        ticks.push_back(bench.tick());
        readings.push_back(bench.read());
    }
    std::vector<double> request;
    std::vector<double> beside;
    std::vector<double> piece;
    std::vector<double> next;
    std::size_t concerned = 0;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < changes; ++i) {
        const Bench::Change change = bench.change(i);
        request.push_back(change.request_ms);
        beside.push_back(change.beside_ms);
        piece.push_back(change.piece_ms);
        next.push_back(change.next_tick_ms);
        concerned = std::max(concerned, change.hosts);
        bytes = std::max(bytes, change.bytes_most);
    }
    return {{"hosts", hosts},
            {"vnics", hosts * kVnicsPerHost},
            {"changes", changes},
            {"tick_ms", median(ticks)},
            {"reading_ms", median(readings)},
            {"request_ms", median(request)},
            {"beside_ms", median(beside)},
            {"piece_ms", median(piece)},
            {"next_tick_ms", median(next)},
            {"hosts_with_messages", concerned},
            {"bytes_most", bytes}};
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
    };
    const unsigned hosts = std::max(1U, number(1, 2'000));
    const unsigned changes = std::max(1U, number(2, 5));
    std::string folder = (std::filesystem::temp_directory_path() / "weir-adoption-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        return 1;
    const json result = measure(folder, hosts, changes);
    std::filesystem::remove_all(folder);
    std::printf("%s\n", result.dump(2).c_str());
    return 0;
}
