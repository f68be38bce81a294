// vhost_migration_test.cc - live migration: the log has each page that the switch wrote, and the guest is
// announced where it arrives. Source: vhost-user protocol (migration, VHOST_USER_SEND_RARP). Units: pages of
// 4 KiB.
#include <sys/mman.h>

#include <set>

#include "test/hostile/attacks.h"
#include "test/support/catch.h"
#include "test/vswitch/ports/vhost_switch.h"

using namespace weir;
using namespace weir::testing;

namespace {

using hostile::Guest;
using hostile::vm_mac;

constexpr std::uint64_t kLoggedPageBytes = 4096;
constexpr std::uint64_t kLogBytes = 4096;  // one bit for each page of 128 MiB
constexpr std::uint32_t kLogsUsedRing = 1;

/// A log of dirty pages that the switch writes.
class DirtyLog {
  public:
    DirtyLog()
        : file_(hostile::File::memory(kLogBytes)),
          bits_(static_cast<std::uint8_t*>(
              mmap(nullptr, kLogBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0))) {
        REQUIRE(bits_ != MAP_FAILED);
    }
    ~DirtyLog() { munmap(bits_, kLogBytes); }
    DirtyLog(const DirtyLog&) = delete;
    DirtyLog& operator=(const DirtyLog&) = delete;

    [[nodiscard]] int file() const { return file_.number(); }
    [[nodiscard]] std::set<std::uint64_t> pages() const {
        std::set<std::uint64_t> found;
        for (std::uint64_t page = 0; page < kLogBytes * 8; ++page)
            if ((bits_[page / 8] >> page % 8 & 1) != 0)
                found.insert(page);
        return found;
    }

  private:
    hostile::File file_;
    std::uint8_t* bits_;
};

/// Sends QEMU's messages at the begin of a migration: the rings go on meanwhile.
void begin_migration(Guest& guest, const DirtyLog& log) {
    CHECK(guest.frontend.send(hostile::kSetLogBase, hostile::LogArea{kLogBytes, 0}, {log.file()}));
    CHECK(guest.frontend.send(hostile::kSetFeatures, guest.features() | hostile::mask(hostile::kLogAll)));
    for (const std::uint32_t number : {Guest::kReceive, Guest::kTransmit}) {
        hostile::RingAddress address = guest.ring(number).addresses(number);
        address.flags = kLogsUsedRing;
        address.log =
            address.used - hostile::GuestMemory::kUserBase;  // of a packed ring the device's event area
        CHECK(guest.frontend.send(hostile::kSetVringAddr, address));
    }
    CHECK(until([&] { return guest.frontend.ask(hostile::kGetFeatures).has_value(); }));
}

}  // namespace

TEST_CASE("a guest that migrates finds each page that the switch wrote in its log, and no other") {
    constexpr unsigned kFrames = 5;
    VhostSwitch& where = attacked_switch();
    where.start();
    for (const bool packed : {false, true}) {
        const std::uint64_t features = Guest::kWanted | (packed ? hostile::mask(hostile::kPackedRing) : 0);
        Vm sender(where, 1);
        Vm migrating(where, 3);
        CHECK(sender.start(where, 1));
        CHECK(migrating.start(where, 3, {.features = features, .place = hostile::Place::kAtEnd}));
        Guest& guest = migrating.guest;
        CHECK(guest.packed() == packed);
        const DirtyLog log;
        begin_migration(guest, log);
        CHECK(log.pages().empty());
        unsigned arrived = 0;
        for (std::uint32_t i = 0; i < kFrames; ++i)
            CHECK(sender.guest.transmit({}, Arrivals::frame(3, 1, i)));
        CHECK(until([&] {
            guest.receive([&](std::span<const std::uint8_t>) { ++arrived; });
            return arrived == kFrames;
        }));
        std::set<std::uint64_t> written;
        for (std::uint64_t i = 0; i < kFrames; ++i)
            written.insert((Guest::kReceiveBuffersAt + i * Guest::kReceiveBufferBytes) / kLoggedPageBytes);
        const hostile::RingAddress ring = guest.ring(Guest::kReceive).addresses(Guest::kReceive);
        written.insert(((packed ? ring.descriptors : ring.used) - hostile::GuestMemory::kUserBase) /
                       kLoggedPageBytes);
        CHECK(log.pages() == written);
        sender.guest.stop();
        guest.stop();
        CHECK(until([&] { return !where.rings(1).up() && !where.rings(3).up(); }));
    }
    where.stop();
}

TEST_CASE("a guest that has arrived is announced with its MAC address to all others") {
    constexpr std::size_t kTypeAt = 12;
    VhostSwitch& where = attacked_switch();
    where.start();
    Vm other(where, 1);
    Vm arrived(where, 3);
    CHECK(other.start(where, 1));
    CHECK(arrived.start(where, 3));
    std::uint64_t mac = 0;
    std::memcpy(&mac, vm_mac(3).data(), vm_mac(3).size());
    CHECK(arrived.guest.frontend.send(hostile::kSendRarp, mac));
    bool announced = false;
    CHECK(until([&] {
        other.guest.receive([&](std::span<const std::uint8_t> frame) {
            announced |= frame[kTypeAt] == 0x80 && frame[kTypeAt + 1] == 0x35 &&
                         std::equal(frame.begin() + 6, frame.begin() + 12, vm_mac(3).begin());
        });
        return announced;
    }));
    other.guest.stop();
    arrived.guest.stop();
    where.stop();
}
