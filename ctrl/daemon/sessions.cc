// sessions.cc - opening, finding and expiring sessions.
#include "ctrl/daemon/sessions.h"

namespace weir {

Session* Sessions::of_peer(const Peer& peer, std::uint32_t number) {
    const auto known = routes_.find(peer.route);
    if (known == routes_.end() || by_host_[known->second]->number != number)
        return nullptr;
    return by_host_[known->second].get();
}

bool Sessions::is_alive(HostIndex host, Nanos now) const {
    const Session* session = of_host(host);
    return session != nullptr && !session->is_silent &&
           now - session->last_message <= kValidity * config_.interval;
}

std::vector<Session*> Sessions::active() const {
    std::vector<Session*> sessions;
    for (const auto& session : by_host_)
        if (session && !session->is_silent)
            sessions.push_back(session.get());
    return sessions;
}

std::string Sessions::why_refused(const Peer& peer, HostIndex host, const std::string& name,
                                  Nanos now) const {
    if (host == kNowhere)
        return "there is no host " + name + " in the cluster file";
    if (!peer.host.empty())
        return peer.host == name ? "" : "host " + name + " is claimed with the key of " + peer.host;
    return is_alive(host, now) && of_host(host)->route != peer.route
               ? "host " + name + " is connected already"
               : "";
}

Sessions::Opened Sessions::open(const Peer& peer, HostIndex host, std::uint32_t number, Nanos now) {
    std::unique_ptr<Session>& session = by_host_[host];
    const bool is_repeated =
        session && session->number == number && !session->is_silent && session->route == peer.route;
    if (session)
        routes_.erase(session->route);
    if (!is_repeated) {
        auto next = std::make_unique<Session>();
        if (session)
            next->rates = std::move(session->rates);
        session = std::move(next);
    }
    session->host = host;
    session->number = number;
    session->route = peer.route;
    session->is_authenticated = !peer.host.empty();
    session->last_message = now;
    routes_[peer.route] = host;
    return {*session, !is_repeated};
}

std::vector<Session*> Sessions::expire(Nanos now) {
    std::vector<Session*> expired;
    for (Session* session : active()) {
        if (is_alive(session->host, now))
            continue;
        session->is_silent = true;
        routes_.erase(session->route);
        expired.push_back(session);
    }
    return expired;
}

}  // namespace weir
