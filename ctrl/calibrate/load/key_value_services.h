// key_value_services.h - memcached (text and binary) and Redis. Keys begin with "weir-calibrate:", and what
// was written is deleted afterwards. Threads: one.
#pragma once

#include "ctrl/calibrate/load/service.h"

namespace weir::calibrate {

/// What they have in common: values that have to be there before they can be read.
class KeyValueService : public Service {
  public:
    [[nodiscard]] std::vector<Operation> operations() const override {
        return {Operation::kRead, Operation::kWrite};
    }
    [[nodiscard]] std::vector<Operation> usual_operations() const override { return operations(); }
    [[nodiscard]] std::vector<std::uint64_t> usual_sizes() const override;
    /// Many clients: few that pipeline are answered with fewer system calls.
    [[nodiscard]] unsigned usual_connections() const override { return 64; }
    void plan(Step& step) const override;
    [[nodiscard]] std::optional<Step> filling(const Step& step) const override;
    [[nodiscard]] std::optional<Step> clearing(const Step& step) const override;

    /// Of one length for all places and sizes.
    static void append_key(std::string& out, const Step& step, std::uint64_t place);
    static constexpr std::size_t kKeyBytes = 32;
};

class MemcachedService : public KeyValueService {
  public:
    [[nodiscard]] const Protocol& protocol() const override;
    [[nodiscard]] std::uint16_t usual_port() const override { return 11211; }
    [[nodiscard]] bool several_keys() const override { return true; }
    void append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const override;
};

class MemcachedBinaryService : public KeyValueService {
  public:
    [[nodiscard]] const Protocol& protocol() const override;
    [[nodiscard]] std::uint16_t usual_port() const override { return 11211; }
    void append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const override;
};

class RedisService : public KeyValueService {
  public:
    [[nodiscard]] const Protocol& protocol() const override;
    [[nodiscard]] std::uint16_t usual_port() const override { return 6379; }
    [[nodiscard]] bool several_keys() const override { return true; }
    void append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const override;
};

}  // namespace weir::calibrate
