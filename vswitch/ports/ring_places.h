// ring_places.h - the places of a vNIC's packed rings, in memory that outlives the switch.
// Source: docs/algorithms.md 3.18. Threads: made and found by vhost's control thread; notes by the workers.
//
// The file lies in a tmpfs, where no page waits for a disk: <control_socket>.rings/<vNIC>. Where it cannot be
// there, places outlive connections and not the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vswitch/base/limits.h"
#include "vswitch/ports/virtio/packed_place.h"

namespace weir {

class RingPlaces {
  public:
    /// Opens or makes the file. @param path empty: places do not outlive the process
    /// @param rings of the vNIC, 2 to 2 * limits::kQueuesMax
    RingPlaces(const std::string& path, std::size_t rings);
    ~RingPlaces();
    RingPlaces(const RingPlaces&) = delete;
    RingPlaces& operator=(const RingPlaces&) = delete;

    /// @param ring of vhost-user, below `rings`
    [[nodiscard]] virtio::PackedPlace& of(std::uint16_t ring) { return places()[ring]; }
    /// Why places do not outlive the process, with the remedy; empty: they do.
    [[nodiscard]] const std::string& fault() const { return fault_; }

  private:
    /// The file begins with it; the places follow.
    struct alignas(64) Head {
        std::uint64_t magic;
        std::uint64_t place_bytes;
    };
    static constexpr std::uint64_t kMagic = 0x3153'474E'4952'5257;  // "WRRINGS1"

    /// @return false with the reason in errno
    bool map(const std::string& path);
    [[nodiscard]] virtio::PackedPlace* places() { return reinterpret_cast<virtio::PackedPlace*>(head_ + 1); }

    std::size_t bytes_;
    Head* head_ = nullptr;
    std::string fault_;
};

/// The file of a vNIC's places, beside the switch's command socket.
[[nodiscard]] std::string ring_places_file(const std::string& control_socket, const std::string& vnic);

}  // namespace weir
