// service.cc - look-up in the table of protocols, and the random payload.
#include "ctrl/calibrate/load/service.h"

#include <random>

#include "common/config/config_text.h"

namespace weir::calibrate {

#define WEIR_DECLARE_SERVICE(function, name) std::unique_ptr<Service> function(const ServiceOptions& options);
WEIR_CALIBRATE_SERVICES(WEIR_DECLARE_SERVICE)
#undef WEIR_DECLARE_SERVICE

namespace {

struct ServiceEntry {
    std::string_view name;
    std::unique_ptr<Service> (*make)(const ServiceOptions& options);
};

constexpr ServiceEntry kServices[] = {
#define WEIR_SERVICE_ENTRY(function, name) {name, function},
    WEIR_CALIBRATE_SERVICES(WEIR_SERVICE_ENTRY)
#undef WEIR_SERVICE_ENTRY
};

}  // namespace

std::unique_ptr<Service> make_service(std::string_view protocol, const ServiceOptions& options) {
    for (const ServiceEntry& entry : kServices)
        if (entry.name == protocol)
            return entry.make(options);
    return nullptr;
}

std::string service_names() {
    return list_words(kServices, &ServiceEntry::name);
}

std::string_view random_payload(std::uint64_t size) {
    static const std::string kBytes = [] {
        std::string bytes(kPayloadMax, '\0');
        std::mt19937_64 random(1);
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
            const std::uint64_t word = random();
            for (std::size_t b = 0; b < sizeof word; ++b)
                bytes[i + b] = static_cast<char>(word >> (8 * b));
        }
        return bytes;
    }();
    return std::string_view(kBytes).substr(0, size);
}

}  // namespace weir::calibrate
