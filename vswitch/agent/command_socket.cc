// command_socket.cc - requests in turns of their clients, each with its answer.
#include "vswitch/agent/command_socket.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <array>

namespace weir {
namespace {

using std::chrono::steady_clock;

/// A request is a few hundred bytes; a vNIC with every key less than 2 KiB.
constexpr std::size_t kRequestBytesMax = 64 << 10;
constexpr std::size_t kPartsMax = 4;
/// All requests that come in, and answers that are not read, together.
constexpr std::size_t kHeldBytesMax = 32 << 20;
constexpr LocalServer::Bounds kSocketBounds{.message = {.bytes = kRequestBytesMax, .parts = kPartsMax},
                                            .held = kHeldBytesMax};
constexpr mode_t kOwnerAndGroup = 0660;
/// Requests answered in one call.
constexpr int kRequestsPerCall = 16;

Nanos real_now() {
    return static_cast<Nanos>(std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count());
}

void log_refusal(const std::string& text) {
    spdlog::warn("{}", text);
}

}  // namespace

CommandSocket::CommandSocket(const std::string& path, const std::string& read_path)
    : changes_({path, "control_socket", kOwnerAndGroup}, kSocketBounds, log_refusal) {
    if (!read_path.empty())
        reading_.emplace(SocketFile::Place{read_path, "control_read_socket", kOwnerAndGroup}, kSocketBounds,
                         log_refusal);
}

/// @return requests that were answered
int CommandSocket::serve(LocalServer& server, bool may_change, const Answer& answer) {
    server.work(real_now());
    int served = 0;
    for (; served < kRequestsPerCall; ++served) {
        const auto request = server.receive();
        if (!request)
            break;
        (void)server.answer(*request, answer(request->parts.back(),
                                             {.peer = request->peer.to_string(), .may_change = may_change}));
    }
    return served;
}

void CommandSocket::serve(std::chrono::milliseconds patience, const Answer& answer) {
    const auto until = steady_clock::now() + patience;
    for (auto left = patience;;) {
        int served = serve(changes_, true, answer);
        if (reading_)
            served += serve(*reading_, false, answer);
        if (served != 0 || left <= left.zero())
            return;
        std::array<pollfd, 2> waits{
            {{.fd = changes_.descriptor(), .events = POLLIN, .revents = 0},
             {.fd = reading_ ? reading_->descriptor() : -1, .events = POLLIN, .revents = 0}}};
        if (poll(waits.data(), waits.size(), static_cast<int>(left.count())) <= 0)
            left = left.zero();
        else
            left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    }
}

}  // namespace weir
