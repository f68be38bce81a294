"""datacenter_test.py - Pulsar's virtual datacenters for real: two switches, a controller over tcp with keys, an NBD store and
a memcached, four tenants. On each service a tenant with two connections stands beside one with 24.

The services are slow in truth (the store by a filter, memcached by its VM's limit), so that a tenant without isolation takes from
the others. No moment is fixed: rates are read until they are as they should be.
"""

import json
import os
import socket

import links
from controller import Controller, make_key
from hosts import NBD_PORT, start
from two_hosts import TwoHosts
from wait import until

NBD, MEMCACHED = ("10.0.0.5", NBD_PORT), ("10.0.0.6", 11211)
TOKENS = 10             # of a request of any kind and size
READ_BYTES = 512
STORE_BPS = 110 * READ_BYTES * 8    # the store's real rate: 1.1 times the capacity that the controller gives out
RESERVED = {"vm1": 500, "vm2": 200, "vm3": 1000, "vm4": 300}
USERS = {"a": {"vm1", "vm2", "vm3"}, "b": {"vm4"}}


def request_cost():
    return {"name": "10 a request", "unit": "tokens", "source": "test",
            "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": TOKENS, "tokens": 0, "per": "1B"}}}


class DatacenterTest(TwoHosts):
    def setUp(self):
        super().setUp()
        self.controller = None
        self.addCleanup(lambda: links.command("ip link set lo up"))
        self.join()
        self.keys = {name: make_key(self.path(f"{name}.key")) for name in ("ctrl", "a", "b")}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.endpoint = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        with open(self.path("cost.json"), "w") as stream:
            json.dump(request_cost(), stream)

    def control(self, folder):
        os.makedirs(folder, exist_ok=True)
        tenants = [{"name": name, "vnics": [{"name": vnic}],
                    "appliances": [{"name": appliance, "reservation": f"{RESERVED[vnic]}tokens"}]}
                   for name, vnic, appliance in (("A", "vm1", "disk"), ("B", "vm2", "disk"), ("C", "vm3", "cache"),
                                                 ("D", "vm4", "cache"))]
        tenants.append({"name": "services", "vnics": [{"name": "vm5"}, {"name": "vm6"}]})
        return Controller(folder, {
            "listen": [self.endpoint], "secret_key_file": self.path("ctrl.key"),
            "topology": {"hosts": [{"name": name, "key": self.keys[name]} for name in ("a", "b")]},
            "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"},
                           {"name": "cache", "capacity_min": "2500tokens", "capacity_max": "2500tokens"}],
            "tenants": tenants}).start()

    def switches(self, isolated):
        """Host a has vm1 to vm3, host b vm4 and the services' vm5 and vm6."""
        def keys(name):
            link = {"connect": self.endpoint, "server_key": self.keys["ctrl"], "secret_key_file": self.path(f"{name}.key")}
            services = [{"name": "disk", "address": NBD[0], "port": NBD[1], "protocol": "nbd", "cost": self.path("cost.json")},
                        {"name": "cache", "address": MEMCACHED[0], "port": MEMCACHED[1], "protocol": "memcached",
                         "cost": self.path("cost.json")}]
            return {"appliances": services, **({"controller": link} if isolated else {})}

        def uses(appliance):
            return {"appliances": [{"name": appliance, "burst": "100ms"}]}
        self.b = self.host("b", 0, {"rate": "1Gbit"}, None, {4: uses("cache"), 5: {}, 6: {"limit": "3Mbit"}}, keys("b"))
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {1: uses("disk"), 2: uses("disk"), 3: uses("cache")}, keys("a"))
        self.kernels = {number: self.kernel(number) for number in range(1, 7)}
        self.site.serve_nbd(self.kernels[5], "--filter=rate", "memory", "1M", f"rate={STORE_BPS}")
        self.serve(self.kernels[6], MEMCACHED[1], "memcached", "-u", "root", "-l", MEMCACHED[0], "-p", MEMCACHED[1], "-t", 1)

    def load(self):
        for number, connections in ((1, 2), (2, 24)):
            self.site.client(self.kernels[number], "nbd_client", *NBD, "--connections", connections, f"{READ_BYTES}:600")
        for number, connections in ((3, 2), (4, 24)):
            self.site.client(self.kernels[number], "memcached_reader", *MEMCACHED, connections, 1000)

    def used(self, host):
        """Tokens per second that the requests of each of its vNICs took in a second."""
        return {flow["vnic"]: flow["used_per_second"]["appliance"]
                for flow in host.ctl("flow", "list", "--interval", "1s")["flows"]}

    def wait_guarantees(self, *names):
        """Waits until each tenant gets its reservation, less a tenth for readings that cut a request. All want more."""
        short = set(names or RESERVED)

        def held(host):
            short.difference_update([name for name, rate in self.used(host).items() if rate >= 0.9 * RESERVED[name]])
            return not short & USERS[host.config["host"]]
        for host in (self.a, self.b):
            if short & USERS[host.config["host"]]:
                until(lambda host=host: held(host), f"the guarantees of {names or list(RESERVED)}")

    def wait_links(self, state, *hosts):
        for host in hosts or (self.a, self.b):
            until(lambda host=host: host.ctl("status")["controller"]["state"] == state,
                  f"the link of {host.config['host']} {state}")

    def test_guarantees_hold_while_the_controller_runs_is_killed_and_returns(self):
        self.controller = self.control(self.path("first"))
        self.switches(isolated=True)
        self.wait_links("connected")
        self.load()
        self.wait_guarantees()
        self.controller.kill()
        self.wait_links("silent")
        self.wait_guarantees()
        self.controller.start()
        self.wait_links("connected")
        self.wait_guarantees("vm1", "vm3")
        # Another takes its place, which knows nothing but the file.
        self.controller.kill()
        epoch = self.a.ctl("status")["controller"]["epoch"]
        self.controller = self.control(self.path("second"))
        until(lambda: self.a.ctl("status")["controller"]["epoch"] > epoch, "the new controller's epoch")
        self.wait_links("connected")
        self.wait_guarantees("vm1", "vm3")
        # Cut off, while both ends live.
        links.command("ip link set lo down")
        self.wait_links("silent")
        self.wait_guarantees("vm1", "vm3")
        links.command("ip link set lo up")
        self.wait_links("connected")
        # A switch goes down under its VMs and comes back.
        self.b.kill()
        start(self.b)
        self.wait_links("connected")
        self.wait_guarantees("vm1", "vm3")
        self.assertEqual(self.controller.stop(), 0)

    def test_without_isolation_the_greedy_take_from_the_others(self):
        self.switches(isolated=False)
        self.load()
        pairs = [("vm1", "vm2"), ("vm3", "vm4")]

        def taken_from():
            rates = self.used(self.a) | self.used(self.b)
            pairs[:] = [(name, greedy) for name, greedy in pairs
                        if not (0 < rates[name] < 0.6 * RESERVED[name] and rates[greedy] > RESERVED[greedy])]
            return not pairs
        until(taken_from, f"each below its guarantee beside the greedy: {pairs}")
