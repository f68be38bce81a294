// silent_rings.h - vNICs whose VMs have sent nothing for long: one word of each ring is looked at, and a ring
// is polled again when it changes. Source: docs/algorithms.md 3.14. Units: polls. Threads: owning worker.
//
// A vNIC without a VM has no word at all. The words are in guests' memory, which is unmapped only when the
// worker has passed a checkpoint: wake_all() comes first in a turn in which Quiescence::changes() is another.
//
// Example: of 128 vNICs two send, 30 have silent VMs and 96 none. A turn polls two rings and reads 30 words.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "vswitch/base/limits.h"
#include "vswitch/datapath/vnic/vnic_path.h"
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
        const std::optional<std::size_t> count = vnic.fixed.port->watch(words);
        if (!count)
            return false;
        for (std::size_t i = 0; i < *count; ++i)
            words_.push_back({words[i], &vnic});
        vnics_.push_back(&vnic);
        vnic.silent = true;
        return true;
    }
    /// Calls wake(vnic) for each vNIC of which a word has changed. A call looks at kLooks words, the next one
    /// at those behind.
    template <class Wake>
    void sweep(Wake&& wake) {
        const std::size_t looks = std::min(kLooks, words_.size());
        for (std::size_t i = 0; i < looks; ++i) {
            next_ = next_ < words_.size() ? next_ : 0;
            const Word& word = words_[next_++];
            if (word.watch.changed()) [[unlikely]] {
                VnicPath& vnic = *word.vnic;
                remove(vnic);
                wake(vnic);
                break;
            }
        }
    }
    template <class Wake>
    void wake_all(Wake&& wake) {
        for (VnicPath* vnic : vnics_) {
            vnic->silent = false;
            wake(*vnic);
        }
        vnics_.clear();
        words_.clear();
    }
    /// @return whether it was silent
    bool remove(VnicPath& vnic) {
        if (!vnic.silent)
            return false;
        vnic.silent = false;
        std::erase(vnics_, &vnic);
        std::erase_if(words_, [&vnic](const Word& word) { return word.vnic == &vnic; });
        return true;
    }

  private:
    struct Word {
        virtio::RingWatch watch;
        VnicPath* vnic;
    };
    static constexpr std::size_t kLooks = 64;

    std::vector<VnicPath*> vnics_;
    std::vector<Word> words_;
    std::size_t next_ = 0;
};

}  // namespace weir
