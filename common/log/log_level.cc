// log_level.cc - words of the levels, and the logger's own.
#include "common/log/log_level.h"

#include <spdlog/spdlog.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace weir {
namespace {

using Level = spdlog::level::level_enum;

constexpr std::array kLevels{Word<Level>{"debug", Level::debug}, Word<Level>{"info", Level::info},
                             Word<Level>{"warning", Level::warn}, Word<Level>{"error", Level::err}};

std::string_view word_of(Level level) {
    for (const Word<Level>& word : kLevels)
        if (word.value == level)
            return word.text;
    return "other";
}

}  // namespace

nlohmann::json log_level(ObjectReader& args, const Faults& faults) {
    std::optional<Level> wanted;
    args.read_word<Level>("level", wanted, kLevels);
    args.finish();
    const Level before = spdlog::get_level();
    if (faults.empty() && wanted)
        spdlog::set_level(*wanted);
    return {{"level", word_of(spdlog::get_level())}, {"before", word_of(before)}};
}

}  // namespace weir
