// guest.cc - weirctl qemu-args and libvirt-xml: the guest's side of a vNIC for QEMU and for libvirt.
// Source: virtio 1.2 5.1
//
// Both need memory that the switch can map (share=on), the vNIC's socket in the opposite role (the switch
// connects where QEMU listens), two vectors per queue pair and two more (configuration, control), and rings
// of 1024 descriptors, the most that QEMU allows for vhost-user.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"
#include "vswitch/config/config.h"

namespace weir::cli {
namespace {

struct GuestPort {
    std::string name;
    std::string socket;
    std::string mac;  // empty: the guest chooses
    bool switch_listens;
    unsigned queues;
    unsigned mtu;
    bool packed;
    bool mergeable;
};

unsigned whole_or(const json& vnic, const char* pointer, unsigned fallback) {
    const json& value = at(vnic, pointer);
    return value.is_number_unsigned() ? value.get<unsigned>() : fallback;
}

GuestPort port_of(const json& vnic) {
    GuestPort port{.name = text_at(vnic, "/name"),
                   .socket = text_at(vnic, "/socket"),
                   .mac = text_at(vnic, "/mac"),
                   .switch_listens = text_at(vnic, "/mode") == "server",
                   .queues = std::max(1U, whole_or(vnic, "/queues", 1)),
                   .mtu = whole_or(vnic, "/mtu", 1500),
                   .packed = at(vnic, "/packed") != false,
                   .mergeable = at(vnic, "/mergeable") != false};
    if (port.socket == "-")
        throw bad_input("NAME", port.name, "a vNIC with a socket",
                        "this vNIC is a DPDK device, to which no guest can connect");
    if (port.mac == "-")
        port.mac.clear();
    return port;
}

std::string replaced(const std::string& text, char what, const char* by) {
    std::string out;
    for (const char c : text)
        c == what ? out.append(by) : out.append(1, c);
    return out;
}

std::string shell_quoted(const std::string& text) {
    const auto plain = [](char c) {
        const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        return alnum || std::string_view("-_./=,:+%@").find(c) != std::string_view::npos;
    };
    if (std::all_of(text.begin(), text.end(), plain))
        return text;
    return '\'' + replaced(text, '\'', "'\\''") + '\'';
}

std::string xml_escaped(const std::string& text) {
    return replaced(replaced(replaced(text, '&', "&amp;"), '<', "&lt;"), '\'', "&apos;");
}

/// A vNIC by name, and the place of its description.
struct VnicSource {
    std::string name;
    std::string config;  // a switch's file; empty: the running switch
};

std::shared_ptr<VnicSource> add_source(CLI::App& command) {
    auto source = std::make_shared<VnicSource>();
    command.add_option("NAME", source->name, "the vNIC")->required();
    command
        .add_option("--config", source->config,
                    "read the vNIC from this configuration of a switch instead of the running switch")
        ->type_name("FILE");
    return source;
}

json vnic_of(const Session& session, const VnicSource& source) {
    if (source.config.empty())
        return session.ask("vnic.show", {{"name", source.name}});
    const std::vector<VnicConfig> vnics = value_or_throw(load_config(source.config)).vnics;
    const auto it =
        std::find_if(vnics.begin(), vnics.end(), [&](const VnicConfig& v) { return v.name == source.name; });
    if (it == vnics.end())
        throw bad_input("NAME", source.name, "a vNIC of " + source.config, "there is no vNIC of this name");
    return vnic_to_json(*it);
}

}  // namespace

std::vector<std::string> qemu_arguments(const json& vnic, const GuestOptions& options) {
    const GuestPort port = port_of(vnic);
    const std::string id = "weir-" + port.name;
    // The side that listens survives a restart of the other; a QEMU that connects has to retry by itself.
    const std::string role = port.switch_listens ? ",reconnect=1" : ",server=on,wait=off";
    std::string device = "virtio-net-pci,netdev=" + id + (port.mac.empty() ? "" : ",mac=" + port.mac);
    if (port.queues > 1)
        device += ",mq=on";
    device += options.tcg ? ",vectors=0,romfile=" : ",vectors=" + std::to_string(2 * port.queues + 2);
    device += ",rx_queue_size=1024,tx_queue_size=1024";
    device += port.packed ? ",packed=on" : "";
    device += port.mergeable ? "" : ",mrg_rxbuf=off";
    device += ",host_mtu=" + std::to_string(port.mtu);
    const std::string chardev = "socket,id=" + id + "-chr,path=" + replaced(port.socket, ',', ",,") + role;
    const std::string netdev =
        "vhost-user,id=" + id + ",chardev=" + id + "-chr,queues=" + std::to_string(port.queues);
    return {
        "-m " + shell_quoted(options.memory),
        "-object " + shell_quoted("memory-backend-memfd,id=weir-mem,size=" + options.memory + ",share=on"),
        "-numa node,memdev=weir-mem",
        "-chardev " + shell_quoted(chardev),
        "-netdev " + shell_quoted(netdev),
        "-device " + shell_quoted(device)};
}

std::string libvirt_xml(const json& vnic) {
    const GuestPort port = port_of(vnic);
    const std::string source = "<source type='unix' path='" + xml_escaped(port.socket) + "' mode='";
    std::string xml =
        "<!-- in <domain>, once: the switch maps the guest's memory -->\n"
        "<memoryBacking>\n"
        "  <source type='memfd'/>\n"
        "  <access mode='shared'/>\n"
        "</memoryBacking>\n"
        "<!-- in <devices> -->\n"
        "<interface type='vhostuser'>\n";
    if (!port.mac.empty())
        xml += "  <mac address='" + xml_escaped(port.mac) + "'/>\n";
    if (port.switch_listens)
        xml += "  " + source + "client'>\n    <reconnect enabled='yes' timeout='1'/>\n  </source>\n";
    else
        xml += "  " + source + "server'/>\n";
    xml += "  <model type='virtio'/>\n  <driver queues='" + std::to_string(port.queues) +
           "' rx_queue_size='1024' tx_queue_size='1024'" + (port.packed ? " packed='on'" : "");
    xml += port.mergeable ? "/>\n" : ">\n    <host mrg_rxbuf='off'/>\n  </driver>\n";
    return xml + "  <mtu size='" + std::to_string(port.mtu) + "'/>\n</interface>\n";
}

void add_qemu_args(CLI::App& command, Session& session) {
    const auto source = add_source(command);
    auto options = std::make_shared<GuestOptions>();
    command.add_option("--memory", options->memory, "memory of the guest, in QEMU's notation")
        ->type_name("SIZE")
        ->capture_default_str();
    command.add_flag("--tcg", options->tcg, "for software emulation, on hosts without KVM");
    command.footer(
        "Example:\n"
        "  eval qemu-system-x86_64 -enable-kvm -cpu host \"$(weirctl qemu-args vm1 --memory 2G)\" "
        "disk.qcow2");
    command.callback([&session, source, options] {
        const std::vector<std::string> arguments = qemu_arguments(vnic_of(session, *source), *options);
        std::string text;
        for (const std::string& argument : arguments)
            text += (text.empty() ? "" : " \\\n") + argument;
        session.print({{"arguments", arguments}}, text + '\n');
    });
}

void add_libvirt_xml(CLI::App& command, Session& session) {
    const auto source = add_source(command);
    command.footer("Example:\n  weirctl libvirt-xml vm1 --config /etc/weir/switch.jsonc");
    command.callback([&session, source] {
        const std::string xml = libvirt_xml(vnic_of(session, *source));
        session.print({{"xml", xml}}, xml);
    });
}

}  // namespace weir::cli
