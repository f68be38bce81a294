// capture.cc - weirctl capture: frames of a vNIC or of the uplink, to a file that Wireshark reads.
#include <sodium.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include "common/units.h"
#include "common/unix_clock.h"
#include "ctrl/cli/capture_filter.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/pcapng.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

struct CaptureOptions {
    std::string port;
    bool drops = false;
    std::string reason;
    std::uint64_t first = 0;  // 0: all
    std::uint64_t every = 1;
    std::uint64_t snap = CaptureOrder::kSnap;
    std::uint64_t count = 0;  // 0: until the command is interrupted
    std::string span;         // likewise, when it is empty
    std::string filter;
    std::string file;
};

/// A file that is being written, or standard output.
class CaptureFile {
  public:
    explicit CaptureFile(const std::string& name)
        : name_(name), file_(name == "-" ? stdout : std::fopen(name.c_str(), "wb")) {
        if (file_ == nullptr)
            fail();
    }
    ~CaptureFile() {
        if (file_ != stdout && file_ != nullptr)
            (void)std::fclose(file_);
    }
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;

    /// @throws Failure: the disk is full, the reader of a pipe has gone
    void write(const std::string& bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size() || std::fflush(file_) != 0)
            fail();
    }

  private:
    [[noreturn]] void fail() const {
        throw bad_input("-w", name_,
                        "a file that can be written, on a device with room; - for standard output",
                        std::string("cannot write it: ") + std::strerror(errno));
    }

    std::string name_;
    std::FILE* file_;
};

json order_of(const CaptureOptions& options) {
    json order = options.port == "uplink" ? json{{"uplink", true}} : json{{"vnic", options.port}};
    order["drops"] = options.drops;
    order["every"] = options.every;
    order["snap"] = options.snap;
    if (!options.reason.empty())
        order["reason"] = options.reason;
    if (options.first != 0)
        order["first"] = options.first;
    if (options.filter.empty())
        return order;
    json filter = json::array();
    for (const FilterInstruction& each :
         compile_filter(options.filter, static_cast<std::uint32_t>(options.snap)))
        filter.push_back({each.code, each.if_true, each.if_false, each.value});
    order["filter"] = std::move(filter);
    return order;
}

std::string bytes_in(const json& frame) {
    const std::string text = text_at(frame, "/bytes");
    std::string bytes(text.size(), '\0');
    std::size_t length = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                          text.size(), nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
        length = 0;
    bytes.resize(length);
    return bytes;
}

/// The running capture: stopped at the switch when this ends, also by an exception.
class RunningCapture {
  public:
    RunningCapture(const Session& session, const json& order)
        : session_(session), number_(at(session.ask("capture.start", order), "/capture")) {}
    ~RunningCapture() {
        try {
            (void)session_.ask("capture.stop", {{"capture", number_}});
        } catch (const Failure&) {  // it is not read any more: the switch ends it
        }
    }
    RunningCapture(const RunningCapture&) = delete;
    RunningCapture& operator=(const RunningCapture&) = delete;

    [[nodiscard]] json read() const { return session_.ask("capture.read", {{"capture", number_}}); }

  private:
    const Session& session_;
    json number_;
};

struct CaptureResult {
    std::uint64_t frames = 0;
    std::uint64_t missed = 0;
    json ended;         // why the switch ended it; null: it did not
    bool done = false;  // all frames that are wanted are there
    std::uint64_t last_unix_ns = 0;
};

/// The frames that are wanted.
struct Wanted {
    std::uint64_t count = UINT64_MAX;
    std::uint64_t until_unix_ns = UINT64_MAX;
};

void show_progress(const CaptureResult& result) {
    if (isatty(STDERR_FILENO) != 0)
        std::cerr << "\r" << result.frames << " frames, " << result.missed << " missed " << std::flush;
}

/// Writes the frames of one reply, as far as they are wanted.
void write_frames(const json& reply, const Wanted& wanted, CaptureFile& file, CaptureResult& result) {
    std::string blocks;
    for (const json& frame : list_at(reply, "/frames")) {
        const PcapngFrame made = captured_frame(frame);
        result.done = result.frames == wanted.count || made.unix_ns > wanted.until_unix_ns;
        if (result.done)
            break;
        ++result.frames;
        result.last_unix_ns = made.unix_ns;
        blocks += pcapng_frame(made);
    }
    file.write(blocks);
    result.missed = at(reply, "/missed").get<std::uint64_t>();
    result.ended = at(reply, "/ended");
    result.done = result.done || result.frames == wanted.count;
}

/// Reads and writes until all is there that is wanted: frames that were copied before an interrupt, too.
CaptureResult run(const Session& session, const CaptureOptions& options) {
    constexpr std::chrono::milliseconds kPause{20};
    using Clock = std::chrono::steady_clock;
    const auto end =
        options.span.empty() ? Clock::time_point::max() : Clock::now() + parse_time("--for", options.span);
    Wanted wanted;
    if (options.count != 0)
        wanted.count = options.count;
    const json order = order_of(options);
    CaptureFile file(options.file);
    const RunningCapture capture(session, order);
    file.write(pcapng_section("weirctl " WEIR_VERSION) +
               pcapng_interface(options.port, static_cast<std::uint32_t>(options.snap), options.filter));
    CaptureResult result;
    while (!result.done) {
        const bool over = interrupted() || Clock::now() >= end;
        if (over)
            wanted.until_unix_ns = std::min(wanted.until_unix_ns, unix_clock_ns());
        const json reply = capture.read();
        write_frames(reply, wanted, file, result);
        show_progress(result);
        if (!list_at(reply, "/frames").empty())
            continue;
        if (over || !result.ended.is_null())
            break;
        sleep_unless_interrupted(Clock::now() + kPause);
    }
    file.write(pcapng_statistics(result.last_unix_ns, result.frames + result.missed, result.missed));
    return result;
}

void print_result(const Session& session, const CaptureOptions& options, const CaptureResult& result) {
    std::string text = std::to_string(result.frames) + " frames of " + options.port + " captured, " +
                       std::to_string(result.missed) + " missed\n";
    if (!result.ended.is_null())
        text += "the capture ended: " + result.ended.get<std::string>() + '\n';
    if (options.file == "-") {
        std::cerr << text;
        return;
    }
    session.print({{"frames", result.frames},
                   {"missed", result.missed},
                   {"ended", result.ended},
                   {"file", options.file}},
                  text);
}

void add_choices(CLI::App& command, CaptureOptions& options) {
    CLI::Option* drops = command.add_flag("--drops", options.drops, "dropped frames alone");
    std::vector<std::string> reasons;
    for (const DropReasonText& each : kDropReasonTexts)
        reasons.emplace_back(each.name);
    command.add_option("--reason", options.reason, "of these, one reason of `weirctl drops`")
        ->needs(drops)
        ->type_name("REASON")
        ->check(CLI::IsMember(reasons).description(""));
    command.add_option("--first", options.first, "of these, the first N of each reason")
        ->needs(drops)
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{UINT32_MAX}).description(""));
    command.add_option("--filter", options.filter, "frames that fit this expression (pcap-filter(7))")
        ->type_name("EXPR");
    command.add_option("--every", options.every, "one of N frames that fit")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}).description(""));
    command.add_option("--snap", options.snap, "bytes that are kept of each frame")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{CaptureOrder::kSnapMin}, std::uint64_t{CaptureOrder::kSnapMax})
                    .description(""))
        ->capture_default_str();
}

}  // namespace

std::string capture_comment(const json& frame) {
    const json& vnic = at(frame, "/vnic");
    std::string text = text_at(frame, "/direction");
    std::ranges::replace(text, '_', ' ');
    if (vnic.is_string())
        text += " (" + vnic.get<std::string>() + ")";
    text += ": " + text_at(frame, "/verdict");
    if (at(frame, "/reason").is_string())
        text += ": " + text_at(frame, "/reason");
    const double delay = number_at(frame, "/queue_delay_ns");
    return delay > 0 ? text + ", waited " + human_duration(delay) : text;
}

PcapngFrame captured_frame(const json& frame) {
    const std::string direction = text_at(frame, "/direction");
    return {.unix_ns = at(frame, "/unix_ns").get<std::uint64_t>(),
            .length = at(frame, "/length").get<std::uint32_t>(),
            .bytes = bytes_in(frame),
            .inbound = direction.starts_with("from"),
            .comment = capture_comment(frame)};
}

void add_capture(CLI::App& command, Session& session) {
    const auto options = std::make_shared<CaptureOptions>();
    command.add_option("PORT", options->port, "a vNIC's name, or uplink")->required();
    add_choices(command, *options);
    command.add_option("--count", options->count, "end after N frames")->type_name("N");
    command.add_option("--for", options->span, "end after this time, such as 10s")->type_name("TIME");
    command.add_option("-w", options->file, "the pcapng file; - is standard output")
        ->type_name("FILE")
        ->required();
    command.footer(
        "Examples:\n"
        "  weirctl capture vm1 -w - | tshark -r -\n"
        "  weirctl capture vm1 --drops --first 10 --for 60s -w drops.pcapng\n"
        "  weirctl capture uplink --filter 'tcp port 443' --count 1000 -w uplink.pcapng\n"
        "Each frame's comment has its direction, its vNIC, whether it was forwarded or dropped and why,\n"
        "and how long it waited. Frames of the wire are captured when they come, and again if they are\n"
        "dropped. Copies never hold traffic up: frames without room for a copy are counted as missed.");
    command.callback([&session, options] {
        if (options->file == "-" && session.json_output)
            throw bad_input("-w", "-", "a file", "with --json the result goes to standard output");
        end_on_interrupts();
        std::signal(SIGPIPE, SIG_IGN);  // the reader of a pipe has gone: the write says so
        print_result(session, *options, run(session, *options));
    });
}

}  // namespace weir::cli
