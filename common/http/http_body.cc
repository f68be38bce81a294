// http_body.cc - Transfer-Encoding and Content-Length.
#include "common/http/http_body.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {
namespace {

constexpr std::string_view kCoding = "Transfer-Encoding";
constexpr std::string_view kLength = "Content-Length";
constexpr std::array kOfBodies{kCoding, kLength};

std::vector<const std::string*> values_of(const HttpHeaders& headers, std::string_view name) {
    std::vector<const std::string*> values;
    for (const auto& [key, value] : headers)
        if (is_same_header(key, name))
            values.push_back(&value);
    return values;
}

/// Of the characters that RFC 9110 5.6.2 allows. A space before the colon makes two names of one.
bool is_token(std::string_view name) {
    static constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [](char sign) {
        return (sign >= '0' && sign <= '9') || (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') ||
               kSigns.find(sign) != std::string_view::npos;
    });
}

/// libmicrohttpd 0.9.75 makes `Transfer-Encodingchunked` of a header whose value is on the next line.
bool is_folded(std::string_view name) {
    return std::ranges::any_of(kOfBodies, [name](std::string_view known) {
        return name.size() > known.size() && is_same_header(name.substr(0, known.size()), known);
    });
}

}  // namespace

bool is_same_header(std::string_view one, std::string_view other) {
    const auto lower = [](char sign) {
        return sign >= 'A' && sign <= 'Z' ? static_cast<char>(sign + 32) : sign;
    };
    return std::ranges::equal(one, other, {}, lower, lower);
}

HttpBody body_of(const HttpHeaders& headers) {
    constexpr std::size_t kDigitsMost = 18;
    for (const auto& [name, value] : headers)
        if (!is_token(name) || is_folded(name))
            return {.status = 400,
                    .header = "a header's name",
                    .found = name,
                    .allowed = "a colon behind it, and its value in the same line"};
    const auto codings = values_of(headers, kCoding);
    const auto lengths = values_of(headers, kLength);
    if (!codings.empty())
        return {.status = lengths.empty() ? 411U : 400U,
                .header = kCoding,
                .found = *codings.front(),
                .allowed = "Content-Length alone",
                .why = "the length of a body is known before it comes"};
    if (lengths.empty())
        return {};
    HttpBody body{.header = kLength, .found = *lengths.front(), .allowed = "one number of bytes"};
    const std::string& text = *lengths.front();
    const bool is_number = !text.empty() && text.size() <= kDigitsMost &&
                           std::ranges::all_of(text, [](char sign) { return sign >= '0' && sign <= '9'; });
    if (lengths.size() == 1 && is_number)
        std::from_chars(text.data(), text.data() + text.size(), body.bytes);
    else
        body.status = 400;
    return body;
}

}  // namespace weir
