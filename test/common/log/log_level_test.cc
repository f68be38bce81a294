// log_level_test.cc - levels by their words, and wrong ones.
#include "common/log/log_level.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using nlohmann::json;

namespace {

struct LevelAnswer {
    json data;
    Faults faults;
};

LevelAnswer ask(const json& args) {
    LevelAnswer answer;
    ObjectReader reader(args, "args", answer.faults);
    answer.data = log_level(reader, answer.faults);
    return answer;
}

}  // namespace

TEST_CASE("a level is set, and the reply has the level before", "[log]") {
    spdlog::set_level(spdlog::level::info);
    CHECK(ask(json::object()).data == json{{"level", "info"}, {"before", "info"}});
    CHECK(ask({{"level", "debug"}}).data == json{{"level", "debug"}, {"before", "info"}});
    CHECK(spdlog::should_log(spdlog::level::debug));
    CHECK(ask({{"level", "error"}}).data == json{{"level", "error"}, {"before", "debug"}});
    CHECK_FALSE(spdlog::should_log(spdlog::level::warn));
    CHECK(ask({{"level", "info"}}).faults.empty());
}

TEST_CASE("a word that is no level, or another key, changes nothing", "[log]") {
    spdlog::set_level(spdlog::level::info);
    CHECK(test::has_fault(ask({{"level", "loud"}}).faults, "args.level", "debug, info, warning, error"));
    CHECK(test::has_fault(ask({{"level", "debug"}, {"for", "5s"}}).faults, "args.for", "unknown key"));
    CHECK(spdlog::get_level() == spdlog::level::info);
}
