// options.cc - options by group, their quantities, and combinations that make no sense.
#include "ctrl/calibrate/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "common/units.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::size_t kSizesMax = 32;

/// Options as the operator writes them.
struct Words {
    std::string operations;
    std::string sizes;
    std::string measured = "500ms";
    std::string warm_up = "200ms";
    std::string base;
    std::string error = "10%";
    std::string noise = "10%";
    std::uint16_t port = 0;
};

std::uint64_t quantity(const char* option, Quantity kind, const std::string& text, std::uint64_t min,
                       std::uint64_t max) {
    const ParsedQuantity parsed = parse_quantity(kind, text);
    const std::string allowed = format_quantity(kind, min) + " to " + format_quantity(kind, max);
    if (!parsed.ok())
        throw cli::bad_input(option, text, allowed, "it " + std::string(parsed.fault));
    if (parsed.value < min || parsed.value > max)
        throw cli::bad_input(option, text, allowed, "out of range");
    return parsed.value;
}

/// "10%" as 0.1.
double part(const char* option, const std::string& text) {
    constexpr double kMillion = 1e6;
    return static_cast<double>(quantity(option, Quantity::kPercent, text, 1'000, 1'000'000)) / kMillion;
}

std::vector<std::string> list_of(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');)
        words.push_back(word);
    return words;
}

Operation operation_of(const char* option, const std::string& text) {
    const auto found = std::ranges::find(kOperationNames, text);
    if (found == kOperationNames.end())
        throw cli::bad_input(option, text, "read, write, delete, flush", "there is no such operation");
    return static_cast<Operation>(found - kOperationNames.begin());
}

std::uint64_t size_of(const char* option, const std::string& text) {
    return quantity(option, Quantity::kSize, text, 1, kPayloadMax);
}

std::vector<std::uint64_t> sizes_of(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& word : list_of(text))
        sizes.push_back(size_of("--sizes", word));
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.empty() || sizes.size() > kSizesMax)
        throw cli::bad_input("--sizes", text,
                             "1 to " + std::to_string(kSizesMax) + " sizes, such as 1KiB,4KiB",
                             "too few or too many sizes");
    return sizes;
}

void add_target(CLI::App& app, Options& options, Words& words) {
    app.add_option("PROTOCOL", options.plan.protocol, "protocol of the appliance: " + service_names());
    app.add_option("ADDRESS", options.plan.endpoint.address, "its address or name, as the VM reaches it");
    app.add_option("--port", words.port, "TCP port of the appliance (default: the protocol's)");
    app.add_option("--export", options.plan.service.nbd_export, "NBD export (default: the server's default)");
    app.add_flag("--overwrite", options.plan.overwrite,
                 "allow writes and trims to destroy data of the NBD export");
    app.add_option("--from", options.from, "fit the measurements of an earlier --json again, without load")
        ->type_name("FILE");
}

void add_load(CLI::App& app, Options& options, Words& words) {
    app.add_option("--operations", words.operations,
                   "of read,write,delete,flush (default: read,write; for NBD read)");
    app.add_option("--sizes", words.sizes,
                   "of values or blocks, such as 1KiB,4KiB,64KiB (default: powers of two)");
    app.add_option("--rounds", options.plan.rounds,
                   "measurements of each size; up to three times as many when they differ")
        ->check(CLI::Range(5, 1000))
        ->capture_default_str();
    app.add_option("--time", words.measured, "counted time of each measurement")->capture_default_str();
    app.add_option("--warmup", words.warm_up, "time before it that is not counted")->capture_default_str();
    app.add_option("--connections", options.plan.connections,
                   "TCP connections, each a client (default: 64, for NBD 4)")
        ->check(CLI::Range(1, 256));
    app.add_option("--outstanding", options.plan.outstanding,
                   "most requests without a response, of all connections together")
        ->check(CLI::Range(2, 65536))
        ->capture_default_str();
    app.add_option("--socket", options.target.socket,
                   "control_socket of the switch that carries the load: its counts are compared with ours")
        ->type_name("PATH");
    app.add_option("--vnic", options.target.vnic,
                   "the vNIC that sends the load (default: the only one with a flow to the appliance)");
}

void add_result(CLI::App& app, Options& options, Words& words) {
    app.add_option("--base", words.base, "the request that costs --base-tokens (default: the cheapest)")
        ->type_name("OPERATION:SIZE");
    app.add_option("--base-tokens", options.rules.base_tokens, "price of the base request, in tokens")
        ->check(CLI::Range(10, 10'000'000))
        ->capture_default_str();
    app.add_option("--error", words.error, "largest relative error of a fitted cost")->capture_default_str();
    app.add_option("--noise", words.noise,
                   "largest noise of a median rate (half of its interval, as part of the median)")
        ->capture_default_str();
    app.add_option("--name", options.name, "name of the table (default: protocol and address)");
    app.add_option("--output", options.output, "file for the cost table; - is standard output")
        ->type_name("FILE");
    app.add_option("--plot", options.plot, "file for a picture of measured and fitted costs")
        ->type_name("FILE.svg");
    app.add_flag("--json", options.json, "print {\"schema\":1,\"ok\":...,\"data\":...} instead of text");
    app.add_flag("--anyway", options.anyway, "write the table in spite of objections");
}

void check_combination(const Options& options) {
    const Plan& plan = options.plan;
    if (!options.from.empty() && !plan.protocol.empty())
        throw cli::bad_input("--from", options.from, "either --from FILE or PROTOCOL and ADDRESS",
                             "earlier measurements take the place of a load");
    if (options.from.empty() && (plan.protocol.empty() || plan.endpoint.address.empty()))
        throw cli::bad_input("PROTOCOL ADDRESS", plan.protocol, service_names() + ", then an address",
                             "name the appliance to measure, such as: weir-calibrate nbd 10.0.0.3");
    if (!options.plot.empty() && !options.plot.ends_with(".svg"))
        throw cli::bad_input("--plot", options.plot, "a name that ends in .svg",
                             "pictures are drawn as SVG only");
    if (options.target.socket.empty() && !options.target.vnic.empty())
        throw cli::bad_input("--vnic", options.target.vnic, "--socket PATH as well",
                             "without --socket no switch is asked about this vNIC");
}

constexpr const char* kExamples =
    "Examples:\n"
    "  weir-calibrate nbd 10.0.0.3 --output disk.json --plot disk.svg\n"
    "  weir-calibrate memcached 10.0.0.7 --socket /run/weir/admin/switch.sock --json > measured.json\n"
    "  weir-calibrate --from measured.json --error 5% --output cache.json\n"
    "  weir-calibrate switch --output /etc/weir/cycles.json     (cycles of the switch itself; --help has "
    "more)\n"
    "Exit status: 0 done, 1 the appliance cannot be reached or the measurements are not good enough,\n"
    "2 wrong usage or input.";

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    Words words;
    CLI::App app(
        "weir-calibrate - measures the cost of requests to an appliance and writes its cost table.\n"
        "Run it in a VM, or its network namespace, whose vNIC leads to the appliance.",
        "weir-calibrate");
    add_target(app, options, words);
    add_load(app, options, words);
    add_result(app, options, words);
    app.footer(kExamples);
    app.set_version_flag("--version", "weir-calibrate " WEIR_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? cli::kExitOk : cli::kExitBadInput);
    }
    Plan& plan = options.plan;
    plan.endpoint.port = words.port;
    for (const std::string& word : list_of(words.operations))
        plan.operations.push_back(operation_of("--operations", word));
    if (!words.sizes.empty())
        plan.sizes = sizes_of(words.sizes);
    plan.measured = quantity("--time", Quantity::kDuration, words.measured, 10'000'000, 600 * kNanosPerSec);
    plan.warm_up = quantity("--warmup", Quantity::kDuration, words.warm_up, 0, 600 * kNanosPerSec);
    options.rules.error = part("--error", words.error);
    options.rules.noise = part("--noise", words.noise);
    if (!words.base.empty()) {
        const std::size_t colon = std::min(words.base.find(':'), words.base.size());
        const std::string size = words.base.substr(std::min(colon + 1, words.base.size()));
        options.rules.base = {operation_of("--base", words.base.substr(0, colon)), size_of("--base", size)};
    }
    check_combination(options);
    return options;
}

SwitchOptions parse_switch_options(int argc, char** argv) {
    SwitchOptions options;
    std::string time = "10s";
    CLI::App app(
        "weir-calibrate switch - measures the cost of a request to the workers of this host's switch.\n"
        "Run it on the host while VMs send through the switch, best with the traffic of every day.",
        "weir-calibrate switch");
    app.add_option("--socket", options.socket, "control_socket of the switch")
        ->type_name("PATH")
        ->capture_default_str();
    app.add_option("--time", time, "time of the measurement, 1s to 600s")->capture_default_str();
    app.add_option("--output", options.output, "file for the switch's key cycle_costs; - is standard output")
        ->type_name("FILE");
    app.footer(
        "Example:\n"
        "  weir-calibrate switch --output /etc/weir/cycles.json\n"
        "Exit status: 0 done, 1 the switch cannot be reached or too few frames passed it, 2 wrong usage.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? cli::kExitOk : cli::kExitBadInput);
    }
    options.time = quantity("--time", Quantity::kDuration, time, kNanosPerSec, 600 * kNanosPerSec);
    return options;
}

}  // namespace weir::calibrate
