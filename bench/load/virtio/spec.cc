// spec.cc - reads ports, streams and runs from JSON, with the ranges that are allowed.
#include "bench/load/virtio/spec.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/load/virtio/frame.h"

namespace weir::load {

using Json = nlohmann::json;

namespace {

constexpr Mac kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

void require(bool condition, const std::string& message) {
    if (!condition)
        throw std::invalid_argument(message);
}

Mac parse_mac(const std::string& text) {
    std::array<unsigned, 6> parts{};
    const int found = std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &parts[0], &parts[1], &parts[2],
                                  &parts[3], &parts[4], &parts[5]);
    require(found == 6, "mac: found '" + text + "'; allowed: six hex bytes, e.g. 02:00:00:00:00:0a");
    Mac mac{};
    for (std::size_t i = 0; i < mac.size(); ++i)
        mac[i] = static_cast<std::uint8_t>(parts[i]);
    return mac;
}

PortSpec parse_port(const Json& object) {
    PortSpec port;
    port.path = object.at("path").get<std::string>();
    port.mac = parse_mac(object.at("mac").get<std::string>());
    port.server = object.value("server", port.server);
    port.queues = object.value("queues", port.queues);
    port.devargs = object.value("devargs", port.devargs);
    require(port.queues >= 1 && port.queues <= 16,
            "queues: found " + std::to_string(port.queues) + "; allowed 1..16");
    return port;
}

std::uint32_t parse_ip(const std::string& text) {
    std::array<unsigned, 4> parts{};
    char rest = 0;
    const int found =
        std::sscanf(text.c_str(), "%3u.%3u.%3u.%3u%c", &parts[0], &parts[1], &parts[2], &parts[3], &rest);
    std::uint32_t address = 0;
    bool bytes = true;
    for (const unsigned part : parts) {
        bytes = bytes && part <= 255;
        address = address << 8 | part;
    }
    require(found == 4 && bytes, "src_ip: found '" + text + "'; allowed: an IPv4 address, e.g. 10.0.0.1");
    return address;
}

/// Throws when the keys of the frame itself do not go together.
void check_frame(const StreamSpec& stream) {
    const std::string name = "stream " + stream.name + ": ";
    const std::string found = name + "size: found " + std::to_string(stream.size);
    require(stream.size >= 64 && stream.size <= 9000, found + "; allowed 64..9000");
    require(stream.extensions <= kExtensionsMax, name + "extensions: allowed 0..64");
    require(stream.extensions == 0 || (!stream.stamp && stream.flows == 1 && stream.src_ips == 1),
            name + "extensions: not with stamp, flows and src_ips, which are for IPv4");
    const unsigned least = extension_frame_bytes_least(stream);
    require(stream.extensions == 0 || stream.size >= least,
            found + "; its headers need " + std::to_string(least));
}

StreamSpec parse_stream(const Json& object, std::size_t ports) {
    StreamSpec stream;
    stream.from = object.at("from").get<std::size_t>();
    if (object.value("broadcast", false))
        stream.dst_mac = kBroadcast;
    else if (object.contains("dst_mac"))
        stream.dst_mac = parse_mac(object.at("dst_mac").get<std::string>());
    stream.to = stream.dst_mac ? stream.from : object.at("to").get<std::size_t>();
    stream.size = object.value("size", stream.size);
    stream.extensions = object.value("extensions", stream.extensions);
    if (object.contains("src_ip"))
        stream.src_ip = parse_ip(object.at("src_ip").get<std::string>());
    stream.src_ips = object.value("src_ips", stream.src_ips);
    stream.burst = object.value("burst", stream.burst);
    stream.whole_bursts = object.value("whole_bursts", stream.whole_bursts);
    stream.src_macs = object.value("src_macs", stream.src_macs);
    stream.dst_macs = object.value("dst_macs", stream.dst_macs);
    stream.flows = object.value("flows", stream.flows);
    stream.random = object.value("random", stream.random);
    stream.vlan = object.value("vlan", stream.vlan);
    stream.stamp = object.value("stamp", stream.stamp);
    stream.name = object.value("name", std::to_string(stream.from) + "->" + std::to_string(stream.to));
    if (object.contains("pps"))
        stream.pps = object.at("pps").get<double>();
    else if (object.contains("bps"))
        stream.pps = object.at("bps").get<double>() / (8.0 * stream.size);
    require(stream.from < ports && stream.to < ports,
            "stream " + stream.name + ": from and to are port indices");
    check_frame(stream);
    require(stream.burst >= 1 && stream.burst <= kBurstMax,
            "stream " + stream.name + ": burst allowed 1..64");
    require(stream.flows >= 1 && stream.flows <= 60'000,
            "stream " + stream.name + ": flows allowed 1..60000");
    require(stream.src_macs >= 1 && stream.dst_macs >= 1 && stream.src_ips >= 1,
            "stream " + stream.name + ": at least one MAC and one address");
    return stream;
}

}  // namespace

RunSpec parse_run(const Json& object, std::size_t ports) {
    RunSpec run;
    run.name = object.value("name", run.name);
    run.seconds = object.value("seconds", run.seconds);
    run.warmup = object.value("warmup", run.warmup);
    run.drain = object.value("drain", run.drain);
    run.series = object.value("series", run.series);
    if (object.contains("stop_on_rx"))
        run.stop_on_rx = object.at("stop_on_rx").get<std::size_t>();
    run.inspect = object.value("inspect", run.inspect);
    run.echo = object.value("echo", run.echo);
    run.unread = object.value("unread", run.unread);
    const Json wires = object.value("wire_bps", Json::object());
    for (const auto& [port, bps] : wires.items())
        run.wire_bps[std::stoul(port)] = bps.get<double>();
    for (const auto& stream : object.at("streams"))
        run.streams.push_back(parse_stream(stream, ports));
    require(run.seconds > 0 && run.seconds <= 3600, "seconds: allowed 0..3600");
    require(run.series == 0 || run.seconds / run.series <= 1e6, "series: at most a million points");
    require(run.streams.size() <= kStreamsMax, "streams: at most 32");
    return run;
}

LoadSpec parse_load(const Json& object) {
    LoadSpec spec;
    spec.eal = object.value("eal", spec.eal);
    for (const auto& port : object.at("ports"))
        spec.ports.push_back(parse_port(port));
    require(!spec.ports.empty() && spec.ports.size() <= kPortsMax, "ports: allowed 1..32");
    if (object.contains("runs"))
        for (const auto& run : object.at("runs"))
            spec.runs.push_back(parse_run(run, spec.ports.size()));
    return spec;
}

}  // namespace weir::load
