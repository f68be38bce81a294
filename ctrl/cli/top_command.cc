// top_command.cc - weirctl top: the live table.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>

#include "ctrl/cli/failure.h"
#include "ctrl/cli/interval.h"
#include "ctrl/cli/session.h"
#include "ctrl/cli/top_view.h"

namespace weir::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct TopOptions {
    std::string interval = "1s";
    std::uint64_t count = 0;  // 0 = until it is interrupted
    bool once = false;
};

volatile std::sig_atomic_t interrupted = 0;

// Sleeps in short steps so that an interrupt ends the command at once.
void sleep_until(SteadyClock::time_point end) {
    constexpr std::chrono::milliseconds kStep(50);
    for (auto now = SteadyClock::now(); now < end && interrupted == 0; now = SteadyClock::now())
        std::this_thread::sleep_for(std::min<SteadyClock::duration>(kStep, end - now));
}

class Top {
  public:
    Top(const Session& session, const TopOptions& options)
        : session_(session),
          interval_(interval_of(options.interval)),
          left_(options.once ? 1 : options.count),
          endless_(left_ == 0) {}

    void run() {
        take();
        while (interrupted == 0 && (endless_ || left_ > 0)) {
            sleep_until(taken_ + interval_);
            if (interrupted == 0)
                step();
            left_ -= endless_ ? 0 : 1;
        }
    }

  private:
    void take() {
        now_ = {session_.ask("status"), session_.ask("vnic.list")};
        taken_ = SteadyClock::now();
    }

    void step() {
        const Terminal terminal = terminal_of_stdout();
        const Snapshot before = std::move(now_);
        const SteadyClock::time_point then = taken_;
        try {
            take();
        } catch (const Failure& failure) {
            if (!(endless_ && terminal.interactive))
                throw;
            // A live screen outlasts a restart of the switch.
            now_ = before;
            taken_ = SteadyClock::now();
            std::cout << kClear << failure.faults.front().to_line() << std::endl;
            return;
        }
        const double seconds = std::chrono::duration<double>(taken_ - then).count();
        const nlohmann::json sample = top_sample(before, now_, seconds);
        if (!session_.print_json(sample))
            std::cout << (endless_ && terminal.interactive ? kClear : "") << top_text(sample, terminal)
                      << std::flush;
    }

    static constexpr const char* kClear = "\x1b[H\x1b[2J";

    const Session& session_;
    std::chrono::nanoseconds interval_;
    std::uint64_t left_;
    bool endless_;
    Snapshot now_;
    SteadyClock::time_point taken_;
};

}  // namespace

void add_top_command(CLI::App& app, Session& session) {
    auto options = std::make_shared<TopOptions>();
    CLI::App* top =
        app.add_subcommand("top", "live rates: offered, delivered, fulfillment, held back, delay, CPU, drops");
    top->add_option("--interval", options->interval, "time between two tables")
        ->type_name("TIME")
        ->capture_default_str();
    CLI::Option* count =
        top->add_option("--count", options->count, "end after this many tables (default: never)");
    top->add_flag("--once", options->once, "the same as --count 1")->excludes(count);
    top->callback([&session, options] {
        std::signal(SIGINT, [](int) { interrupted = 1; });
        std::signal(SIGTERM, [](int) { interrupted = 1; });
        Top(session, *options).run();
    });
}

}  // namespace weir::cli
