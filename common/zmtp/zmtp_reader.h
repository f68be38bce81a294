// zmtp_reader.h - the bytes of one ZeroMQ client become messages, within bounds.
// Source: ZeroMQ RFC 23; ZeroMQ RFC 37. Units: bytes. Threads: one owner.
//
// ZeroMQ's library bounds a part of a message, not their number, and shows a message when it is whole. Here a
// message has a bound as a whole, and its bytes are counted while they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::zmtp {

using Parts = std::vector<std::string>;

struct MessageBounds {
    std::size_t bytes = 0;  ///< of all parts together
    std::size_t parts = 0;
};

class Reader {
  public:
    explicit Reader(MessageBounds bounds) : bounds_(bounds) {}

    /// Reads until a message is whole. @return the number of bytes that it used: fewer than `bytes` has only
    /// where has_message() or a fault ended it
    std::size_t read(std::span<const std::uint8_t> bytes);
    [[nodiscard]] bool has_message() const { return is_whole_; }
    /// Of the message that is whole; the next one begins. Empty where there is none.
    [[nodiscard]] Parts take_message();
    /// Bytes that the client has to get before any other.
    [[nodiscard]] std::string take_answers();
    /// Of the message that has begun or is whole.
    [[nodiscard]] std::size_t held() const { return held_; }
    /// The rule that the client broke, in words: its connection has to end. Empty: none.
    [[nodiscard]] const std::string& fault() const { return fault_; }

  private:
    enum class Stage { kGreeting, kReady, kMessages };

    void read_head(std::uint8_t byte);
    void begin_frame(std::uint8_t flags, std::uint64_t size);
    void end_frame();
    void on_greeting();
    void on_command(std::string_view body);
    void on_ready(std::string_view properties);

    MessageBounds bounds_;
    Stage stage_ = Stage::kGreeting;
    std::string head_;         // of the greeting, or of a frame before its body
    bool is_in_body_ = false;  // of a frame, which is `part_`
    std::uint8_t flags_ = 0;
    std::size_t missing_ = 0;  // bytes of the body
    std::string part_;
    Parts parts_;
    std::size_t held_ = 0;
    bool is_whole_ = false;
    std::string answers_;
    std::string fault_;
};

/// The first bytes to each client.
[[nodiscard]] std::string greeting();
/// The bytes of a message.
[[nodiscard]] std::string frames_of(std::span<const std::string_view> parts);

}  // namespace weir::zmtp
