// service.h - how an appliance of some protocol is asked. Answers are read by the switch's own parser
// (answer_reader.h), so there is only this half of a client. Units: bytes. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_functions/request.h"
#include "cost_functions/tracker/protocol.h"
#include "ctrl/calibrate/load/link.h"

namespace weir::calibrate {

/// One kind of request.
struct Step {
    Operation operation = Operation::kRead;
    std::uint64_t size = 0;    ///< payload
    std::uint32_t keys = 1;    ///< more than one: none of them is there
    std::uint64_t places = 1;  ///< different keys or blocks that are asked for
    [[nodiscard]] std::string name() const;
};

class Service {
  public:
    virtual ~Service() = default;

    [[nodiscard]] virtual const Protocol& protocol() const = 0;
    [[nodiscard]] virtual std::uint16_t usual_port() const = 0;
    /// Those that can be measured; the first is measured when nothing is said.
    [[nodiscard]] virtual std::vector<Operation> operations() const = 0;
    /// What is measured when nothing is said.
    [[nodiscard]] virtual std::vector<Operation> usual_operations() const = 0;
    [[nodiscard]] virtual std::vector<std::uint64_t> usual_sizes() const = 0;
    [[nodiscard]] virtual unsigned usual_connections() const = 0;
    /// Whether requests for several keys are to be measured besides.
    [[nodiscard]] virtual bool several_keys() const { return false; }
    /// Writes destroy what is there, so somebody must have said that they may.
    [[nodiscard]] virtual bool destroys(Operation) const { return false; }
    /// Whether the size of its requests makes them longer.
    [[nodiscard]] virtual bool sized(Operation) const { return true; }

    /// On every new connection. @throws cli::Failure
    virtual void greet(Link&) {}
    /// Fills in `places`. @throws cli::Failure this cannot be asked of the appliance
    virtual void plan(Step& step) const = 0;
    /// What has to be asked for every place before a step, and after it.
    [[nodiscard]] virtual std::optional<Step> filling(const Step&) const { return std::nullopt; }
    [[nodiscard]] virtual std::optional<Step> clearing(const Step&) const { return std::nullopt; }

    /// One request.
    virtual void append(std::string& out, const Step& step, std::uint64_t place,
                        std::uint64_t cookie) const = 0;
};

/// What services may be told.
struct ServiceOptions {
    std::string nbd_export;
};

/// By the name of a protocol ("memcached", "memcached-binary", "nbd", "redis"); nullptr when there is none.
[[nodiscard]] std::unique_ptr<Service> make_service(std::string_view protocol, const ServiceOptions& options);
/// "memcached, memcached-binary, nbd, redis"
[[nodiscard]] std::string service_names();

}  // namespace weir::calibrate
