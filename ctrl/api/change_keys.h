// change_keys.h - the keys of changes that came, so that each change happens once.
// Source: docs/api.md. Units: time points of the steady clock. Threads: one owner, the HTTP server's.
//
// A client that repeats a change after a lost answer gives the same key. Each token has room for its own
// keys, so that one with many changes makes no other's key usable again.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir {

class ChangeKeys {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kKept = 1'000;  ///< of each token
    static constexpr std::chrono::minutes kLife{10};

    [[nodiscard]] bool has(const std::string& token, const std::string& key) const {
        const auto found = tokens_.find(token);
        return found != tokens_.end() && found->second.keys.contains(key);
    }
    void note(const std::string& token, const std::string& key, Clock::time_point now) {
        Keys& of_token = tokens_[token];
        if (of_token.keys.insert(key).second)
            of_token.by_age.emplace_back(now, key);
        if (of_token.by_age.size() > kKept)
            of_token.forget_oldest();
        for (auto& [name, of_each] : tokens_)
            while (!of_each.by_age.empty() && of_each.by_age.front().first + kLife < now)
                of_each.forget_oldest();
        std::erase_if(tokens_, [](const auto& each) { return each.second.by_age.empty(); });
    }

  private:
    struct Keys {
        std::set<std::string> keys{};
        std::deque<std::pair<Clock::time_point, std::string>> by_age{};

        void forget_oldest() {
            keys.erase(by_age.front().second);
            by_age.pop_front();
        }
    };
    std::map<std::string, Keys> tokens_;
};

}  // namespace weir
