// services.cc - the only list of services.
#include "common/units.h"
#include "ctrl/calibrate/load/key_value_services.h"
#include "ctrl/calibrate/load/nbd_service.h"

namespace weir::calibrate {

std::string Step::name() const {
    const std::string word(kOperationNames[static_cast<std::size_t>(operation)]);
    if (keys > 1)
        return word + " " + std::to_string(keys) + " absent keys";
    return size == 0 ? word : word + " " + format_size(size);
}

std::unique_ptr<Service> make_service(std::string_view protocol, const ServiceOptions& options) {
    if (protocol == "memcached")
        return std::make_unique<MemcachedService>();
    if (protocol == "memcached-binary")
        return std::make_unique<MemcachedBinaryService>();
    if (protocol == "nbd")
        return std::make_unique<NbdService>(options.nbd_export);
    if (protocol == "redis")
        return std::make_unique<RedisService>();
    return nullptr;
}

std::string service_names() {
    return "memcached, memcached-binary, nbd, redis";
}

}  // namespace weir::calibrate
