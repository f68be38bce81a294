// session.cc - the JSON envelope of results and faults; options and files that several commands read.
#include "ctrl/cli/session.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <iterator>
#include <thread>
#include <variant>

#include "common/config/config_text.h"
#include "common/units.h"

namespace weir::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

using nlohmann::json;

void print_line(const json& value) {
    std::cout << value.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

}  // namespace

void Session::print(const json& data, const View& view, bool ok) const {
    if (json_output)
        print_line({{"schema", 1}, {"ok", ok}, {"data", data}});
    else
        std::cout << view(data, terminal_of_stdout()) << std::flush;
}

void Session::print(const json& data, const std::string& text, bool ok) const {
    print(
        data, [&text](const json&, const Terminal&) { return text; }, ok);
}

void end_on_interrupts() {
    std::signal(SIGINT, [](int) { interrupts = 1; });
    std::signal(SIGTERM, [](int) { interrupts = 1; });
}

bool interrupted() {
    return interrupts != 0;
}

void sleep_unless_interrupted(std::chrono::steady_clock::time_point until) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kStep(50);
    for (auto now = Clock::now(); now < until && !interrupted(); now = Clock::now())
        std::this_thread::sleep_for(std::min<Clock::duration>(kStep, until - now));
}

void print_faults(const Faults& faults, bool json_output) {
    if (json_output)
        print_line({{"schema", 1}, {"ok", false}, {"faults", faults_to_json(faults)}});
    else
        for (const Fault& fault : faults)
            std::cerr << "weirctl: " << fault.to_line() << '\n';
}

Readings Session::ask_twice(const std::string& command, const json& args, const std::string& interval) const {
    const auto nanoseconds = parse_time("--interval", interval);
    json before = ask(command, args);
    std::this_thread::sleep_for(nanoseconds);
    return {std::move(before), ask(command, args)};
}

std::string words_of(const CLI::App& command) {
    const CLI::App* const group = command.get_parent();
    const bool has_group = group != nullptr && group->get_parent() != nullptr;
    return (has_group ? group->get_name() + ' ' : "") + command.get_name();
}

std::shared_ptr<std::string> add_interval(CLI::App& command, const char* meaning) {
    auto interval = std::make_shared<std::string>("1s");
    command.add_option("--interval", *interval, meaning)->type_name("TIME")->capture_default_str();
    return interval;
}

std::chrono::nanoseconds parse_time(const char* option, const std::string& text) {
    constexpr std::uint64_t kMin = 50'000'000;
    constexpr std::uint64_t kMax = 3'600'000'000'000;
    const ParsedQuantity parsed = parse_quantity(Quantity::kDuration, text);
    if (!parsed.ok())
        throw bad_input(option, text, units_of(Quantity::kDuration), "it " + std::string(parsed.fault));
    if (parsed.value < kMin || parsed.value > kMax)
        throw bad_input(option, text, "50ms to 3600s", "out of range");
    return std::chrono::nanoseconds(parsed.value);
}

std::string read_input(const std::string& file, const std::string& allowed) {
    if (file == "-")
        return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    auto read = read_text_file(file);
    if (const Fault* fault = std::get_if<Fault>(&read))
        throw bad_input(file, fault->found, allowed, "this file cannot be read");
    return std::get<std::string>(std::move(read));
}

}  // namespace weir::cli
