// vhost_rules_test.cc - the switch's reaction to a driver that breaks one rule of virtio, rule by rule.
// Source: virtio 1.2 2.7, 2.8 and 5.1.6. Units: frames; poll turns.
//
// Each violation has one of four outcomes:
//   served    all honest frames after it arrive
//   refused   so they do, and a counter says that the violation was noticed; or the connection was closed
//   stopped   the ring is stopped, and the vNIC says which and why
//   wrong     anything else: a dead ring of a vNIC that says nothing, a frame that arrives many times
#include "test/hostile/rules.h"
#include "test/support/catch.h"
#include "test/vswitch/ports/vhost_switch.h"

using namespace weir;
using namespace weir::testing;

namespace {

using hostile::Guest;
using hostile::Layout;
using hostile::Rule;
using hostile::Way;

/// The rule is broken between frames of the first and of the second kind.
constexpr std::uint32_t kBefore = 4;
constexpr std::uint32_t kAfter = 8;
constexpr std::uint32_t kOffense = 1000;
/// A frame does not come any more when it was not there at so many looks, between each two of which the
/// worker has made so many turns.
constexpr unsigned kLooks = 50;
constexpr std::uint64_t kTurns = 500;
constexpr unsigned kOffender = 3;
constexpr unsigned kPartner = 4;

/// The offender's ring errors and drops, as the switch has counted them.
struct Counts {
    explicit Counts(VhostSwitch& where) : errors(where.rings(kOffender).ring_errors()) {
        for (const std::uint64_t count : where.stats(kOffender).from_vm.drops)
            drops += count;
    }
    std::uint64_t errors;
    std::uint64_t drops = 0;
};

/// One violation of one rule, by vm3, which sends to vm4, or receives from it.
class Trial {
  public:
    Trial(VhostSwitch& where, const Rule& rule, bool packed)
        : where_(where),
          rule_(rule),
          offender_(where, kOffender),
          partner_(where, kPartner),
          from_offender_(rule.ring == Guest::kTransmit),
          shape_{.features = (Guest::kWanted ^ rule.features) |
                             (packed ? hostile::mask(hostile::kPackedRing) : hostile::kNone)} {}

    /// "served", "refused", "stopped: why" or "wrong: why"
    std::string run();

  private:
    Vm& sender() { return from_offender_ ? offender_ : partner_; }
    Vm& receiver() { return from_offender_ ? partner_ : offender_; }
    void collect() {
        receiver().guest.receive(
            [this](auto frame) { arrivals_.count(frame, from_offender_ ? kOffender : kPartner); });
    }
    hostile::Frame frame(std::uint32_t number) {
        return from_offender_ ? Arrivals::frame(kPartner, kOffender, number)
                              : Arrivals::frame(kOffender, kPartner, number);
    }
    bool exchange(std::uint32_t first, std::uint32_t count);
    /// Whether the switch has read all messages, or has closed the connection.
    bool all_read() {
        hostile::Frontend& frontend = offender_.guest.frontend;
        return until(
            [&] { return !frontend.connected() || frontend.ask(hostile::kGetFeatures).has_value(); });
    }
    std::string judge(bool served, const Counts& before);

    VhostSwitch& where_;
    const Rule& rule_;
    Vm offender_;
    Vm partner_;
    bool from_offender_;
    Guest::Shape shape_;
    Arrivals arrivals_;
};

/// @return false when they do not arrive
bool Trial::exchange(std::uint32_t first, std::uint32_t count) {
    std::uint32_t next = first;
    for (unsigned looks = 0; looks < kLooks; ++looks) {
        while (next < first + count && sender().guest.transmit({}, frame(next)))
            ++next;
        const std::uint64_t turn = where_.turns() + kTurns;
        while (where_.turns() < turn && !arrivals_.arrived(first, first + count)) {
            collect();
            std::this_thread::yield();
        }
        if (arrivals_.arrived(first, first + count))
            return true;
    }
    return false;
}

std::string Trial::judge(bool served, const Counts& before) {
    const Counts after(where_);
    const std::string fault = where_.port(kOffender).ring_fault();
    if (arrivals_.most_copies() > Guest::kRingSize)
        return "wrong: a frame arrived " + std::to_string(arrivals_.most_copies()) + " times";
    if (!offender_.guest.frontend.connected())
        return "refused";
    if (served)
        return after.errors + after.drops > before.errors + before.drops ? "refused" : "served";
    if (!fault.empty() && after.errors > before.errors)
        return "stopped: " + fault;
    return std::string("wrong: frames do not arrive, and the vNIC is ") +
           (where_.rings(kOffender).up() ? "up and says nothing" : "down though its front-end is there");
}

std::string Trial::run() {
    if (!offender_.start(where_, kOffender, shape_) || !partner_.start(where_, kPartner) ||
        !exchange(0, kBefore))
        return "wrong: an honest guest is not served";
    where_.stop();
    const Counts before(where_);
    collect();  // every receive buffer is the switch's again
    hostile::Offense offense{offender_.guest, frame(kOffense)};
    if (rule_.way != Way::kRing)
        where_.start();
    if (rule_.way == Way::kConnection) {
        offender_.guest.stop();
        if (!until([&] { return !where_.rings(kOffender).up(); }))
            return "wrong: the vNIC stays up";
    }
    rule_.violate(offense);
    if (rule_.way == Way::kRing)
        where_.start();
    else if (!all_read())
        return "wrong: the switch neither answers nor closes the connection";
    const std::uint64_t seen = where_.turns() + kTurns;
    if (!until([&] { return where_.turns() >= seen; }))
        return "wrong: the worker stands still";
    const bool served = exchange(kBefore, kAfter);
    where_.stop();
    const std::string outcome = judge(served, before);
    where_.start();
    offender_.guest.stop();
    partner_.guest.stop();
    if (!until([&] { return !where_.rings(kOffender).up() && !where_.rings(kPartner).up(); }))
        return "wrong: the vNIC stays up";
    return outcome;
}

}  // namespace

TEST_CASE("a driver that breaks a rule is served, refused, or stopped and named", "[long]") {
    VhostSwitch& where = attacked_switch();
    where.start();
    {
        Neighbors neighbors(where);
        for (const auto rules :
             {hostile::descriptor_rules(), hostile::ring_rules(), hostile::network_rules()})
            for (const Rule& rule : rules)
                for (const bool packed : {false, true}) {
                    if (rule.layout == (packed ? Layout::kSplit : Layout::kPacked))
                        continue;
                    const std::string outcome = Trial(where, rule, packed).run();
                    INFO((packed ? "packed, " : "split, ")
                         << rule.rule << ", " << rule.violation << ": " << outcome);
                    CHECK_FALSE(outcome.starts_with("wrong"));
                }
        neighbors.end();
        CHECK(neighbors.unharmed());
    }
    where.stop();
}
