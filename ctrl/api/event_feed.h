// event_feed.h - new entries of the audit trail as server-sent events, for each client from its place.
// Source: WHATWG HTML 9.2. Units: none. Threads: one owner, the HTTP server's.
//
// A client that comes back with Last-Event-ID gets the entries since, as far as they are kept; otherwise an
// event `gap` names those that are missing. Entries are sent once they are stored, so that none is taken
// back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace weir {

class EventFeed {
  public:
    static constexpr std::size_t kStreamsMax = 64;
    static constexpr std::size_t kStreamsPerClient = kStreamsMax / 4;
    static constexpr std::size_t kEventsKept = 1'000;
    /// Entries that one question to the audit trail asks for.
    static constexpr std::size_t kEntriesAsked = 200;

    /// @param client the name of its token
    /// @param after number of the last event that the client has; nothing: it wants new ones alone
    /// @return the text of its events: empty: none yet. Nothing when there are kStreamsMax, or
    /// kStreamsPerClient of this client
    [[nodiscard]] std::function<std::optional<std::string>()> subscribe(const std::string& client,
                                                                        std::optional<std::uint64_t> after);
    [[nodiscard]] std::size_t streams_of(const std::string& client) const;
    [[nodiscard]] std::size_t streams() const { return static_cast<std::size_t>(users_.use_count()) - 1; }

    /// The last entries of the audit trail, oldest first. More may have been written since the last call than
    /// one question asks for: a client gets an event `gap` in their place. @return whether clients have news
    bool take(const nlohmann::json& entries);
    /// Each client gets a comment, so that one that is gone is noticed.
    void beat() { ++beats_; }

  private:
    struct Place {
        std::optional<std::uint64_t> after;  // nothing: the next entry
        std::uint64_t beats = 0;
        bool has_begun = false;
    };
    [[nodiscard]] std::string text_for(Place& place) const;

    struct Event {
        std::uint64_t number;
        std::string text;
    };
    std::deque<Event> events_;
    std::uint64_t last_ = 0;  // entry that was taken
    bool is_current_ = false;
    std::uint64_t beats_ = 0;
    std::shared_ptr<char> users_ = std::make_shared<char>();
    std::map<std::string, std::weak_ptr<char>> clients_;  // the streams of each share one
};

}  // namespace weir
