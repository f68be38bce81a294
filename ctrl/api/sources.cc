// sources.cc - questions on the way, replies that are kept, and their status of HTTP.
#include "ctrl/api/sources.h"

#include <algorithm>

namespace weir {
namespace {

using nlohmann::json;

constexpr unsigned kNotFound = 404;

/// Of the first fault of a command.
unsigned status_of(const json& reply) {
    if (reply.value("ok", false))
        return 200;
    constexpr std::pair<const char*, unsigned> kStatuses[] = {
        {kBusyPath, 503}, {"store", 503}, {"reply", 507},      {"args.verify", 403},
        {"base", 409},    {"yes", 409},   {"name", kNotFound}, {"revision", kNotFound}};
    const auto faults = reply.find("faults");
    if (faults == reply.end() || faults->empty())
        return 500;
    const std::string path = faults->front().value("path", "");
    const auto found = std::ranges::find_if(kStatuses, [&](const auto& each) { return path == each.first; });
    return found == std::end(kStatuses) ? 400 : found->second;
}

}  // namespace

std::shared_ptr<const HttpPage> json_page(unsigned status, std::string_view text) {
    constexpr const char* kType = "application/json";
    if (status == 503)
        return std::make_shared<HttpPage>(
            status, kType, text,
            std::initializer_list<HttpPage::Header>{
                {"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}, {"Retry-After", "1"}});
    if (status == 401)
        return std::make_shared<HttpPage>(
            status, kType, text,
            std::initializer_list<HttpPage::Header>{{"Cache-Control", "no-store"},
                                                    {"X-Content-Type-Options", "nosniff"},
                                                    {"WWW-Authenticate", "Bearer"}});
    return std::make_shared<HttpPage>(
        status, kType, text,
        std::initializer_list<HttpPage::Header>{{"Cache-Control", "no-store"},
                                                {"X-Content-Type-Options", "nosniff"}});
}

std::shared_ptr<Source> Sources::find(const Question& question, Clock::time_point now) const {
    if (question.sharing == Sharing::kLasting) {
        const auto found = std::ranges::find(lasting_, question.text, &std::pair<std::string, Kept>::first);
        return found == lasting_.end() ? nullptr : found->second.source;
    }
    const auto found = fresh_.find(question.text);
    const bool is_fresh =
        question.sharing == Sharing::kFresh && found != fresh_.end() && now - found->second.since <= kFresh;
    return is_fresh ? found->second.source : nullptr;
}

bool Sources::ask(const Question& question, std::uint64_t waiter) {
    const bool is_shared = question.sharing != Sharing::kAlone;
    if (const auto found = tickets_.find(question.text); is_shared && found != tickets_.end()) {
        asked_.at(found->second).waiters.push_back(waiter);
        return true;
    }
    if (!question.client.empty() && on_the_way(question.client) >= kCommandsPerClient)
        return false;
    const auto ticket = desk_.add(question.text, question.peer, !is_shared || question.is_of_operator);
    if (!ticket)
        return false;
    asked_.emplace(*ticket, Asked{question, {waiter}});
    if (is_shared)
        tickets_.emplace(question.text, *ticket);
    return true;
}

std::size_t Sources::on_the_way(const std::string& client) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        asked_, [&client](const auto& each) { return each.second.question.client == client; }));
}

std::vector<Sources::Arrived> Sources::take(Clock::time_point now) {
    std::vector<Arrived> arrived;
    for (CommandDesk::Reply& reply : desk_.take_replies()) {
        auto asked = asked_.extract(reply.ticket);
        if (asked.empty())
            continue;
        const Question& question = asked.mapped().question;
        auto source = std::make_shared<Source>();
        source->text = std::move(reply.text);
        source->reply = json::parse(source->text, nullptr, false);
        source->status = status_of(source->reply);
        source->page = json_page(source->status, source->text);
        keep(question, source, now);
        arrived.push_back({question.text, std::move(source), std::move(asked.mapped().waiters)});
    }
    std::erase_if(fresh_, [now](const auto& each) { return now - each.second.since > kFresh; });
    return arrived;
}

void Sources::keep(const Question& question, const std::shared_ptr<Source>& source, Clock::time_point now) {
    if (question.sharing == Sharing::kAlone) {
        fresh_.clear();  // a client sees its change
        return;
    }
    tickets_.erase(question.text);
    std::size_t bytes = source->text.size();
    for (const auto& [text, kept] : fresh_)
        bytes += kept.source->text.size();
    if (question.sharing == Sharing::kFresh && fresh_.size() < kRepliesKept && bytes <= kReplyBytesKept)
        fresh_.insert_or_assign(question.text, Kept{source, now});
    if (question.sharing == Sharing::kFresh || !source->is_good())
        return;
    if (lasting_.size() == kRevisionsKept)
        lasting_.erase(lasting_.begin());
    lasting_.emplace_back(question.text, Kept{source, now});
}

}  // namespace weir
