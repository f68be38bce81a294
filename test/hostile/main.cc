// main.cc - weir-hostile: a guest that lies in every way that vhost-user and virtio allow it.
//
//   weir-hostile --socket vm3.sock --seed 7 --attack all --seconds 20
//
// Prints a line of counts for each attack. Threads: one, and one more while a race lasts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "test/hostile/attacks.h"

namespace {

using namespace weir::hostile;
using Clock = std::chrono::steady_clock;

struct Options {
    std::string socket;
    bool server = false;
    std::uint64_t seed = 1;
    std::string attack = "all";
    double seconds = 1.0;
    std::uint32_t first_step = 0;
    std::uint32_t steps = ~0U;
    unsigned own = 3;
    unsigned peer = 2;
    bool list = false;
    bool json = false;
};

Tally run(const Attack& attack, const Endpoint& endpoint, const Options& options, double seconds) {
    std::fprintf(stderr, "weir-hostile: %s begins\n", attack.name.data());
    Tally tally;
    Scene scene(endpoint, tally, vm_mac(static_cast<std::uint8_t>(options.own)),
                vm_mac(static_cast<std::uint8_t>(options.peer)));
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (std::uint32_t step = options.first_step;
         step - options.first_step < options.steps && Clock::now() < end; ++step)
        take_step(attack, scene, options.seed, step);
    return tally;
}

void print(const Attack& attack, const Tally& tally, bool json) {
    const char* format = json ? R"({"attack":"%s","steps":%llu,"connects":%llu,"refused":%llu,"closed":%llu,)"
                                R"("messages":%llu,"unanswered":%llu,"frames":%llu,"bytes_changed":%llu})"
                                "\n"
                              : "%-20s %8llu steps %8llu connects %6llu refused %8llu closed by the switch "
                                "%9llu messages %6llu unanswered %9llu frames %6llu bytes changed\n";
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(format, attack.name.data(), number(tally.steps), number(tally.connects),
                number(tally.refused), number(tally.closed), number(tally.messages), number(tally.unanswered),
                number(tally.frames), number(tally.bytes_changed));
    std::fflush(stdout);
}

int run_all(const Options& options) {
    const auto is_chosen = [&](const Attack& attack) {
        return options.attack == attack.name || (options.attack == "all" && !barred(attack));
    };
    const auto chosen = static_cast<std::size_t>(std::ranges::count_if(kAttacks, is_chosen));
    if (chosen == 0) {
        std::fprintf(stderr, "weir-hostile: --attack: found '%s'; allowed: all, or a name of --list\n",
                     options.attack.c_str());
        return 2;
    }
    const Endpoint endpoint(options.socket, options.server);
    for (const Attack& attack : kAttacks)
        if (is_chosen(attack))
            print(attack, run(attack, endpoint, options, options.seconds / static_cast<double>(chosen)),
                  options.json);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"weir-hostile - a guest that lies in every way that vhost-user and virtio allow it"};
    Options options;
    auto* socket = app.add_option("--socket", options.socket, "the attacked vNIC's socket");
    app.add_flag("--server", options.server, "make the socket: the switch connects");
    app.add_option("--seed", options.seed, "of all choices")->capture_default_str();
    app.add_option("--attack", options.attack,
                   "a name of --list, or all: those after which the socket is not barred")
        ->capture_default_str();
    app.add_option("--seconds", options.seconds, "in all, divided among the attacks")->capture_default_str();
    app.add_option("--first-step", options.first_step, "begin with this step of the seed")
        ->capture_default_str();
    app.add_option("--steps", options.steps, "steps of each attack at most");
    app.add_option("--vm", options.own, "the attacker's MAC is 52:54:00:00:00:VM")
        ->check(CLI::Range(0, 255))
        ->capture_default_str();
    app.add_option("--peer", options.peer, "the VM that frames go to")
        ->check(CLI::Range(0, 255))
        ->capture_default_str();
    app.add_flag("--list", options.list, "print the attacks, each with its family, and exit");
    app.add_flag("--json", options.json, "one JSON object per attack");
    CLI11_PARSE(app, argc, argv);
    if (options.list) {
        for (const Attack& attack : kAttacks)
            std::printf("%-20s %-14s %s\n", attack.name.data(), family_of(attack).data(),
                        attack.phrase.data());
        return 0;
    }
    if (socket->count() == 0) {
        std::fprintf(stderr, "weir-hostile: --socket is required, or --list\n");
        return 2;
    }
    try {
        return run_all(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "weir-hostile: %s\n", error.what());
        return 1;
    }
}
