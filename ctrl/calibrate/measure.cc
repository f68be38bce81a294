// measure.cc - steps, windows, rounds.
#include "ctrl/calibrate/measure.h"

#include <algorithm>
#include <bit>

#include "common/units.h"
#include "ctrl/calibrate/fit/estimate.h"
#include "ctrl/calibrate/load/closed_loop.h"
#include "ctrl/calibrate/switch_view.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::uint32_t kKeysAtOnce = 8;
constexpr std::uint64_t kBytesOutstanding = 64U << 20;  // at most, of requests and answers that wait
constexpr std::size_t kHalfRounds = 3;
constexpr unsigned kMoreRounds = 3;  // times as many where they differ
constexpr unsigned kMargin = 4;      // half of it must do as well, and a short trial errs
constexpr double kEnough = 0.95;     // of the best rate, and more outstanding requests are of no use

class Measurement {
  public:
    Measurement(Service& service, const Plan& plan, const SwitchView* witness, Progress& progress)
        : service_(service),
          plan_(plan),
          witness_(witness),
          progress_(progress),
          loop_(service, plan.endpoint, plan.connections) {}

    void prepare() {
        for (Step step : steps_of(service_, plan_)) {
            service_.plan(step);
            if (const auto fill = service_.filling(step))
                loop_.each_place(*fill);
            steps_.push_back(loop_.look(step));
        }
        const double each = static_cast<double>(plan_.warm + plan_.length) / kNanosPerSec;
        const auto windows = static_cast<std::size_t>(std::bit_width(plan_.outstanding / plan_.connections));
        progress_.expect(steps_.size() * (plan_.rounds + kHalfRounds + windows), each);
    }

    void saturate() {
        for (const Counted& counted : steps_) {
            Measured one{.operation = counted.step.operation,
                         .payload = service_.sized(counted.step.operation) ? counted.step.size : 0,
                         .keys = counted.request.keys,
                         .request_bytes = counted.request.request_bytes,
                         .response_bytes = counted.response_bytes};
            const std::uint64_t bytes = one.request_bytes + one.response_bytes;
            const auto most = static_cast<unsigned>(kBytesOutstanding / std::max<std::uint64_t>(bytes, 1));
            one.outstanding = window_of(counted, std::clamp(most, 2 * plan_.connections, plan_.outstanding));
            measured_.push_back(std::move(one));
        }
    }

    void round(std::size_t number) {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const std::size_t at = number % 2 == 0 ? i : steps_.size() - 1 - i;
            one_more(at);
            if (number < kHalfRounds) {
                measured_[at].half_rates.push_back(run(at, measured_[at].outstanding / 2).rate);
                progress_.step(measured_[at].name());
            }
        }
    }

    // Rounds for those only that are not sure yet.
    void settle(double noise) {
        for (unsigned more = plan_.rounds; more < kMoreRounds * plan_.rounds; ++more)
            for (std::size_t at = 0; at < steps_.size(); ++at)
                if (estimate(measured_[at].rates).noise() > noise) {
                    progress_.more(1);
                    one_more(at);
                }
    }

    void clear() {
        for (const Counted& counted : steps_)
            if (const auto rest = service_.clearing(counted.step))
                loop_.each_place(*rest);
    }

    [[nodiscard]] std::vector<Measured> result() && { return std::move(measured_); }

  private:
    void one_more(std::size_t at) {
        Measured& one = measured_[at];
        const ClosedLoop::Trial trial = run(at, one.outstanding);
        one.rates.push_back(trial.rate);
        one.generator = std::max(one.generator, trial.generator);
        progress_.step(one.name());
    }

    ClosedLoop::Trial run(std::size_t at, unsigned outstanding) {
        const ClosedLoop::Stretch stretch{plan_.warm, plan_.length};
        Measured& one = measured_[at];
        if (witness_ == nullptr) {
            const ClosedLoop::Trial trial = loop_.run(steps_[at], outstanding, stretch);
            one.asked += trial.asked;
            return trial;
        }
        const SwitchView::Counts before = witness_->read();
        const ClosedLoop::Trial trial = loop_.run(steps_[at], outstanding, stretch);
        const SwitchView::Counts after = witness_->read();
        one.asked += trial.asked;
        one.counted_by_switch += witness_->check(before, after, trial.asked);
        one.held_back = std::max(one.held_back, SwitchView::held_back(before, after));
        return trial;
    }

    // Four times the fewest outstanding requests that give nearly the best rate: large ones need fewer, and
    // more would only overrun queues on the way.
    unsigned window_of(const Counted& counted, unsigned most) {
        std::vector<std::pair<unsigned, double>> tried;
        const ClosedLoop::Stretch stretch{plan_.warm / 2, plan_.length / 4};
        double best = 0;
        for (unsigned window = plan_.connections; window <= most; window *= 2) {
            tried.emplace_back(window, loop_.run(counted, window, stretch).rate);
            best = std::max(best, tried.back().second);
            progress_.step(counted.step.name());
        }
        const auto enough =
            std::ranges::find_if(tried, [&](const auto& one) { return one.second >= kEnough * best; });
        return std::min(kMargin * enough->first, most);
    }

    Service& service_;
    const Plan& plan_;
    const SwitchView* witness_;
    Progress& progress_;
    ClosedLoop loop_;
    std::vector<Counted> steps_;
    std::vector<Measured> measured_;
};

}  // namespace

std::vector<Step> steps_of(const Service& service, const Plan& plan) {
    const std::vector<Operation> known = service.operations();
    std::vector<Step> steps;
    for (const Operation operation : plan.operations.empty() ? service.usual_operations() : plan.operations) {
        const std::string word(kOperationNames[static_cast<std::size_t>(operation)]);
        if (std::ranges::find(known, operation) == known.end()) {
            std::string allowed;
            for (const Operation one : known)
                allowed += (allowed.empty() ? "" : ", ") +
                           std::string(kOperationNames[static_cast<std::size_t>(one)]);
            throw cli::bad_input("--operations", word, allowed, plan.protocol + " cannot be asked for this");
        }
        if (service.destroys(operation) && !plan.overwrite)
            throw cli::bad_input("--operations", word, "--overwrite besides",
                                 "this destroys what the export at " + plan.endpoint.text() + " holds");
        if (!service.sized(operation))
            steps.push_back({.operation = operation});
        else
            for (const std::uint64_t size : plan.sizes.empty() ? service.usual_sizes() : plan.sizes)
                steps.push_back({.operation = operation, .size = size});
        if (operation == Operation::kRead && service.several_keys())
            steps.push_back({.operation = operation, .keys = kKeysAtOnce});
    }
    return steps;
}

std::vector<Measured> measure(Service& service, const Plan& plan, double noise, const SwitchView* witness,
                              Progress& progress) {
    (void)steps_of(service, plan);  // before anything is asked
    Measurement measurement(service, plan, witness, progress);
    measurement.prepare();
    measurement.saturate();
    for (std::size_t number = 0; number < plan.rounds; ++number)
        measurement.round(number);
    measurement.settle(noise);
    measurement.clear();
    return std::move(measurement).result();
}

}  // namespace weir::calibrate
