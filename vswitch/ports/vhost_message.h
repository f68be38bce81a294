// vhost_message.h - one vhost-user message, and the check that it passes before the vhost library believes
// it. Source: vhost-user protocol; virtio 1.2 2.7; DPDK vhost library guide. Units: bytes. Threads: one per
// connection.
//
// The library (22.11) trusts a front-end in more than one place: it dereferences a ring that was stopped and
// started without a size, reads beyond a ring that grew while it ran, maps files that are shorter than
// stated, writes interrupts to any file, and loses file descriptors of messages that it refuses. A front-end
// is a process beside the guest, and a guest that has escaped speaks through it. So a message that no
// front-end needs, or that comes at a wrong moment, ends the connection here. A ring's life:
//
//   stopped -- NUM --> sized -- ADDR --> placed -- KICK --> started -- GET_VRING_BASE --> stopped
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// A file descriptor that is closed at the end of its scope.
class FileHandle {
  public:
    explicit FileHandle(int number = -1) : number_(number) {}
    ~FileHandle() { reset(); }
    FileHandle(FileHandle&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    FileHandle& operator=(FileHandle&& other) noexcept;

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
    void reset();

  private:
    int number_;
};

struct VhostMessage {
    static constexpr std::size_t kHeaderBytes = 12;  ///< request, flags, payload's bytes: 32 bits each
    static constexpr std::size_t kRegionsMax = 8;
    static constexpr std::size_t kRegionBytes = 32;
    /// Of the largest that is let through: a full table of regions.
    static constexpr std::size_t kPayloadMax = 8 + kRegionsMax * kRegionBytes;

    std::array<std::uint8_t, kHeaderBytes + kPayloadMax> bytes{};
    std::size_t received = 0;  ///< of `bytes`, so far
    std::vector<FileHandle> files;

    [[nodiscard]] std::uint32_t word(std::size_t at) const;
    [[nodiscard]] std::uint32_t request() const { return word(0); }
    [[nodiscard]] std::uint32_t flags() const { return word(4); }
    [[nodiscard]] std::uint32_t payload_bytes() const { return word(8); }
    /// A 64-bit number of the payload.
    [[nodiscard]] std::uint64_t number(std::size_t at) const;
    /// Bytes of the whole message, as far as they are known.
    [[nodiscard]] std::size_t expected() const {
        return received < kHeaderBytes ? kHeaderBytes : kHeaderBytes + payload_bytes();
    }
};

/// The rules of one connection: what a message may be depends on those before it.
class VhostMessageCheck {
  public:
    /// @return why the connection must end; nullptr = the message may go to the library
    [[nodiscard]] const char* refusal(const VhostMessage& message);

  private:
    enum class Life : std::uint8_t { kStopped, kSized, kPlaced, kStarted };
    struct Ring {
        Life life = Life::kStopped;
        bool has_base = false;
        std::uint16_t base = 0;
        std::uint32_t size = 0;
    };
    static constexpr std::size_t kRingsMax = 256;

    [[nodiscard]] const char* shape(const VhostMessage& message) const;
    [[nodiscard]] const char* features(std::uint64_t bits);
    [[nodiscard]] const char* size(Ring& ring, std::uint32_t entries) const;
    [[nodiscard]] const char* address(Ring& ring, const VhostMessage& message) const;
    [[nodiscard]] const char* base(Ring& ring, std::uint32_t index) const;
    [[nodiscard]] const char* start(Ring& ring) const;
    [[nodiscard]] bool is_packed() const;

    std::uint64_t features_ = 0;
    std::array<Ring, kRingsMax> rings_{};
};

}  // namespace weir
