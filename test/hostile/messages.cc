// messages.cc - attacks: messages out of order, cut off, too long, with wrong files; connections that flood.
// Source: vhost-user protocol. Units: bytes.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

/// A file that is none of those that messages carry, or sometimes is one.
File odd_file(Random& random) {
    int ends[2] = {-1, -1};
    switch (random.below(7)) {
        case 0:
            (void)!pipe2(ends, O_CLOEXEC);
            break;
        case 1:
            (void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
            break;
        case 2:
            return File(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        case 3:
            return File(open("/dev/null", O_RDWR | O_CLOEXEC));
        case 4:
            return File(open("/dev/zero", O_RDONLY | O_CLOEXEC));
        case 5:
            return File::memory(random.below(2) * 4096);
        default:
            return File::event();
    }
    const File reader(ends[0]);  // closed: a write to the other end finds no reader
    return File(ends[1]);
}

std::vector<std::uint8_t> random_payload(Scene& scene, Request request) {
    Random& random = scene.random;
    std::vector<std::uint8_t> bytes(random.chance(80) ? 8 : random.below(300));
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(random.chance(60) ? 0 : random.next());
    const auto take = [&bytes](std::span<const std::uint8_t> from) {
        bytes.assign(from.begin(), from.end());
    };
    if (!random.chance(80))
        return bytes;
    const std::uint32_t rings[] = {0, 0, 1, 1, 2, 3, 31, 32, 127, 128, 255, 256, 65'535, ~0U};
    const std::uint32_t ring = random.pick(rings);
    if (request == kSetMemTable)
        take(bytes_of(scene.guest.memory.table()));
    else if (request == kSetVringAddr)
        take(bytes_of(scene.guest.tx.addresses(ring)));
    else if (request == kSetFeatures)
        take(bytes_of(scene.guest.features() ^ (random.chance(30) ? 1ULL << random.below(64) : 0)));
    else if (request >= kSetVringKick && request <= kSetVringErr)
        take(bytes_of(std::uint64_t{ring} | (random.chance(20) ? kNoDescriptor : 0)));
    else
        take(bytes_of(RingState{ring, random.chance(50) ? 256 : random.below(4)}));
    return bytes;
}

}  // namespace

void disorder(Scene& scene) {
    Guest& guest = scene.guest;
    if (scene.random.chance(70) ? !guest.restart() : !guest.frontend.reconnect())
        return;
    for (int i = 0; i < 12 && guest.frontend.connected(); ++i) {
        const auto request = static_cast<Request>(1 + scene.random.below(kRequestsEnd - 1));
        std::vector<File> files;
        std::vector<int> numbers;
        for (std::uint32_t count = scene.random.chance(50) ? scene.random.below(4) : 0; count > 0; --count) {
            files.push_back(scene.random.chance(60) ? File::event() : odd_file(scene.random));
            if (files.back())
                numbers.push_back(files.back().number());
        }
        if (request == kSetMemTable && scene.random.chance(80))
            numbers = {guest.memory.regions()[0].file.number(), guest.memory.regions()[1].file.number()};
        guest.frontend.send(request, random_payload(scene, request), numbers);
        scene.send_some(4);
        pause(std::chrono::microseconds(100));
        guest.frontend.drain();
    }
    guest.stop();
}

void noise(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect())
        return;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t requests[] = {0, kRequestsEnd, 1000, ~0U, kGetFeatures, kIotlb};
        const MessageHeader header{scene.random.pick(requests),
                                   static_cast<std::uint32_t>(scene.random.next()), 8};
        std::array<std::uint8_t, sizeof(header) + 8> bytes{};
        std::memcpy(bytes.data(), &header, sizeof(header));
        guest.frontend.send_raw(bytes);
    }
    pause();
    guest.frontend.drain();
    guest.stop();
}

/// The connection stays open for the next steps, as if the rest were to come.
void half_message(Scene& scene) {
    constexpr std::size_t kConnections = 8;
    if (scene.connections.size() >= kConnections)
        scene.connections.clear();
    Frontend& frontend = scene.connections.emplace_back(scene.endpoint, scene.guest.tally);
    if (!frontend.reconnect())
        return;
    const MessageHeader header{1 + scene.random.below(kRequestsEnd - 1), kVersion,
                               1 + scene.random.below(100)};
    std::array<std::uint8_t, sizeof(header) + 100> bytes{};
    std::memcpy(bytes.data(), &header, sizeof(header));
    const bool whole_header = scene.random.chance(70);
    const std::size_t sent = whole_header ? sizeof(header) + scene.random.below(header.bytes)
                                          : 1 + scene.random.below(sizeof(header) - 1);
    frontend.send_raw(std::span(bytes).first(sent));
    pause(std::chrono::milliseconds(5));
}

void oversized(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect())
        return;
    const std::uint32_t claims[] = {300, 400, 4096, 65'536, 1U << 31, ~0U, ~0U - 12};
    std::vector<std::uint8_t> bytes(sizeof(MessageHeader) + scene.random.below(8192));
    const MessageHeader header{1 + scene.random.below(kRequestsEnd - 1), kVersion, scene.random.pick(claims)};
    std::memcpy(bytes.data(), &header, sizeof(header));
    guest.frontend.send_raw(bytes);
    pause();
    guest.stop();
}

void wrong_files(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart())
        return;
    for (int i = 0; i < 4 && guest.frontend.connected(); ++i) {
        const Request requests[] = {kSetVringCall,      kSetVringCall, kSetVringKick,
                                    kSetVringErr,       kSetMemTable,  kSetLogFd,
                                    kSetSlaveRequestFd, kSetLogBase,   kSetInflightFd};
        const Request request = scene.random.pick(requests);
        std::vector<File> files;
        std::vector<int> numbers;
        const std::uint32_t counts[] = {0, 1, 1, 1, 2, 8, 9, 33};
        for (std::uint32_t count = scene.random.pick(counts); count > 0; --count) {
            files.push_back(odd_file(scene.random));
            if (files.back())
                numbers.push_back(files.back().number());
        }
        guest.frontend.send(request, random_payload(scene, request), numbers);
        guest.tx.unmute();
        scene.send_some(16);
        pause();
    }
    guest.stop();
}

/// Interrupts are asked for, and the file that they are written to is full.
void blocking_call(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart())
        return;
    const std::uint64_t index = scene.random.below(2);
    const File full = File::event(~0ULL - 1, true);
    guest.frontend.send(kSetVringCall, index, {full.number()});
    guest.tx.unmute();
    guest.rx.unmute();
    guest.offer_buffers();
    for (int i = 0; i < 4; ++i) {
        scene.send_some(16);
        pause(std::chrono::milliseconds(1));
    }
    // A switch that waits here would go on for ever: the next owner of the file empties it.
    std::uint64_t count = 0;
    (void)!read(full.number(), &count, sizeof(count));
    guest.stop();
}

/// The receiver of the file's bytes stays open for the next steps and takes none of them.
void blocking_close(Scene& scene) {
    Guest& guest = scene.guest;
    scene.file.reset();
    if (scene.random.chance(50) ? !guest.restart() : !guest.frontend.reconnect())
        return;
    constexpr int kLongerThanOthersWait = 10;
    scene.file.emplace(kLongerThanOthersWait);
    if (scene.random.chance(50))
        guest.frontend.send(kIotlb);  // ends the connection, perhaps before the next message is read
    const auto request = static_cast<Request>(1 + scene.random.below(kRequestsEnd - 1));
    if (!guest.frontend.send(request, random_payload(scene, request),
                             std::array{scene.file->sender.number()}))
        scene.file->receiver = File();
    scene.file->sender = File();
    pause();
    guest.stop();
}

/// The front-end reads and closes nothing: connections and other ends of files stay for the next steps. Of
/// most files the switch is the last owner; blocking_close() has the others.
void any_file(Scene& scene) {
    constexpr std::size_t kConnections = 4;
    if (scene.connections.size() >= kConnections) {
        scene.connections.clear();
        scene.files.clear();
    }
    Frontend& frontend = scene.connections.emplace_back(scene.endpoint, scene.guest.tally);
    if (!frontend.reconnect())
        return;
    const std::span<const FileKind> kinds = file_kinds();
    for (int messages = 0; messages < 2 && frontend.connected(); ++messages) {
        const auto request = static_cast<Request>(1 + scene.random.below(kRequestsEnd - 1));
        const std::uint32_t kind = scene.random.below(static_cast<std::uint32_t>(kinds.size()));
        const std::vector<std::uint8_t> payload = random_payload(scene, request);
        AnyFile file = kinds[kind].make();
        if (!file.sent)
            continue;
        frontend.send(request, payload, std::array{file.sent.number()});
        if (!file.close_waits)  // the attack would wait itself where the switch has closed it already
            file.sent = File();
        scene.files.push_back(std::move(file));
    }
    pause(std::chrono::milliseconds(2));
}

void renegotiated(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.start())
        return;
    for (int i = 0; i < 4 && guest.frontend.connected(); ++i) {
        scene.send_some(32);
        const std::uint64_t flips[] = {mask(kMergeable),  mask(kVersion1),    mask(kLogAll),
                                       mask(kEventIndex), mask(kPackedRing),  mask(kMultiqueue),
                                       mask(kChecksum),   scene.random.next()};
        guest.frontend.send(kSetFeatures, guest.features() ^ scene.random.pick(flips));
        if (scene.random.chance(30))
            guest.frontend.send_ring(kGetVringBase, scene.random.below(2), 0);
        pause(std::chrono::microseconds(scene.random.below(300)));
    }
    guest.stop();
}

void replies_unread(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect())
        return;
    const MessageHeader header{kGetFeatures, kVersion | kNeedsReply, 0};
    for (int i = 0; i < 4000 && guest.frontend.send_raw(bytes_of(header)); ++i) {
    }
    guest.stop();
}

void inflight(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    constexpr std::uint64_t kInflightFeature = 1ULL << 12;
    guest.frontend.send(kSetProtocolFeatures, 1 | kInflightFeature);
    const std::uint16_t counts[] = {0, 1, 2, 128, 256, 65'535};
    const std::uint16_t sizes[] = {0, 1, 256, 1024, 32'768, 65'535};
    const std::uint64_t areas[] = {0, 1, 4096, 8192, 1U << 20};
    const InflightArea area{scene.random.pick(areas), 0, scene.random.pick(counts), scene.random.pick(sizes)};
    if (scene.random.chance(50)) {
        const File file = File::memory(scene.random.chance(80) ? area.bytes : 0);
        if (scene.random.chance(50))
            (void)!ftruncate(file.number(), 1 << 20);
        guest.frontend.send(kSetInflightFd, area, {file.number()});
    } else {
        guest.frontend.send(kGetInflightFd, area);
    }
    guest.send_memory();
    guest.set_up_ring(Guest::kReceive);
    guest.set_up_ring(Guest::kTransmit);
    scene.send_some(8);
    pause();
    guest.frontend.drain();
    guest.stop();
}

void dirty_log(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart(Guest::kWanted))
        return;
    const std::uint64_t claims[] = {0, 1, 64, 4096, 1U << 20, 1ULL << 40, ~0ULL};
    const LogArea area{scene.random.pick(claims), scene.random.chance(80) ? 0 : scene.random.next()};
    const File file = File::memory(scene.random.chance(50) ? 4096 : 0);
    guest.frontend.send(kSetLogBase, area, {file.number()});
    guest.frontend.send(kSetFeatures, guest.features() | mask(kLogAll));
    RingAddress address = guest.tx.addresses(Guest::kTransmit);
    address.flags = 1;
    const std::uint64_t places[] = {0, 0x6000, GuestMemory::kBytes - 1, 1ULL << 40, ~0ULL};
    address.log = scene.random.pick(places);
    guest.frontend.send(kSetVringAddr, address);
    guest.offer_buffers();
    scene.send_some(32);
    pause();
    guest.stop();
}

void postcopy(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate())
        return;
    constexpr std::uint64_t kPageFault = 1ULL << 8;
    guest.frontend.send(kSetProtocolFeatures, 1 | kPageFault);
    guest.frontend.send(kPostcopyAdvise);
    if (scene.random.chance(80))
        guest.frontend.send(kPostcopyListen);
    guest.send_memory();  // the switch's reply to it wants an answer, which does not come
    guest.set_up_ring(Guest::kReceive);
    guest.set_up_ring(Guest::kTransmit);
    pause(std::chrono::milliseconds(2));
    guest.stop();
}

void connect_flood(Scene& scene) {
    for (int i = 0; i < 20; ++i)
        if (scene.guest.frontend.reconnect() && scene.random.chance(20))
            scene.guest.frontend.send(kGetFeatures);
    scene.guest.stop();
}

void connect_silent(Scene& scene) {
    constexpr std::size_t kConnections = 64;
    if (scene.connections.size() >= kConnections)
        scene.connections.clear();
    scene.connections.emplace_back(scene.endpoint, scene.guest.tally).reconnect();
    pause(std::chrono::microseconds(200));
}

void connect_twice(Scene& scene) {
    if (!scene.guest.start())
        return;
    scene.send_some(32);
    Frontend other(scene.endpoint, scene.guest.tally);
    if (other.reconnect() && scene.random.chance(50))
        other.send(kGetFeatures);
    scene.send_some(32);
    pause();
    if (scene.random.chance(50))
        scene.guest.stop();  // the first one goes first
    other.close();
    pause();
    if (!scene.guest.taken())
        scene.guest.stop();
}

}  // namespace weir::hostile
