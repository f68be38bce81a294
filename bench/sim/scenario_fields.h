// scenario_fields.h - parts of a scenario with parsers of their own: names, sets of hosts, sources. Internal
// to the parser of Scenario. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/sim/scenario.h"
#include "common/config/config_reader.h"
#include "common/config/config_text.h"

namespace weir::sim {

inline constexpr std::uint64_t kHostsMax = 4096;
inline constexpr Range kRateRange{1'000'000, 400'000'000'000};  // bit/s
inline constexpr Range kBufferRange{0, 1'000'000'000};          // bytes

/// The name of a tenant or a source; its absence is a fault.
void read_required_name(ObjectReader& reader, std::string& out);

/// "0-3,7", "all" or "none", in rising order. @param absent the set that an absent key means
[[nodiscard]] std::vector<std::uint32_t> read_host_set(ObjectReader& reader, std::string_view key,
                                                       std::uint32_t hosts, std::string_view absent);

/// Reads one source, of any kind; scenario.tenants and scenario.network have been read.
[[nodiscard]] SourceSpec read_source(const nlohmann::json& object, const std::string& path,
                                     const Scenario& scenario, const std::string& folder, Faults& faults);

/// Lines of `bytes fraction`, # begins a comment; the fractions rise to 1.
/// @return false, with the reason in `fault`, when it is not such a table
[[nodiscard]] bool parse_sizes(std::string_view text, SizeTable& out, std::string& fault);

}  // namespace weir::sim
