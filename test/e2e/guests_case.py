"""guests_case.py - base of the tests with real QEMU guests."""

import json

from case import Case, mac
from guest import Guest, Nic
from switch import other_cores


def address(number):
    return f"10.0.0.{number}"


class GuestsCase(Case):
    def guests(self, *numbers, cpus=1, listens=True, **keys):
        """Boots these VMs, all at once, on the vNICs of the same numbers."""
        found = [Guest(f"vm{number}", self.folder, [Nic(mac(number), f"{address(number)}/24",
                                                        socket=self.path(f"vm{number}.sock"), listens=listens, **keys)],
                       other_cores(), cpus=cpus) for number in numbers]
        for guest in found:
            guest.boot(wait=False)
        for guest in found:
            guest.wait_ready()
        return found

    def iperf(self, guest, number, options):
        """Runs iperf3 to VM `number`; its own report."""
        return json.loads(guest.run(f"iperf3 -J -c {address(number)} {options}"))["end"]

    def transfer(self, guest, number, size, options=""):
        """Sends `size` bytes by TCP to VM `number`, or with `-R` from it. iperf3 counts the bytes that had arrived when the last was
        written to the sender's socket; without a bound, that socket's buffer would hold all of them."""
        arrived = self.iperf(guest, number, f"-n {size} -w 256K {options}")["sum_received"]["bytes"]
        self.assertGreater(arrived, size // 2)

    def begin(self, guest, number, options=""):
        """A TCP flow to VM `number` that lasts as long as the test."""
        return guest.start(f"exec iperf3 -c {address(number)} -t 120 {options} >/dev/null")
