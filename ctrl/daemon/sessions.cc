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
           now - session->last_message <= kValidity * config_->interval;
}

std::vector<Session*> Sessions::active() const {
    std::vector<Session*> sessions;
    for (const auto& session : by_host_)
        if (session && !session->is_silent)
            sessions.push_back(session.get());
    return sessions;
}

std::string Sessions::why_refused(const Peer& peer, HostIndex host, const std::string& name) const {
    if (host == kNowhere)
        return "there is no host " + name + " in the cluster file";
    if (peer.host.empty() && !config_->hosts[host].key.empty())
        return "host " + name +
               " has a key in the cluster file, and a connection without one (ipc) claims it: " +
               "connect over tcp with secret_key_file, or remove the key from the cluster file";
    return peer.host.empty() || peer.host == name
               ? ""
               : "host " + name + " is claimed with the key of " + peer.host;
}

Session* Sessions::rival(const Peer& peer, HostIndex host, std::uint32_t number, Nanos now) const {
    constexpr std::uint32_t kNumbersAhead = 4096;
    Session* const session = of_host(host);
    if (!is_alive(host, now) || session->route == peer.route)
        return nullptr;
    const bool is_proven = !peer.host.empty();
    const bool same_program = number - session->number < kNumbersAhead;
    return is_proven == session->is_authenticated ? (same_program ? nullptr : session)
                                                  : (is_proven ? nullptr : session);
}

Sessions::Opened Sessions::open(const Peer& peer, HostIndex host, std::uint32_t number, Nanos now) {
    std::unique_ptr<Session>& session = by_host_[host];
    const bool is_repeated =
        session && session->number == number && !session->is_silent && session->route == peer.route;
    if (session)
        forget_route(*session);
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
    session->address = peer.address;
    session->last_message = now;
    routes_[peer.route] = host;
    return {*session, !is_repeated};
}

std::vector<std::unique_ptr<Session>> Sessions::adopt(const ClusterConfig& config,
                                                      const Renumbering& places) {
    std::vector<std::unique_ptr<Session>> gone;
    std::vector<std::unique_ptr<Session>> now(config.hosts.size());
    for (HostIndex old = 0; old < by_host_.size(); ++old) {
        if (!by_host_[old])
            continue;
        const HostIndex host = places.hosts[old];
        if (host == kNowhere) {
            forget_route(*by_host_[old]);
            gone.push_back(std::move(by_host_[old]));
        } else {
            by_host_[old]->host = host;
            now[host] = std::move(by_host_[old]);
        }
    }
    for (auto& [route, host] : routes_)
        host = places.hosts[host];
    std::erase_if(routes_, [](const auto& each) { return each.second == kNowhere; });
    by_host_ = std::move(now);
    config_ = &config;
    return gone;
}

std::vector<Session*> Sessions::expire(Nanos now) {
    std::vector<Session*> expired;
    for (Session* session : active()) {
        if (is_alive(session->host, now))
            continue;
        end(*session);
        expired.push_back(session);
    }
    return expired;
}

void Sessions::end(Session& session) {
    session.is_silent = true;
    forget_route(session);
}

void Sessions::forget_route(const Session& session) {
    const auto known = routes_.find(session.route);
    if (known != routes_.end() && known->second == session.host)
        routes_.erase(known);
}

}  // namespace weir
