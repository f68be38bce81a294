// command_socket.cc - requests in turns of their clients, each with its answer.
#include "vswitch/agent/command_socket.h"

#include <poll.h>
#include <spdlog/spdlog.h>

namespace weir {
namespace {

using std::chrono::steady_clock;

/// A request is a few hundred bytes; a vNIC with every key less than 2 KiB.
constexpr std::size_t kRequestBytesMax = 64 << 10;
constexpr std::size_t kPartsMax = 4;
/// All requests that come in, and answers that are not read, together.
constexpr std::size_t kHeldBytesMax = 32 << 20;
/// Requests answered in one call.
constexpr int kRequestsPerCall = 16;

Nanos real_now() {
    return static_cast<Nanos>(std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

}  // namespace

CommandSocket::CommandSocket(const std::string& path)
    : server_({path, "control_socket", {}},
              {.message = {.bytes = kRequestBytesMax, .parts = kPartsMax}, .held = kHeldBytesMax},
              [](const std::string& text) { spdlog::warn("{}", text); }) {}

void CommandSocket::serve(std::chrono::milliseconds patience, const Answer& answer) {
    const auto until = steady_clock::now() + patience;
    int served = 0;
    for (auto left = patience;;) {
        server_.work(real_now());
        while (served < kRequestsPerCall) {
            const auto request = server_.receive();
            if (!request)
                break;
            ++served;
            (void)server_.answer(*request, answer(request->parts.back()));
        }
        if (served != 0 || left <= left.zero())
            return;
        pollfd waits{.fd = server_.descriptor(), .events = POLLIN, .revents = 0};
        if (poll(&waits, 1, static_cast<int>(left.count())) <= 0)
            left = left.zero();
        else
            left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    }
}

}  // namespace weir
