// feedback_key.cc - a file with one secret.
#include "vswitch/topology/feedback_key.h"

#include <cctype>
#include <fstream>
#include <iterator>

#include "common/error.h"

namespace weir {

FeedbackKey load_feedback_key(const std::string& file) {
    FeedbackKey key{};
    if (file.empty())
        return key;
    std::ifstream stream(file);
    std::string digits{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    std::erase_if(digits, [](unsigned char c) { return std::isspace(c) != 0; });
    bool good = stream.is_open() && digits.size() == 2 * key.size();
    for (std::size_t i = 0; good && i < digits.size(); ++i) {
        const auto c = static_cast<unsigned char>(digits[i]);
        good = std::isxdigit(c) != 0;
        const int digit = std::isdigit(c) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
        key[i / 2] = static_cast<std::uint8_t>(key[i / 2] << 4 | digit);
    }
    if (!good)
        throw HostError("feedback.key_file: " + file +
                        (stream.is_open() ? " does not hold" : " cannot be read; it needs") +
                        " 32 hexadecimal digits: openssl rand -hex 16 > " + file);
    return key;
}

}  // namespace weir
