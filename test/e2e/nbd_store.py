"""nbd_store.py - requests of kernels to a real appliance, an NBD store, through a switch that tracks them.

VM 1 is the client, VM 3 the server, on one host.
"""

import json

from hosts import NBD_PORT
from two_hosts import TwoHosts

READ_TOKENS = 80
# A read of any size has the same price here (Pulsar 4.4).
FLAT = {"name": "80 a read", "unit": "tokens", "source": "Pulsar 4.4",
        "operations": {"read": {"size": "response", "shape": "linear", "base": READ_TOKENS, "tokens": 0, "per": "1B"},
                       "otherwise": {"size": "sum", "shape": "linear", "base": 1, "tokens": 0, "per": "1B"}}}


class NbdStore(TwoHosts):
    def start(self, *filters, clients=None, **store):
        """The switch, the clients' kernels (`clients`: by VM, the keys of its use of the store), and a server with `filters`.
        `store`: more of the appliance's keys."""
        self.join()
        cost = self.path("cost.json")
        with open(cost, "w") as stream:
            json.dump(FLAT, stream)
        vnics = {number: {"appliances": [{"name": "disk", **limits}]} for number, limits in (clients or {1: {}}).items()}
        self.a = self.host("a", 1, {"rate": "1Gbit"}, None, {**vnics, 3: {}},
                           {"appliances": [{"name": "disk", "address": "10.0.0.3", "port": NBD_PORT, "protocol": "nbd", "cost": cost,
                                            **store}]})
        self.kernels = {number: self.kernel(number) for number in (*vnics, 3)}
        self.site.serve_nbd(self.kernels[3], *filters)

    def reads(self, number, connections, *phases):
        """VM `number`'s reads, in phases of SIZE:SECONDS; with none they outlast the test. Returns the process."""
        return self.site.client(self.kernels[number], "nbd_client", "10.0.0.3", NBD_PORT, "--connections", connections,
                                *(phases or ("512:100000",)))

    def flows(self, *words, interval="100ms"):
        return self.a.ctl("flow", "list", *words, "--interval", interval)["flows"]

    def held_by(self, bucket):
        """Whether this bucket alone has held VM 1's requests back in a short time."""
        flow, = self.flows("vm1", interval="200ms")
        return flow["held_back_by"] == bucket and not any(part for name, part in flow["blocked_percent"].items() if name != bucket)
