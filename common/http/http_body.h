// http_body.h - the body that the head of a request announces.
// Source: RFC 9110 5.6.2; RFC 9112 5.1, 5.2, 6.1 to 6.3. Units: bytes. Threads: any.
//
// Two programs that read one head differently take parts of a body for requests of their own, and a body
// without a stated length is one without a bound. So a head is refused unless all readers agree on it: at
// most one Content-Length, of digits, and no Transfer-Encoding of any value, the empty one included.
//
// Example: `Content-Length: 9` announces 9 bytes, a head without it none. `Transfer-Encoding:` is refused
// with 411, `Content-Length: 9, 9` with 400.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Header names are the same in any case.
[[nodiscard]] bool is_same_header(std::string_view one, std::string_view other);

struct HttpBody {
    std::uint64_t bytes = 0;
    unsigned status = 0;         ///< of the refusal; 0: none
    std::string_view header{};   ///< that is refused
    std::string found{};         ///< its value
    std::string_view allowed{};  ///< in its place
    std::string_view why{};
};

[[nodiscard]] HttpBody body_of(const HttpHeaders& headers);

}  // namespace weir
