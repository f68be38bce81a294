// main.cc - `seeds`: the controller and its switches under faults, by seed.
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test/ctrl/faults/run.h"

namespace {

namespace wire = weir::wire;

constexpr const char* kUsage =
    "seeds [--seeds N] [--first K] [--intervals I]   runs N seeds (200) from K (1) on, of I intervals (200)\n"
    "seeds --seed K [--trace H]                      runs this one, and prints its cluster and faults, and "
    "with\n"
    "                                                --trace all messages from and to host H, counted from "
    "1\n";

struct Options {
    std::uint32_t first = 1;
    std::uint32_t seeds = 200;
    std::uint32_t intervals = weir::faults::kIntervals;
    std::uint32_t trace = 0;
    bool is_one = false;
};

std::string text_of(const wire::FlowDemand& record) {
    return std::to_string(record.used[0]) + ' ' + std::to_string(record.used[1]) + " + " +
           std::to_string(record.backlog[0]) + ' ' + std::to_string(record.backlog[1]);
}

std::string text_of(const wire::FlowAllocation& record) {
    std::string out;
    for (const std::uint64_t rate : record.rate)
        out += rate == wire::kNoStatement ? "none " : std::to_string(rate) + ' ';
    return out;
}

template <typename Record>
void print_records(const weir::faults::LineMessage& message) {
    std::vector<Record> records;
    (void)wire::decode(message.body, records);
    for (const Record& record : records)
        std::printf("    %u to %u: %s\n", record.flow.source, record.flow.destination,
                    text_of(record).c_str());
}

void print(const char* direction, const weir::faults::LineMessage& message) {
    constexpr std::array kTypes{"?",          "HELLO",     "WELCOME", "TABLES", "DEMAND",
                                "ALLOCATION", "HEARTBEAT", "USAGE",   "BILLED", "ASK"};
    wire::Header header;
    if (wire::decode_header(message.header, message.body.size(), header) != wire::Malformed::kNo) {
        std::printf("%s malformed\n", direction);
        return;
    }
    std::printf("%s %s flags %u epoch %llu session %u sequence %u interval %u count %u\n", direction,
                kTypes[static_cast<std::size_t>(header.type)], header.flags,
                static_cast<unsigned long long>(header.epoch), header.session, header.sequence,
                header.interval, header.count);
    if (header.type == wire::Type::kDemand)
        print_records<wire::FlowDemand>(message);
    if (header.type == wire::Type::kAllocation)
        print_records<wire::FlowAllocation>(message);
    if (header.type == wire::Type::kHello || header.type == wire::Type::kTables ||
        header.type == wire::Type::kAsk)
        std::printf("    %.*s\n", static_cast<int>(message.body.size()),
                    reinterpret_cast<const char*>(message.body.data()));
    if (header.type == wire::Type::kBilled)
        std::printf("    through %llu\n", static_cast<unsigned long long>(wire::decode_billed(message.body)));
    std::vector<wire::Usage> periods;
    if (header.type == wire::Type::kUsage)
        (void)wire::decode(message.body, periods);
    for (const wire::Usage& period : periods)
        std::printf(
            "    %u from %llu to %llu: %llu\n", period.vnic, static_cast<unsigned long long>(period.began),
            static_cast<unsigned long long>(period.ended), static_cast<unsigned long long>(period.delivered));
}

/// Prints the messages of the host's line. @param host counted from 1; 0: nothing
weir::faults::Tampering tracing(std::uint32_t host) {
    if (host == 0)
        return {};
    return {.sent =
                [host](std::uint32_t at, weir::faults::LineMessage& message) {
                    if (at + 1 == host)
                        print("down", message);
                },
            .reported =
                [host](std::uint32_t at, weir::faults::LineMessage& message) {
                    if (at + 1 == host)
                        print("up  ", message);
                },
            .solved = [](std::uint32_t interval) { std::printf("interval %u is solved\n", interval); }};
}

bool read_options(int count, char** words, Options& options) {
    for (int i = 1; i < count; i += 2) {
        const std::string_view key = words[i];
        std::uint32_t value = 0;
        const char* const text = i + 1 < count ? words[i + 1] : "";
        const char* const end = text + std::strlen(text);
        if (const auto [at, fault] = std::from_chars(text, end, value); fault != std::errc{} || at != end)
            return false;
        if (key == "--seed") {
            options.first = value;
            options.seeds = 1;
            options.is_one = true;
        } else if (key == "--seeds") {
            options.seeds = value;
        } else if (key == "--first") {
            options.first = value;
        } else if (key == "--trace") {
            options.trace = value;
        } else if (key == "--intervals") {
            options.intervals = value;
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int count, char** words) {
    Options options;
    if (!read_options(count, words, options)) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    const bool shows_progress = isatty(STDERR_FILENO) != 0;
    std::map<std::string, std::uint32_t> seeds_of;  // by rule
    std::uint32_t failed = 0;
    for (std::uint32_t i = 0; i < options.seeds; ++i) {
        const std::uint32_t seed = options.first + i;
        const weir::faults::Verdict verdict =
            weir::faults::run_seed(seed, options.intervals, tracing(options.trace));
        for (const auto& [rule, broken] : verdict.broken)
            if (seeds_of[rule]++ < 3 || options.is_one)
                std::printf("%s%s, seed %u, interval %u: %s\n", rule.c_str(),
                            weir::faults::is_documented(rule) ? " (documented)" : "", seed, broken.interval,
                            broken.text.c_str());
        if (options.is_one)
            std::fputs(verdict.plan.c_str(), stdout);
        if (const std::string faults = verdict.faults(); !faults.empty()) {
            ++failed;
            std::printf("%s seed %u failed; again: %s --seed %u --intervals %u\n", words[0], seed, words[0],
                        seed, options.intervals);
        }
        if (shows_progress)
            std::fprintf(stderr, "\r%u of %u seeds, %u failed ", i + 1, options.seeds, failed);
    }
    if (shows_progress)
        std::fputc('\n', stderr);
    for (const auto& [rule, seeds] : seeds_of)
        std::printf("%s: %u seeds\n", rule.c_str(), seeds);
    std::printf("%u passed, %u failed\n", options.seeds - failed, failed);
    return failed == 0 ? 0 : 1;
}
