// measure.cc - number of outstanding requests, order of rounds, line of progress, counts of the switch.
#include "ctrl/calibrate/measure.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>

#include "common/config/config_text.h"
#include "ctrl/calibrate/load/closed_loop.h"
#include "ctrl/cli/client.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::uint32_t kKeysAtOnce = 8;                   // keys of a get of several keys
constexpr std::uint64_t kOutstandingBytesMax = 64U << 20;  // of outstanding requests and their responses
constexpr std::size_t kHalfRounds = 3;    // rounds that also measure half as many outstanding requests
constexpr unsigned kRoundsFactorMax = 3;  // rounds where they differ, as a multiple of the plan's
constexpr unsigned kMargin = 4;           // outstanding requests, as a multiple of the fewest that saturate
constexpr double kSaturated = 0.95;       // part of the best rate that counts as saturated

/// One line on standard error: percent done and seconds left. Silent when standard error is no terminal.
class Progress {
  public:
    Progress() : is_shown_(::isatty(STDERR_FILENO) == 1) {}
    ~Progress() {
        if (is_shown_ && done_ > 0)
            std::cerr << kClearLine << std::flush;
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void expect(std::size_t steps, double seconds_each) {
        steps_ += steps;
        seconds_each_ = seconds_each;
    }
    void expect_one_more() { ++steps_; }
    /// One more step is done.
    void advance(const std::string& name) {
        done_ = std::min(done_ + 1, steps_);
        if (!is_shown_)
            return;
        const long seconds = std::lround(static_cast<double>(steps_ - done_) * seconds_each_);
        std::cerr << kClearLine << 100 * done_ / std::max<std::size_t>(steps_, 1) << "%, " << seconds
                  << " s left: " << name << std::flush;
    }

  private:
    static constexpr const char* kClearLine = "\r\033[K";

    bool is_shown_;
    std::size_t steps_ = 0;
    std::size_t done_ = 0;
    double seconds_each_ = 0;
};

class MeasurementRun {
  public:
    MeasurementRun(Service& service, const Plan& plan, const SwitchCounts* counts)
        : service_(service), plan_(plan), counts_(counts), loop_(service, plan.endpoint, plan.connections) {}

    /// Creates the values that reads need, and counts the sizes of one request of each kind.
    void prepare() {
        for (Step step : steps_of(service_, plan_)) {
            service_.plan(step);
            if (const auto fill = service_.fill_step(step))
                loop_.visit_places(*fill);
            steps_.push_back(loop_.probe(step));
        }
        const double each = static_cast<double>(plan_.warm_up + plan_.measured) / kNanosPerSec;
        const auto windows = static_cast<std::size_t>(std::bit_width(plan_.outstanding / plan_.connections));
        progress_.expect(steps_.size() * (plan_.rounds + kHalfRounds + windows), each);
    }

    /// Finds how many outstanding requests saturate the appliance, for each kind.
    void saturate() {
        for (const CountedStep& counted : steps_) {
            Measurement one{.operation = counted.step.operation,
                            .payload = service_.is_sized(counted.step.operation) ? counted.step.size : 0,
                            .keys = counted.request.keys,
                            .request_bytes = counted.request.request_bytes,
                            .response_bytes = counted.response_bytes};
            const std::uint64_t bytes = one.request_bytes + one.response_bytes;
            const auto most = static_cast<unsigned>(kOutstandingBytesMax / std::max<std::uint64_t>(bytes, 1));
            one.outstanding = window_of(counted, std::clamp(most, 2 * plan_.connections, plan_.outstanding));
            measurements_.push_back(std::move(one));
        }
    }

    /// One measurement of every kind. Odd rounds go backwards, so that slow changes affect all kinds alike.
    void round(std::size_t number) {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const std::size_t at = number % 2 == 0 ? i : steps_.size() - 1 - i;
            measure_once(at);
            if (number < kHalfRounds) {
                measurements_[at].half_rates.push_back(run(at, measurements_[at].outstanding / 2).rate);
                progress_.advance(measurements_[at].name());
            }
        }
    }

    /// More rounds of the kinds whose median is noisier than `noise`.
    void reduce_noise(double noise) {
        for (unsigned rounds = plan_.rounds; rounds < kRoundsFactorMax * plan_.rounds; ++rounds)
            for (std::size_t at = 0; at < steps_.size(); ++at)
                if (estimate(measurements_[at].rates).noise() > noise) {
                    progress_.expect_one_more();
                    measure_once(at);
                }
    }

    /// Deletes the data that prepare() created.
    void clear() {
        for (const CountedStep& counted : steps_)
            if (const auto clear = service_.clear_step(counted.step))
                loop_.visit_places(*clear);
    }

    [[nodiscard]] std::vector<Measurement> result() && { return std::move(measurements_); }

  private:
    void measure_once(std::size_t at) {
        Measurement& one = measurements_[at];
        const ClosedLoop::Trial trial = run(at, one.outstanding);
        one.rates.push_back(trial.rate);
        one.generator = std::max(one.generator, trial.generator);
        progress_.advance(one.name());
    }

    ClosedLoop::Trial run(std::size_t at, unsigned outstanding) {
        Measurement& one = measurements_[at];
        const auto before = counts_ == nullptr ? SwitchCounts::Reading() : counts_->read();
        const ClosedLoop::Trial trial = loop_.run(steps_[at], outstanding, {plan_.warm_up, plan_.measured});
        one.asked += trial.asked;
        if (counts_ != nullptr) {
            const SwitchCounts::Reading after = counts_->read();
            one.counted_by_switch += counts_->check(before, after, trial.asked);
            one.held_back = std::max(one.held_back, SwitchCounts::held_back(before, after));
        }
        return trial;
    }

    /// kMargin times the fewest outstanding requests that saturate the appliance, at most `most`. The trials
    /// are short, so their result needs a margin. Large requests need fewer, and more would only fill queues.
    unsigned window_of(const CountedStep& counted, unsigned most) {
        std::vector<std::pair<unsigned, double>> tried;
        const ClosedLoop::Duration duration{plan_.warm_up / 2, plan_.measured / 4};
        double best = 0;
        for (unsigned window = plan_.connections; window <= most; window *= 2) {
            tried.emplace_back(window, loop_.run(counted, window, duration).rate);
            best = std::max(best, tried.back().second);
            progress_.advance(counted.step.name());
        }
        const auto saturated =
            std::ranges::find_if(tried, [&](const auto& one) { return one.second >= kSaturated * best; });
        return std::min(kMargin * saturated->first, most);
    }

    Service& service_;
    const Plan& plan_;
    const SwitchCounts* counts_;
    Progress progress_;
    ClosedLoop loop_;
    std::vector<CountedStep> steps_;
    std::vector<Measurement> measurements_;
};

using nlohmann::json;

std::string appliance_at(const json& list, const Endpoint& endpoint) {
    std::string others;
    for (const json& one : list.at("appliances")) {
        if (one.at("address") == endpoint.address && one.at("port") == endpoint.port)
            return one.at("name");
        others += (others.empty() ? "" : ", ") + one.at("address").get<std::string>() + ":" +
                  std::to_string(one.at("port").get<int>());
    }
    throw cli::bad_input("ADDRESS", endpoint.text(),
                         others.empty() ? "an appliance of the switch's configuration" : others,
                         "the switch has no appliance at this address; add it to \"appliances\"");
}

std::string vnic_of(const json& list, const std::string& appliance) {
    std::vector<std::string> names;
    for (const json& flow : list.at("flows"))
        if (flow.at("appliance") == appliance)
            names.push_back(flow.at("vnic"));
    if (names.size() == 1)
        return names.front();
    throw cli::bad_input(
        "--vnic", "",
        names.empty() ? "a vNIC with \"" + appliance + "\" among its appliances" : list_words(names),
        names.empty() ? "no vNIC may send requests to " + appliance
                      : "several vNICs may send requests to " + appliance + "; choose one");
}

}  // namespace

std::vector<Step> steps_of(const Service& service, const Plan& plan) {
    const std::vector<Operation> known = service.operations();
    std::vector<Step> steps;
    for (const Operation operation :
         plan.operations.empty() ? service.default_operations() : plan.operations) {
        if (std::ranges::find(known, operation) == known.end())
            throw cli::bad_input("--operations", operation_name(operation), list_words(known, operation_name),
                                 "weir-calibrate has no such request of the protocol " + plan.protocol);
        if (service.destroys(operation) && !plan.overwrite)
            throw cli::bad_input("--operations", operation_name(operation), "--overwrite as well",
                                 "this destroys data that the export at " + plan.endpoint.text() + " holds");
        if (!service.is_sized(operation))
            steps.push_back({.operation = operation});
        else
            for (const std::uint64_t size : plan.sizes.empty() ? service.default_sizes() : plan.sizes)
                steps.push_back({.operation = operation, .size = size});
        if (operation == Operation::kRead && service.has_several_keys())
            steps.push_back({.operation = operation, .keys = kKeysAtOnce});
    }
    return steps;
}

std::vector<Measurement> measure(Service& service, const Plan& plan, double noise,
                                 const SwitchCounts* counts) {
    (void)steps_of(service, plan);  // throws before the first connection
    MeasurementRun run(service, plan, counts);
    run.prepare();
    run.saturate();
    for (std::size_t number = 0; number < plan.rounds; ++number)
        run.round(number);
    run.reduce_noise(noise);
    run.clear();
    return std::move(run).result();
}

SwitchCounts::SwitchCounts(const SwitchTarget& target, const Endpoint& endpoint)
    : socket_(target.socket), vnic_(target.vnic) {
    const json list = cli::ask_program(socket_, "flow.list", json::object());
    appliance_ = appliance_at(list, endpoint);
    if (vnic_.empty())
        vnic_ = vnic_of(list, appliance_);
    (void)read();
}

SwitchCounts::Reading SwitchCounts::read() const {
    constexpr double kNanos = 1e9;
    const json list = cli::ask_program(socket_, "flow.list", {{"name", vnic_}});
    for (const json& flow : list.at("flows")) {
        if (flow.at("appliance") != appliance_)
            continue;
        Reading reading{.requests = flow.at("requests"),
                        .plain_bytes = flow.at("plain_bytes"),
                        .uptime = list.at("uptime_s")};
        for (const json& blocked : flow.at("blocked_ns"))
            reading.blocked_seconds = std::max(reading.blocked_seconds, blocked.get<double>() / kNanos);
        return reading;
    }
    throw cli::bad_input("--vnic", vnic_, "a vNIC with \"" + appliance_ + "\" among its appliances",
                         "this vNIC may not send requests to the appliance");
}

std::uint64_t SwitchCounts::check(const Reading& before, const Reading& after, std::uint64_t asked) const {
    const std::uint64_t counted = after.requests - before.requests;
    const std::uint64_t difference = counted > asked ? counted - asked : asked - counted;
    // A segment that is lost before the switch leaves a gap in the stream. The switch does not see the
    // headers in a large gap and charges its bytes as plain bytes.
    const bool lost_segments = counted < asked && after.plain_bytes > before.plain_bytes;
    if (difference <= asked / 1000 || lost_segments)
        return counted;
    throw cli::Failure(cli::kExitRefused,
                       {{flow(), std::to_string(counted) + " requests counted by the switch",
                         std::to_string(asked) + ", as many as were sent",
                         "other clients use this flow, the load does not pass this switch, or the switch "
                         "reads another protocol"}});
}

double SwitchCounts::held_back(const Reading& before, const Reading& after) {
    const double seconds = after.uptime - before.uptime;
    return seconds > 0 ? std::clamp((after.blocked_seconds - before.blocked_seconds) / seconds, 0.0, 1.0) : 0;
}

}  // namespace weir::calibrate
