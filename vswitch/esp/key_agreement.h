// key_agreement.h - how the two ends of a tunnel agree on the keys of a session: a key of the configuration
// says who they are, fresh X25519 keys of both make what is used. Pure: messages in, messages out. Source:
// docs/tunnels.md; RFC 7748 (X25519). Units: bytes, Nanos. Threads: the agent.
//
// Every session rests on a key pair that this process has made for it alone. So no key of ours ever returns,
// not after a restart, a lost file or a clock that was set back, and its packets may be numbered from one;
// and what was recorded of an earlier session opens nothing in this one.
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

/// An SPI is what the configuration gives it, and in its low bits a session's tag and a worker of the sender.
inline constexpr std::uint32_t kSpiLowBits = 12;
inline constexpr std::uint32_t kSpiLowMask = (1U << kSpiLowBits) - 1;
inline constexpr std::uint32_t kSpiWorkerMask = 0xF;
inline constexpr std::uint32_t kSpiTagShift = 4;
/// No session's tag: such packets carry messages of this kind.
inline constexpr std::uint32_t kSpiMessage = 0xFF0;
/// Of the last so many sessions packets are still opened; their tags differ.
inline constexpr std::size_t kSessionsUnderstood = 3;

class KeyAgreement {
  public:
    struct Setup {
        TunnelKey key{};            ///< the secret that both ends have been given
        std::uint32_t spi_out = 0;  ///< the other end's spi_in; the low bits are zero
        std::uint32_t spi_in = 0;
        EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
        std::uint8_t workers = 1;  ///< of ours that send
    };
    /// SPI, sequence number, nonce, what is said, tag: as an ESP packet looks.
    static constexpr std::size_t kMessageBytes = 8 + 24 + 72 + 16;
    using Message = std::array<std::uint8_t, kMessageBytes>;

    enum class Heard : std::uint8_t {
        kNothing,   ///< it changed nothing
        kForged,    ///< not of this tunnel, or of another key
        kMismatch,  ///< the other end uses another algorithm
        kAdopted,   ///< there is a new session(): receive it from now on, and send it when established()
        kConfirmed  ///< the other end has the session too: send it
    };

    explicit KeyAgreement(const Setup& setup);
    ~KeyAgreement();
    KeyAgreement(const KeyAgreement&) = delete;
    KeyAgreement& operator=(const KeyAgreement&) = delete;

    /// @param bytes from the SPI on. An answer may be due afterwards.
    Heard hear(std::span<const std::uint8_t> bytes, Nanos now);
    /// What is to be sent now, if anything: an answer, or word of us now and then.
    [[nodiscard]] std::optional<Message> say(Nanos now);
    /// A new session is wanted: this one's numbers or its time run out.
    void renew() { renewing_ = true; }

    /// Both ends have the session.
    [[nodiscard]] bool established() const { return session_ && session_->confirmed; }
    [[nodiscard]] Nanos adopted_at() const { return session_ ? session_->adopted : 0; }
    [[nodiscard]] Nanos heard_at() const { return heard_at_; }
    [[nodiscard]] std::uint8_t peer_workers() const { return session_ ? session_->workers : std::uint8_t{0}; }
    /// Of the session: what our worker sends with, and what the other end's sends with.
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
    struct Words {
        PublicKey mine{};
        PublicKey yours{};
        std::uint8_t workers = 0;
        bool adopted = false;
    };

    void make_offer();
    Heard adopt(const Words& words, Nanos now);
    [[nodiscard]] bool tag_is_taken(std::uint8_t tag) const;
    void replace_session(const Session& session);
    [[nodiscard]] EspKeys keys(std::uint32_t spi, std::uint8_t worker) const;
    [[nodiscard]] Message seal(const Words& words);
    [[nodiscard]] Heard open(std::span<const std::uint8_t> bytes, Words& words) const;

    Setup setup_;
    TunnelKey message_key_out_{};
    TunnelKey message_key_in_{};
    KeyPair offer_;
    std::optional<Session> session_;
    std::array<std::optional<std::uint8_t>, kSessionsUnderstood - 1> tags_before_;
    PublicKey theirs_before_{};           ///< of the session before: what still comes of it is late
    std::optional<PublicKey> answer_to_;  ///< whose offer is to be answered with ours
    bool confirm_due_ = false;
    bool renewing_ = false;
    Nanos said_at_ = 0;
    Nanos heard_at_ = 0;
    Nanos answered_at_ = 0;
    std::uint32_t messages_ = 0;
};

}  // namespace weir
