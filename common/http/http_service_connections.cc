// http_service_connections.cc - which connections have a place, and when one loses it.
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "common/http/http_service_open.h"

namespace weir {
namespace {

std::string address_text(const sockaddr* address) {
    std::array<char, NI_MAXHOST> text{};
    const socklen_t size = address != nullptr && address->sa_family == AF_INET6 ? 28 : 16;
    if (address == nullptr ||
        getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "an unknown address";
    return text.data();
}

}  // namespace

HttpService::Open* HttpService::on_open(MHD_Connection* connection) {
    Open& open = open_.emplace_back();
    open.place = std::prev(open_.end());
    if (const auto* file = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD))
        open.descriptor = file->connect_fd;
    const auto* client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    open.address = address_text(client == nullptr ? nullptr : client->client_addr);
    if (limits_.life.count() != 0)
        open.latest = std::chrono::steady_clock::now() + limits_.life;
    open.allow(limits_.head);
    make_room(open);
    counters_.open.store(open_.size(), std::memory_order_relaxed);
    return &open;
}

void HttpService::on_close(Open* open) {
    if (open != nullptr)
        open_.erase(open->place);
    counters_.open.store(open_.size(), std::memory_order_relaxed);
}

/// One address cannot take the places of all others.
void HttpService::make_room(Open& newcomer) {
    const auto is_of_address = [&](const Open& open) {
        return !open.is_ended && open.address == newcomer.address;
    };
    const auto is_running = [](const Open& open) { return !open.is_ended; };
    const bool is_address_full = static_cast<std::size_t>(std::ranges::count_if(open_, is_of_address)) >
                                 limits_.connections_of_address;
    if (!is_address_full &&
        static_cast<std::size_t>(std::ranges::count_if(open_, is_running)) <= limits_.connections)
        return;
    const auto may_go = [&](const Open& open) {
        return &open != &newcomer && (is_address_full ? is_of_address(open) : is_running(open));
    };
    auto victim =
        std::ranges::find_if(open_, [&](const Open& open) { return may_go(open) && !open.is_trusted; });
    if (victim == open_.end())
        victim = std::ranges::find_if(open_, [&](const Open& open) { return may_go(open) && !open.is_busy; });
    if (victim == open_.end() && !limits_.has_accounts)
        victim = std::ranges::find_if(open_, may_go);
    const bool has_victim = victim != open_.end();
    (has_victim ? counters_.displaced : counters_.surplus).fetch_add(1, std::memory_order_relaxed);
    end(has_victim ? *victim : newcomer);
}

void HttpService::end_old_ones() {
    const auto now = std::chrono::steady_clock::now();
    for (Open& open : open_)
        if (!open.is_ended && open.ends_at < now) {
            end(open);
            counters_.expired.fetch_add(1, std::memory_order_relaxed);
        }
}

/// The library notices the end, and closes the descriptor.
void HttpService::end(Open& open) {
    open.is_ended = true;
    (void)::shutdown(open.descriptor, SHUT_RDWR);
}

}  // namespace weir
