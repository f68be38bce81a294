// api_answers.cc - answers of sources that are there or asked for, views of them, and the stream of events.
#include <spdlog/spdlog.h>

#include <charconv>

#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "ctrl/api/api.h"
#include "ctrl/api/views.h"
#include "ctrl/config/cluster_config.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::uint64_t kNoRequest = 0;  // the waiter of the events
constexpr std::chrono::seconds kLookGap{1};
constexpr std::chrono::seconds kReadGap{1};
constexpr std::chrono::seconds kBeatGap{15};

std::string command_text(const char* command, const json& arguments) {
    return json{{"schema", 1}, {"command", command}, {"args", arguments}}.dump();
}

std::string place_of(const HttpRequest& request) {
    std::string place = request.path;
    for (const auto& [name, value] : request.query)
        place += '&' + std::to_string(name.size()) + name + '=' + value;
    return place;
}

const json& data_of(const Source& source) {
    static const json kNone = json::object();
    const auto found = source.reply.find("data");
    return found == source.reply.end() ? kNone : *found;
}

const json& specification_of(Source& source) {
    if (!source.specification)
        source.specification = std::make_shared<const json>(
            read_json_text(data_of(source).value("text", ""), kClusterBounds).value);
    return *source.specification;
}

json view_of(const Route& route, const json& of, const json& arguments, Faults& faults) {
    const std::string name = arguments.value("name", "");
    switch (route.view) {
        case View::kHosts:
            return hosts_view(of);
        case View::kHost:
            return host_view(of, name, faults);
        case View::kResources:
            return resources_view(of);
        case View::kTenants:
            return tenants_view(of);
        case View::kTenant:
            return tenant_view(of, name, faults);
        case View::kVnics:
            return vnics_view(of, arguments.value("tenant", ""), faults);
        case View::kReply:
        case View::kEvents:
            break;
    }
    return {};
}

std::shared_ptr<const HttpPage> page_of(json data, const Faults& faults) {
    json reply{{"schema", 1}, {"ok", faults.empty()}};
    if (faults.empty())
        reply["data"] = std::move(data);
    else
        reply["faults"] = faults_to_json(faults);
    return json_page(faults.empty() ? 200 : 404, reply.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

Api::Page Api::count(Page page) const {
    if (page != nullptr)
        (page->status() < 300 ? counters_.answered : counters_.failed)
            .fetch_add(1, std::memory_order_relaxed);
    return page;
}

Api::Page Api::serve(HttpService& service, const HttpRequest& request) {
    Asked& asked = asked_.at(request.number);
    Faults faults;
    asked.arguments = arguments_of(asked.match, request.query, request.body, faults);
    if (!faults.empty()) {
        counters_.malformed.fetch_add(1, std::memory_order_relaxed);
        const json reply{{"schema", 1}, {"ok", false}, {"faults", faults_to_json(faults)}};
        return json_page(400, reply.dump(-1, ' ', false, json::error_handler_t::replace));
    }
    if (asked.arguments.value("verify", false) && !includes(asked.token.role, Role::kOperate))
        return refuse(403, counters_.forbidden,
                      {"role", name_of(asked.token.role), name_of(Role::kOperate),
                       "verify=true reads every line of the bill: it is for operators"});
    if (asked.match.route->view == View::kEvents)
        return stream(service, request);
    if (asked.match.route->body_max != 0)  // another one with its key may have come meanwhile
        if (Page refused = refuse_repeated(asked.token.name, asked.key))
            return refused;
    asked.place = place_of(request);
    if (std::string_view(asked.match.route->command) == "apply")
        asked.arguments["via"] = request.method + " " + request.path;
    return attempt(request.number, asked);
}

Api::Page Api::stream(HttpService& service, const HttpRequest& request) {
    const std::string_view last = request.header("Last-Event-ID");
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), number);
    const bool has_number = !last.empty() && error == std::errc() && end == last.data() + last.size();
    const std::string& client = asked_.at(request.number).token.name;
    auto source = feed_.subscribe(client, has_number ? std::optional(number) : std::nullopt);
    if (!source)
        return refuse(503, counters_.busy,
                      {"events",
                       std::to_string(feed_.streams_of(client)) + " streams of this token are open, " +
                           std::to_string(feed_.streams()) + " of all",
                       "fewer than " + std::to_string(EventFeed::kStreamsPerClient) +
                           " of a token, and than " + std::to_string(EventFeed::kStreamsMax) + " of all",
                       "end one, or ask later"});
    counters_.answered.fetch_add(1, std::memory_order_relaxed);
    // A token that is removed ends its streams with the next event or beat.
    service.stream(request.number,
                   [this, token = asked_.at(request.number).token, text = std::move(source)]()
                       -> std::optional<std::string> { return tokens_.has(token) ? text() : std::nullopt; });
    return nullptr;
}

/// Of both at most one is there; without either the request waits for the source.
std::pair<std::shared_ptr<Source>, Api::Page> Api::source_of(std::uint64_t number, Asked& asked,
                                                             const Sources::Question& question) {
    if (const auto found = asked.sources.find(question.text); found != asked.sources.end())
        return {found->second, nullptr};
    if (auto source = sources_.find(question, Clock::now()))
        return {std::move(source), nullptr};
    if (!sources_.ask(question, number))
        return {nullptr, refuse(503, counters_.busy,
                                {"commands",
                                 std::to_string(sources_.on_the_way(question.client)) +
                                     " of this token are on the way, or " +
                                     std::to_string(CommandDesk::kCommandsMax) + " of all",
                                 "fewer than " + std::to_string(Sources::kCommandsPerClient) + " of a token",
                                 "ask later"})};
    asked.is_waiting = true;
    return {};
}

Api::Page Api::attempt(std::uint64_t number, Asked& asked) {
    const Route& route = *asked.match.route;
    if (route.view != View::kReply)
        return view_page(number, asked);
    const bool is_change = route.body_max != 0;
    const bool is_of_revision =
        std::string_view(route.command) == "specification" && asked.arguments.contains("revision");
    const auto [source, refused] = source_of(number, asked,
                                             {.text = command_text(route.command, asked.arguments),
                                              .peer = asked.peer,
                                              .client = asked.token.name,
                                              .sharing = is_change        ? Sources::Sharing::kAlone
                                                         : is_of_revision ? Sources::Sharing::kLasting
                                                                          : Sources::Sharing::kFresh,
                                              .is_of_operator = includes(asked.token.role, Role::kOperate)});
    if (is_change && refused == nullptr)
        keys_.note(asked.token.name, asked.key, Clock::now());
    return source ? count(source->page) : refused;
}

Api::Page Api::view_page(std::uint64_t number, Asked& asked) {
    const Route& route = *asked.match.route;
    auto [source, refused] = source_of(
        number, asked,
        {.text = command_text("status", json::object()), .peer = asked.peer, .client = asked.token.name});
    const bool is_of_text = std::string_view(route.command) == "specification";
    if (source && source->is_good() && is_of_text) {
        const json revision{{"revision", data_of(*source).value("revision", std::int64_t{1})}};
        std::tie(source, refused) = source_of(number, asked,
                                              {.text = command_text("specification", revision),
                                               .peer = asked.peer,
                                               .client = asked.token.name,
                                               .sharing = Sources::Sharing::kLasting});
    }
    if (!source)
        return refused;
    if (!source->is_good())
        return count(source->page);
    if (const Page kept = source->views.find(asked.place))
        return count(kept);
    Faults faults;
    json data =
        view_of(route, is_of_text ? specification_of(*source) : data_of(*source), asked.arguments, faults);
    const bool is_good = faults.empty();
    const Page page = page_of(std::move(data), faults);
    if (is_good)
        source->views.keep(asked.place, page);
    return count(page);
}

void Api::on_reply(HttpService& service, std::uint64_t number, const Sources::Arrived& arrived) {
    const auto found = asked_.find(number);
    if (found == asked_.end())
        return;
    Asked& asked = found->second;
    asked.is_waiting = false;
    asked.sources.emplace(arrived.text, arrived.source);
    Page page;
    try {
        page = attempt(number, asked);
    } catch (const std::exception& error) {
        page = refuse(500, counters_.failed, {"reply", error.what(), "", "this is a fault of weir-ctrl"});
    }
    if (page != nullptr)
        service.answer(number, std::move(page));
}

void Api::end_late_ones(HttpService& service, Clock::time_point now) {
    for (auto& [number, asked] : asked_)
        if (asked.is_waiting && now - asked.since > kPatience) {
            asked.is_waiting = false;
            service.answer(number, refuse(504, counters_.late,
                                          {"command", asked.match.route->command, "a reply within 30 s",
                                           "a change may have been made all the same: look before you "
                                           "repeat it"}));
        }
}

void Api::read_events(HttpService& service, Clock::time_point now) {
    counters_.streams.store(feed_.streams(), std::memory_order_relaxed);
    if (feed_.streams() == 0)
        return;
    if (now - beat_ > kBeatGap) {
        beat_ = now;
        feed_.beat();
        service.resume_streams();
    }
    if (is_reading_ || now - read_ < kReadGap)
        return;
    read_ = now;
    is_reading_ =
        sources_.ask({.text = command_text("audit", {{"last", EventFeed::kEntriesAsked}})}, kNoRequest);
}

void Api::turn(HttpService& service) {
    const auto now = Clock::now();
    for (const Sources::Arrived& arrived : sources_.take(now))
        for (const std::uint64_t number : arrived.waiters) {
            if (number != kNoRequest) {
                on_reply(service, number, arrived);
                continue;
            }
            is_reading_ = false;
            const json& data = data_of(*arrived.source);
            if (const auto entries = data.find("entries"); entries != data.end() && feed_.take(*entries))
                service.resume_streams();
        }
    end_late_ones(service, now);
    read_events(service, now);
    if (now - looked_ >= kLookGap) {
        looked_ = now;
        if (const std::string fault = tokens_.refresh(); !fault.empty())
            spdlog::error("{}; {} tokens go on", fault, tokens_.size());
        desk_.set_token_fault(tokens_.fault());
    }
    const HttpServiceCounters& connections = service.counters();
    counters_.connections.store(connections.open, std::memory_order_relaxed);
    counters_.ended.store(connections.displaced + connections.surplus + connections.expired,
                          std::memory_order_relaxed);
}

}  // namespace weir
