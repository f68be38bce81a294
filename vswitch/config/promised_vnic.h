// promised_vnic.h - a vNIC's configuration in force: its file's, with the values of the controller's promise.
// Source: docs/operations.md ("Promises to vNICs"). Units: in the field
// names. Threads: any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/config/vnic_promise.h"
#include "vswitch/config/config.h"

namespace weir {

/// The values that the file states and a promise replaces.
[[nodiscard]] VnicPromise stated_promise(const VnicConfig& file);

/// As differences(), and with `encrypt` when encryption is promised to a vNIC that does not encrypt.
[[nodiscard]] std::vector<PromiseDifference> differences_from_file(const VnicPromise& promise,
                                                                   const VnicConfig& file);

/// Guarantee, reservation and shares are the promise's. The limit is the lower of both: the file's is a bound
/// of the host. A reservation is cut to the limit; packets that the file reserves need a kind with a rate,
/// and fit into the limit. All else is the file's. Example: a promise of 1 Gbit/s within 4 Gbit/s, beside a
/// file with a reservation of 2 Gbit/s, a limit of 3 Gbit/s and 300 shares: 1 Gbit/s within 3 Gbit/s, 100
/// shares. Values of the workers (WorkerPromise) that the promise has are handled alike; encryption is
/// promised only to a vNIC whose file encrypts.
/// @param vnic as its file has it
[[nodiscard]] VnicConfig with_promise(VnicConfig vnic, const VnicPromise& promise, Accounting accounting);

/// Faults of keys of a change at run time that the promise has: they would not take effect. A limit may be
/// lowered below the promise's, and removed again.
/// @param changed the file's configuration after the change  @param path of the change
[[nodiscard]] Faults faults_of_promised_keys(const nlohmann::json& change, const VnicConfig& changed,
                                             const VnicPromise& promise, const std::string& path);

}  // namespace weir
