// attacks.cc - the seed of a step.
#include "test/hostile/attacks.h"

#include <thread>

namespace weir::hostile {

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
}

}  // namespace weir::hostile
