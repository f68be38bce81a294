"""steering_test.py - rte_flow for real: a switch inside a guest whose kernel makes tc filters of net_tap's rules.

The machine's own kernel may lack cls_flower; the distribution's cloud kernel has it. net_tap knows no marks. Frames
enter through the kernel's side of the tap, where the filters sit, and each has another destination address, so that
without a rule the kernel spreads them over the queues.
"""

import glob
import json

from case import Case, mac
from guest import Guest
from image import Extras, ImageError
from switch import SWITCH, WEIRCTL
from traffic import generate
from wait import until

WIRE = "wire0"
SOCKET = "/tmp/switch.sock"
DRIVERS = ("bus_vdev", "mempool_ring", "net_null", "net_tap")
MODULES = ("tun", "sch_ingress", "sch_multiq", "cls_flower", "act_gact", "act_mirred", "act_skbedit")
FRAMES = 100


def extras():
    """The switch with the DPDK drivers that it opens, weirctl, ip, and tc, which lists the kernel's filters."""
    drivers = [path for name in DRIVERS for path in glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{name}.so")]
    if len(drivers) != len(DRIVERS):
        raise ImageError(f"not one DPDK driver each for {DRIVERS}: {drivers}")
    return Extras("switch", (SWITCH, WEIRCTL, "/usr/sbin/tc", "/usr/bin/ip", *drivers), MODULES)


def sink(number, **keys):
    """A vNIC that takes every frame and sends none."""
    return {"name": f"vm{number}", "mac": mac(number), "device": f"net_null{number},no-rx=1", **keys}


class SteeringTest(Case):
    """vm1 belongs to worker 0, vm2 to worker 1; the tap outlives the switch, so that a filter that the switch leaves behind shows."""

    def start_inside(self, *vnics, **uplink):
        self.guest = Guest("host", self.folder, [], memory_mib=512, cpus=2, extras=extras()).boot()
        config = {"host": "h1", "workers": [0, 1], "poll": "adaptive", "control_socket": SOCKET,
                  "eal": ["--no-huge", "-m", "256", "--no-telemetry"], "vnics": list(vnics),
                  "uplink": {"device": f"net_tap0,iface={WIRE}", "rate": "1Gbit", "descriptors": 256, **uplink}}
        self.guest.run("sysctl -w net.ipv6.conf.default.disable_ipv6=1")
        self.guest.run(f"/usr/bin/ip tuntap add {WIRE} mode tap multi_queue")
        self.guest.run(f"echo '{json.dumps(config)}' >/tmp/switch.json")
        self.inside = self.guest.start("exec weir-switch --config /tmp/switch.json")
        until(self.answers, "the switch in the guest")

    def answers(self):
        if not self.inside.answer.empty():
            self.fail(f"the switch in the guest ended: {self.inside.wait(check=False)}")
        return self.guest.run(f"weirctl --socket {SOCKET} --json status >/dev/null && echo up", check=False)

    def ctl(self, *words):
        return json.loads(self.guest.run(f"weirctl --socket {SOCKET} --json {' '.join(words)}"))["data"]

    def rules(self):
        """The kernel's filters on the wire: {(destination MAC, VLAN or None): queue}."""
        listing = json.loads(self.guest.run(f"/usr/sbin/tc -j filter show dev {WIRE}") or "[]")
        found = [one["options"] for one in listing if "keys" in one.get("options", {})]
        return {(rule["keys"]["dst_mac"], rule["keys"].get("vlan_id")): rule["actions"][0]["queue_mapping"]
                for rule in found}

    def steering(self):
        return {vnic["name"]: vnic["steering"] for vnic in self.ctl("status")["vnics"]}

    def send(self, number, *settings):
        """Sends FRAMES frames from the kernel to a vNIC; all must arrive. Returns how many of them crossed workers."""
        before = self.crossed()
        arrived = self.ctl("vnic", "show", f"vm{number}")["to_vm"]["delivered"]["packets"]
        generate(self.guest, WIRE, "xmit_mode queue_xmit", f"count {FRAMES}", "delay 200000", "pkt_size 60",
                 "dst_min 10.0.0.1", "dst_max 10.0.0.254", f"dst_mac {mac(number)}", *settings).wait()
        until(lambda: self.ctl("vnic", "show", f"vm{number}")["to_vm"]["delivered"]["packets"] == arrived + FRAMES,
              f"{FRAMES} frames at vm{number}")
        return self.crossed() - before

    def crossed(self):
        return sum(worker["handoff"]["posted"] for worker in self.ctl("status")["workers"])

    def test_rules_bring_frames_to_their_workers_queue_and_come_and_go_with_their_vnics(self):
        self.start_inside(sink(1, worker=0), sink(2, worker=1), sink(3, worker=1, vlan=10))
        for name, steering in self.steering().items():
            self.assertEqual(steering["mode"], "hardware", f"{name}: {steering}")
            self.assertIn("no mark", steering["reason"])
        self.assertEqual(self.rules(), {(mac(1), None): 0, (mac(2), None): 1, (mac(3), 10): 1})
        self.assertEqual([self.send(1), self.send(2)], [0, 0])

        self.ctl("vnic", "add", *(f"{key}={value}" for key, value in sink(4, worker=1).items()))
        self.assertEqual(self.rules()[(mac(4), None)], 1)
        self.assertEqual(self.send(4), 0)
        self.ctl("vnic", "remove", "vm2")
        self.assertEqual(self.rules(), {(mac(1), None): 0, (mac(4), None): 1, (mac(3), 10): 1})
        # The tap's driver (DPDK 22.11) asks for a type behind the tag that no frame has: software sees to vm3.
        self.send(3, "vlan_id 10")

        self.guest.run("killall weir-switch")
        self.inside.wait()
        self.assertEqual(self.rules(), {})

    def test_without_offload_there_are_no_rules_and_frames_cross_workers(self):
        self.start_inside(sink(1, worker=0), sink(2, worker=1), flow_offload="off")
        for steering in self.steering().values():
            self.assertEqual(steering, {"mode": "software", "reason": "flow_offload is off"})
        self.assertEqual(self.rules(), {})
        self.assertGreater(self.send(1) + self.send(2), 0)
