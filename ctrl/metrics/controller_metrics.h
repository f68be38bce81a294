// controller_metrics.h - a reading of the controller as metrics. docs/metrics.md has all families.
// Source: OpenMetrics 1.0; docs/design.md 5. Units: bytes, seconds, tokens. Threads: any (pure).
//
// Labels are names of hosts, tenants and appliances, and words of fixed lists: never a vNIC and never a flow.
// vNICs are measured by their switches. So the largest cluster file, of 10,000 hosts, 10,000 tenants and
// 1,000 appliances, has fewer samples than a page may have; one of 24,000 vNICs on 1,000 hosts has 12,000.
#pragma once

#include "common/metrics/exposition.h"
#include "ctrl/daemon/controller_reading.h"

namespace weir {

void write_controller_metrics(const ControllerReading& reading, metrics::Exposition& page);

/// Its parts: messages, connections, store and bill; then hosts, tenants and appliances.
void write_controller_counters(const ControllerReading& reading, metrics::Exposition& page);
void write_controller_subjects(const ControllerReading& reading, metrics::Exposition& page);

}  // namespace weir
