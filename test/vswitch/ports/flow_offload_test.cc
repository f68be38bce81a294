// flow_offload_test.cc - a device without rte_flow: software, with the reason.
#include "vswitch/ports/flow_offload.h"

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

TEST_CASE("a device without flow rules leaves steering to software and reports that") {
    buffer_pool();
    RingNic nic;
    FlowSteering steering(nic.device().port_id(), true);
    VnicConfig tagged_vnic = vm(2);
    tagged_vnic.vlan = 10;
    for (const VnicConfig& vnic : {vm(1), tagged_vnic}) {
        const Steering answer = steering.add(1, vnic, 0);
        CHECK_FALSE(answer.hardware);
        CHECK(answer.reason.find("driver") != std::string::npos);
    }
    steering.remove(1);
    steering.remove(7);
}

TEST_CASE("without flow_offload, or without a fixed address, there is nothing to ask the device") {
    buffer_pool();
    RingNic nic;
    FlowSteering off(nic.device().port_id(), false);
    CHECK(off.add(1, vm(1), 0).reason == "flow_offload is off");
    FlowSteering on(nic.device().port_id(), true);
    VnicConfig open = vm(1);
    open.mac.reset();
    const Steering answer = on.add(1, open, 0);
    CHECK_FALSE(answer.hardware);
    CHECK(answer.reason == "the vNIC has no fixed MAC");
}

TEST_CASE("a mark of 0 belongs to no vNIC") {
    CHECK(FlowSteering::mark_of(0) == 1);
    CHECK(FlowSteering::mark_of(1023) == 1024);
}

TEST_CASE("a device that does not exist is one line with the device's name and a mend") {
    NicSettings settings;
    settings.device = "net_nosuchdriver0";
    settings.owner = "vNIC vm1";
    try {
        const NicDevice device(settings, buffer_pool());
        FAIL("it was opened");
    } catch (const HostError& error) {
        const std::string text = error.what();
        CHECK(text.find("vNIC vm1: cannot open device net_nosuchdriver0") == 0);
        CHECK(text.find("check the driver's name") != std::string::npos);
        CHECK(text.find('\n') == std::string::npos);
    }
}
