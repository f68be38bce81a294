// sources.h - replies of the controller's loop, each asked for once for all clients that want it.
// Source: docs/api.md. Units: time points of the steady clock. Threads: one owner, the HTTP server's.
//
// A reply is at most kFresh old when a client gets it. So 100 viewers of the status cost the loop one command
// a second, and a viewer alone costs no more. A revision's text never changes: the last ones are kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/http/http_page.h"
#include "ctrl/daemon/command_desk.h"

namespace weir {

/// A page of JSON; no browser or proxy keeps it, or takes it for another type.
[[nodiscard]] std::shared_ptr<const HttpPage> json_page(unsigned status, std::string_view text);

/// Pages that were made of one reply, by path and query. Clients choose both: as many as they like, so that
/// few are kept.
class Views {
  public:
    static constexpr std::size_t kKept = 64;
    static constexpr std::size_t kBytesKept = 32 << 20;

    /// @return null: it has to be made
    [[nodiscard]] std::shared_ptr<const HttpPage> find(const std::string& place) const {
        const auto found = pages_.find(place);
        return found == pages_.end() ? nullptr : found->second;
    }
    void keep(const std::string& place, std::shared_ptr<const HttpPage> page) {
        if (pages_.size() == kKept || bytes_ + page->bytes() > kBytesKept) {
            pages_.clear();
            bytes_ = 0;
        }
        bytes_ += page->bytes();
        pages_[place] = std::move(page);
    }
    [[nodiscard]] std::size_t size() const { return pages_.size(); }

  private:
    std::map<std::string, std::shared_ptr<const HttpPage>> pages_;
    std::size_t bytes_ = 0;
};

struct Source {
    std::string text{};  ///< as the loop replied
    nlohmann::json reply{};
    unsigned status = 0;  ///< of HTTP
    std::shared_ptr<const HttpPage> page{};
    Views views{};
    /// The value of a specification's text, once it was needed.
    std::shared_ptr<const nlohmann::json> specification{};

    [[nodiscard]] bool is_good() const { return status < 300; }
};

class Sources {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kFresh{1};
    static constexpr std::size_t kRevisionsKept = 2;
    static constexpr std::size_t kRepliesKept = 64;
    static constexpr std::size_t kReplyBytesKept = 64 << 20;  ///< of those that are kept for a moment
    /// Commands on the way that no other client asks as well.
    static constexpr std::size_t kCommandsPerClient = CommandDesk::kCommandsMax / 4;

    enum class Sharing : std::uint8_t {
        kFresh,    ///< for a moment, with all clients
        kLasting,  ///< its data never changes
        kAlone     ///< a change: with no other client
    };
    struct Question {
        std::string text{};  ///< the command as weirctl sends it
        std::string peer{};
        std::string client{};  ///< the name of its token; empty: the API itself
        Sharing sharing = Sharing::kFresh;
        bool is_of_operator = false;  ///< for commands that readers may not ask for
    };

    explicit Sources(CommandDesk& desk) : desk_(desk) {}

    /// @return null: it is not known
    [[nodiscard]] std::shared_ptr<Source> find(const Question& question, Clock::time_point now) const;
    /// Asks the loop, unless it was asked. @param waiter gets the reply by take() @return false: too many
    /// commands are on the way, of this client or of all
    [[nodiscard]] bool ask(const Question& question, std::uint64_t waiter);
    /// Commands that were asked for this client first.
    [[nodiscard]] std::size_t on_the_way(const std::string& client) const;

    struct Arrived {
        std::string text{};  ///< of the question
        std::shared_ptr<Source> source{};
        std::vector<std::uint64_t> waiters{};
    };
    [[nodiscard]] std::vector<Arrived> take(Clock::time_point now);

  private:
    struct Asked {
        Question question{};
        std::vector<std::uint64_t> waiters{};
    };
    struct Kept {
        std::shared_ptr<Source> source{};
        Clock::time_point since{};
    };
    void keep(const Question& question, const std::shared_ptr<Source>& source, Clock::time_point now);

    CommandDesk& desk_;
    std::map<std::uint64_t, Asked> asked_;               // by ticket
    std::map<std::string, std::uint64_t> tickets_;       // of questions that clients share
    std::map<std::string, Kept> fresh_;                  // by question
    std::vector<std::pair<std::string, Kept>> lasting_;  // the latest last
};

}  // namespace weir
