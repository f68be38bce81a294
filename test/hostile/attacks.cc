// attacks.cc - the seed of a step, and the families of attacks.
#include "test/hostile/attacks.h"

#include <algorithm>
#include <thread>

namespace weir::hostile {
namespace {

/// A family goes from an attack of the table to the next one that is listed here: a new row belongs to that
/// of the row before it.
struct FamilyBegin {
    std::string_view attack;
    std::string_view family;
};
constexpr std::array kFamilyBegins{
    FamilyBegin{"loop", "descriptors"},       FamilyBegin{"avail-index", "rings"},
    FamilyBegin{"claims-transmit", "claims"}, FamilyBegin{"regions-overlap", "memory"},
    FamilyBegin{"disorder", "messages"},      FamilyBegin{"wrong-files", "files"},
    FamilyBegin{"renegotiated", "messages"},  FamilyBegin{"connect-flood", "connects"},
    FamilyBegin{"offload-headers", "frames"}, FamilyBegin{"rewritten", "races"},
    FamilyBegin{"memory-punched", "barred"},
};

constexpr bool is_attack(const FamilyBegin& begin) {
    return std::ranges::any_of(kAttacks, [&](const Attack& attack) { return attack.name == begin.attack; });
}
static_assert(std::ranges::all_of(kFamilyBegins, is_attack), "a family begins at an attack that is gone");
static_assert(kFamilyBegins.front().attack == kAttacks.front().name, "the first attack has no family");

}  // namespace

std::string_view family_of(const Attack& attack) {
    std::string_view family;
    for (const Attack& each : kAttacks) {
        const auto begin = std::ranges::find(kFamilyBegins, each.name, &FamilyBegin::attack);
        if (begin != kFamilyBegins.end())
            family = begin->family;
        if (each.name == attack.name)
            break;
    }
    return family;
}

void Scene::send_some(unsigned frames) {
    constexpr std::size_t kBytes = 200;
    const Frame frame = ipv4_frame(peer, own, kBytes, false);
    for (unsigned i = 0; i < frames && guest.transmit({}, frame); ++i) {
    }
}

void pause(std::chrono::microseconds time) {
    std::this_thread::sleep_for(time);
}

void take_step(const Attack& attack, Scene& scene, std::uint64_t seed, std::uint32_t number) {
    std::uint64_t name = 14'695'981'039'346'656'037ULL;  // FNV-1a
    for (const char character : attack.name)
        name = (name ^ static_cast<std::uint8_t>(character)) * 1'099'511'628'211ULL;
    scene.random = Random(seed ^ name ^ std::uint64_t{number} << 32);
    scene.number = number;
    ++scene.guest.tally.steps;
    attack.step(scene);
    scene.guest.tally.bytes_changed += scene.guest.bytes_changed();
}

}  // namespace weir::hostile
