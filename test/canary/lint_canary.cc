// lint_canary.cc - a fault that compiles: a value is read after it was moved away. clang-tidy must report it.
#include <string>
#include <utility>
#include <vector>

std::size_t length_after_move(std::vector<std::string>& into, std::string text);
std::size_t length_after_move(std::vector<std::string>& into, std::string text) {
    into.push_back(std::move(text));
    return text.size();
}
