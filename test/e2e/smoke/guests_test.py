"""guests_test.py - the whole way once, with two real guests: they boot, reach each other, and TCP carries data."""

from guests_case import GuestsCase, address
from traffic import serve, wait_reachable

BYTES = 4 << 20


class SmokeTest(GuestsCase):
    def test_two_guests_ping_each_other_and_exchange_tcp(self):
        self.start_switch(self.vnic(1, limit="1Gbit"), self.vnic(2), poll="adaptive")
        one, two = self.guests(1, 2)
        wait_reachable(one, address(2))
        wait_reachable(two, address(1))
        serve(two)
        self.transfer(one, 2, BYTES)
        for name in ("vm1", "vm2"):
            self.assertEqual(self.drops(name), {})
        self.assert_accounts()
