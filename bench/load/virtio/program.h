// program.h - the parts that weir-load and weir-requests share: command line, EAL, ports, events as JSON
// lines. Threads: main.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/load/virtio/port.h"
#include "bench/load/virtio/spec.h"

namespace weir::load {

using Ports = std::vector<std::unique_ptr<Port>>;

/// Prints one JSON object as a line of standard output.
void print_event(const nlohmann::json& event);

/// Starts the EAL with two lcores (main and the polling one) and opens every port, printing `listening`
/// before each.
/// @throws std::runtime_error when DPDK refuses
[[nodiscard]] Ports open_ports(const std::string& program, const LoadSpec& spec);

/// The lcore that polls.
[[nodiscard]] unsigned polling_core();

/// Reads JSON objects from standard input, one a line, and calls execute(object) for each; an exception
/// becomes an `error` event.
void serve_lines(const std::function<void(const nlohmann::json&)>& execute);

/// A program's main(): parses SPEC.json and calls work(spec). @return the exit status
int run_program(const std::string& program, int argc, char** argv, void (*work)(const LoadSpec&));

}  // namespace weir::load
