// apply.h - commands that change the controller's specification: their options, and the way of an edit.
// Threads: one, the command's.
//
// An edit is made here: the text of the revision in force is read, changed, and applied with this revision as
// its base. A change that another operator made meanwhile is therefore never undone. Comments of the text are
// not kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ctrl/cli/session.h"

namespace weir::cli {

struct ApplyOptions {
    std::string file;            ///< of `apply`
    std::uint32_t revision = 0;  ///< of `rollback`
    std::optional<std::uint32_t> base{};
    bool dry_run = false;
    bool yes = false;
    bool force = false;  ///< of `apply` and `rollback`: also without a base
    bool waits = false;
    std::string wait;
    std::string via;  ///< the command's words, for the audit trail: "tenant add"
};

/// Adds --base, --dry-run, --yes and --wait.
[[nodiscard]] std::shared_ptr<ApplyOptions> add_apply_options(CLI::App& command);
/// Applies the text, prints the outcome, and sets the exit code. @throws Failure
void apply_specification(Session& session, const std::string& text, const ApplyOptions& options);
/// @param edit changes the specification in place, or throws Failure
void edit_specification(Session& session, ApplyOptions options,
                        const std::function<void(nlohmann::json&)>& edit);
/// The specification in force. @throws Failure
[[nodiscard]] nlohmann::json specification_in_force(const Session& session);

}  // namespace weir::cli
