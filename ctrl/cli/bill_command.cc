// bill_command.cc - weirctl bill, which the controller answers.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "ctrl/cli/bill_view.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

using nlohmann::json;

struct Asked {
    std::string tenant;
    std::string from;
    std::string to;
    bool csv = false;
    bool verify = false;
};

/// CLI11 says what this returns, and nothing else when it is empty.
std::string why_no_time(const std::string& text) {
    return seconds_of(text)
               ? ""
               : "\"" + text + "\" is no time: 2026-11-21, 2026-11-21T15:00 (UTC) or Unix seconds";
}

}  // namespace

void add_bill_command(CLI::App& app, Session& session) {
    auto asked = std::make_shared<Asked>();
    CLI::App* bill = app.add_subcommand(
        "bill", "what vNICs were promised, got and cost (--socket names the controller's)");
    bill->add_option("--tenant", asked->tenant, "only this one's");
    bill->add_option("--from", asked->from,
                     "the first moment: 2026-11-21, 2026-11-21T15:00 (UTC) or Unix seconds")
        ->check(why_no_time);
    bill->add_option("--to", asked->to, "the first moment after it")->check(why_no_time);
    bill->add_flag("--csv", asked->csv, "comma-separated values");
    bill->add_flag("--verify", asked->verify, "look through all of the bill whether a line was altered");
    bill->callback([&session, asked] {
        json args{{"verify", asked->verify}};
        if (!asked->tenant.empty())
            args["tenant"] = asked->tenant;
        if (!asked->from.empty())
            args["from"] = *seconds_of(asked->from);
        if (!asked->to.empty())
            args["to"] = *seconds_of(asked->to);
        const json answer = session.ask("bill", args);
        if (session.print_json(answer))
            return;
        std::cout << (asked->csv ? bill_csv(answer) : bill_text(answer, terminal_of_stdout()));
    });
}

}  // namespace weir::cli
