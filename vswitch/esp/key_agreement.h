// key_agreement.h - agreement of a tunnel's two ends on the keys of a session.
// Source: RFC 7748; docs/algorithms.md 11.2; docs/tunnels.md.
// Units: bytes; Nanos of a monotonic clock. Threads: the agent. No sockets: messages in, messages out.
//
// Both ends have one configured key. It encrypts no traffic, because after a restart the sequence numbers of
// ESP, which are the IVs of AES-GCM, would start at 1 again under the same key. It only seals the messages of
// the agreement, and so proves which end sent them. The keys of a session come from one fresh X25519 pair of
// each end, which is used once:
//   1. A sends its offer, public key a.            2. B answers with its offer b, and with a.
//   3. A knows both: it computes the session, receives with it, and sends a, b and "adopted".
//   4. B computes the same session, receives and sends with it, and sends "adopted" too. Now A sends with it.
// Every message may be lost: an end repeats its offer every 250 ms until both have the session, and "adopted"
// every second from then on. Without loss, with ticks of 10 ms, two ends that start together need 10 ticks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "common/clock.h"
#include "vswitch/esp/esp_sa.h"

namespace weir {

using TunnelKey = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;

/// An SPI has the configured value in its high bits; bits 4 to 11 are the session's tag, bits 0 to 3 the
/// worker that sends.
inline constexpr std::uint32_t kSpiLowBits = 12;
inline constexpr std::uint32_t kSpiLowMask = (1U << kSpiLowBits) - 1;
inline constexpr std::uint32_t kSpiWorkerMask = 0xF;
inline constexpr std::uint32_t kSpiTagShift = 4;
/// Low bits of packets that carry messages of the agreement; no session has their tag.
inline constexpr std::uint32_t kSpiMessage = 0xFF0;
/// Number of sessions, counted from the newest, whose packets are opened; their tags differ.
inline constexpr std::size_t kSessionsUnderstood = 3;

class KeyAgreement {
  public:
    struct Setup {
        TunnelKey key{};            ///< the configured secret of both ends
        std::uint32_t spi_out = 0;  ///< the other end's spi_in; the low bits are zero
        std::uint32_t spi_in = 0;
        EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
        std::uint8_t workers = 1;  ///< of this switch, that send
    };
    /// SPI and number 8, nonce 24, encrypted content 72, authentication tag 16: the shape of an ESP packet.
    static constexpr std::size_t kMessageBytes = 8 + 24 + 72 + 16;
    using Message = std::array<std::uint8_t, kMessageBytes>;

    enum class Outcome : std::uint8_t {
        kUnchanged,  ///< no new state; an answer may be due
        kForged,     ///< of another tunnel, or sealed with another key
        kMismatch,   ///< the other end uses another algorithm or version
        kAdopted,    ///< a new session: receive with it from now on, and send with it once established()
        kConfirmed   ///< the other end has the session too: send with it
    };

    explicit KeyAgreement(const Setup& setup);
    ~KeyAgreement();
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    /// Handles a message of the other end. @param bytes from the SPI on
    Outcome on_message(std::span<const std::uint8_t> bytes, Nanos now);
    /// The message that is due at `now`, if one is: an answer, a repeated offer, or "adopted".
    [[nodiscard]] std::optional<Message> next_message(Nanos now);
    /// Starts the agreement on a new session, because sequence numbers or the time of this one run out.
    void renew() { renewing_ = true; }

    /// Whether both ends have the session.
    [[nodiscard]] bool established() const { return session_ && session_->confirmed; }
    /// When the session began; 0 without one.
    [[nodiscard]] Nanos adopted_at() const { return session_ ? session_->adopted : 0; }
    /// When the last message of this session arrived; 0 before the first.
    [[nodiscard]] Nanos last_message_at() const { return last_message_at_; }
    /// Number of workers that send at the other end.
    [[nodiscard]] std::uint8_t peer_workers() const { return session_ ? session_->workers : std::uint8_t{0}; }
    /// Keys of the session: those that a worker of this switch sends with, and those of a worker of the other
    /// end.
    [[nodiscard]] EspKeys out_keys(std::uint8_t worker) const { return keys(setup_.spi_out, worker); }
    [[nodiscard]] EspKeys in_keys(std::uint8_t worker) const { return keys(setup_.spi_in, worker); }
    [[nodiscard]] std::uint8_t tag() const { return session_ ? session_->tag : std::uint8_t{0}; }

  private:
    struct KeyPair {
        PublicKey open{};
        TunnelKey secret{};
    };
    struct Session {
        PublicKey mine{};
        PublicKey theirs{};
        TunnelKey secret{};
        std::uint8_t workers = 1;
        std::uint8_t tag = 0;
        bool confirmed = false;
        Nanos adopted = 0;
    };
    struct Content {
        PublicKey mine{};
        PublicKey yours{};
        std::uint8_t workers = 0;
        bool adopted = false;
    };

    void make_offer();
    Outcome adopt(const Content& content, Nanos now);
    /// Whether packets of the session, or of the sessions before it that are still opened, have the tag.
    [[nodiscard]] bool tag_is_taken(std::uint8_t tag) const;
    void replace_session(const Session& session);
    [[nodiscard]] EspKeys keys(std::uint32_t spi, std::uint8_t worker) const;
    [[nodiscard]] Message seal(const Content& content);
    [[nodiscard]] Outcome open(std::span<const std::uint8_t> bytes, Content& content) const;

    Setup setup_;
    TunnelKey message_key_out_{};
    TunnelKey message_key_in_{};
    KeyPair offer_;
    std::optional<Session> session_;
    std::array<std::optional<std::uint8_t>, kSessionsUnderstood - 1> tags_before_;
    PublicKey theirs_before_{};  ///< key of the other end in the session before; its messages are late
    std::optional<PublicKey> answer_to_;  ///< offer of the other end that the next message answers
    bool confirm_due_ = false;
    bool renewing_ = false;
    Nanos sent_at_ = 0;
    Nanos last_message_at_ = 0;
    Nanos answered_at_ = 0;
    std::uint32_t messages_ = 0;
};

}  // namespace weir
