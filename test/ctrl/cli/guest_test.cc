// guest_test.cc - arguments for QEMU and XML for libvirt, character by character.
#include "ctrl/cli/commands.h"
#include "ctrl/cli/failure.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

std::string joined(const std::vector<std::string>& arguments) {
    std::string text;
    for (const std::string& argument : arguments)
        text += argument + '\n';
    return text;
}

}  // namespace

TEST_CASE("QEMU gets shared memory, a listening socket, and vectors for every queue") {
    CHECK(joined(qemu_arguments(canned_vnic(), {})) ==
          R"(-m 1G
-object memory-backend-memfd,id=weir-mem,size=1G,share=on
-numa node,memdev=weir-mem
-chardev socket,id=weir-vm1-chr,path=/run/weir/vm/vm1.sock,server=on,wait=off
-netdev vhost-user,id=weir-vm1,chardev=weir-vm1-chr,queues=2
-device virtio-net-pci,netdev=weir-vm1,mac=52:54:00:00:00:01,mq=on,vectors=6,rx_queue_size=1024,tx_queue_size=1024,packed=on,host_mtu=1500
)");
}

TEST_CASE("under software emulation there are no vectors and no boot ROM") {
    json vnic = canned_vnic();
    vnic["queues"] = 1;
    const std::string text = joined(qemu_arguments(vnic, {.memory = "256M", .tcg = true}));
    CHECK(text.find("size=256M,share=on") != std::string::npos);
    CHECK(text.find(",vectors=0,romfile=,") != std::string::npos);
    CHECK(text.find("mq=on") == std::string::npos);
}

TEST_CASE("QEMU connects, and again after a restart, when the switch listens") {
    json vnic = canned_vnic();
    vnic["mode"] = "server";
    const std::string text = joined(qemu_arguments(vnic, {}));
    CHECK(text.find("path=/run/weir/vm/vm1.sock,reconnect=1\n") != std::string::npos);
    CHECK(text.find("server=on") == std::string::npos);
}

TEST_CASE("features that the configuration turned off are not asked for") {
    json vnic = canned_vnic();
    vnic["packed"] = false;
    vnic["mergeable"] = false;
    vnic["mac"] = nullptr;
    const std::string text = joined(qemu_arguments(vnic, {}));
    CHECK(text.find("packed") == std::string::npos);
    CHECK(text.find("mrg_rxbuf=off") != std::string::npos);
    CHECK(text.find("mac=") == std::string::npos);
    CHECK(libvirt_xml(vnic).find("<host mrg_rxbuf='off'/>") != std::string::npos);
}

TEST_CASE("odd paths are quoted for the shell, for QEMU and for XML") {
    json vnic = canned_vnic();
    vnic["socket"] = "/run/a b,c'<&>.sock";
    const std::string text = joined(qemu_arguments(vnic, {}));
    CHECK(text.find("-chardev 'socket,id=weir-vm1-chr,path=/run/a b,,c'\\''<&>.sock,server=on,wait=off'") !=
          std::string::npos);
    CHECK(libvirt_xml(vnic).find("path='/run/a b,c&apos;&lt;&amp;>.sock'") != std::string::npos);
}

TEST_CASE("libvirt gets the same facts as XML") {
    CHECK(libvirt_xml(canned_vnic()) == R"(<!-- in <domain>, once: the switch maps the guest's memory -->
<memoryBacking>
  <source type='memfd'/>
  <access mode='shared'/>
</memoryBacking>
<!-- in <devices> -->
<interface type='vhostuser'>
  <mac address='52:54:00:00:00:01'/>
  <source type='unix' path='/run/weir/vm/vm1.sock' mode='server'/>
  <model type='virtio'/>
  <driver queues='2' rx_queue_size='1024' tx_queue_size='1024' packed='on'/>
  <mtu size='1500'/>
</interface>
)");
    json vnic = canned_vnic();
    vnic["mode"] = "server";
    CHECK(libvirt_xml(vnic).find("mode='client'>\n    <reconnect enabled='yes' timeout='1'/>\n  </source>") !=
          std::string::npos);
}

TEST_CASE("a vNIC that is a device cannot be given to a guest") {
    for (const json& vnic : {canned_other_vnic(), json::object(), json()}) {
        CHECK_THROWS_AS(qemu_arguments(vnic, {}), Failure);
        CHECK_THROWS_AS(libvirt_xml(vnic), Failure);
    }
}
