// audit.cc - weirctl audit: one line for each entry of the audit trail, and lines for the changed values.
#include <pwd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/utc_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

constexpr std::size_t kValuesShown = 10;
constexpr unsigned kEntriesMax = 1'000;

/// Empty: this machine knows no such user.
std::string user_name(uid_t user) {
    std::array<char, 4'096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return {};
    return entry.pw_name;
}

void add_values(Table& table, const json& entry) {
    std::size_t shown = 0;
    for (const json& change : list_at(entry, "/changes")) {
        if (shown == kValuesShown)
            break;
        table.add_row({"", "", "", "  " + changed_value_text(change)});
        ++shown;
    }
    const double all = number_at(entry, "/changes_in_all");
    if (all > static_cast<double>(shown))
        table.add_row({"", "", "", "  and " + whole_text(all - static_cast<double>(shown)) + " more"});
}

struct AuditOptions {
    std::optional<unsigned> last{};
    std::string since{};
    bool changes = false;
};

}  // namespace

std::string peer_text(const json& value, std::string_view pointer) {
    constexpr std::string_view kUser = "uid ";
    const std::string text = text_at(value, pointer);
    const std::size_t at = text.find(kUser);
    uid_t user = 0;
    if (at == std::string::npos)
        return text;
    const char* const begin = text.data() + at + kUser.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), user);
    const std::string name = error == std::errc() ? user_name(user) : "";
    if (name.empty())
        return text;
    return text.substr(0, at) + name + " (uid " + std::to_string(user) + ')' + std::string(end);
}

std::string audit_text(const json& audit, const Terminal& terminal) {
    Table table({{"TIME"}, {"EVENT"}, {"BY", false, 1}, {"DETAILS"}});
    for (const json& entry : list_at(audit, "/entries")) {
        const double time = number_at(entry, "/time");
        table.add_row({time >= 0 ? utc_text(static_cast<std::int64_t>(time)) : "-", text_at(entry, "/kind"),
                       peer_text(entry, "/peer"), text_at(entry, "/text")});
        add_values(table, entry);
    }
    return table.render(terminal.columns, terminal.color) +
           (at(audit, "/more") == true ? "older entries are not shown: --last N\n" : "");
}

void add_audit(CLI::App& command, Session& session) {
    auto options = std::make_shared<AuditOptions>();
    command.add_option("--last", options->last, "number of entries, the latest; 50, or 1,000 with --since")
        ->check(CLI::Range(1U, kEntriesMax));
    command
        .add_option("--since", options->since,
                    "of these, those since 15:00, 2026-11-21, 2026-11-21 15:00 (UTC), -2h, or Unix seconds")
        ->type_name("TIME")
        ->check(time_fault);
    command.add_flag("--changes", options->changes, "only operators' commands");
    command.footer(
        "Examples:\n"
        "  weirctl audit --last 20 --socket /run/weir/admin/ctrl.sock\n"
        "  weirctl audit --changes --since 2026-11-21 --socket /run/weir/admin/ctrl.sock\n"
        "--json has up to 100 of the values of a change, and the revision.");
    command.callback([&session, options] {
        json args{{"changes", options->changes}};
        if (!options->since.empty())
            args["since"] = *parse_time(options->since);
        if (options->last || !options->since.empty())
            args["last"] = options->last.value_or(kEntriesMax);
        session.print(session.ask("audit", args), audit_text);
    });
}

}  // namespace weir::cli
