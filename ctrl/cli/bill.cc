// bill.cc - weirctl bill: rows by tenant, vNIC and guarantee kind; the chain of hashes.
#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

/// Six significant digits: the charge of a second is small, that of a month is large.
std::string money_text(double money) {
    std::ostringstream out;
    out.precision(6);
    out << money;
    return out.str();
}

std::string chain_text(const json& bill) {
    const std::string lines = whole_text(number_at(bill, "/lines"));
    std::string text = "the bill has " + lines + " lines, hash of the last " + text_at(bill, "/head") + '\n';
    if (!bill.contains("first_altered"))
        return text;
    const json& altered = bill.at("first_altered");
    if (!altered.is_null())
        return text + "ALTERED: line " + altered.dump() + " does not match its hash\n";
    if (at(bill, "/sums_altered") == true)
        return text + "ALTERED: a stored sum is not that of its lines\n";
    const double first = number_at(bill, "/first_line");
    return text + (first > 1
                       ? "of the lines from " + whole_text(first) + " on, which are there, none was altered\n"
                       : "no line was altered\n");
}

struct BillOptions {
    std::string tenant;
    std::string from;
    std::string to;
    bool csv = false;
    bool verify = false;
};

}  // namespace

std::string bill_text(const json& bill, const Terminal& terminal) {
    std::string text;
    if (at(bill, "/billing") == false)
        text = "nothing is billed: the cluster file has no \"prices\"\n";
    Table table({{"TENANT"},
                 {"VNIC"},
                 {"GUARANTEE", false, 1},
                 {"TIME", true, 2},
                 {"GUARANTEED", true, 3},
                 {"DELIVERED", true},
                 {"FULFILLMENT", true},
                 {"CHARGE", true}});
    for (const json& row : list_at(bill, "/rows")) {
        const double promised = number_at(row, "/promised_bytes");
        table.add_row({text_at(row, "/tenant"), text_at(row, "/vnic"), text_at(row, "/guarantee_kind"),
                       human_duration(number_at(row, "/seconds") * 1e9),
                       promised > 0 ? human_count(promised) + "B" : "-",
                       human_count(number_at(row, "/delivered_bytes")) + "B",
                       percent_text(100 * number_at(row, "/fulfillment")),
                       money_text(number_at(row, "/charge"))});
    }
    text += table.render(terminal.columns, terminal.color);
    return text + "total charge " + money_text(number_at(bill, "/charge")) + "; " + chain_text(bill);
}

std::string bill_csv(const json& bill) {
    constexpr std::array kColumns{"tenant",          "vnic",        "guarantee_kind",
                                  "periods",         "seconds",     "promised_bytes",
                                  "delivered_bytes", "fulfillment", "charge"};
    std::string text;
    for (const char* column : kColumns)
        text.append(text.empty() ? "" : ",").append(column);
    text += '\n';
    for (const json& row : list_at(bill, "/rows")) {
        std::string line;
        for (const char* column : kColumns) {
            const json& value = row.at(column);
            line.append(column == kColumns.front() ? "" : ",");
            line += value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
        }
        text += line + '\n';
    }
    return text;
}

void add_bill(CLI::App& command, Session& session) {
    auto options = std::make_shared<BillOptions>();
    command.add_option("--tenant", options->tenant, "only the vNICs of this tenant")->type_name("NAME");
    command.add_option("--from", options->from, "begin: 2026-11-21, 2026-11-21T15:00 (UTC), or Unix seconds")
        ->type_name("TIME")
        ->check(time_fault);
    command.add_option("--to", options->to, "end, not included; as --from")
        ->type_name("TIME")
        ->check(time_fault);
    command.add_flag("--csv", options->csv, "print comma-separated values");
    command.add_flag("--verify", options->verify, "check the hash of every line of the bill");
    command.footer(
        "Example:\n"
        "  weirctl bill --tenant A --from 2026-11-01 --to 2026-12-01 --csv --socket "
        "/run/weir/admin/ctrl.sock\n"
        "Each line has the hash of all lines before it: note the last hash to detect later changes.");
    command.callback([&session, options] {
        json args{{"verify", options->verify}};
        if (!options->tenant.empty())
            args["tenant"] = options->tenant;
        if (!options->from.empty())
            args["from"] = *parse_time(options->from);
        if (!options->to.empty())
            args["to"] = *parse_time(options->to);
        session.print(session.ask("bill", args), [&](const json& bill, const Terminal& terminal) {
            return options->csv ? bill_csv(bill) : bill_text(bill, terminal);
        });
    });
}

}  // namespace weir::cli
