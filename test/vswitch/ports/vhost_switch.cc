// vhost_switch.cc - the worker's thread, and neighbors that send all the time.
#include "test/vswitch/ports/vhost_switch.h"

#include <rte_cycles.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace weir::testing {

using hostile::vm_mac;

VhostSwitch::VhostSwitch(unsigned vnics, const std::string& kept) : driver_(harness_.quiescence()) {
    for (unsigned n = 1; n <= vnics; ++n) {
        VnicConfig config = vm(n);
        config.mode = VhostMode::kServer;
        config.socket = socket(n);
        ports_.push_back(std::make_unique<VhostPort>(
            1,
            std::array{VhostPort::Server{.notifier = &notifier_,
                                         .access = &harness_.quiescence().access(0),
                                         .wakeups = nullptr,
                                         .pool = buffer_pool(),
                                         .relay = &relay_}},
            kept.empty() ? "" : kept + "/" + config.name));
        ids_.push_back(harness_.add(config, ports_.back()->rings()));
        driver_.add(config, *ports_.back());
    }
}

VhostSwitch::~VhostSwitch() {
    stop();
    while (!ports_.empty())
        remove_last();
}

void VhostSwitch::start() {
    stop_ = false;
    worker_ = std::thread([this] {
        GuestAccess& access = harness_.quiescence().access(0);
        access.set_thread(gettid());
        while (!stop_.load(std::memory_order_relaxed)) {
            harness_.now = kNanosPerSec + static_cast<Nanos>((Clock::now() - began_).count());
            const std::uint64_t before = rte_rdtsc();
            harness_.turn();
            access.note_turn(rte_rdtsc() - before);
            turns_.store(turns() + 1, std::memory_order_relaxed);
        }
        access.set_thread(0);
    });
}

void VhostSwitch::stop() {
    stop_ = true;
    if (worker_.joinable())
        worker_.join();
}

/// The callback of a live connection waits for a checkpoint of the worker.
void VhostSwitch::remove_last() {
    std::atomic<bool> done{false};
    std::thread agent([&] {
        driver_.remove(socket(static_cast<unsigned>(ports_.size())));
        done = true;
    });
    while (!done)
        harness_.turn();
    agent.join();
    harness_.remove(ids_.back());
    ids_.pop_back();
    ports_.pop_back();
}

VhostSwitch& attacked_switch() {
    static VhostSwitch where(5);
    return where;
}

bool Vm::start(VhostSwitch& where, unsigned number, const hostile::Guest::Shape& shape) {
    return until([&] {
        if (!guest.restart(shape))
            return false;
        guest.offer_buffers();
        // The answer comes when the switch has read all that was sent before, so that both rings are enabled.
        return until([&] { return where.rings(number).up() || !guest.frontend.connected(); }) &&
               guest.frontend.ask(hostile::kGetFeatures).has_value() && where.rings(number).up();
    });
}

hostile::Frame Arrivals::frame(std::uint8_t to, std::uint8_t from, std::uint32_t number) {
    hostile::Frame frame = hostile::ipv4_frame(vm_mac(to), vm_mac(from), kBytes, false);
    hostile::put16(frame, kBytes - 4, number >> 16);
    hostile::put16(frame, kBytes - 2, number);
    return frame;
}

void Arrivals::count(std::span<const std::uint8_t> frame, std::uint8_t from) {
    constexpr std::size_t kSenderAt = 11;
    if (frame.size() == kBytes && frame[kSenderAt] == from)
        ++copies_[static_cast<std::uint32_t>(frame[kBytes - 4] << 24 | frame[kBytes - 3] << 16 |
                                             frame[kBytes - 2] << 8 | frame[kBytes - 1])];
}

bool Arrivals::arrived(std::uint32_t first, std::uint32_t end) const {
    while (first < end && copies_.contains(first))
        ++first;
    return first == end;
}

bool Arrivals::each_once(std::uint32_t first, std::uint32_t end) const {
    for (std::uint32_t number = first; number < end; ++number) {
        const auto found = copies_.find(number);
        if (found == copies_.end() || found->second != 1)
            return false;
    }
    return true;
}

std::uint32_t Arrivals::most_copies() const {
    std::uint32_t most = 0;
    for (const auto& [number, copies] : copies_)
        most = std::max(most, copies);
    return most;
}

Neighbors::Neighbors(VhostSwitch& where) : sender_(where, 1), receiver_(where, 2), burster_(where, 5) {
    if (!sender_.start(where, 1) || !receiver_.start(where, 2) || !burster_.start(where, 5))
        throw std::runtime_error("a neighbor's vNIC does not come up");
    thread_ = std::thread([this] { run(); });
}

void Neighbors::run() {
    const auto collect = [this] {
        receiver_.guest.receive([this](std::span<const std::uint8_t> frame) { arrivals_.count(frame, 1); });
    };
    while (!stop_) {
        sent += sender_.guest.transmit({}, Arrivals::frame(2, 1, sent));
        send_burst();
        collect();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    (void)until([&] { return collect(), arrivals_.each_once(0, sent); });
}

void Neighbors::send_burst() {
    constexpr std::size_t kLengths[] = {60, 200, 1514};
    for (unsigned i = 0; i < limits::kBurst; ++i) {
        const std::size_t bytes = kLengths[i % std::size(kLengths)];
        if (!burster_.guest.transmit({}, hostile::ipv4_frame(vm_mac(3), vm_mac(5), bytes, false)))
            return;
    }
}

void Neighbors::end() {
    stop_ = true;
    if (thread_.joinable())
        thread_.join();
}

bool Neighbors::unharmed() {
    std::uint64_t changed = 0;
    for (Vm* vm : {&sender_, &receiver_, &burster_})
        changed += vm->guest.bytes_changed();
    return sent > 0 && changed == 0 && arrivals_.each_once(0, sent);
}

}  // namespace weir::testing
