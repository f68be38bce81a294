// nbd_service.h - an export of a network block device, read and written at random places aligned to the size.
// Source: doc/proto.md of the NBD project (fixed newstyle, NBD_OPT_GO, simple replies). Threads: one.
#pragma once

#include "ctrl/calibrate/load/service.h"

namespace weir::calibrate {

class NbdService : public Service {
  public:
    explicit NbdService(std::string export_name) : export_name_(std::move(export_name)) {}

    [[nodiscard]] const Protocol& protocol() const override;
    [[nodiscard]] std::uint16_t usual_port() const override { return 10809; }
    [[nodiscard]] std::vector<Operation> operations() const override {
        return {Operation::kRead, Operation::kWrite, Operation::kDelete, Operation::kFlush};
    }
    [[nodiscard]] std::vector<Operation> usual_operations() const override { return {Operation::kRead}; }
    [[nodiscard]] std::vector<std::uint64_t> usual_sizes() const override {
        return {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};
    }
    [[nodiscard]] unsigned usual_connections() const override { return 4; }
    [[nodiscard]] bool destroys(Operation operation) const override {
        return operation == Operation::kWrite || operation == Operation::kDelete;
    }
    [[nodiscard]] bool sized(Operation operation) const override {
        return operation == Operation::kRead || operation == Operation::kWrite;
    }
    void greet(Link& link) override;
    void plan(Step& step) const override;
    void append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const override;

  private:
    void take_info(const std::string& info);
    [[nodiscard]] std::uint32_t length(const Step& step) const;

    std::string export_name_;
    std::uint64_t size_ = 0;
    std::uint16_t flags_ = 0;
    std::uint32_t block_min_ = 1;
    std::uint32_t block_max_ = 32U << 20;  // what every server must take, says proto.md
};

}  // namespace weir::calibrate
