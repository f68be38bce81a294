// connections.cc - counting a key's connections from the events of their sockets.
#include "ctrl/daemon/connections.h"

namespace weir {
namespace {

constexpr AllowedRate kOpened{2, kNanosPerSec, 8};

}  // namespace

void Connections::on_accepted(int descriptor, Nanos now) {
    on_closed(descriptor);
    connections_[descriptor] = {.accepted = now};
}

void Connections::on_closed(int descriptor) {
    const auto known = connections_.find(descriptor);
    if (known == connections_.end())
        return;
    release(known->second);
    connections_.erase(known);
}

void Connections::release(Connection& connection) {
    if (connection.has_key)
        --keys_[connection.key].connections;
    connection.has_key = false;
}

/// The last messages of a connection that has ended may come under the descriptor of a new one, until that
/// sends its own.
bool Connections::on_message(int descriptor, const std::string& key) {
    const auto known = connections_.find(descriptor);
    if (known == connections_.end())  // it has ended
        return true;
    Connection& connection = known->second;
    if (connection.has_key && connection.key == key)
        return true;
    release(connection);
    Key& of_key = keys_[key];
    if (of_key.connections >= (key.empty() ? plain_max_ : kPerKey))
        return false;
    ++of_key.connections;
    connection.has_key = true;
    connection.key = key;
    return true;
}

bool Connections::may_open(const std::string& key, Nanos now) {
    Key& of_key = keys_[key];
    return of_key.connections < kPerKey && of_key.opened.take(kOpened, 1, now);
}

std::vector<int> Connections::silent(Nanos now) const {
    std::vector<int> found;
    for (const auto& [descriptor, connection] : connections_)
        if (!connection.has_key && now >= connection.accepted + kSilentMax)
            found.push_back(descriptor);
    return found;
}

}  // namespace weir
