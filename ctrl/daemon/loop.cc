// loop.cc - turns of intake, then the work that is due, then the answers.
#include "ctrl/daemon/loop.h"

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/service_notifier.h"
#include "ctrl/daemon/intake.h"
#include "ctrl/daemon/schedule.h"

namespace weir {
namespace {

constexpr Nanos kWaitMax = 100'000'000;
/// Of `status`: pairs of peer and reason.
constexpr std::size_t kRefusedPeers = 10;
/// Between two readings for metrics: the first, where one follows an interval's work, or else the second.
constexpr Nanos kReadingMin = kNanosPerSec / 2;
constexpr Nanos kReadingMax = kNanosPerSec;

Nanos real_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::chrono::milliseconds wait_until(Nanos when, Nanos now) {
    const Nanos wait = std::min(when > now ? when - now : 0, kWaitMax);
    return std::chrono::milliseconds((wait + 999'999) / 1'000'000);
}

class Loop {
  public:
    Loop(const ClusterConfig& config, Controller& controller, Server& server, SteppedClock* clock,
         LoopDesks desks)
        : config_(config),
          controller_(controller),
          server_(server),
          clock_(clock),
          board_(desks.board),
          commands_(desks.commands),
          intake_(controller, config),
          stepped_from_(clock == nullptr ? 0 : std::time(nullptr) - seconds_of(clock->now())),
          schedule_({.tick = [this](Nanos now) { controller_.tick(now, unix_time(now)); },
                     .solve_early = [this](Nanos now) { controller_.solve_early(now); },
                     .early_solve_due = [this] { return controller_.early_solve_due(); },
                     .clock = [this] { return time(); }},
                    config.interval, time()) {
        if (clock_ != nullptr)
            step_ = [this](Nanos span) { return step(span); };
        controller_.set_reach([this](const Outgoing& message) {
            server_.send(controller_.take_outgoing());
            return server_.reaches(message);
        });
        controller_.set_loop_report([this] {
            nlohmann::json report{{"loop", schedule_.figures().describe()},
                                  {"budgets", intake_.budgets().describe(kRefusedPeers)}};
            if (commands_ != nullptr)
                report["api"] = commands_->describe();
            return report;
        });
    }
    ~Loop() {
        controller_.set_reach({});
        controller_.set_loop_report({});
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void run(const std::atomic<bool>& stop) {
        const Server::Handlers handlers{
            [this](const Peer& peer, std::span<const std::uint8_t> header,
                   std::span<const std::uint8_t> body) { intake_.on_message(peer, header, body, time()); },
            [this](std::string_view request) {
                return controller_.on_command(request, server_.counters(), time(), step_,
                                              server_.command_origin());
            },
            [this] { return real_now() < turn_end_; }};
        notifier_.ready(real_now());
        while (!stop.load(std::memory_order_relaxed)) {
            server_.wait(wait_until(schedule_.next_due(), time()),
                         commands_ == nullptr ? -1 : commands_->descriptor());
            turn_end_ =
                intake_end(real_now(), config_.interval, clock_ == nullptr ? schedule_.next_tick() : kNever);
            server_.take(handlers);
            take_commands();
            work_until(time());
            for (SideWork::Reply& reply : controller_.take_replies(time()))
                answer(std::move(reply));
            if (std::exchange(revision_, controller_.revision()) != controller_.revision())
                server_.set_hosts(controller_.config().hosts);
            intake_.set_hosts(controller_.config().hosts.size());
            publish();
            report();
        }
        notifier_.stopping();
    }

  private:
    [[nodiscard]] Nanos time() const { return clock_ == nullptr ? real_now() : clock_->now(); }
    static std::int64_t seconds_of(Nanos span) { return static_cast<std::int64_t>(span / kNanosPerSec); }
    /// With a stepped clock the Unix time passes with it.
    [[nodiscard]] std::int64_t unix_time(Nanos now) const {
        return clock_ == nullptr ? std::time(nullptr) : stepped_from_ + seconds_of(now);
    }
    /// A few per turn: the rest waits for the next one, after the work that is due.
    void take_commands() {
        for (int taken = 0; commands_ != nullptr && taken < kCommandsPerTurn; ++taken) {
            if (taken != 0 && real_now() >= turn_end_)
                return;
            const auto command = commands_->take();
            if (!command)
                return;
            std::string text = controller_.on_command(
                command->text, server_.counters(), time(), step_,
                {.peer = command->peer, .ticket = command->ticket, .may_change = command->may_change});
            if (!text.empty())
                commands_->reply(command->ticket, std::move(text));
        }
    }
    void answer(SideWork::Reply reply) {
        if (commands_ != nullptr && reply.ticket > CommandDesk::kTickets)
            commands_->reply(reply.ticket, std::move(reply.text));
        else
            server_.reply(reply);
    }
    void work_until(Nanos now) {
        schedule_.run_due(now);
        server_.send(controller_.take_outgoing());
    }
    /// At most a tick for each interval of the span and one early solve: no message arrives meanwhile.
    Nanos step(Nanos span) {
        const Nanos end = clock_->now() + span;
        for (Nanos due = schedule_.next_due(); due <= end; due = schedule_.next_due()) {
            clock_->advance(std::max(due, clock_->now()) - clock_->now());
            work_until(clock_->now());
        }
        clock_->advance(end - clock_->now());
        return end;
    }
    /// Scrapers read the latest reading, and never ask the loop. A reading follows an interval's work, so
    /// that its time delays no interval; the others are for intervals that are longer than a second.
    void publish() {
        if (board_ == nullptr)
            return;
        const bool has_ticked =
            std::exchange(published_interval_, controller_.interval()) != controller_.interval();
        const Nanos began = real_now();
        if (began < published_ + (has_ticked ? kReadingMin : kReadingMax))
            return;
        ControllerReading reading = controller_.read(server_.counters(), time());
        published_ = real_now();
        reading.took = published_ - began;
        board_->publish(published_, std::move(reading));
    }
    void report() {
        const Nanos now = real_now();
        if (notifier_.alive_due(now))
            notifier_.alive(now);
        if (reported_ == controller_.interval())
            return;
        reported_ = controller_.interval();
        notifier_.status("cluster " + config_.name + ", epoch " + std::to_string(controller_.epoch()) + ": " +
                         std::to_string(controller_.connected_hosts()) + " of " +
                         std::to_string(controller_.config().hosts.size()) + " hosts are connected");
    }

    const ClusterConfig& config_;
    Controller& controller_;
    Server& server_;
    SteppedClock* clock_;    // null: time is real
    ReadingBoard* board_;    // null: no metrics
    CommandDesk* commands_;  // null: no API
    Intake intake_;
    std::int64_t stepped_from_;  // Unix time when a stepped clock was 0
    Schedule schedule_;
    StepTime step_;  // empty: time is real
    ServiceNotifier notifier_;
    Nanos turn_end_ = 0;
    std::uint32_t reported_ = 0;  // interval
    std::uint32_t published_interval_ = 0;
    Nanos published_ = 0;        // real time of the last reading
    std::int64_t revision_ = 0;  // whose hosts the server admits
};

}  // namespace

void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop, SteppedClock* clock, LoopDesks desks) {
    Loop(config, controller, server, clock, desks).run(stop);
}

}  // namespace weir
