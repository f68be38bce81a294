#!/usr/bin/env python3
"""registry_test.py - adding a scheduler is two files and one line: shown by adding one to a copy of the sources.

The copy gets fifo_scheduler.{h,cc} and a line in registry.h after it was configured, so that Meson must notice the
line by itself. A small program then asks the parser of the configuration, its error message and the scheduler. The
last line is `N passed, N failed`.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOM = "vswitch/qos/schedulers"
FOLDERS = ("common", "cost_functions", "vswitch", "ctrl", "bench/sim", "configs", "packaging")
PROGRAM = """
executable('probe', 'probe.cc', dependencies: [config_dep, qos_dep], include_directories: top)
"""
TIMEOUT_S = 900

HEADER = """// fifo_scheduler.h - the packet that was enqueued first leaves first, without regard to reservations and shares.
// Threads: one owner.
#pragma once

#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir {

class FifoScheduler final : public LinkScheduler {
  public:
    explicit FifoScheduler(const SchedulerSetup& setup) : LinkScheduler(setup) {}
    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override { return active_.empty() ? kNever : now; }

  private:
    void join(VnicId id, Nanos) override { active_.set(id); }
    void leave(VnicId id) override { active_.clear(id); }
    void shares_changed(Nanos) override {}

    Members active_;
};

}  // namespace weir
"""
SOURCE = """// fifo_scheduler.cc - FifoScheduler: a search among the first packets of the contending classes.
#include "vswitch/qos/schedulers/fifo_scheduler.h"

#include <memory>

namespace weir {

std::unique_ptr<LinkScheduler> make_fifo(const SchedulerSetup& setup) {
    return std::make_unique<FifoScheduler>(setup);
}

std::size_t FifoScheduler::dequeue_burst(Nanos now, std::span<PacketRef> out) {
    std::size_t sent = 0;
    while (sent < out.size() && !active_.empty()) {
        std::size_t first = active_.find_from(0);
        for (std::size_t id = first; id != Members::kNone; id = active_.find_from(id + 1))
            if (front(classes_[id]).enqueued < front(classes_[first]).enqueued)
                first = id;
        if (!link_.can_pay(front_bytes(first), now))
            break;
        sent += send_front(static_cast<VnicId>(first), now, out[sent]) ? 1 : 0;
    }
    return sent;
}

}  // namespace weir
"""
ENTRY = '    ENTRY(fifo, "the packet that was enqueued first") \\\n'
PROBE = """
#include <iostream>

#include "vswitch/config/config.h"
#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

using namespace weir;

std::variant<SwitchConfig, Faults> parse(const char* scheduler) {
    return parse_config(std::string(R"({"uplink": {"device": "net_null0", "scheduler": ")") + scheduler + "\\"}}");
}

int main() {
    const auto good = parse("fifo");
    const auto* config = std::get_if<SwitchConfig>(&good);
    std::cout << "configuration: " << (config != nullptr ? config->uplink.scheduler->name : "refused") << '\\n';
    const auto bad = parse("lifo");
    if (const auto* faults = std::get_if<Faults>(&bad))
        for (const Fault& fault : *faults)
            std::cout << "message: " << fault.to_line() << '\\n';
    TimingWheel wheel(2);
    const auto link = make_scheduler(*find_scheduler("fifo"), {.classes = 2, .wheel = &wheel});
    link->set_capacity(1'000'000'000, 0);
    for (VnicId id = 0; id < 2; ++id)
        link->add(id, {.reservation = id == 0 ? 500'000'000U : 0}, nullptr, 0);
    for (const unsigned sent : {3, 1, 2}) {  // class 1 has packet 1, class 0 has 3 and 2 behind each other
        const PacketRef packet{nullptr, Nanos{sent}, 100, static_cast<std::uint16_t>(sent), 1};
        if (!link->enqueue(sent == 1 ? 1 : 0, packet, 0))
            return 1;
    }
    std::array<PacketRef, 4> out;
    std::cout << "scheduler:";
    for (std::size_t i = 0, n = link->dequeue_burst(1'000'000, out); i < n; ++i)
        std::cout << ' ' << out[i].frames;
    std::cout << '\\n';
}
"""


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def write(copy, name, text):
    with open(os.path.join(copy, name), "w") as stream:
        stream.write(text)


def answers(copy):
    """The output of the probe in a copy with one scheduler more."""
    names = run("git", "ls-files", "-co", "--exclude-standard", "--", "meson.build", "meson_options.txt", *FOLDERS,
                cwd=ROOT).split()
    for name in names:
        if os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(copy, name))
    with open(os.path.join(copy, "meson.build"), "a") as stream:
        stream.write(PROGRAM)
    write(copy, "probe.cc", PROBE)
    run("meson", "setup", "build", "-Dtests=false", "-Dbuildtype=plain", "-Doptimization=0", cwd=copy)
    write(copy, f"{ROOM}/fifo_scheduler.h", HEADER)
    write(copy, f"{ROOM}/fifo_scheduler.cc", SOURCE)
    with open(os.path.join(copy, ROOM, "registry.h")) as stream:
        table = stream.read()
    first = "#define WEIR_SCHEDULERS(ENTRY) \\\n"
    if first not in table:
        raise RuntimeError(f"{ROOM}/registry.h has no line {first!r}")
    write(copy, f"{ROOM}/registry.h", table.replace(first, first + ENTRY))
    run("ninja", "-C", "build", "probe", cwd=copy)
    return run("build/probe", cwd=copy)


def main():
    output = ""
    with tempfile.TemporaryDirectory() as copy:
        try:
            output = answers(copy)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(error)
    expected = {"the configuration takes the new scheduler's name": "configuration: fifo\n",
                "an error message lists it": "message: uplink.scheduler: found \"lifo\"; allowed: fifo, wrr, fulfillment, rls",
                "the scheduler itself decides": "scheduler: 1 3 2\n"}
    failed = 0
    for title, text in expected.items():
        print("ok    " if text in output else "FAILED", title)
        failed += text not in output
    if failed:
        print(output)
    print(f"{len(expected) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
