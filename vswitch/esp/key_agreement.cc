// key_agreement.cc - sealing and opening messages, sessions from pairs of offers, and the time of messages.
#include "vswitch/esp/key_agreement.h"

#include <sodium.h>

#include <algorithm>
#include <string_view>

#include "common/byte_order.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr std::array<std::uint8_t, 5> kMagic{'W', 'E', 'I', 'R', 1};
constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t kContentBytes = 72;
static_assert(kHeaderBytes + kNonceBytes + kContentBytes + kTagBytes == KeyAgreement::kMessageBytes);
/// Time between two offers, and between two "adopted" messages, by which an end notices that the other
/// restarted.
constexpr Nanos kAskPeriod = 250'000'000;
constexpr Nanos kAlivePeriod = 1'000'000'000;
/// Time between two answers; bounds the work that replayed offers cause.
constexpr Nanos kAnswerPeriod = 20'000'000;
constexpr std::uint32_t kTags = kSpiMessage >> kSpiTagShift;
constexpr std::uint8_t kAdoptedFlag = 1;

/// BLAKE2b of a label and a number under a key.
template <std::size_t Bytes>
void derive(std::array<std::uint8_t, Bytes>& out, const TunnelKey& key, std::string_view label,
            std::uint32_t number) {
    std::array<std::uint8_t, 32> text{};
    std::ranges::copy(label, text.begin());
    put_be32(text.data() + text.size() - 4, number);
    crypto_generichash(out.data(), out.size(), text.data(), text.size(), key.data(), key.size());
}

}  // namespace

KeyAgreement::KeyAgreement(const Setup& setup) : setup_(setup) {
    if (sodium_init() < 0)
        throw HostError("libsodium does not start; it has no source of random bytes");
    derive(message_key_out_, setup_.key, "weir message", setup_.spi_out);
    derive(message_key_in_, setup_.key, "weir message", setup_.spi_in);
    make_offer();
}

KeyAgreement::~KeyAgreement() {
    sodium_memzero(&setup_.key, sizeof(setup_.key));
    sodium_memzero(&message_key_out_, sizeof(message_key_out_));
    sodium_memzero(&message_key_in_, sizeof(message_key_in_));
    sodium_memzero(&offer_, sizeof(offer_));
    if (session_)
        sodium_memzero(&session_->secret, sizeof(session_->secret));
}

void KeyAgreement::make_offer() {
    crypto_box_keypair(offer_.open.data(), offer_.secret.data());
}

KeyAgreement::Message KeyAgreement::seal(const Content& content) {
    Message message{};
    put_be32(message.data(), setup_.spi_out | kSpiMessage);
    put_be32(message.data() + 4, ++messages_);
    std::uint8_t* nonce = message.data() + kHeaderBytes;
    randombytes_buf(nonce, kNonceBytes);
    std::array<std::uint8_t, kContentBytes> text{};
    std::ranges::copy(kMagic, text.begin());
    text[5] = static_cast<std::uint8_t>(setup_.algorithm);
    text[6] = content.workers;
    text[7] = content.adopted ? kAdoptedFlag : std::uint8_t{0};
    std::ranges::copy(content.mine, text.begin() + 8);
    std::ranges::copy(content.yours, text.begin() + 40);
    crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonceBytes, nullptr, text.data(), text.size(),
                                               message.data(), kHeaderBytes, nullptr, nonce,
                                               message_key_out_.data());
    return message;
}

KeyAgreement::Outcome KeyAgreement::open(std::span<const std::uint8_t> bytes, Content& content) const {
    std::array<std::uint8_t, kContentBytes> text{};
    if (bytes.size() != kMessageBytes || be32(bytes.data()) != (setup_.spi_in | kSpiMessage))
        return Outcome::kForged;
    const std::uint8_t* nonce = bytes.data() + kHeaderBytes;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(text.data(), nullptr, nullptr, nonce + kNonceBytes,
                                                   kContentBytes + kTagBytes, bytes.data(), kHeaderBytes,
                                                   nonce, message_key_in_.data()) != 0)
        return Outcome::kForged;
    if (!std::equal(kMagic.begin(), kMagic.end(), text.begin()) ||
        text[5] != static_cast<std::uint8_t>(setup_.algorithm) || text[6] == 0 ||
        text[6] > kSpiWorkerMask + 1)
        return Outcome::kMismatch;
    content.workers = text[6];
    content.adopted = (text[7] & kAdoptedFlag) != 0;
    std::copy_n(text.begin() + 8, content.mine.size(), content.mine.begin());
    std::copy_n(text.begin() + 40, content.yours.size(), content.yours.begin());
    return Outcome::kUnchanged;
}

bool KeyAgreement::tag_is_taken(std::uint8_t tag) const {
    return session_ && (session_->tag == tag || std::ranges::find(tags_before_, tag) != tags_before_.end());
}

void KeyAgreement::replace_session(const Session& session) {
    if (session_) {
        theirs_before_ = session_->theirs;
        std::shift_right(tags_before_.begin(), tags_before_.end(), 1);
        tags_before_[0] = session_->tag;
    }
    session_ = session;
}

/// Makes a session from this end's offer, which is never offered again. If packets of an earlier session may
/// still have the new session's tag, the session is discarded and a new offer sent: packets of both could not
/// be distinguished.
KeyAgreement::Outcome KeyAgreement::adopt(const Content& content, Nanos now) {
    Session session;
    std::array<std::uint8_t, 96> text{};
    if (crypto_scalarmult(text.data(), offer_.secret.data(), content.mine.data()) != 0)
        return Outcome::kForged;
    const auto [first, second] = std::minmax(offer_.open, content.mine);
    std::ranges::copy(first, text.begin() + 32);
    std::ranges::copy(second, text.begin() + 64);
    crypto_generichash(session.secret.data(), session.secret.size(), text.data(), text.size(),
                       setup_.key.data(), setup_.key.size());
    sodium_memzero(text.data(), text.size());
    std::array<std::uint8_t, 16> mark{};
    derive(mark, session.secret, "weir tag", 0);
    session.tag = static_cast<std::uint8_t>(be32(mark.data()) % kTags);
    session.mine = offer_.open;
    session.theirs = content.mine;
    session.workers = content.workers;
    session.confirmed = content.adopted;
    session.adopted = now;
    make_offer();
    const bool is_tag_new = !tag_is_taken(session.tag);
    if (is_tag_new) {
        replace_session(session);
        answer_to_.reset();
        renewing_ = false;
        confirm_due_ = true;
    } else {
        answer_to_ = content.mine;
    }
    sodium_memzero(&session.secret, sizeof(session.secret));
    return is_tag_new ? Outcome::kAdopted : Outcome::kUnchanged;
}

KeyAgreement::Outcome KeyAgreement::on_message(std::span<const std::uint8_t> bytes, Nanos now) {
    Content content;
    if (const Outcome verdict = open(bytes, content); verdict != Outcome::kUnchanged)
        return verdict;
    if (session_ &&
        content.mine == session_->theirs) {  // of this session, or from before the other end knew of it
        if (content.yours != session_->mine) {
            confirm_due_ = true;
            return Outcome::kUnchanged;
        }
        last_message_at_ = now;
        if (!content.adopted || session_->confirmed)
            return Outcome::kUnchanged;
        session_->confirmed = true;
        return Outcome::kConfirmed;
    }
    if (content.yours == offer_.open)
        return adopt(content, now);
    if (now - answered_at_ >= kAnswerPeriod && content.mine != theirs_before_)
        answer_to_ = content.mine;
    return Outcome::kUnchanged;
}

std::optional<KeyAgreement::Message> KeyAgreement::next_message(Nanos now) {
    Content content{.mine = offer_.open, .yours = {}, .workers = setup_.workers, .adopted = false};
    if (answer_to_) {
        content.yours = *answer_to_;
        answer_to_.reset();
        answered_at_ = now;
        return seal(content);
    }
    const bool agreed = established() && !renewing_;
    if (!confirm_due_ && sent_at_ != 0 && now - sent_at_ < (agreed ? kAlivePeriod : kAskPeriod))
        return {};
    const bool confirms = session_ && (confirm_due_ || !renewing_);
    sent_at_ = now;
    confirm_due_ = false;
    if (confirms) {
        content.mine = session_->mine;
        content.yours = session_->theirs;
        content.adopted = true;
    }
    return seal(content);
}

EspKeys KeyAgreement::keys(std::uint32_t spi, std::uint8_t worker) const {
    EspKeys keys;
    keys.spi = spi | static_cast<std::uint32_t>(session_->tag) << kSpiTagShift | worker;
    derive(keys.cipher, session_->secret, "weir cipher", keys.spi);
    derive(keys.auth, session_->secret, "weir auth", keys.spi);
    return keys;
}

}  // namespace weir
