// memory.cc - attacks: tables of regions that overlap, overflow, lie, shrink and change under traffic.
// Source: vhost-user protocol (memory regions). Units: bytes.
#include <unistd.h>

#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

constexpr std::uint64_t kRegionBytes = GuestMemory::kRegionBytes;
/// Connects with this table, then sets up rings and sends frames as if all were well.
void use_table(Scene& scene, const RegionTable& table, std::initializer_list<int> files) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    guest.frontend.send(kSetMemTable, table, files);
    guest.set_up_ring(Guest::kReceive);
    guest.set_up_ring(Guest::kTransmit);
    guest.offer_buffers();
    scene.send_some(32);
    (void)guest.taken();
    guest.stop();
}

int file_of(Scene& scene, std::size_t region) {
    return scene.guest.memory.regions()[region].file.number();
}

}  // namespace

void regions_overlap(Scene& scene) {
    RegionTable table = scene.guest.memory.table();
    RegionEntry& second = table.entries[1];
    if (scene.random.chance(50))
        second.guest_address -= 4096ULL * scene.random.below(1025);
    if (scene.random.chance(50))
        second.user_address -= 4096ULL * scene.random.below(1025);
    use_table(scene, table, {file_of(scene, 0), file_of(scene, scene.random.below(2))});
}

void regions_wrap(Scene& scene) {
    RegionTable table = scene.guest.memory.table();
    RegionEntry& entry = table.entries[scene.random.below(2)];
    std::uint64_t* const fields[] = {&entry.guest_address, &entry.bytes, &entry.user_address,
                                     &entry.file_offset};
    const std::uint64_t values[] = {0,          1,          4095,       ~0ULL,        ~0ULL - 4095,
                                    1ULL << 63, 1ULL << 47, 1ULL << 40, kRegionBytes, scene.random.next()};
    *scene.random.pick(fields) = scene.random.pick(values);
    if (scene.random.chance(30))
        *scene.random.pick(fields) = scene.random.pick(values);
    use_table(scene, table, {file_of(scene, 0), file_of(scene, 1)});
}

/// The rings or the buffers lie in the part that is not there.
void region_truncated(Scene& scene) {
    const std::uint64_t lengths[] = {
        0, 1, 0x2000, 0x4000, 0x6000, Guest::kReceiveBuffersAt, Guest::kTransmitBuffersAt};
    const File file = File::memory(scene.random.pick(lengths));
    use_table(scene, scene.guest.memory.table(), {file.number(), file_of(scene, 1)});
}

/// The switch's memory is a file of its own, as this program reads its rings in the other one.
void region_shrunk(Scene& scene) {
    Guest& guest = scene.guest;
    const File file = File::memory(kRegionBytes);
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    guest.frontend.send(kSetMemTable, guest.memory.table(), {file.number(), file_of(scene, 1)});
    guest.set_up_ring(Guest::kReceive);
    guest.set_up_ring(Guest::kTransmit);
    (void)guest.frontend.ask(kGetFeatures);  // all of it has been read
    const std::uint64_t lengths[] = {
        0, 0x2000, 0x4000, 0x6000, Guest::kReceiveBuffersAt, Guest::kTransmitBuffersAt};
    (void)!ftruncate(file.number(), static_cast<off_t>(scene.random.pick(lengths)));
    guest.frontend.send(kSetVringAddr, guest.tx.addresses(Guest::kTransmit));
    pause(std::chrono::milliseconds(1));
    guest.stop();
}

void regions_many(Scene& scene) {
    const std::uint32_t counts[] = {0, 1, 2, 7, 8, 9, 64, 0x7FFF'FFFF, 0x8000'0000, ~0U};
    struct {
        RegionTable table;
        RegionEntry more[8];
    } message{};
    message.table = scene.guest.memory.table();
    message.table.count = scene.random.pick(counts);
    for (RegionEntry& entry : message.table.entries)
        entry = scene.guest.memory.table().entries[scene.random.below(2)];
    std::vector<int> files(scene.random.below(20), file_of(scene, 0));
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    const std::size_t bytes = scene.random.chance(50) ? sizeof(message.table) : 8 + scene.random.below(400);
    guest.frontend.send(kSetMemTable, bytes_of(message).first(bytes), files);
    guest.set_up_ring(Guest::kReceive);
    guest.set_up_ring(Guest::kTransmit);
    scene.send_some(8);
    pause();
    guest.stop();
}

void regions_replaced(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.start())
        return;
    for (int i = 0; i < 8; ++i) {
        scene.send_some(32);
        RegionTable table = guest.memory.table();
        if (scene.random.chance(30))
            table.count = 1;  // rings stay, the second half goes
        if (scene.random.chance(30))
            table.entries[1].bytes -= 4096;
        if (scene.random.chance(10))
            table.entries[0].user_address += 4096;  // rings are outside of memory now
        std::vector<int> files;
        for (std::uint32_t region = 0; region < table.count; ++region)
            files.push_back(file_of(scene, region));
        guest.frontend.send(kSetMemTable, bytes_of(table), files);
        pause(std::chrono::microseconds(scene.random.below(200)));
    }
    if (!guest.send_memory() || !guest.taken())
        guest.stop();
}

}  // namespace weir::hostile
