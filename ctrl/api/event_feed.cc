// event_feed.cc - the last entries as text, and each client's place among them.
#include "ctrl/api/event_feed.h"

#include <nlohmann/json.hpp>

namespace weir {

using nlohmann::json;

namespace {

std::string gap(std::uint64_t from, std::uint64_t to) {
    return "event: gap\ndata: " + json{{"from", from}, {"to", to}}.dump() + "\n\n";
}

}  // namespace

std::size_t EventFeed::streams_of(const std::string& client) const {
    const auto found = clients_.find(client);
    return found == clients_.end() ? 0 : static_cast<std::size_t>(found->second.use_count());
}

std::function<std::optional<std::string>()> EventFeed::subscribe(const std::string& client,
                                                                 std::optional<std::uint64_t> after) {
    if (streams() >= kStreamsMax || streams_of(client) >= kStreamsPerClient)
        return {};
    if (streams() == 0)
        is_current_ = false;  // nothing was taken meanwhile
    Place place{.after = after, .beats = beats_};
    if (!after && is_current_)
        place.after = last_;
    std::erase_if(clients_, [](const auto& each) { return each.second.expired(); });
    std::shared_ptr<char> own = clients_[client].lock();
    if (!own)
        clients_[client] = own = std::make_shared<char>();
    return [this, place, user = users_, own = std::move(own)]() mutable -> std::optional<std::string> {
        return text_for(place);
    };
}

bool EventFeed::take(const json& entries) {
    const std::uint64_t before = last_;
    for (const json& entry : entries) {
        const std::uint64_t number = entry.value("number", std::uint64_t{0});
        if (number <= last_ || !entry.value("stored", false))
            continue;
        if (last_ != 0 && number > last_ + 1)
            events_.push_back({number - 1, gap(last_ + 1, number - 1)});
        last_ = number;
        events_.push_back(
            {number, "id: " + std::to_string(number) + "\nevent: audit\ndata: " + entry.dump() + "\n\n"});
        while (events_.size() > kEventsKept)
            events_.pop_front();
    }
    return !std::exchange(is_current_, true) || last_ != before;
}

std::string EventFeed::text_for(Place& place) const {
    std::string text;
    if (!std::exchange(place.has_begun, true))
        text = ": events of the audit trail\n\n";
    if (place.beats != beats_) {
        place.beats = beats_;
        text += ": beat\n\n";
    }
    if (!is_current_)
        return text;
    if (!place.after || *place.after > last_)
        place.after = last_;
    if (!events_.empty() && *place.after + 1 < events_.front().number) {
        text += gap(*place.after + 1, events_.front().number - 1);
        place.after = events_.front().number - 1;
    }
    for (const Event& event : events_)
        if (event.number > *place.after)
            text += event.text;
    place.after = last_;
    return text;
}

}  // namespace weir
