// service.h - requests of the protocols that weir-calibrate can send, and the table of these protocols.
// Units: bytes. Threads: one.
//
// A service is only the request half of a client: its responses are read by the switch's own parser of the
// protocol (response_reader.h), so that both count the same sizes.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_functions/request.h"
#include "cost_functions/tracker/protocol.h"
#include "ctrl/calibrate/fit/measurement.h"
#include "ctrl/calibrate/load/tcp_connection.h"

// The protocols by their names on the command line: function that makes the service, name. A new protocol is
// load/service_NAME.cc with `std::unique_ptr<Service> FUNCTION(const ServiceOptions&)`, and its line here.
#define WEIR_CALIBRATE_SERVICES(SERVICE)                       \
    SERVICE(make_memcached_service, "memcached")               \
    SERVICE(make_memcached_binary_service, "memcached-binary") \
    SERVICE(make_nbd_service, "nbd")                           \
    SERVICE(make_redis_service, "redis")

namespace weir::calibrate {

/// Most payload bytes of one request.
inline constexpr std::uint64_t kPayloadMax = 32U << 20;

/// One kind of request, which is measured in every round.
struct Step {
    Operation operation = Operation::kRead;
    std::uint64_t size = 0;    ///< payload bytes
    std::uint32_t keys = 1;    ///< keys of a request; with more than one, none of the keys exists
    std::uint64_t places = 1;  ///< different keys or blocks that the requests ask for

    [[nodiscard]] std::string name() const { return request_name(operation, size, keys); }
};

struct ServiceOptions {
    std::string nbd_export;  ///< empty: the server's default export
};

class Service {
  public:
    virtual ~Service() = default;

    [[nodiscard]] virtual const Protocol& protocol() const = 0;
    [[nodiscard]] virtual std::uint16_t default_port() const = 0;
    /// Operations that can be measured.
    [[nodiscard]] virtual std::vector<Operation> operations() const = 0;
    /// The measured operations, sizes and connections when the command line does not choose.
    [[nodiscard]] virtual std::vector<Operation> default_operations() const = 0;
    [[nodiscard]] virtual std::vector<std::uint64_t> default_sizes() const = 0;
    [[nodiscard]] virtual unsigned default_connections() const = 0;
    /// Whether gets of several keys are measured besides reads of one.
    [[nodiscard]] virtual bool has_several_keys() const { return false; }
    /// Whether the operation destroys data of the appliance, so that the operator must allow it.
    [[nodiscard]] virtual bool destroys(Operation) const { return false; }
    /// Whether requests of this operation come in sizes.
    [[nodiscard]] virtual bool is_sized(Operation) const { return true; }

    /// Negotiates on a new connection. @throws cli::Failure
    virtual void greet(TcpConnection&) {}
    /// Sets `places`. @throws cli::Failure when the appliance cannot serve the step
    virtual void plan(Step& step) const = 0;
    /// Requests for every place before the step, which create the data that it reads; none when it needs no
    /// data.
    [[nodiscard]] virtual std::optional<Step> fill_step(const Step&) const { return std::nullopt; }
    /// Requests for every place after the last round, which delete the created data.
    [[nodiscard]] virtual std::optional<Step> clear_step(const Step&) const { return std::nullopt; }

    /// Appends one request. @param cookie pairs it with its response where the protocol has one
    virtual void append(std::string& out, const Step& step, std::uint64_t place,
                        std::uint64_t cookie) const = 0;
};

/// nullptr when there is no such protocol.
[[nodiscard]] std::unique_ptr<Service> make_service(std::string_view protocol, const ServiceOptions& options);
/// "memcached, memcached-binary, nbd, redis"
[[nodiscard]] std::string service_names();

/// The first `size` of kPayloadMax random bytes, which no appliance can compress.
[[nodiscard]] std::string_view random_payload(std::uint64_t size);

/// Appends a field of a header, most significant byte first.
template <std::unsigned_integral T>
void append_big_endian(std::string& out, T value) {
    for (std::size_t i = sizeof(T); i-- > 0;)
        out += static_cast<char>(std::uint64_t{value} >> (8 * i));
}

}  // namespace weir::calibrate
