// attacks.h - the table of attacks: each one is a function that takes one bounded step.
// Source: vhost-user protocol; virtio 1.2 2.7, 2.8 and 5.1.6. Threads: one; races (race.h) start a second one
// and join it.
//
// A step takes at most some tens of milliseconds, independent of the switch, and draws all its choices from a
// generator that is seeded by the run's seed, the attack's name and the step's number: the 17th step of
// `indirect` with seed 3 is always the same.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "test/hostile/any_file.h"
#include "test/hostile/guest.h"
#include "test/hostile/lingering.h"

namespace weir::hostile {

/// SplitMix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15;
        mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9;
        mixed = (mixed ^ mixed >> 27) * 0x94D0'49BB'1331'11EB;
        return mixed ^ mixed >> 31;
    }
    /// 0 to `end` - 1.
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(next() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }
    template <typename T, std::size_t N>
    T pick(const T (&choices)[N]) {
        return choices[below(N)];
    }

  private:
    std::uint64_t state_;
};

/// One attack's run.
struct Scene {
    Scene(const Endpoint& where, Tally& tally, const Mac& own_mac, const Mac& peer_mac)
        : endpoint(where), guest(where, tally), own(own_mac), peer(peer_mac) {}

    const Endpoint& endpoint;
    Guest guest;
    Mac own;
    Mac peer;
    Random random{0};
    std::uint32_t number = 0;           ///< of the step
    std::vector<Frontend> connections;  ///< besides the guest's
    std::optional<Lingering> file;      ///< whose close() waits until the next one is made
    std::vector<AnyFile> files;         ///< other ends of files that were sent, which nothing reads

    /// Puts honest frames of 200 bytes into the transmit ring while there is room.
    void send_some(unsigned frames);
};

void pause(std::chrono::microseconds time = std::chrono::microseconds(500));

// descriptors.cc
void loop(Scene& scene);
void long_chain(Scene& scene);
void huge_chain(Scene& scene);
void outside(Scene& scene);
void crossing(Scene& scene);
void empty(Scene& scene);
void indirect(Scene& scene);
void random_descriptors(Scene& scene);
// rings.cc
void avail_index(Scene& scene);
void avail_entry(Scene& scene);
void used_ring(Scene& scene);
void ring_disabled(Scene& scene);
void ring_size(Scene& scene);
void ring_resized(Scene& scene);
void ring_unsized(Scene& scene);
void ring_address(Scene& scene);
void ring_base(Scene& scene);
void ring_full(Scene& scene);
void tiny_buffers(Scene& scene);
void packed_switch(Scene& scene);
// claims.cc
void claims_transmit(Scene& scene);
void claims_receive(Scene& scene);
void claims_raced(Scene& scene);
void packed_transmit(Scene& scene);
void packed_receive(Scene& scene);
void packed_raced(Scene& scene);
void event_index(Scene& scene);
// memory.cc
void regions_overlap(Scene& scene);
void regions_wrap(Scene& scene);
void region_truncated(Scene& scene);
void region_shrunk(Scene& scene);
void regions_many(Scene& scene);
void regions_replaced(Scene& scene);
// stalls.cc
void memory_punched(Scene& scene);
void memory_absent(Scene& scene);
void region_grown(Scene& scene);
void call_waiters(Scene& scene);
// walks.cc
void walk_transmit(Scene& scene);
void walk_receive(Scene& scene);
// messages.cc
void disorder(Scene& scene);
void noise(Scene& scene);
void half_message(Scene& scene);
void oversized(Scene& scene);
void wrong_files(Scene& scene);
void blocking_call(Scene& scene);
void blocking_close(Scene& scene);
void any_file(Scene& scene);
void renegotiated(Scene& scene);
void replies_unread(Scene& scene);
void inflight(Scene& scene);
void dirty_log(Scene& scene);
void postcopy(Scene& scene);
void connect_flood(Scene& scene);
void connect_silent(Scene& scene);
void connect_twice(Scene& scene);
// frames.cc
void offload_headers(Scene& scene);
void runts(Scene& scene);
void large_frames(Scene& scene);
void broadcasts(Scene& scene);
void small_frames(Scene& scene);
void small_segments(Scene& scene);
void broadcast_segments(Scene& scene);
// races.cc
void rewritten(Scene& scene);
void table_rewritten(Scene& scene);
void header_rewritten(Scene& scene);
void receive_headers(Scene& scene);

struct Attack {
    std::string_view name;
    std::string_view phrase;
    void (*step)(Scene& scene);
};

inline constexpr std::array kAttacks{
    Attack{"loop", "descriptors that point to themselves or back", loop},
    Attack{"long-chain", "chains of all descriptors of the ring, ended or not", long_chain},
    Attack{"huge-chain", "chains that describe up to 1 GiB of valid memory", huge_chain},
    Attack{"outside", "addresses and lengths outside of memory, sums that overflow", outside},
    Attack{"crossing", "buffers that cross the end of a region", crossing},
    Attack{"empty", "buffers of 0 to 14 bytes", empty},
    Attack{"indirect", "indirect tables: nested, odd, outside, with `next`, larger than the ring", indirect},
    Attack{"random-descriptors", "descriptors of random bits", random_descriptors},
    Attack{"avail-index", "an avail index that jumps forwards and backwards", avail_index},
    Attack{"avail-entry", "avail entries beyond the ring", avail_entry},
    Attack{"used-ring", "a used ring that the guest writes", used_ring},
    Attack{"ring-disabled", "rings that are disabled and enabled under traffic", ring_disabled},
    Attack{"ring-size", "ring sizes of 0, no power of two, above 32768", ring_size},
    Attack{"ring-resized", "a ring that changes its size under traffic, at the end of memory", ring_resized},
    Attack{"ring-unsized", "a ring that is stopped and started again without a size", ring_unsized},
    Attack{"ring-address", "rings outside of memory, misaligned, at its end, in one another", ring_address},
    Attack{"ring-base", "GET_VRING_BASE and SET_VRING_BASE under traffic", ring_base},
    Attack{"ring-full", "a receive ring without a buffer", ring_full},
    Attack{"tiny-buffers", "receive buffers of 1 byte", tiny_buffers},
    Attack{"packed-switch", "split rings that become packed ones, and back", packed_switch},
    Attack{"claims-transmit", "transmit rings of 1 to 256 entries that claim more than they have",
           claims_transmit},
    Attack{"claims-receive", "receive rings that claim more, with buffers of 0 bytes to 2 KiB",
           claims_receive},
    Attack{"claims-raced", "claims that change while the switch reads them", claims_raced},
    Attack{"packed-transmit", "packed transmit rings that are available in every round", packed_transmit},
    Attack{"packed-receive", "packed receive rings that are available in every round", packed_receive},
    Attack{"packed-raced", "packed rings whose flags change while the switch reads them", packed_raced},
    Attack{"walk-transmit", "transmit rings of 1,024 to 32,768 entries whose chains are long and empty",
           walk_transmit},
    Attack{"walk-receive", "receive rings of 1,024 to 32,768 entries whose chains are long and empty",
           walk_receive},
    Attack{"event-index", "event indices outside of the ring, with an interrupt after each", event_index},
    Attack{"regions-overlap", "regions of memory that overlap", regions_overlap},
    Attack{"regions-wrap", "regions whose addresses or offsets overflow", regions_wrap},
    Attack{"region-truncated", "a region's file that is shorter than the region", region_truncated},
    Attack{"region-shrunk", "a region's file that becomes shorter under traffic", region_shrunk},
    Attack{"region-grown", "a region's file that becomes longer under traffic, and shorter again",
           region_grown},
    Attack{"regions-many", "0 to 2^32 regions, with too many and too few files", regions_many},
    Attack{"regions-replaced", "new tables of regions under traffic", regions_replaced},
    Attack{"disorder", "every message in any order, with random payloads and files", disorder},
    Attack{"noise", "headers of random bits, unknown requests, wrong versions", noise},
    Attack{"half-message", "messages that end after some bytes", half_message},
    Attack{"oversized", "payloads longer than any message has", oversized},
    Attack{"wrong-files", "pipes, folders, sockets and no file where an eventfd or a memfd belongs",
           wrong_files},
    Attack{"blocking-call", "an interrupt's file whose write would wait", blocking_call},
    Attack{"call-waiters", "an interrupt's file for which 19,000 others wait", call_waiters},
    Attack{"blocking-close", "files whose close waits, in every message, read or left unread",
           blocking_close},
    Attack{"any-file", "files of every kind in every message, whose other ends are neither read nor closed",
           any_file},
    Attack{"renegotiated", "features that change under traffic", renegotiated},
    Attack{"replies-unread", "requests whose replies are not read", replies_unread},
    Attack{"inflight", "areas of requests in flight of every size, too small ones too", inflight},
    Attack{"dirty-log", "logs of dirty pages that are too small", dirty_log},
    Attack{"postcopy", "postcopy migration that does not go on", postcopy},
    Attack{"connect-flood", "connects that end at once, as fast as possible", connect_flood},
    Attack{"connect-silent", "connections that send nothing, many at a time", connect_silent},
    Attack{"connect-twice", "a second connection while the first one sends", connect_twice},
    Attack{"offload-headers", "frames with every wrong offload header", offload_headers},
    Attack{"runts", "frames of 0 to 60 bytes", runts},
    Attack{"large-frames", "frames of up to 65,535 bytes without segmentation", large_frames},
    Attack{"broadcasts", "a flood of broadcasts", broadcasts},
    Attack{"small-frames", "a flood of 60-byte frames", small_frames},
    Attack{"small-segments", "the largest frames in the smallest segments", small_segments},
    Attack{"broadcast-segments", "the largest frames in segments, to all", broadcast_segments},
    Attack{"rewritten", "descriptors that change while the switch reads them", rewritten},
    Attack{"table-rewritten", "indirect tables that change while the switch reads them", table_rewritten},
    Attack{"header-rewritten", "offload headers that change while the switch reads them", header_rewritten},
    Attack{"receive-headers", "headers of receive buffers that change while the switch writes them",
           receive_headers},
    Attack{"memory-punched", "memory that is punched out of its file under traffic", memory_punched},
    Attack{"memory-absent", "frames in huge pages that are absent each time", memory_absent},
};

/// The attack's family in reports: "rings", "files".
/// @param attack of kAttacks
[[nodiscard]] std::string_view family_of(const Attack& attack);
/// Whether the switch bars a socket from which this attack came, for a minute or longer: nothing that uses
/// the socket afterwards shows anything.
[[nodiscard]] inline bool barred(const Attack& attack) {
    return family_of(attack) == "barred";
}

/// Makes `scene` ready for step `number` and takes it.
void take_step(const Attack& attack, Scene& scene, std::uint64_t seed, std::uint32_t number);

}  // namespace weir::hostile
