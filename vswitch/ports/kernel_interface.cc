// kernel_interface.cc - one question and one answer of RTM_GETLINK.
#include "vswitch/ports/kernel_interface.h"

#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace weir {
namespace {

bool has_driver(const std::string& device, std::string_view driver) {
    return device.starts_with(driver);
}

constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO;
}

struct Question {
    nlmsghdr header;
    ifinfomsg link;
    rtattr attribute;
    std::array<char, IFNAMSIZ> name;
};

Question ask_for(const std::string& name) {
    Question question{};
    question.header.nlmsg_len = sizeof(question);
    question.header.nlmsg_type = RTM_GETLINK;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.attribute.rta_type = IFLA_IFNAME;
    question.attribute.rta_len = static_cast<unsigned short>(sizeof(rtattr) + question.name.size());
    std::ranges::copy(name, question.name.begin());
    return question;
}

template <typename T>
bool read_at(std::span<const std::byte> bytes, std::size_t at, T& value) {
    if (at + sizeof(T) > bytes.size())
        return false;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return true;
}

/// Times that the carrier was lost, in the attributes behind the link; 0 when a kernel does not count.
unsigned losses_in(std::span<const std::byte> answer) {
    std::size_t at = aligned(sizeof(nlmsghdr)) + aligned(sizeof(ifinfomsg));
    for (rtattr attribute{}; read_at(answer, at, attribute) && attribute.rta_len >= sizeof(attribute);
         at += aligned(attribute.rta_len)) {
        unsigned losses = 0;
        if (attribute.rta_type == IFLA_CARRIER_DOWN_COUNT && read_at(answer, at + sizeof(attribute), losses))
            return losses;
    }
    return 0;
}

std::optional<KernelLink> read_answer(std::span<const std::byte> answer) {
    nlmsghdr header{};
    nlmsgerr error{};
    ifinfomsg link{};
    if (!read_at(answer, 0, header))
        return std::nullopt;
    if (header.nlmsg_type == NLMSG_ERROR)
        return read_at(answer, aligned(sizeof(header)), error.error) && error.error == -ENODEV
                   ? std::optional(KernelLink{})
                   : std::nullopt;
    if (header.nlmsg_type != RTM_NEWLINK || !read_at(answer, aligned(sizeof(header)), link))
        return std::nullopt;
    const bool enabled = (link.ifi_flags & IFF_UP) != 0;
    return KernelLink{.index = static_cast<unsigned>(link.ifi_index),
                      .losses = losses_in(answer),
                      .enabled = enabled,
                      .running = enabled && (link.ifi_flags & IFF_RUNNING) != 0};
}

}  // namespace

std::string kernel_interface_of(const std::string& device) {
    constexpr std::array<std::string_view, 4> kDrivers{"net_af_packet", "net_af_xdp", "net_pcap", "net_tap"};
    constexpr std::string_view kKey = ",iface=";
    const std::size_t at = device.find(kKey);
    if (at == std::string::npos ||
        std::ranges::none_of(kDrivers, [&](std::string_view driver) { return has_driver(device, driver); }))
        return {};
    const std::size_t begin = at + kKey.size();
    return device.substr(begin, device.find(',', begin) - begin);
}

bool makes_kernel_interface(const std::string& device) {
    return has_driver(device, "net_tap");
}

bool keeps_old_frames(const std::string& device) {
    return has_driver(device, "net_af_packet") || has_driver(device, "net_pcap");
}

std::string KernelLink::fault(const std::string& name) const {
    if (index == 0)
        return "there is no interface " + name + "; make it, and the device is opened again";
    if (!enabled)
        return "interface " + name + " is down; ip link set " + name + " up";
    if (!running)
        return "interface " + name + " has no carrier; set its other end up";
    return {};
}

std::optional<KernelLink> read_kernel_link(const std::string& name) {
    constexpr std::size_t kAnswerBytes = 16'384;
    if (name.empty() || name.size() >= IFNAMSIZ)
        return KernelLink{};
    const int descriptor = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0)
        return std::nullopt;
    const Question question = ask_for(name);
    std::array<std::byte, kAnswerBytes> answer;
    ssize_t bytes = ::send(descriptor, &question, sizeof(question), MSG_DONTWAIT);
    if (bytes > 0)  // the kernel has answered before send() returns
        bytes = ::recv(descriptor, answer.data(), answer.size(), MSG_DONTWAIT);
    ::close(descriptor);
    return bytes > 0 ? read_answer(std::span(answer).first(static_cast<std::size_t>(bytes))) : std::nullopt;
}

}  // namespace weir
