// key_agreement_test.cc - two ends that agree over a wire that loses, repeats and forges.
#include "vswitch/esp/key_agreement.h"

#include <deque>
#include <random>
#include <set>
#include <vector>

#include "test/support/catch.h"
#include "test/support/sanitized.h"

using namespace weir;

namespace {

using Message = KeyAgreement::Message;
using Outcome = KeyAgreement::Outcome;
constexpr std::uint32_t kLeft = 0x1000;
constexpr std::uint32_t kRight = 0x2000;
constexpr Nanos kTick = 10'000'000;

KeyAgreement::Setup left_setup(std::uint8_t fill = 5) {
    KeyAgreement::Setup setup{.key = {}, .spi_out = kLeft, .spi_in = kRight, .workers = 2};
    setup.key.fill(fill);
    return setup;
}
KeyAgreement::Setup right_setup(std::uint8_t fill = 5) {
    KeyAgreement::Setup setup = left_setup(fill);
    std::swap(setup.spi_out, setup.spi_in);
    setup.workers = 1;
    return setup;
}

struct End {
    explicit End(const KeyAgreement::Setup& setup) : agreement(std::make_unique<KeyAgreement>(setup)) {}
    std::unique_ptr<KeyAgreement> agreement;
    std::deque<Message> arriving;
    std::vector<Message> sent;
    unsigned adopted = 0;
};

/// Both have the same session and know it.
bool agreed(const End& one, const End& other) {
    const KeyAgreement& a = *one.agreement;
    const KeyAgreement& b = *other.agreement;
    return a.established() && b.established() && a.out_keys(0).cipher == b.in_keys(0).cipher &&
           a.in_keys(0).auth == b.out_keys(0).auth && a.out_keys(0).spi == b.in_keys(0).spi;
}

void turn(End& end, Nanos now) {
    for (; !end.arriving.empty(); end.arriving.pop_front())
        end.adopted += end.agreement->on_message(end.arriving.front(), now) == Outcome::kAdopted;
    if (const auto message = end.agreement->next_message(now))
        end.sent.push_back(*message);
}

struct Wire {
    explicit Wire(unsigned seed = 0) : random(seed) {}
    /// Until they agree; @return ticks
    unsigned join(End& a, End& b, double loss = 0, unsigned most = 5000) {
        for (unsigned ticks = 1; ticks <= most; ++ticks) {
            step(a, b, loss);
            if (agreed(a, b))
                return ticks;
        }
        return 0;
    }
    void step(End& a, End& b, double loss = 0) {
        now += kTick;
        turn(a, now);
        turn(b, now);
        carry(a, b, loss);
        carry(b, a, loss);
    }
    void carry(End& from, End& to, double loss) {
        for (const Message& message : from.sent)
            if (std::uniform_real_distribution<>(0, 1)(random) >= loss)
                to.arriving.push_back(message);
        from.sent.clear();
    }
    Nanos now = kNanosPerSec;
    std::mt19937 random;
};

}  // namespace

TEST_CASE("two ends that begin together agree within a tenth of a second, once, and stay so") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    const unsigned ticks = wire.join(a, b);
    CHECK(ticks > 0);
    CHECK(ticks <= 10);
    for (int i = 0; i < 1000; ++i)
        wire.step(a, b);
    CHECK(agreed(a, b));
    CHECK(a.adopted == 1);
    CHECK(b.adopted == 1);
    CHECK(a.agreement->peer_workers() == 1);
    CHECK(b.agreement->peer_workers() == 2);
    CHECK(wire.now - a.agreement->last_message_at() < 2 * kNanosPerSec);
}

TEST_CASE("each direction and each worker has keys of its own, and SPIs that differ") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    REQUIRE(wire.join(a, b) > 0);
    std::set<std::array<std::uint8_t, 32>> ciphers;
    std::set<std::uint32_t> spis;
    for (std::uint8_t worker = 0; worker < 16; ++worker)
        for (const EspKeys& keys : {a.agreement->out_keys(worker), a.agreement->in_keys(worker)}) {
            ciphers.insert(keys.cipher);
            spis.insert(keys.spi);
            CHECK(keys.cipher != keys.auth);
            CHECK((keys.spi & kSpiMessage) != kSpiMessage);
        }
    CHECK(ciphers.size() == 32);
    CHECK(spis.size() == 32);
}

TEST_CASE("whatever is lost, they agree, after any number of restarts, and no key comes twice") {
    std::set<std::array<std::uint8_t, 32>> keys;
    unsigned restarts = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        Wire wire(seed);
        End a(left_setup());
        End b(right_setup());
        for (int life = 0; life < 8; ++life, ++restarts) {
            REQUIRE(wire.join(a, b, 0.4) > 0);
            CHECK(keys.insert(a.agreement->out_keys(0).cipher).second);
            (life % 2 == 0 ? a : b) = End(life % 2 == 0 ? left_setup() : right_setup());
        }
    }
    CHECK(keys.size() == restarts);
}

TEST_CASE(
    "a renewal gives new keys, also when both ask at once, and the old ones hold until both have them") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    REQUIRE(wire.join(a, b) > 0);
    for (int round = 0; round < 10; ++round) {
        const EspKeys before = a.agreement->out_keys(0);
        a.agreement->renew();
        if (round % 2 == 1)
            b.agreement->renew();
        for (int i = 0; i < 100; ++i)
            wire.step(a, b);
        CHECK(agreed(a, b));
        CHECK(a.agreement->out_keys(0).cipher != before.cipher);
    }
}

TEST_CASE(
    "packets of the last three sessions have different tags, however often keys are renewed or an end "
    "restarts") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    std::deque<std::uint8_t> tags_a;
    std::deque<std::uint8_t> tags_b;
    const auto tag_differs = [](const End& end, std::deque<std::uint8_t>& tags) {
        const bool fresh = std::ranges::find(tags, end.agreement->tag()) == tags.end();
        tags.push_back(end.agreement->tag());
        if (tags.size() > kSessionsUnderstood - 1)
            tags.pop_front();
        return fresh;
    };
    unsigned mixed_up = 0;
    for (unsigned round = 0; round < weir::testing::rounds(2000); ++round) {
        const unsigned before = b.adopted;
        if (round % 10 == 9) {
            a = End(left_setup());
            tags_a.clear();
        } else if (round > 0) {
            (round % 2 == 0 ? a : b).agreement->renew();
        }
        for (int ticks = 0; b.adopted == before || !agreed(a, b); ++ticks) {
            REQUIRE(ticks < 1000);
            wire.step(a, b);
        }
        mixed_up += !tag_differs(a, tags_a);
        mixed_up += !tag_differs(b, tags_b);
    }
    CHECK(mixed_up == 0);
}

TEST_CASE("a message of the session before that comes late asks for no further one") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    REQUIRE(wire.join(a, b) > 0);
    for (int i = 0; i < 150; ++i)
        wire.step(a, b);
    std::vector<Message> late;
    for (int i = 0; late.empty() && i < 200; ++i) {
        wire.now += kTick;
        if (const auto message = a.agreement->next_message(wire.now))
            late.push_back(*message);
    }
    REQUIRE(late.size() == 1);
    a.agreement->renew();
    for (int i = 0; i < 50; ++i)
        wire.step(a, b);
    CHECK(b.agreement->on_message(late[0], wire.now) == Outcome::kUnchanged);
    for (int i = 0; i < 50; ++i)
        wire.step(a, b);
    CHECK(b.adopted == 2);
    CHECK(agreed(a, b));
}

TEST_CASE("what was recorded changes nothing: not the session, not the next one") {
    Wire wire;
    End a(left_setup());
    End b(right_setup());
    std::vector<Message> recorded;
    for (int life = 0; life < 3; ++life) {
        for (int i = 0; i < 50; ++i) {
            wire.now += kTick;
            turn(a, wire.now);
            turn(b, wire.now);
            recorded.insert(recorded.end(), a.sent.begin(), a.sent.end());
            wire.carry(a, b, 0);
            wire.carry(b, a, 0);
        }
        REQUIRE(agreed(a, b));
        a = End(left_setup());
    }
    REQUIRE(wire.join(a, b) > 0);
    const EspKeys keys = b.agreement->in_keys(0);
    const unsigned adopted = b.adopted;
    for (const Message& message : recorded) {
        CHECK(b.agreement->on_message(message, wire.now) == Outcome::kUnchanged);
        wire.now += kTick;
        (void)b.agreement->next_message(wire.now);
    }
    CHECK(b.agreement->in_keys(0).cipher == keys.cipher);
    CHECK(b.adopted == adopted);
    wire.step(a, b);
    CHECK(agreed(a, b));
}

TEST_CASE("answers to what is replayed are bounded") {
    End a(left_setup());
    End b(right_setup());
    const Message first = *a.agreement->next_message(kNanosPerSec);
    unsigned answers = 0;
    for (Nanos now = kNanosPerSec; now < 2 * kNanosPerSec; now += 1'000'000) {
        (void)b.agreement->on_message(first, now);
        answers += b.agreement->next_message(now).has_value();
    }
    CHECK(answers <= 60);
}

TEST_CASE(
    "another key, another direction, a changed bit or length is forged; another algorithm is reported") {
    End a(left_setup());
    const Message good = *a.agreement->next_message(kNanosPerSec);
    CHECK(End(right_setup(6)).agreement->on_message(good, kNanosPerSec) == Outcome::kForged);
    CHECK(a.agreement->on_message(good, kNanosPerSec) == Outcome::kForged);  // its own, sent back
    End b(right_setup());
    for (std::size_t at = 0; at < good.size(); ++at) {
        Message bad = good;
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ 0x10);
        CHECK(b.agreement->on_message(bad, kNanosPerSec) == Outcome::kForged);
    }
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
        CHECK(b.agreement->on_message(std::span(good).first(bytes), kNanosPerSec) == Outcome::kForged);
    KeyAgreement::Setup other = right_setup();
    other.algorithm = EspAlgorithm::kAes256Gcm;
    CHECK(End(other).agreement->on_message(good, kNanosPerSec) == Outcome::kMismatch);
    CHECK(b.agreement->on_message(good, kNanosPerSec) == Outcome::kUnchanged);
}
