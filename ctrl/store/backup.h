// backup.h - a copy of a store and its bill, made while both are used.
// Threads: any, but one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "ctrl/store/bill_reader.h"

namespace weir {

/// Why a backup cannot be made there; empty: it can. It can be used as it is, as the `store` of a cluster
/// file.
[[nodiscard]] std::string why_no_backup(const std::string& file);

/// Writes the store's image to `file`, and its bill to the folder beside it. The file appears last, when all
/// of it is on the disk.
/// @param image of the store  @param stop ends it early: then the file does not appear
/// @throws HostError
void write_backup(const std::string& file, std::span<const std::uint8_t> image, BillReader bill,
                  const std::atomic<bool>& stop);

}  // namespace weir
