// options.cc - the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "common/units.h"
#include "ctrl/calibrate/load/payload.h"
#include "ctrl/calibrate/plan.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

constexpr std::size_t kSizesMax = 32;

// As they are written.
struct Words {
    std::string operations;
    std::string sizes;
    std::string length = "500ms";
    std::string warm = "200ms";
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
        throw cli::bad_input(option, text, allowed, std::string(parsed.fault));
    if (parsed.value < min || parsed.value > max)
        throw cli::bad_input(option, text, allowed, "out of bounds");
    return parsed.value;
}

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
        throw cli::bad_input(option, text, "read, write, delete, flush", "no such operation");
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
                             "not as many as can be measured");
    return sizes;
}

void add_target(CLI::App& app, Options& options, Words& words) {
    app.add_option("PROTOCOL", options.plan.protocol, service_names());
    app.add_option("ADDRESS", options.plan.endpoint.address, "of the appliance, as the VM reaches it");
    app.add_option("--port", words.port, "where it listens; absent: the protocol's usual one");
    app.add_option("--export", options.plan.service.nbd_export,
                   "name of the NBD export; absent: the default one");
    app.add_flag("--overwrite", options.plan.overwrite,
                 "writes and trims may destroy what the NBD export holds");
    app.add_option("--from", options.from, "no load: fit again what --json printed before")
        ->type_name("FILE");
}

void add_load(CLI::App& app, Options& options, Words& words) {
    app.add_option("--operations", words.operations,
                   "read,write,delete,flush; absent: read and write, of NBD only read");
    app.add_option("--sizes", words.sizes,
                   "of values or blocks, such as 1KiB,4KiB,64KiB; absent: powers of two");
    app.add_option("--rounds", options.plan.rounds,
                   "measurements of each; three times as many when they differ much")
        ->check(CLI::Range(5, 1000))
        ->capture_default_str();
    app.add_option("--time", words.length, "of each measurement")->capture_default_str();
    app.add_option("--warmup", words.warm, "before each")->capture_default_str();
    app.add_option("--connections", options.plan.connections)
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    app.add_option("--outstanding", options.plan.outstanding, "requests at once, at most, of all connections")
        ->check(CLI::Range(2, 65536))
        ->capture_default_str();
    app.add_option("--socket", options.witness.socket, "the switch's control_socket: its counts must be ours")
        ->type_name("PATH");
    app.add_option("--vnic", options.witness.vnic,
                   "that the load passes; absent: the only one that asks the appliance");
}

void add_result(CLI::App& app, Options& options, Words& words) {
    app.add_option("--base", words.base, "the request that costs the base tokens; absent: the cheapest")
        ->type_name("OPERATION:SIZE");
    app.add_option("--base-tokens", options.rules.base_tokens, "what it costs")
        ->check(CLI::Range(10, 10'000'000))
        ->capture_default_str();
    app.add_option("--error", words.error, "that a fitted cost may have")->capture_default_str();
    app.add_option("--noise", words.noise, "that a measured rate may have (half of its interval)")
        ->capture_default_str();
    app.add_option("--name", options.name, "of the service, in the table");
    app.add_option("--output", options.output, "where the table goes; \"-\": standard output")
        ->type_name("FILE");
    app.add_option("--plot", options.plot, "a picture of costs and fits")->type_name("FILE.svg");
    app.add_flag("--json", options.json, "print {\"schema\":1,\"ok\":...,\"data\":...} instead of text");
    app.add_flag("--anyway", options.anyway, "write the table in spite of objections");
}

// What single options cannot know.
void check_together(const Options& options) {
    const Plan& plan = options.plan;
    if (!options.from.empty() && !plan.protocol.empty())
        throw cli::bad_input("--from", options.from, "either a file or PROTOCOL and ADDRESS",
                             "it takes the place of a load");
    if (options.from.empty() && (plan.protocol.empty() || plan.endpoint.address.empty()))
        throw cli::bad_input("PROTOCOL ADDRESS", plan.protocol, service_names() + ", then an address",
                             "say what to measure, such as: weir-calibrate nbd 10.0.0.3");
    const auto ends = options.plot.empty() || options.plot.ends_with(".svg");
    if (!ends)
        throw cli::bad_input("--plot", options.plot, "a name that ends in .svg",
                             "other pictures are not drawn");
    if (options.witness.socket.empty() && !options.witness.vnic.empty())
        throw cli::bad_input("--vnic", options.witness.vnic, "--socket PATH besides",
                             "no switch to ask about it");
}

}  // namespace

Options read_options(int argc, char** argv) {
    Options options;
    Words words;
    CLI::App app(
        "weir-calibrate - measures what requests cost an appliance and writes its cost table.\n"
        "Runs where the VM runs whose vNIC leads to the appliance.",
        "weir-calibrate");
    add_target(app, options, words);
    add_load(app, options, words);
    add_result(app, options, words);
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
    plan.length = quantity("--time", Quantity::kDuration, words.length, 10'000'000, 600 * kNanosPerSec);
    plan.warm = quantity("--warmup", Quantity::kDuration, words.warm, 0, 600 * kNanosPerSec);
    options.rules.error = part("--error", words.error);
    options.rules.noise = part("--noise", words.noise);
    if (!words.base.empty()) {
        const std::size_t colon = std::min(words.base.find(':'), words.base.size());
        const std::string size = words.base.substr(std::min(colon + 1, words.base.size()));
        options.rules.base = {operation_of("--base", words.base.substr(0, colon)), size_of("--base", size)};
    }
    check_together(options);
    return options;
}

}  // namespace weir::calibrate
