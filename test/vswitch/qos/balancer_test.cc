// balancer_test.cc - moves that relieve the busiest worker, and none that do not.
#include "vswitch/qos/balancer.h"

#include <array>
#include <random>
#include <vector>

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("balancer: the move that relieves the busiest worker most") {
    const std::array workers{0.95, 0.10};
    const std::vector<VnicLoad> vnics{{5, 0, 0.40}, {6, 0, 0.30}, {7, 0, 0.25}, {8, 1, 0.10}};
    CHECK(choose_move(workers, vnics) == BalancingMove{5, 1});
    CHECK(choose_move(workers, std::span(vnics).subspan(1)) == BalancingMove{6, 1});
}

TEST_CASE("balancer: no move of a worker with cycles, of a vNIC that fills a core, or for little") {
    const std::array idle{0.79, 0.0};
    CHECK_FALSE(choose_move(idle, std::vector<VnicLoad>{{1, 0, 0.4}}));
    const std::array one_vnic{1.0, 0.0};
    CHECK_FALSE(choose_move(one_vnic, std::vector<VnicLoad>{{1, 0, 0.95}}));
    const std::array even{0.95, 0.85};
    CHECK_FALSE(choose_move(even, std::vector<VnicLoad>{{1, 0, 0.05}}));
    const std::array alone{1.0};
    CHECK_FALSE(choose_move(alone, std::vector<VnicLoad>{{1, 0, 0.5}}));
    const std::array others{1.0, 0.0};
    CHECK_FALSE(choose_move(others, std::vector<VnicLoad>{{1, 1, 0.5}}));
}

TEST_CASE("balancer: repeated moves end, each makes the busiest of two workers less busy") {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> part(0, 0.4);
    for (unsigned round = 0; round < 200; ++round) {
        std::vector<VnicLoad> vnics;
        std::array<double, 4> workers{};
        for (VnicId id = 0; id < 12; ++id) {
            const auto owner = static_cast<WorkerId>(random() % 2);
            vnics.push_back({id, owner, part(random)});
            workers[owner] += vnics.back().busy;
        }
        unsigned moves = 0;
        while (const auto move = choose_move(workers, vnics)) {
            VnicLoad& load = vnics[move->vnic];
            const double before = std::max(workers[load.owner], workers[move->to]);
            workers[load.owner] -= load.busy;
            workers[move->to] += load.busy;
            CHECK(std::max(workers[load.owner], workers[move->to]) <= before - kReliefMin + 1e-9);
            load.owner = move->to;
            REQUIRE(++moves < 100);
        }
    }
}
