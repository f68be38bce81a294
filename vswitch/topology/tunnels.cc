// tunnels.cc - key messages in and out, and the sessions of the workers.
#include "vswitch/topology/tunnels.h"

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "common/ip_address.h"

namespace weir {
namespace {

constexpr std::uint32_t kReplayWindow = 1024;
/// Sessions of one tunnel that are kept: those that are understood, and one that a worker may still hold.
constexpr std::size_t kSessionsKept = kSessionsUnderstood + 1;
/// Half of the sequence numbers; the other half leaves time to agree on new keys.
constexpr std::uint64_t kPacketsMax = std::uint64_t{1} << 31;

void append(std::vector<std::uint8_t>& bytes, const void* data, std::size_t size) {
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
}

/// Ethernet and IP in front of every packet; lengths and checksum are filled in later.
std::vector<std::uint8_t> make_header(const TunnelConfig& tunnel, std::uint64_t local_mac) {
    const IpAddress local = IpAddress::parse(tunnel.local).value();
    const IpAddress remote = IpAddress::parse(tunnel.remote).value();
    std::vector<std::uint8_t> header;
    append(header, &tunnel.remote_mac.bits, 6);
    append(header, &local_mac, 6);
    append(header, local.v6 ? "\x86\xDD" : "\x08\x00", 2);
    if (local.v6) {
        append(header, "\x60\0\0\0\0\0\x32\x40", 8);
        append(header, local.bytes.data(), 16);
        append(header, remote.bytes.data(), 16);
    } else {
        append(header, "\x45\0\0\0\0\0\x40\0\x40\x32\0\0", 12);  // not to be fragmented
        append(header, local.bytes.data(), 4);
        append(header, remote.bytes.data(), 4);
    }
    return header;
}

TunnelEnd make_end(const TunnelConfig& tunnel, const TunnelParts& parts, const UplinkConfig& uplink,
                   std::uint64_t uplink_mac) {
    const IpAddress local = IpAddress::parse(tunnel.local).value();
    TunnelEnd end;
    end.algorithm = tunnel.algorithm;
    end.v6 = local.v6;
    end.local = local.bytes;
    end.spi_in = tunnel.spi_in;
    end.frame_max = std::min(kEspFrameMax, esp_frame_max(tunnel.algorithm, local.v6, uplink.mtu));
    end.header = make_header(tunnel, tunnel.local_mac ? tunnel.local_mac->bits : uplink_mac);
    for (const std::string& network : tunnel.networks)
        end.networks.push_back(IpNetwork::parse(network).value());
    end.cost = parts.cost;
    return end;
}

}  // namespace

Tunnels::Tunnels(const SwitchConfig& config, const std::vector<TunnelParts>& parts, const PacketPools& pools,
                 std::uint64_t uplink_mac, std::vector<std::unique_ptr<Worker>>& workers)
    : config_(config), pools_(pools), workers_(workers), posted_(config.workers.size()) {
    for (std::size_t i = 0; i < config.tunnels.size(); ++i) {
        const TunnelConfig& tunnel = config.tunnels[i];
        ends_.push_back(make_end(tunnel, parts[i], config.uplink, uplink_mac));
        Tunnel made{.config = &tunnel,
                    .agreement = nullptr,
                    .device = &device_for(tunnel),
                    .sessions = {},
                    .report = {}};
        made.agreement = std::make_unique<KeyAgreement>(
            KeyAgreement::Setup{.key = parts[i].key,
                                .spi_out = tunnel.spi_out,
                                .spi_in = tunnel.spi_in,
                                .algorithm = tunnel.algorithm,
                                .workers = static_cast<std::uint8_t>(config.workers.size())});
        made.report.name = tunnel.name;
        made.report.device = made.device->device->name();
        tunnels_.push_back(std::move(made));
    }
    readings_.assign(config.workers.size(), std::vector<TunnelStats>(ends_.size()));
}

/// One device for all tunnels that want its driver; `auto` takes the first that starts.
Tunnels::Device& Tunnels::device_for(const TunnelConfig& tunnel) {
    std::vector<std::string> drivers{tunnel.device};
    if (tunnel.device == "auto")
        drivers = {is_gcm(tunnel.algorithm) ? "crypto_aesni_gcm" : "crypto_aesni_mb", "crypto_openssl"};
    const auto queues = static_cast<std::uint16_t>(config_.workers.size());
    const auto each = static_cast<std::uint32_t>((kSessionsKept + 2) * (queues + limits::kWorkersMax));
    for (const std::string& driver : drivers) {
        if (const auto there = devices_.find(driver); there != devices_.end())
            return there->second;
        try {
            Device made;
            made.device = std::make_unique<CryptoDevice>(
                driver, queues, static_cast<std::uint32_t>(config_.tunnels.size()) * each);
            for (std::uint16_t queue = 0; queue < queues; ++queue)
                made.engines.push_back(std::make_unique<EspEngine>(*made.device, queue,
                                                                   pools_.of(static_cast<WorkerId>(queue))));
            return devices_.emplace(driver, std::move(made)).first->second;
        } catch (const HostError& error) {
            if (driver == drivers.back())
                throw;
            spdlog::info("tunnel {}: {} is not available on this host ({})", tunnel.name, driver,
                         error.what());
        }
    }
    throw HostError("tunnel " + tunnel.name + ": no crypto device");
}

std::vector<EspEngine*> Tunnels::engines(WorkerId worker) const {
    std::vector<EspEngine*> engines;
    for (const Tunnel& tunnel : tunnels_)
        engines.push_back(tunnel.device->engines[worker].get());
    return engines;
}

std::unique_ptr<EspSession> Tunnels::make_session(std::size_t id) const {
    const Tunnel& tunnel = tunnels_[id];
    const TunnelEnd& end = ends_[id];
    const KeyAgreement& agreement = *tunnel.agreement;
    auto session = std::make_unique<EspSession>();
    session->tag = agreement.tag();
    EspSa::Parameters parameters{
        .algorithm = end.algorithm, .outer_v6 = end.v6, .outbound = true, .header = end.header};
    const auto workers = static_cast<std::uint8_t>(config_.workers.size());
    for (std::uint8_t worker = 0; worker < workers; ++worker)
        session->out.push_back(
            std::make_unique<EspSa>(*tunnel.device->device, agreement.out_keys(worker), parameters));
    parameters.outbound = false;
    parameters.replay_window = kReplayWindow;
    parameters.header = {};
    for (std::uint8_t worker = 0; worker < agreement.peer_workers(); ++worker)
        session->in.push_back(
            std::make_unique<EspSa>(*tunnel.device->device, agreement.in_keys(worker), parameters));
    return session;
}

void Tunnels::post_to_all(const WorkerCommand& command, const Post& post) {
    for (const auto& worker : workers_)
        posted_[worker->id()] = post(worker->id(), command);
}

void Tunnels::send_with_newest(TunnelId id, const Post& post) {
    Tunnel& tunnel = tunnels_[id];
    if (tunnel.sessions.empty() || tunnel.sending == tunnel.sessions.back().get())
        return;
    post_to_all(command::SendSession{id, tunnel.sessions.back().get()}, post);
    tunnel.sending = tunnel.sessions.back().get();
    spdlog::info("tunnel {}: keys agreed on with {}", tunnel.config->name, tunnel.config->remote);
}

/// Makes the workers receive with the new session; they send with it once the other end has it too.
void Tunnels::adopt(TunnelId id, const Post& post) {
    Tunnel& tunnel = tunnels_[id];
    tunnel.sessions.push_back(make_session(id));
    ++tunnel.report.sessions;
    post_to_all(command::ReceiveSession{id, tunnel.sessions.back().get()}, post);
    if (tunnel.agreement->established())
        send_with_newest(id, post);
}

/// Frees the oldest session once no worker can use it: newer ones are enough, none is sent with it, and all
/// workers have carried out their last command about sessions.
void Tunnels::retire(Tunnel& tunnel) {
    if (tunnel.sessions.size() <= kSessionsKept || tunnel.sessions.front().get() == tunnel.sending)
        return;
    for (const auto& worker : workers_)
        if (!worker->control().wait(posted_[worker->id()], 0))
            return;
    tunnel.sessions.pop_front();
}

void Tunnels::on_key_message(TunnelId id, rte_mbuf* frame, Nanos now, const Post& post) {
    Tunnel& tunnel = tunnels_[id];
    const std::uint32_t at = kEspFrontBytes + outer_ip_bytes(ends_[id].v6);
    std::array<std::uint8_t, KeyAgreement::kMessageBytes> room{};
    KeyAgreement::Outcome outcome = KeyAgreement::Outcome::kForged;
    if (frame->pkt_len >= at + room.size()) {
        const auto* bytes = static_cast<const std::uint8_t*>(
            rte_pktmbuf_read(frame, at, static_cast<std::uint32_t>(room.size()), room.data()));
        outcome = tunnel.agreement->on_message({bytes, room.size()}, now);
    }
    rte_pktmbuf_free(frame);
    switch (outcome) {
        case KeyAgreement::Outcome::kForged:
            ++tunnel.report.forged;
            break;
        case KeyAgreement::Outcome::kMismatch:
            ++tunnel.report.mismatched;
            break;
        case KeyAgreement::Outcome::kAdopted:
            adopt(id, post);
            break;
        case KeyAgreement::Outcome::kConfirmed:
            send_with_newest(id, post);
            break;
        case KeyAgreement::Outcome::kUnchanged:
            break;
    }
}

/// Posts the message to the first worker, which sends it past the queues. Lost messages are repeated.
void Tunnels::send_key_message(TunnelId id, const KeyAgreement::Message& message, const Post& post) {
    const TunnelEnd& end = ends_[id];
    rte_mbuf* frame = rte_pktmbuf_alloc(pools_.of(0));
    if (frame == nullptr)
        return;
    const auto head = static_cast<std::uint16_t>(end.header.size());
    const auto length = static_cast<std::uint16_t>(head + message.size());
    auto* bytes = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(frame, length));
    std::memcpy(bytes, end.header.data(), head);
    std::memcpy(bytes + head, message.data(), message.size());
    if (end.v6) {
        auto* ip = reinterpret_cast<rte_ipv6_hdr*>(bytes + kEspFrontBytes);
        ip->payload_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(message.size()));
    } else {
        auto* ip = reinterpret_cast<rte_ipv4_hdr*>(bytes + kEspFrontBytes);
        ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(length - kEspFrontBytes));
        ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    post(0, command::SendFrame{frame});
}

/// Asks for new keys after `rekey`, at the end with the smaller outbound SPI; at the other end a quarter
/// later, so that both do not ask at once. Also when half of the sequence numbers are used.
void Tunnels::renew_in_time(Tunnel& tunnel, Nanos now) {
    const KeyAgreement& agreement = *tunnel.agreement;
    if (!agreement.established() || tunnel.sessions.empty())
        return;
    const bool first = tunnel.config->spi_out < tunnel.config->spi_in;
    const Nanos age = first ? tunnel.config->rekey : tunnel.config->rekey + tunnel.config->rekey / 4;
    const auto used_up = [](const auto& sa) { return sa->packets() > kPacketsMax; };
    const EspSession& session = *tunnel.sessions.back();
    if (now - agreement.adopted_at() > age || std::ranges::any_of(session.out, used_up))
        tunnel.agreement->renew();
}

void Tunnels::tick(Nanos now, const Post& post) {
    if (!any())
        return;
    try {
        for (const auto& worker : workers_)
            for (KeyMessage message{}; worker->key_messages().pop(message);)
                on_key_message(message.tunnel, message.frame, now, post);
        const auto count = static_cast<TunnelId>(tunnels_.size());
        for (TunnelId id = 0; id < count; ++id) {
            Tunnel& tunnel = tunnels_[id];
            renew_in_time(tunnel, now);
            retire(tunnel);
            if (const auto message = tunnel.agreement->next_message(now))
                send_key_message(id, *message, post);
        }
    } catch (const HostError& error) {
        spdlog::error("tunnels: {}", error.what());
    }
}

std::vector<TunnelReport> Tunnels::report(Nanos now) const {
    std::vector<TunnelReport> reports;
    for (std::size_t id = 0; id < tunnels_.size(); ++id) {
        const Tunnel& tunnel = tunnels_[id];
        TunnelReport report = tunnel.report;
        report.config = static_cast<std::uint16_t>(id);
        report.up = tunnel.sending != nullptr;
        report.key_age = report.up ? now - tunnel.agreement->adopted_at() : 0;
        report.silence =
            tunnel.agreement->last_message_at() == 0 ? 0 : now - tunnel.agreement->last_message_at();
        for (const auto& reading : readings_)
            report.stats.add(reading[id]);
        reports.push_back(std::move(report));
    }
    return reports;
}

}  // namespace weir
