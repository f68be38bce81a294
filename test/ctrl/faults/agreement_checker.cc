// agreement_checker.cc - sessions, epochs and rates at both ends when all faults have ended; and controllers
// that ended by themselves.
#include "test/ctrl/faults/checkers.h"

namespace weir::faults {
namespace {

std::string rates_text(const FlowTokens& rate) {
    std::string out;
    for (const std::uint64_t each : rate)
        out += (out.empty() ? "" : ", ") + (each == wire::kNoStatement ? "none" : std::to_string(each));
    return out;
}

class AgreementChecker final : public Checker {
  public:
    void on_interval(const World& world, Findings& out) override {
        if (!world.ended().empty())
            out.push_back({"ended", "the controller ended: " + world.ended()});
    }

    void on_settled(const World& world, Findings& out) override {
        if (world.controller() == nullptr) {
            out.push_back({"agree.state", "there is no controller"});
            return;
        }
        for (std::uint32_t number = 0; number < world.hosts().size(); ++number)
            judge(world, number, out);
    }

  private:
    static void judge(const World& world, std::uint32_t number, Findings& out) {
        const Host& host = world.hosts()[number];
        if (!host.is_running()) {
            out.push_back({"agree.state", host.name() + " does not run"});
            return;
        }
        const ControllerSession& session = host.session();
        if (session.state() != ControllerSession::State::kConnected)
            out.push_back({"agree.state", host.name() + " is " + weir::name_of(session.state()) +
                                              (session.refusal().empty() ? "" : ": " + session.refusal())});
        if (session.epoch() != world.controller()->epoch())
            out.push_back({"agree.epoch", host.name() + " has epoch " + std::to_string(session.epoch()) +
                                              ", the controller " +
                                              std::to_string(world.controller()->epoch())});
        if (session.interval() != world.controller()->interval())
            out.push_back({"agree.epoch", host.name() + " has interval " +
                                              std::to_string(session.interval()) + ", the controller " +
                                              std::to_string(world.controller()->interval())});
        for (const MirrorFlow& flow : mirror_flows(world, number)) {
            const auto found = host.rates().find(flow.local);
            const FlowTokens has = found == host.rates().end() ? FlowTokens{} : found->second;
            if (has != flow.rate)
                out.push_back({"agree.rates", host.name() + " has for " + flow.local.vnic + " to " +
                                                  (flow.peer != kNone ? flow.local.peer : "an appliance") +
                                                  " the rates " + rates_text(has) + ", the controller " +
                                                  rates_text(flow.rate)});
        }
    }
};

}  // namespace

std::unique_ptr<Checker> make_agreement_checker() {
    return std::make_unique<AgreementChecker>();
}

}  // namespace weir::faults
