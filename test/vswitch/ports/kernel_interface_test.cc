// kernel_interface_test.cc - the interface that a device names, and its state.
#include "vswitch/ports/kernel_interface.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("devices on interfaces of the kernel name them, others do not") {
    CHECK(kernel_interface_of("net_af_packet0,iface=veth0") == "veth0");
    CHECK(kernel_interface_of("net_af_packet12,qpairs=2,iface=eth1,blocksz=4096") == "eth1");
    CHECK(kernel_interface_of("net_af_xdp0,iface=ens3,start_queue=0") == "ens3");
    CHECK(kernel_interface_of("net_tap0,iface=tap0") == "tap0");
    CHECK(kernel_interface_of("net_pcap0,iface=eth0") == "eth0");
    CHECK(kernel_interface_of("net_pcap0,rx_pcap=in,tx_pcap=out").empty());
    CHECK(kernel_interface_of("net_ring0").empty());
    CHECK(kernel_interface_of("0000:03:00.0").empty());
    CHECK(makes_kernel_interface("net_tap0,iface=tap0"));
    CHECK_FALSE(makes_kernel_interface("net_af_packet0,iface=veth0"));
    CHECK(keeps_old_frames("net_af_packet0,iface=veth0"));
    CHECK_FALSE(keeps_old_frames("net_af_xdp0,iface=ens3"));
}

TEST_CASE("the kernel says which interfaces there are") {
    const auto loopback = read_kernel_link("lo");
    REQUIRE(loopback.has_value());
    CHECK(loopback->index != 0);
    const auto none = read_kernel_link("weir-no-such");
    REQUIRE(none.has_value());
    CHECK(none->index == 0);
    CHECK(read_kernel_link("a-name-that-is-too-long-for-linux")->index == 0);
}

TEST_CASE("a link that is not there says why, and what mends it") {
    CHECK(KernelLink{.index = 0}.fault("veth0").find("there is no interface veth0") == 0);
    CHECK(KernelLink{.index = 3}.fault("veth0") == "interface veth0 is down; ip link set veth0 up");
    CHECK(KernelLink{.index = 3, .enabled = true}.fault("veth0").find("no carrier") != std::string::npos);
    CHECK(KernelLink{.index = 3, .enabled = true, .running = true}.fault("veth0").empty());
}
