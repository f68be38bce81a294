// service_notifier.cc - the datagrams to systemd.
#include "common/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weir {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::optional<Nanos> half_of_watchdog() {
    const std::string text = environment("WATCHDOG_USEC");
    const std::string process = environment("WATCHDOG_PID");
    std::uint64_t micros = 0;
    std::from_chars(text.data(), text.data() + text.size(), micros);
    if (micros == 0 || (!process.empty() && process != std::to_string(getpid())))
        return std::nullopt;
    return micros * 1000 / 2;
}

}  // namespace

ServiceNotifier::ServiceNotifier() : socket_(environment("NOTIFY_SOCKET")), period_(half_of_watchdog()) {}

void ServiceNotifier::ready(Nanos now) {
    send("READY=1");
    last_alive_ = now;
}

void ServiceNotifier::alive(Nanos now) {
    send("WATCHDOG=1");
    last_alive_ = now;
}

void ServiceNotifier::status(std::string_view line) {
    if (line == status_)
        return;
    status_ = line;
    send("STATUS=" + status_);
}

/// Never waits, so that a systemd that does not read cannot stop the daemon. Lost reports are not repeated.
void ServiceNotifier::send(std::string_view state) const {
    sockaddr_un address{};
    if (socket_.empty() || socket_.size() >= sizeof(address.sun_path))
        return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (address.sun_path[0] == '@')  // an abstract name
        address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    (void)::sendto(descriptor, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&address), length);
    ::close(descriptor);
}

}  // namespace weir
