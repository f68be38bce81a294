// controller_commands.h - one command of weirctl at the controller, for the files that have its parts.
// Threads: the controller's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/config/config_reader.h"
#include "common/error.h"
#include "ctrl/daemon/controller.h"

namespace weir {

/// A command that takes turns with the controller's loop: first a piece beside it, then one on its thread.
struct Steps {
    struct Step {
        std::function<void()> beside;
        /// @return whether the next step follows. @throws HostError
        std::function<bool(Nanos now, Faults& faults)> after;
    };
    std::vector<Step> all{};
    std::function<nlohmann::json()> data;  ///< of the reply, after the last step
};

/// One request. Each command reads its arguments, and returns its data unless there are faults.
class Controller::Commands {
  public:
    Commands(Controller& controller, const ConnectionCounters& connections, Nanos now, const StepTime& step,
             const CommandOrigin& origin, Faults& faults)
        : controller_(controller),
          connections_(connections),
          now_(now),
          step_(step),
          origin_(origin),
          faults_(faults) {}

    nlohmann::json run(const nlohmann::json& request);
    /// The reply comes by take_replies().
    [[nodiscard]] bool is_later() const { return is_later_; }

  private:
    nlohmann::json allocation(ObjectReader& args);
    nlohmann::json apply(ObjectReader& args);
    nlohmann::json audit(ObjectReader& args);
    nlohmann::json backup(ObjectReader& args);
    nlohmann::json bill(ObjectReader& args);
    nlohmann::json clock_step(ObjectReader& args);
    nlohmann::json history(ObjectReader& args);
    nlohmann::json log_level(ObjectReader& args);
    nlohmann::json observed(ObjectReader& args);
    nlohmann::json pool_reset(ObjectReader& args);
    nlohmann::json pool_set(ObjectReader& args);
    nlohmann::json pool_show(ObjectReader& args);
    nlohmann::json running(ObjectReader& args);
    nlohmann::json specification(ObjectReader& args);
    nlohmann::json status(ObjectReader& args);
    nlohmann::json why(ObjectReader& args);

    nlohmann::json refuse_change(const std::string& name);
    nlohmann::json later(std::function<nlohmann::json(const std::atomic<bool>& stop)> job);
    nlohmann::json later_in_steps(std::shared_ptr<Steps> steps);
    [[nodiscard]] bool add_job(SideWork& side_work, SideWork::Job job);
    [[nodiscard]] bool is_needed_at_once() const {
        return origin_.ticket == 0 || controller_.store_.bill().reader().is_in_memory();
    }
    void read_pool_name(ObjectReader& args, PoolChange& change);
    nlohmann::json change_pool(const PoolChange& change);
    [[nodiscard]] bool are_valid(ObjectReader& args) const {
        args.finish();
        return faults_.empty();
    }

    Controller& controller_;
    const ConnectionCounters& connections_;
    Nanos now_;
    const StepTime& step_;
    const CommandOrigin& origin_;
    bool is_later_ = false;
    Faults& faults_;
};

/// State of a host in replies. @param session nullptr: it has sent no HELLO
[[nodiscard]] const char* name_of_state(const Session* session);
/// Text of a reply: its data, or the faults.
[[nodiscard]] std::string reply_text(const Faults& faults, nlohmann::json data);

}  // namespace weir
