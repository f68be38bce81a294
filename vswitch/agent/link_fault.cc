// link_fault.cc - one sentence for each cause.
#include "vswitch/agent/link_fault.h"

namespace weir {

void LinkFault::on_event(Event event) {
    switch (event) {
        case Event::kSocket:
        case Event::kClosed:
            has_socket_ = true;
            break;
        case Event::kConnected:
            has_socket_ = true;
            was_connected_ = true;
            break;
        case Event::kHandshakeFailed:
            text_ = address_ +
                    " accepts the connection, but not the handshake: see that server_key is that "
                    "controller's public key (weir-ctrl --make-key prints it)";
            break;
        case Event::kKeyRefused:
            text_ = address_ +
                    " does not know this host's key: see that the public key of secret_key_file is in the "
                    "cluster file (topology.hosts[].key)";
            break;
        case Event::kReady:
            text_.clear();
            failed_ = {};
            break;
        case Event::kRetried:
            on_attempt_over();
            break;
        case Event::kDisconnected:
            break;
    }
}

/// A name is at fault when both families are: one with an IPv6 address alone has no socket of IPv4.
void LinkFault::on_attempt_over() {
    const bool is_name = kind_ == SocketEndpoint::Kind::kName;
    Failure& mine = failed_[ip6_ ? 1 : 0];
    const Failure other = is_name ? failed_[ip6_ ? 0 : 1] : Failure::kNoSocket;
    if (!was_connected_) {
        mine = has_socket_ ? Failure::kUnreachable : Failure::kNoSocket;
        if (mine == Failure::kUnreachable || other == Failure::kUnreachable)
            text_ = other == Failure::kNone
                        ? text_
                        : address_ +
                              " cannot be reached, or no program listens there: see that weir-ctrl "
                              "runs, that its \"listen\" has this address, and the network between";
        else if (other == Failure::kNoSocket)
            text_ = address_ + (is_name ? ": the name does not resolve to an address: see getent ahosts, or "
                                          "write the address itself"
                                        : ": this machine can make no socket of this family: see that its "
                                          "kernel has it");
    }
    has_socket_ = was_connected_ = false;
}

}  // namespace weir
