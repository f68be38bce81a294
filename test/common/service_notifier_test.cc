// service_notifier_test.cc - reports to systemd: when, to which process, and nothing twice.
#include "common/service_notifier.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "test/support/catch.h"
#include "test/support/service_manager.h"

using namespace weir;
using weir::testing::ServiceManager;

namespace {

std::string notify_path() {
    return (std::filesystem::temp_directory_path() / ("weir_notifier_" + std::to_string(getpid()))).string();
}

}  // namespace

TEST_CASE("signs of life are due at half of the time that systemd waits, to the process that it watches") {
    constexpr Nanos kStart = 5 * kNanosPerSec;
    {
        const ServiceManager systemd(notify_path(), "30000000");
        ServiceNotifier notifier;
        notifier.ready(kStart);
        CHECK_FALSE(notifier.alive_due(kStart + 15 * kNanosPerSec - 1));
        CHECK(notifier.alive_due(kStart + 15 * kNanosPerSec));
        notifier.alive(kStart + 15 * kNanosPerSec);
        CHECK_FALSE(notifier.alive_due(kStart + 29 * kNanosPerSec));
        ::setenv("WATCHDOG_PID", "1", 1);
        CHECK_FALSE(ServiceNotifier().alive_due(kNever));
    }
    ServiceNotifier alone;  // without systemd
    alone.ready(kStart);
    CHECK_FALSE(alone.alive_due(kNever));
    alone.stopping();
}

TEST_CASE("a line of status is sent when it differs from the last one") {
    const ServiceManager systemd(notify_path());
    ServiceNotifier notifier;
    notifier.status("2 of 3 hosts");
    notifier.status("2 of 3 hosts");
    notifier.status("3 of 3 hosts");
    CHECK(systemd.received_now() == "STATUS=2 of 3 hosts");
    CHECK(systemd.received_now() == "STATUS=3 of 3 hosts");
    CHECK(systemd.received_now().empty());
}
