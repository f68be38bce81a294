// feedback_key.h - the cluster's secret from its file. Threads: at start.
#pragma once

#include <string>

#include "vswitch/datapath/feedback/feedback_frame.h"

namespace weir {

/// Reads 32 hexadecimal digits (surrounding white space does not matter).
/// @param file empty: the key that everybody knows, all zeros
/// @throws HostError when the file cannot be read or holds something else
[[nodiscard]] FeedbackKey load_feedback_key(const std::string& file);

}  // namespace weir
