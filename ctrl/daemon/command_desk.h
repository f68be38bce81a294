// command_desk.h - commands that come by HTTP, for the controller's loop, and its replies.
// Source: docs/design.md 2. Units: none.
// Threads: add() and take_replies() by the HTTP server's, take() and reply() by the loop's, all others by
// any.
//
// A bounded number is on the way; the rest is refused at once. The loop takes a few per turn, as of its
// command sockets, so that no client delays an interval.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Path of the fault of a command that may be asked again in a moment.
inline constexpr const char* kBusyPath = "jobs";

/// Of requests by HTTP since the start.
struct ApiCounters {
    std::atomic<std::uint64_t> answered{0};      ///< with data
    std::atomic<std::uint64_t> unauthorized{0};  ///< no token, or a wrong one
    std::atomic<std::uint64_t> forbidden{0};     ///< the token's role may not
    std::atomic<std::uint64_t> cross_site{0};    ///< of a page of another site
    std::atomic<std::uint64_t> replayed{0};      ///< changes that came twice
    std::atomic<std::uint64_t> malformed{0};     ///< of no route, no such method, or a body that is refused
    std::atomic<std::uint64_t> failed{0};        ///< commands that the controller refused
    std::atomic<std::uint64_t> busy{0};          ///< too many were on the way
    std::atomic<std::uint64_t> late{0};          ///< the controller did not reply in time
    std::atomic<std::uint64_t> streams{0};       ///< of events that are open
    std::atomic<std::uint64_t> connections{0};   ///< that are open
    std::atomic<std::uint64_t> ended{0};         ///< connections that were displaced, surplus or too slow
};

class CommandDesk {
  public:
    /// Commands that the loop has not replied to.
    static constexpr std::size_t kCommandsMax = 32;
    /// Tickets of this desk; those of the command sockets are below.
    static constexpr std::uint64_t kTickets = std::uint64_t{1} << 63;

    struct Command {
        std::uint64_t ticket = 0;
        std::string text{};  ///< as weirctl sends it
        std::string peer{};  ///< for the audit trail
        bool may_change = false;
    };
    struct Reply {
        std::uint64_t ticket = 0;
        std::string text{};
    };

    /// @throws HostError
    CommandDesk();
    ~CommandDesk();
    CommandDesk(const CommandDesk&) = delete;
    CommandDesk& operator=(const CommandDesk&) = delete;

    /// @return its ticket; nothing: too many are on the way
    [[nodiscard]] std::optional<std::uint64_t> add(std::string text, std::string peer, bool may_change);
    [[nodiscard]] std::vector<Reply> take_replies();
    /// Called after each reply, on the loop's thread; empty: the server is gone.
    void set_wake(std::function<void()> wake);

    /// A descriptor that is readable while commands wait.
    [[nodiscard]] int descriptor() const { return event_; }
    [[nodiscard]] std::optional<Command> take();
    void reply(std::uint64_t ticket, std::string text);

    [[nodiscard]] ApiCounters& counters() { return counters_; }
    /// Of the file of tokens; empty: none. The server's thread.
    void set_token_fault(std::string fault);
    /// The part `api` of the command `status`.
    [[nodiscard]] nlohmann::json describe() const;

  private:
    ApiCounters counters_;
    std::atomic<std::uint64_t> taken_{0};
    int event_;
    mutable std::mutex mutex_;  // of all below
    std::deque<Command> commands_;
    std::vector<Reply> replies_;
    std::size_t on_the_way_ = 0;
    std::uint64_t tickets_ = kTickets;
    std::function<void()> wake_;
    std::string token_fault_;
};

}  // namespace weir
