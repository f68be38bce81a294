// apply.cc - weirctl apply, rollback, history, show: the controller's specification and its
// revisions.
#include "ctrl/cli/apply.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "common/config/json_text.h"
#include "common/units.h"
#include "common/utc_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"
#include "ctrl/config/cluster_config.h"

namespace weir::cli {
namespace {

constexpr std::size_t kLinesShown = 30;
constexpr std::chrono::milliseconds kPollPeriod{100};

/// Lines of which the first are shown, then the number of the others.
template <typename Line>
std::string lines_text(const json& list, const json& in_all, Line line) {
    std::string text;
    std::size_t shown = 0;
    for (const json& each : list) {
        if (shown++ == kLinesShown)
            break;
        text += "  " + line(each) + '\n';
    }
    const std::size_t all = in_all.is_number_unsigned() ? in_all.get<std::size_t>() : list.size();
    if (all > kLinesShown)
        text += "  and " + std::to_string(all - kLinesShown) + " more\n";
    return text;
}

/// @return hosts whose switch has not confirmed the revision when the time is over
json wait_for(const Session& session, const json& revision, const std::string& time) {
    const auto end = std::chrono::steady_clock::now() + parse_time("--wait", time);
    for (;;) {
        json pending = at(session.ask("observed", {{"revision", revision}}), "/pending");
        if (pending.empty() || std::chrono::steady_clock::now() >= end)
            return pending;
        std::this_thread::sleep_for(kPollPeriod);
    }
}

constexpr std::string_view kRevisionComment = "// revision ";

/// Of a text's first line, as `show` writes it; nothing: it has none.
std::optional<std::uint32_t> stated_revision(std::string_view text) {
    if (!text.starts_with(kRevisionComment))
        return std::nullopt;
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    std::uint32_t number = 0;
    const auto [end, error] =
        std::from_chars(line.data() + kRevisionComment.size(), line.data() + line.size(), number);
    return error == std::errc() && end == line.data() + line.size() ? std::optional(number) : std::nullopt;
}

std::string without_revision(const std::string& text) {
    if (!stated_revision(text))
        return text;
    const std::size_t end = text.find('\n');
    return end == std::string::npos ? std::string() : text.substr(end + 1);
}

/// A file was made for some revision: without its number, another operator's change since would be undone.
void require_base(const ApplyOptions& options) {
    if (!options.base && !options.force && !options.dry_run)
        throw bad_input(
            "--base", "none", "the number of the revision that the change was made for, or --force",
            "without it a change that another operator made since is undone: `weirctl history` has "
            "the numbers, and a text of `weirctl show` has its own in the first line");
}

json propose(const Session& session, const std::string& text, const ApplyOptions& options) {
    json args{{"text", text}, {"dry_run", options.dry_run}, {"yes", options.yes}, {"via", options.via}};
    if (options.base)
        args["base"] = *options.base;
    return session.ask("apply", args);
}

}  // namespace

std::shared_ptr<ApplyOptions> add_apply_options(CLI::App& command) {
    auto options = std::make_shared<ApplyOptions>();
    options->via = words_of(command);
    command.add_option("--base", options->base,
                       "number of the revision that the change was made for; refused when it has moved");
    command.add_flag("--dry-run", options->dry_run, "show the changes, make none");
    command.add_flag("--yes", options->yes,
                     "also when it concerns more of the vNICs than `confirm_above` of the cluster file");
    CLI::Option* const wait =
        command
            .add_option("--wait", options->wait,
                        "return when every connected switch has confirmed the revision, or after this time")
            ->type_name("TIME")
            ->expected(0, 1)
            ->default_str("30s");
    wait->each([options](const std::string&) { options->waits = true; });
    return options;
}

void apply_specification(Session& session, const std::string& text, const ApplyOptions& options) {
    json data = propose(session, text, options);
    if (options.waits && at(data, "/applied") == true)
        data["pending"] =
            wait_for(session, at(data, "/revision"), options.wait.empty() ? "30s" : options.wait);
    const bool is_observed = !data.contains("pending") || data["pending"].empty();
    session.print(data, apply_text, is_observed);
    session.exit_code = is_observed ? kExitOk : kExitRefused;
}

json specification_in_force(const Session& session) {
    return read_json_text(text_at(session.ask("specification"), "/text"), kClusterBounds).value;
}

void edit_specification(Session& session, ApplyOptions options, const std::function<void(json&)>& edit) {
    constexpr int kIndent = 2;
    const json current = session.ask("specification");
    json specification = read_json_text(text_at(current, "/text"), kClusterBounds).value;
    edit(specification);
    if (!options.base)
        options.base = at(current, "/revision").get<std::uint32_t>();
    // Indentation makes a compact text half as large again.
    const std::string& before = text_at(current, "/text");
    const bool is_compact = before.find('\n') == std::string::npos || before.find('\n') + 1 == before.size();
    apply_specification(session, specification.dump(is_compact ? -1 : kIndent) + '\n', options);
}

std::string drained_text(const std::string& host, const json& vnics) {
    const auto names = [&vnics](const char* pointer) {
        const json& list = list_at(vnics, pointer);
        std::string text;
        for (std::size_t i = 0; i < std::min(list.size(), kLinesShown); ++i)
            text += (i == 0 ? " (" : ", ") + text_at(list[i], "");
        if (list.size() > kLinesShown)
            text += ", and " + std::to_string(list.size() - kLinesShown) + " more";
        return std::to_string(list.size()) + text + (list.empty() ? "" : ")");
    };
    return "host " + host + " is drained: vNICs to move " + names("/floating") +
           ", with this host in the specification " + names("/stated") + '\n';
}

std::string changed_value_text(const json& change) {
    const std::string path = text_at(change, "/path");
    if (at(change, "/before") == "")
        return "+ " + path + ' ' + text_at(change, "/now");
    if (at(change, "/now") == "")
        return "- " + path + ' ' + text_at(change, "/before");
    return "  " + path + ' ' + text_at(change, "/before") + " -> " + text_at(change, "/now");
}

std::string apply_text(const json& change, const Terminal& terminal) {
    std::string text =
        lines_text(list_at(change, "/changes"), at(change, "/changes_in_all"), changed_value_text);
    if (text.empty())
        return "no value differs from revision " + text_at(change, "/revision") + '\n';
    if (const json& smaller = list_at(change, "/smaller"); !smaller.empty())
        text += styled("smaller promises:", Style::kWarn, terminal.color) + '\n' +
                lines_text(smaller, at(change, "/smaller_in_all"),
                           [](const json& each) { return text_at(each, ""); });
    if (const json& held = list_at(change, "/held"); !held.empty())
        text += styled("vNICs that are connected and lose their place:", Style::kWarn, terminal.color) +
                '\n' + lines_text(held, json(), [](const json& each) {
                    return text_at(each, "/vnic") + " on host " + text_at(each, "/host") + ": " +
                           text_at(each, "/why");
                });
    for (const auto& [host, vnics] : list_at(change, "/drained").items())
        text += drained_text(host, vnics);
    text += "concerns " + text_at(change, "/concerned") + " of " + text_at(change, "/vnics") + " vNICs\n";
    if (at(change, "/applied") == true)
        text += styled("revision " + text_at(change, "/revision") + " is in force", Style::kGood,
                       terminal.color) +
                '\n';
    if (const json& pending = list_at(change, "/pending"); !pending.empty())
        text += styled("not confirmed yet:", Style::kBad, terminal.color) + '\n' +
                lines_text(pending, json(), [](const json& each) {
                    return "host " + text_at(each, "/host") + ", " + text_at(each, "/state");
                });
    return text;
}

std::string history_text(const json& history, const Terminal& terminal) {
    Table table({{"REVISION", true}, {"TIME"}, {"BYTES", true, 1}, {"AUTHOR"}});
    for (const json& each : list_at(history, "/revisions"))
        table.add_row({text_at(each, "/revision"),
                       utc_text(static_cast<std::int64_t>(number_at(each, "/time"))),
                       human_count(number_at(each, "/bytes")) + "B", peer_text(each, "/author")});
    return table.render(terminal.columns, terminal.color) + "revision " + text_at(history, "/revision") +
           " is in force\n";
}

void add_force(CLI::App& command, ApplyOptions& options) {
    command.add_flag("--force", options.force,
                     "without a base: also when another operator has changed the specification meanwhile");
}

void add_apply(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    command.add_option("FILE", options->file, "the cluster file; - is standard input")->required();
    add_force(command, *options);
    command.footer(
        "Examples:\n"
        "  weirctl apply --dry-run new.jsonc --socket /run/weir/admin/ctrl.sock\n"
        "  weirctl show > new.jsonc && editor new.jsonc && weirctl apply new.jsonc --wait\n"
        "  weirctl apply new.jsonc --base 41 --wait --socket /run/weir/admin/ctrl.sock\n"
        "With --dry-run the plan follows the changes, with vNICs on their present hosts.\n"
        "Exit status 3 when the promises cannot be kept, 1 when a switch has not confirmed in time.");
    command.callback([&session, options] {
        const std::string file = read_input(options->file, "a readable cluster file; - is standard input");
        const std::string text = without_revision(file);
        if (!options->base)
            options->base = stated_revision(file);
        require_base(*options);
        const ClusterConfig config = value_or_throw(parse_cluster(text));
        if (!options->dry_run)
            return apply_specification(session, text, *options);
        json plan = running_plan(session, config);
        if (at(plan, "/admitted") == true)
            plan["change"] = propose(session, text, *options);
        session.print(
            plan,
            [](const json& data, const Terminal& terminal) {
                return (data.contains("change") ? apply_text(data["change"], terminal) + '\n' : "") +
                       plan_text(data, terminal);
            },
            at(plan, "/admitted") == true);
        session.exit_code = at(plan, "/admitted") == true ? kExitOk : kExitDoesNotFit;
    });
}

void add_rollback(CLI::App& command, Session& session) {
    const auto options = add_apply_options(command);
    command.add_option("REVISION", options->revision, "number of the revision, from `weirctl history`")
        ->required();
    add_force(command, *options);
    command.footer(
        "Example:\n"
        "  weirctl rollback 41 --base 44 --wait --socket /run/weir/admin/ctrl.sock\n"
        "The text of that revision becomes the next revision, if it still fits.");
    command.callback([&session, options] {
        require_base(*options);
        const json revision = session.ask("specification", {{"revision", options->revision}});
        options->via += ' ' + std::to_string(options->revision);
        apply_specification(session, text_at(revision, "/text"), *options);
    });
}

void add_history(CLI::App& command, Session& session) {
    auto last = std::make_shared<unsigned>(20);
    command.add_option("--last", *last, "so many revisions")->capture_default_str();
    command.footer("Example:\n  weirctl history --socket /run/weir/admin/ctrl.sock");
    command.callback([&session, last] {
        session.print(session.ask("history", {{"last", *last}}), history_text);
    });
}

void add_show(CLI::App& command, Session& session) {
    auto number = std::make_shared<std::optional<std::uint32_t>>();
    command.add_option("REVISION", *number, "number of the revision; the one in force without it");
    command.footer(
        "Example:\n"
        "  weirctl show 41 --socket /run/weir/admin/ctrl.sock > cluster.jsonc");
    command.callback([&session, number] {
        const json args = *number ? json{{"revision", **number}} : json::object();
        session.print(session.ask("specification", args), [](const json& data, const Terminal&) {
            const std::string text = without_revision(text_at(data, "/text"));
            return std::string(kRevisionComment) + text_at(data, "/revision") + '\n' + text +
                   (text.ends_with('\n') ? "" : "\n");
        });
    });
}

}  // namespace weir::cli
