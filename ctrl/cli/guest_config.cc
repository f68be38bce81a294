// guest_config.cc - the same facts in two languages.
#include "ctrl/cli/guest_config.h"

#include <algorithm>

#include "ctrl/cli/failure.h"
#include "ctrl/cli/json_access.h"

namespace weir::cli {
namespace {

// What both languages need to know of a vNIC.
struct GuestPort {
    std::string name;
    std::string socket;
    std::string mac;  // empty: the guest's choice
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
                        "this vNIC is a DPDK device; a guest cannot be plugged into it");
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

}  // namespace

std::vector<std::string> qemu_arguments(const json& vnic, const GuestOptions& options) {
    const GuestPort port = port_of(vnic);
    const std::string id = "weir-" + port.name;
    // The side that listens survives the other's restart; a QEMU that connects must try again by itself.
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

}  // namespace weir::cli
