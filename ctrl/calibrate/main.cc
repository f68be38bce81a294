// main.cc - weir-calibrate: measures the cost of requests to an appliance or the switch, and writes its
// cost table. Threads: one.
//
// Exit status: 0 done, 1 the appliance cannot be reached or the measurements are not good enough, 2 wrong
// usage or input.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>

#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "cost_functions/cycle_costs.h"
#include "ctrl/calibrate/fit/cycle_fit.h"
#include "ctrl/calibrate/measure.h"
#include "ctrl/calibrate/options.h"
#include "ctrl/calibrate/report.h"
#include "ctrl/cli/client.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
    return text.data();
}

Calibration read_file(const std::string& file) {
    const auto text = read_text_file(file);
    if (const Fault* fault = std::get_if<Fault>(&text))
        throw cli::bad_input(file, fault->found, "a file with the output of --json",
                             "this file cannot be read");
    const JsonText parsed = read_json_text(std::get<std::string>(text));
    Faults faults = parsed.faults;
    Calibration calibration = parsed.readable ? read_calibration(parsed.value, faults) : Calibration{};
    if (faults.empty())
        return calibration;
    for (Fault& fault : faults)
        fault.path = file + (fault.path.empty() ? "" : ": " + fault.path);
    throw cli::Failure(cli::kExitBadInput, std::move(faults));
}

Calibration load(Options& options) {
    Plan& plan = options.plan;
    const std::unique_ptr<Service> service = make_service(plan.protocol, plan.service);
    if (service == nullptr)
        throw cli::bad_input("PROTOCOL", plan.protocol, service_names(),
                             "weir-calibrate cannot send requests of this protocol");
    if (plan.endpoint.port == 0)
        plan.endpoint.port = service->default_port();
    if (plan.connections == 0)
        plan.connections = service->default_connections();
    if (plan.outstanding < 2 * plan.connections)
        throw cli::bad_input("--outstanding", std::to_string(plan.outstanding),
                             std::to_string(2 * plan.connections) + " or more",
                             "each connection needs two requests, so that half as many can be measured too");
    (void)steps_of(*service, plan);  // throws before the switch is asked
    std::optional<SwitchCounts> counts;
    if (!options.target.socket.empty())
        counts.emplace(options.target, plan.endpoint);
    Calibration calibration{plan.protocol + " at " + plan.endpoint.text(), today(), {}};
    if (counts)
        calibration.subject += ", seen by the switch as " + counts->flow();
    calibration.measurements = measure(*service, plan, options.rules.noise, counts ? &*counts : nullptr);
    return calibration;
}

void write_file(const char* option, const std::string& file, const std::string& text) {
    std::ofstream stream(file);
    stream << text;
    if (!stream.flush())
        throw cli::Failure(cli::kExitRefused,
                           {{option, file, "a file that can be written", "this file cannot be written"}});
}

void print_faults(const Faults& faults, bool as_json) {
    for (const Fault& fault : faults)
        if (!as_json)
            std::cerr << "weir-calibrate: " << fault.to_line() << '\n';
    if (as_json)
        std::cout << json{{"schema", 1}, {"ok", false}, {"faults", faults_to_json(faults)}}.dump()
                  << std::endl;
}

/// Prints and writes the results; returns the exit status.
int conclude(const Options& options, const Calibration& calibration, const TableFit& fit) {
    const bool good = fit.table.is_object() && (fit.objections.empty() || options.anyway);
    const bool table_on_stdout = options.output == "-";
    if (options.json)
        std::cout << json{{"schema", 1},
                          {"ok", good},
                          {"data", report_json(calibration, fit)},
                          {"faults", faults_to_json(fit.objections)}}
                         .dump(-1, ' ', false, json::error_handler_t::replace)
                  << std::endl;
    else
        (table_on_stdout ? std::cerr : std::cout) << report_text(calibration, fit, cli::terminal_of_stdout());
    if (!options.json)
        print_faults(fit.objections, false);
    if (!options.plot.empty() && !fit.rows.empty())
        write_file("--plot", options.plot,
                   picture_svg(options.name.empty() ? calibration.subject : options.name, fit));
    if (!good) {
        if (!options.json && fit.table.is_object())
            std::cerr
                << "weir-calibrate: no table was written; --anyway writes it in spite of the objections\n";
        return cli::kExitRefused;
    }
    if (table_on_stdout)
        std::cout << table_text(fit);
    else if (!options.output.empty())
        write_file("--output", options.output, table_text(fit));
    return cli::kExitOk;
}

int run(Options& options) {
    const Calibration calibration = options.from.empty() ? load(options) : read_file(options.from);
    const TableNames names{options.name.empty() ? calibration.subject : options.name,
                           "weir-calibrate, " + calibration.date + ", " + calibration.subject + "."};
    return conclude(options, calibration, fit_table(calibration.measurements, options.rules, names));
}

CycleReading ask_switch(const std::string& socket) {
    const json status = cli::ask_program(socket, "status", json::object());
    return read_cycles(status, cli::ask_program(socket, "vnic.list", json::object()));
}

/// Two readings of the switch's counters while VMs send, and the file for its key `cycle_costs`.
int run_switch(const SwitchOptions& options) {
    const CycleReading before = ask_switch(options.socket);
    std::this_thread::sleep_for(std::chrono::nanoseconds(options.time));
    const auto fitted = fit_cycles(before, ask_switch(options.socket), today());
    if (const Fault* fault = std::get_if<Fault>(&fitted))
        throw cli::Failure(cli::kExitRefused, {*fault});
    const std::string text = cycle_costs_text(this_machine(), std::get<json>(fitted));
    if (options.output.empty() || options.output == "-")
        std::cout << text;
    else
        write_file("--output", options.output, text);
    return cli::kExitOk;
}

}  // namespace
}  // namespace weir::calibrate

int main(int argc, char** argv) {
    using namespace weir;
    const bool as_json =
        std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--json"; });
    try {
        if (argc > 1 && argv[1] == std::string_view("switch"))
            return calibrate::run_switch(calibrate::parse_switch_options(argc - 1, argv + 1));
        calibrate::Options options = calibrate::parse_options(argc, argv);
        return calibrate::run(options);
    } catch (const cli::Failure& failure) {
        calibrate::print_faults(failure.faults, as_json);
        return failure.exit_code;
    }
}
