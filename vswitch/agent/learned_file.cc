// learned_file.cc - LearnedFile: JSON in a file that is replaced as a whole.
#include "vswitch/agent/learned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "vswitch/base/limits.h"

namespace weir {
namespace {

using nlohmann::json;
using From = LearnedAddress::From;

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kAddressesMax = std::tuple_size_v<LearnedAddresses>;
constexpr std::array kFromWords{Word<From>{"dhcp", From::kDhcp}, Word<From>{"dhcpv6", From::kDhcp6},
                                Word<From>{"router", From::kRouter}};

/// Differs after each boot of the machine; empty where the kernel does not say.
std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id;
}

/// A file that is open, or -1.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

std::string failed(const char* what) {
    return std::string(what) + ": " + std::strerror(errno);
}

/// @return why this user may not be the one that has written it; empty: it is
std::string distrust(const struct stat& state) {
    if (!S_ISREG(state.st_mode))
        return "it is no regular file";
    if (state.st_uid != ::geteuid())
        return "it belongs to user " + std::to_string(state.st_uid) + ", not to " +
               std::to_string(::geteuid());
    if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users may write to it";
    if (static_cast<std::size_t>(state.st_size) > LearnedFile::kBytesMax)
        return "it has " + std::to_string(state.st_size) + " bytes, more than " +
               std::to_string(LearnedFile::kBytesMax);
    return {};
}

/// @return whether the whole text was read
bool read_all(int file, std::string& text) {
    std::array<char, 4096> piece{};
    while (text.size() <= LearnedFile::kBytesMax) {
        const ssize_t bytes = ::read(file, piece.data(), piece.size());
        if (bytes == 0)
            return true;
        if (bytes < 0 && errno != EINTR)
            return false;
        text.append(piece.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    }
    return false;
}

LearnedAddress read_address(ObjectReader& reader) {
    LearnedAddress learned;
    std::string text;
    std::optional<Nanos> until;
    reader.read_word("from", learned.from, std::span<const Word<From>>(kFromWords));
    reader.read_text("address", text);
    const bool has_end = reader.has("until_ns");
    reader.read_optional("until_ns", until, {0, kNever - 1});
    const std::optional<IpAddress> address = IpAddress::parse(text);
    if (learned.from == From::kNone || !has_end)
        reader.fault(learned.from == From::kNone ? "from" : "until_ns", "as the switch writes it", "missing");
    else if (!address || !address->is_host() || address->v6 == (learned.from == From::kDhcp))
        reader.fault("address", "an address of a host, IPv4 from dhcp alone", "not such an address");
    else
        learned.address = *address;
    learned.until = until.value_or(kNever);
    return learned;
}

LearnedVnic read_vnic(ObjectReader& reader, Faults& faults) {
    LearnedVnic vnic;
    std::string mac;
    read_name(reader, "name", vnic.name);
    reader.read_text("port", vnic.port);
    reader.read_text("mac", mac);
    reader.read_integer("vlan", vnic.vlan, {0, 4094});
    if (const auto parsed = MacAddress::parse(mac))
        vnic.mac = parsed->bits;
    else
        reader.fault("mac", "a MAC address", "not a MAC address");
    read_objects(reader, "addresses", kAddressesMax, faults, [&](ObjectReader& each, const std::string&) {
        vnic.addresses.push_back(read_address(each));
    });
    return vnic;
}

std::vector<LearnedVnic> read_document(const json& value, Faults& faults) {
    std::vector<LearnedVnic> vnics;
    ObjectReader root(value, "", faults);
    if (!value.is_object())
        return vnics;
    std::uint64_t version = 0;
    std::string boot;
    root.read_integer("weir_learned", version, {kVersion, kVersion});
    root.read_text("boot", boot);
    if (version != kVersion)
        root.fault("weir_learned", std::to_string(kVersion), "not a file of this version");
    else if (boot != boot_id())
        root.fault("boot", boot_id(), "of another boot of this machine, or of another machine");
    read_objects(root, "vnics", LearnedFile::kVnicsMax, faults,
                 [&](ObjectReader& each, const std::string&) { vnics.push_back(read_vnic(each, faults)); });
    root.finish();
    return vnics;
}

json vnic_json(const LearnedVnic& vnic) {
    json addresses = json::array();
    for (const LearnedAddress& each : vnic.addresses)
        for (const Word<From>& word : kFromWords)
            if (word.value == each.from)
                addresses.push_back({{"from", word.text},
                                     {"address", each.address.to_string()},
                                     {"until_ns", each.until == kNever ? json(nullptr) : json(each.until)}});
    return {{"name", vnic.name},
            {"port", vnic.port},
            {"mac", MacAddress{vnic.mac}.to_string()},
            {"vlan", vnic.vlan},
            {"addresses", std::move(addresses)}};
}

bool write_all(int file, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t bytes = ::write(file, text.data() + at, text.size() - at);
        if (bytes < 0 && errno != EINTR)
            return false;
        at += bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
    }
    return true;
}

}  // namespace

LearnedVnic LearnedVnic::of(const VnicConfig& vnic) {
    return {.name = vnic.name,
            .port = vnic.device.empty() ? vnic.socket : vnic.device,
            .mac = vnic.mac ? vnic.mac->bits : 0,
            .vlan = vnic.vlan};
}

bool LearnedVnic::same_vnic(const LearnedVnic& other) const {
    return name == other.name && port == other.port && mac == other.mac && vlan == other.vlan;
}

Nanos time_since_boot() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<Nanos>(now.tv_sec) * kNanosPerSec + static_cast<Nanos>(now.tv_nsec);
}

std::variant<std::vector<LearnedVnic>, std::string> LearnedFile::read() const {
    // A pipe in its place must not stop the start, nor a link lead elsewhere.
    const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.number() < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? std::variant<std::vector<LearnedVnic>, std::string>(std::vector<LearnedVnic>{})
                   : failed("it cannot be opened");
    struct stat state {};
    if (::fstat(file.number(), &state) != 0)
        return failed("its owner cannot be read");
    if (std::string reason = distrust(state); !reason.empty())
        return reason;
    std::string text;
    if (!read_all(file.number(), text))
        return failed("it cannot be read");
    auto parsed = parse_document<std::vector<LearnedVnic>>(text, read_document);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        return faults->front().to_line();
    return std::get<std::vector<LearnedVnic>>(std::move(parsed));
}

std::string LearnedFile::write(const std::vector<LearnedVnic>& vnics) const {
    if (vnics.empty())
        return ::unlink(path_.c_str()) == 0 || errno == ENOENT ? "" : failed("it cannot be removed");
    json list = json::array();
    for (const LearnedVnic& vnic : vnics)
        if (list.size() < kVnicsMax)
            list.push_back(vnic_json(vnic));
    const std::string text =
        json{{"weir_learned", kVersion}, {"boot", boot_id()}, {"vnics", std::move(list)}}.dump() + '\n';
    if (text.size() > kBytesMax)
        return "it would have more than " + std::to_string(kBytesMax) + " bytes";
    const std::string fresh = path_ + ".new";
    ::unlink(fresh.c_str());
    constexpr mode_t kOwnerOnly = 0600;
    const Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
    if (file.number() < 0)
        return failed("it cannot be written");
    if (write_all(file.number(), text) && ::rename(fresh.c_str(), path_.c_str()) == 0)
        return {};
    std::string reason = failed("it cannot be written");
    ::unlink(fresh.c_str());
    return reason;
}

}  // namespace weir
