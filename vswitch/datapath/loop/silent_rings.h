// silent_rings.h - vNICs whose VMs have sent nothing for long: one word of each ring is looked at, and a ring
// is polled again when it changes. Source: docs/algorithms.md 3.14. Units: polls. Threads: owning worker.
//
// A vNIC without a VM has no word at all. The words are in guests' memory, which is unmapped only when the
// worker has passed a checkpoint: wake_changed() comes first in a turn in which Quiescence::changes() is
// another. A guest that changes its rings all the time ends no other's silence.
//
// Example: of 128 vNICs two send, 30 have silent VMs and 96 none. A turn polls two rings and reads 30 words.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "vswitch/base/limits.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/ports/guest_access.h"
#include "vswitch/ports/port.h"

namespace weir {

class SilentRings {
  public:
    /// A ring is silent after so many polls without a frame: 0.1 ms of an idle worker, 4 ms of a busy one.
    static constexpr std::uint16_t kAfterPolls = 1024;

    SilentRings() {
        vnics_.reserve(limits::kVnicsMax);
        words_.reserve(limits::kVnicsMax);
    }
    /// @return false when the port has to be polled: there is a frame, or the port cannot say
    [[nodiscard]] bool add(VnicPath& vnic) {
        std::array<virtio::RingWatch, limits::kQueuesMax> words;
        const std::uint32_t epoch = vnic.fixed.port->epoch();
        const std::optional<std::size_t> count = vnic.fixed.port->watch(words);
        if (!count)
            return false;
        for (std::size_t i = 0; i < *count; ++i)
            words_.push_back({words[i], &vnic, vnic.fixed.port});
        vnics_.push_back({&vnic, epoch});
        vnic.silent = true;
        return true;
    }
    /// Calls wake(vnic) for each vNIC of which a word has changed. A call looks at kLooks words, the next one
    /// at those behind.
    template <class Wake>
    void sweep(GuestAccess& access, Wake&& wake) {
        bool woken = false;
        for (std::size_t looks = std::min(kLooks, words_.size()); looks != 0; --looks) {
            next_ = next_ < words_.size() ? next_ : 0;
            const Word& word = words_[next_++];
            access.enter(*word.port);
            if (!word.watch.changed() || !word.vnic->silent) [[likely]]
                continue;
            word.vnic->silent = false;
            wake(*word.vnic);
            woken = true;
        }
        access.leave();
        if (woken) [[unlikely]]
            forget_woken();
    }
    /// Calls wake(vnic) for each vNIC whose port is at another epoch: its words are void.
    template <class Wake>
    void wake_changed(Wake&& wake) {
        bool woken = false;
        for (const Silent& silent : vnics_) {
            if (silent.vnic->fixed.port->epoch() == silent.epoch)
                continue;
            silent.vnic->silent = false;
            wake(*silent.vnic);
            woken = true;
        }
        if (woken)
            forget_woken();
    }
    /// @return whether it was silent
    bool remove(VnicPath& vnic) {
        if (!vnic.silent)
            return false;
        vnic.silent = false;
        forget_woken();
        return true;
    }

  private:
    struct Word {
        virtio::RingWatch watch;
        VnicPath* vnic;
        const Port* port;  ///< of the vNIC, whose own line is not looked at
    };
    struct Silent {
        VnicPath* vnic;
        std::uint32_t epoch;  ///< of its port
    };
    static constexpr std::size_t kLooks = 64;

    /// One pass for any number of vNICs. The next sweep begins at the word that it would have begun at.
    [[gnu::noinline]] void forget_woken() {
        const auto awake = [](const Word& word) { return !word.vnic->silent; };
        const auto at = words_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, words_.size()));
        next_ -= static_cast<std::size_t>(std::count_if(words_.begin(), at, awake));
        std::erase_if(words_, awake);
        std::erase_if(vnics_, [](const Silent& silent) { return !silent.vnic->silent; });
    }

    std::vector<Silent> vnics_;
    std::vector<Word> words_;
    std::size_t next_ = 0;
};

}  // namespace weir
