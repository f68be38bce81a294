// api.cc - the checks that a request passes before a byte of its body is taken.
#include "ctrl/api/api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "common/config/config_text.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kKeyHeader = "Idempotency-Key";
constexpr std::size_t kKeyBytesMin = 8;
constexpr std::size_t kKeyBytesMax = 128;
constexpr std::string_view kPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char sign) { return sign > ' ' && sign < '\x7f'; });
}

std::shared_ptr<const HttpPage> page_of_site(const SiteFile& file) {
    return std::make_shared<HttpPage>(
        200, file.content_type, file.text,
        std::initializer_list<HttpPage::Header>{{"Cache-Control", "no-cache"},
                                                {"Content-Security-Policy", kPolicy},
                                                {"Referrer-Policy", "no-referrer"},
                                                {"X-Content-Type-Options", "nosniff"},
                                                {"X-Frame-Options", "DENY"}});
}

}  // namespace

Api::Api(CommandDesk& desk, TokenFile tokens, bool has_tls, std::span<const SiteFile> site)
    : desk_(desk),
      counters_(desk.counters()),
      tokens_(std::move(tokens)),
      scheme_(has_tls ? "https://" : "http://"),
      sources_(desk) {
    for (const SiteFile& file : site)
        site_.emplace(file.path, page_of_site(file));
}

Api::Page Api::refuse(unsigned status, std::atomic<std::uint64_t>& counter, Fault fault) const {
    counter.fetch_add(1, std::memory_order_relaxed);
    return json_page(status,
                     json{{"schema", 1}, {"ok", false}, {"faults", faults_to_json({std::move(fault)})}}.dump(
                         -1, ' ', false, json::error_handler_t::replace));
}

Api::Page Api::judge(const HttpRequest& request) {
    if (!request.path.starts_with(kApiRoot))
        return site_page(request);
    if (!is_of_this_site(request))
        return refuse(
            403, counters_.cross_site,
            {"Origin", std::string(request.header("Origin")), scheme_ + std::string(request.header("Host")),
             "a page of another site sent the request: only this server's own pages may"});
    const Token* token = token_of(request);
    if (token == nullptr)
        return refuse_unknown(request);
    Asked asked{.match = find_route(request.method, request.path), .since = Clock::now()};
    if (asked.match.methods.empty())
        return refuse(404, counters_.malformed,
                      {"path", request.path, "a path of docs/api.md", "the API has no such path"});
    if (asked.match.route == nullptr)
        return refuse(405, counters_.malformed, {"method", request.method, asked.match.methods, ""});
    const Route& route = *asked.match.route;
    if (!includes(token->role, route.role))
        return refuse(403, counters_.forbidden,
                      {"role", name_of(token->role), name_of(route.role),
                       "the token " + token->name + " may not do this; use one with the other role"});
    if (Page refused = refuse_body(route, request))
        return refused;
    asked.key = route.body_max == 0 ? "" : std::string(request.header(kKeyHeader));
    if (Page refused = refuse_change(route, request, token->name))
        return refused;
    asked.token = *token;
    asked.peer = "token " + token->name + ", " + request.address;
    asked_.insert_or_assign(request.number, std::move(asked));
    return nullptr;
}

Api::Page Api::site_page(const HttpRequest& request) const {
    const auto found = site_.find(request.path);
    if (found == site_.end())
        return refuse(404, counters_.malformed,
                      {"path", request.path, std::string(kApiRoot) + "/...", "there is no such page"});
    if (request.method != "GET" && request.method != "HEAD")
        return refuse(405, counters_.malformed, {"method", request.method, "GET, HEAD", ""});
    return found->second;
}

/// Browsers send `Origin` or `Sec-Fetch-Site` with requests of pages; other clients send none. A proxy may
/// add TLS.
bool Api::is_of_this_site(const HttpRequest& request) const {
    const std::string_view origin = request.header("Origin");
    const std::string_view from = request.header("Sec-Fetch-Site");
    const std::string_view scheme = origin.starts_with("https://") ? std::string_view("https://") : scheme_;
    const bool is_own_origin = origin.empty() || (origin.starts_with(scheme) &&
                                                  origin.substr(scheme.size()) == request.header("Host"));
    return is_own_origin && (from.empty() || from == "same-origin" || from == "none");
}

const Token* Api::token_of(const HttpRequest& request) const {
    const std::string_view header = request.header("Authorization");
    return header.starts_with(kBearer) ? tokens_.find(header.substr(kBearer.size())) : nullptr;
}

/// The log has the 1st, 2nd, 4th, 8th ... of them.
Api::Page Api::refuse_unknown(const HttpRequest& request) {
    if (std::has_single_bit(++unauthorized_))
        spdlog::warn("api: {} request(s) without a valid token, the last from {}", unauthorized_,
                     request.address);
    const bool has_one = !request.header("Authorization").empty();
    return refuse(401, counters_.unauthorized,
                  {"Authorization", has_one ? "an unknown token" : "nothing", "Bearer TOKEN",
                   "`weirctl token create NAME --role view` makes a token and its line of the token file"});
}

Api::Page Api::refuse_body(const Route& route, const HttpRequest& request) const {
    const HttpBody& body = request.announced;
    const std::string_view type = request.header("Content-Type");
    const std::string_view stated = type.substr(0, type.find(';'));
    if (route.body_max != 0 && stated != "application/json")
        return refuse(415, counters_.malformed,
                      {"Content-Type", std::string(type), "application/json", "the body is a JSON object"});
    if (body.status != 0)
        return refuse(
            body.status, counters_.malformed,
            {std::string(body.header), body.found, std::string(body.allowed), std::string(body.why)});
    if (route.body_max == 0 && body.bytes != 0)
        return refuse(400, counters_.malformed,
                      {"body", body.found, "none", "a request that reads has no body"});
    if (route.body_max != 0 && body.header.empty())
        return refuse(411, counters_.malformed,
                      {"Content-Length", "nothing", "the number of bytes",
                       "the length of a body is known before it comes"});
    if (body.bytes > route.body_max)
        return refuse(413, counters_.malformed,
                      {"Content-Length", body.found, "at most " + std::to_string(route.body_max), ""});
    return nullptr;
}

Api::Page Api::refuse_change(const Route& route, const HttpRequest& request, const std::string& token) {
    if (route.body_max == 0)
        return nullptr;
    const std::string_view stated = request.header(kKeyHeader);
    if (stated.size() < kKeyBytesMin || stated.size() > kKeyBytesMax || !is_visible(stated))
        return refuse(
            400, counters_.malformed,
            {std::string(kKeyHeader), std::string(stated.substr(0, kKeyBytesMax)),
             "8 to 128 characters, others for each change", "a change has a key, so that it happens once"});
    if (Page refused = refuse_repeated(token, std::string(stated)))
        return refused;
    std::size_t bodies = 0;
    std::size_t own = 0;
    for (const auto& [number, asked] : asked_)
        if (asked.match.route->body_max != 0) {
            ++bodies;
            own += asked.token.name == token ? 1 : 0;
        }
    if (bodies >= kBodiesMax || own >= kBodiesPerToken)
        return refuse(503, counters_.busy,
                      {"body",
                       std::to_string(own) + " changes of this token are on the way, " +
                           std::to_string(bodies) + " of all",
                       "fewer than " + std::to_string(kBodiesPerToken) + " of a token, and than " +
                           std::to_string(kBodiesMax) + " of all",
                       "ask later"});
    return nullptr;
}

Api::Page Api::refuse_repeated(const std::string& token, const std::string& key) const {
    if (!keys_.has(token, key))
        return nullptr;
    return refuse(409, counters_.replayed,
                  {std::string(kKeyHeader), key, "a key that was not used",
                   "this change came before: look at its effect, and send another one with a new key"});
}

void Api::forget(std::uint64_t number) {
    asked_.erase(number);
}

}  // namespace weir
