"""console_test.py - the console of a real controller in a real browser: every view, keyboard, narrow and dark, 1,000 vNICs, hostile text.

The switches are of bytes and send demands, so that every value of the page is known.
"""

import contextlib
import json
import os
import threading

import zmtp
from case import Case
from console import Console
from controller import INTERVAL_MS, Controller
from scraper import free_address
from stepped import SteppedController
from tokens import make_token
from wait import until

VIEWS = ["overview", "tenants", "vnics", "resources", "hosts", "pools", "changes", "specification"]
TITLES = ["Overview", "Tenants", "vNICs", "Resources", "Hosts", "Pools", "Changes", "Specification"]
HOSTILE = "<img src=x onerror=\"document.title='breached'\"><b>bold</b>"
GIGABIT = 125_000_000 * INTERVAL_MS / 1000      # bytes of an interval
NARROW = 360
# Relative luminance, and the contrast of two colors (WCAG 2.1), as JavaScript.
CONTRAST = """((selector) => {
    const part = (value) => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
    const light = (color) => { const [r, g, b] = color.match(/[0-9.]+/g).map(Number); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
    const one = light(getComputedStyle(document.querySelector(selector)).color), other = light(getComputedStyle(document.body).backgroundColor);
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
})"""


def cluster(**keys):
    """h1 and h2 with 1 Gbit/s, of which a1 and b1 on h1 want more than there is; a pool; prices."""
    return {"name": "test", "headroom": "0%", "topology": {"hosts": [{"name": name, "uplink": "1Gbit"} for name in ("h1", "h2", "h3")]},
            "global": {"mechanism": "hdrf", "weights": "equal"},
            "prices": {"p0": 0.001, "beta": "50%", "link": "1Gbit", "period": "1s"},
            "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"},
                           {"name": "array", "capacity_min": "3ktokens", "capacity_max": "3ktokens"}],
            "tenants": [{"name": "A", "vnics": [{"name": "a1", "host": "h1", "reservation": "300Mbit", "limit": "900Mbit"}, {"name": "a2", "host": "h2"}],
                         "appliances": [{"name": "disk", "reservation": "400tokens"}, {"name": "array"}]},
                        {"name": "B", "vnics": [{"name": "b1", "host": "h1", "reservation": "200Mbit"}, {"name": "b2", "host": "h2"}],
                         "appliances": [{"name": "disk", "reservation": "200tokens"}, {"name": "array"}]}],
            "pools": [{"name": "sales", "appliance": "array", "shares": 200}, {"name": "web", "parent": "sales", "vnics": [{"name": "a1"}]}],
            **keys}


class ConsoleCase(Case):
    POLLS = False

    def serve(self, kind=Controller, **keys):
        """Starts a controller with an API, and the browser; nothing is opened yet."""
        address = free_address()
        self.secrets = {role: make_token(self.folder, role, role) for role in ("view", "operate")}
        self.controller = kind(self.folder, {**keys, "api": {"listen": address, "token_file": self.path("tokens")}})
        self.addCleanup(self.controller.stop)
        self.controller.start()
        self.url = f"http://{address}/"
        self.start_browser()

    def start_browser(self):
        self.browser = Console(self.folder)
        self.addCleanup(self.browser.stop)
        self.browser.start().resize(1280, 900)

    def enter(self, role="view"):
        self.browser.enter(self.url, self.secrets[role])

    def open(self, view, text="", selector="main"):
        self.browser.open(view, text, selector)

    def rows(self, selector="main tbody"):
        """The texts of a table's cells, row by row."""
        return self.browser.value(f"[...document.querySelectorAll('{selector} tr')].map((row) => [...row.children].map((cell) => cell.innerText))")

    def row(self, name):
        return next(row for row in self.rows() if row[0] == name)

    def press_on(self, text, key="Enter"):
        """Tabs to the element of this tag and text, and presses the key there."""
        for _ in range(40):
            if self.browser.focused().startswith(text):
                return self.browser.press(key)
            self.browser.press("Tab")
        raise AssertionError(f"{text} is not reached by the key Tab")

    def assert_no_error(self, *expected):
        """The page had no error besides answers of these kinds."""
        self.assertEqual([error for error in self.browser.errors if not any(part in error for part in expected)], [])

    def host(self, name, *vnics, version=""):
        peer = zmtp.Peer(self.path("ctrl.ipc"), name)
        self.addCleanup(peer.close)
        peer.hello(vnics, ("disk", "array"), version)
        until(lambda: peer.intervals(zmtp.WELCOME) and set(vnics) <= set(peer.ids), f"{name} welcomed")
        return peer

    def send(self, peer, flows):
        """Sends these demands every interval until the test ends."""
        over = threading.Event()
        self.addCleanup(over.set)

        def run():
            with contextlib.suppress(OSError):
                while not over.wait(INTERVAL_MS / 1000):
                    peer.demand(flows)
        threading.Thread(target=run, daemon=True).start()

    def contend(self):
        """a1 and b1 want 0.8 Gbit/s each of h1's uplink of 1 Gbit/s, and a1 500 tokens/s of the array."""
        first, second = self.host("h1", "a1", "b1", version=HOSTILE), self.host("h2", "a2", "b2")
        until(lambda: {"a2", "b2", "array"} <= set(first.ids), "h1 knows its peers")
        wanted = ((0.5 * GIGABIT, 0, 0), (0.3 * GIGABIT, 0, 0))
        self.send(first, [("a1", "a2", *wanted), ("b1", "b2", *wanted),
                          ("a1", "array", (10, 0.5 * INTERVAL_MS, 10), (0, 0, 0))])
        self.send(second, [])
        until(lambda: self.controller.ctl("why", "a1", "--cluster")["flows"], "demands of a1")


class ViewsTest(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.serve(**cluster())

    def test_each_view_has_the_values_of_the_controller_and_foreign_text_stays_text(self):
        self.contend()
        self.enter()
        self.open("overview", "connected\n2")
        self.assertEqual(self.browser.text("#cluster"), "test")
        self.open("tenants", "500 Mbit/s")
        self.assertEqual(self.row("A")[:6], ["A", "2", "300 Mbit/s", "800 Mbit/s", "500 Mbit/s", "500 Mbit/s"])
        self.assertIn("disk: promised 400 tokens/s", self.row("A")[6])
        self.open("resources", "uplink of host h1")
        uplink = self.row("uplink of host h1")
        self.assertEqual(uplink[1:3], ["1 Gbit/s", "1 Gbit/s"])
        for holder in ("a1 (A) 500 Mbit/s since", "b1 (B) 500 Mbit/s since"):
            self.assertIn(holder, uplink[4])
        self.assertIn("1 ktokens/s", self.row("disk")[4])
        self.open("hosts", "h3")
        self.assertEqual([self.row(name)[1] for name in ("h1", "h2", "h3")], ["connected", "connected", "absent"])
        self.assertIn(HOSTILE, self.row("h1"))
        self.open("pools", "web")
        self.assertIn("delivered 500 tokens/s", self.browser.text(".tree ul ul"))
        self.open("vnics/a1", "uplink of host h1")
        self.browser.wait_text("b1 (B) 500 Mbit/s")
        self.assertEqual(self.row("a1")[1:5], ["a2", "800 Mbit/s", "500 Mbit/s", "uplink of host h1"])
        self.assertTrue(self.browser.value("document.querySelector('.plot canvas').width > 300"))
        self.assertEqual(self.browser.value("document.querySelectorAll('img[src=x], main b').length"), 0)
        self.assertEqual(self.browser.value("document.title"), "Weir test")
        self.assert_no_error()

    def test_a_specification_is_tried_and_applied_and_its_change_has_author_and_values(self):
        self.enter("operate")
        self.open("changes", "the controller")
        self.open("specification", "Revision 1 is loaded")
        self.edit('"300Mbit"', '"250Mbit"')
        self.click("Dry run")
        self.browser.wait_text("Dry run: nothing was changed")
        self.assertIn('"300Mbit" -> "250Mbit"', self.browser.text(".code"))
        self.assertIn("a1", self.browser.text(".effect .bad"))
        self.assertEqual(self.controller.ctl("status")["revision"], 1)
        self.click("Apply ...")
        self.browser.wait_text("It becomes revision 2", "dialog[open]")
        self.press_on("BUTTON Apply")
        self.browser.wait_text("the change concerns more than `confirm_above`", ".lines.bad")
        self.click("Apply ...")
        self.press_on("INPUT also when more vNICs", "Space")
        self.press_on("BUTTON Apply")
        self.browser.wait_text("Revision 2 is in force")
        self.open("changes", '"300Mbit" -> "250Mbit"')
        self.assertTrue(any("operate" in row[2] and row[3] == "2" for row in self.rows()), self.rows())
        self.assert_no_error("status of 409")

    def test_a_moved_base_a_wrong_value_and_the_role_view_are_refused_with_their_reasons_as_text(self):
        self.enter("operate")
        self.open("specification", "Revision 1 is loaded")
        self.edit('"300Mbit"', json.dumps(HOSTILE))
        self.click("Dry run")
        self.browser.wait_text(HOSTILE, ".lines.bad")
        self.edit(json.dumps(HOSTILE), '"310Mbit"')
        self.controller.cluster["tenants"][0]["vnics"][0]["reservation"] = "290Mbit"
        self.controller.apply()
        self.click("Dry run")
        self.browser.wait_text("the specification was changed meanwhile", ".lines.bad")
        self.browser.wait_text("Revision 2 is in force meanwhile")
        self.click("Forget token")
        self.enter("view")
        self.open("specification", "Revision 2 is loaded")
        self.edit('"290Mbit"', '"280Mbit"')
        self.click("Dry run")
        self.browser.wait_text("operate", ".lines.bad")
        self.assertEqual(self.browser.value("document.querySelectorAll('img[src=x], main b').length"), 0)
        self.assert_no_error("status of 400", "status of 403", "status of 409")

    def edit(self, old, new):
        self.browser.value(f"""(() => {{ const text = document.querySelector('#text');
            text.value = text.value.replace({json.dumps(old)}, {json.dumps(new)}); text.dispatchEvent(new Event('input')); }})()""")

    def button(self, text, inside="body"):
        return f"[...document.querySelectorAll('{inside} button')].find((button) => button.innerText === {json.dumps(text)})"

    def click(self, text):
        until(lambda: self.browser.value(f"{self.button(text)}?.disabled === false"), f"the button {text}")
        self.browser.value(f"{self.button(text)}.click()")


class UseTest(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.serve(**cluster())

    def test_the_token_is_asked_for_once_kept_for_the_tab_and_forgotten_on_demand(self):
        self.browser.go(self.url)
        until(lambda: self.browser.focused() == "INPUT token", "the token asked for")
        self.browser.type("wrong")
        self.browser.press("Enter")
        self.browser.wait_text("Authorization", "#entry-fault")
        self.browser.type(self.secrets["view"])
        self.browser.press("Enter")
        self.browser.wait_text("Live", "#state")
        self.browser.go(f"{self.url}?again#/hosts")
        self.browser.wait_text("h1")
        self.assertEqual(self.browser.value("localStorage.length + document.cookie.length"), 0)
        self.assertEqual(self.browser.value("[...Object.keys(sessionStorage)].join()"), "weir-token")
        self.browser.value("document.querySelector('#leave').click()")
        until(lambda: self.browser.focused() == "INPUT token", "the token asked for again")
        self.assertEqual(self.browser.value("sessionStorage.length"), 0)
        self.assertNotIn("h1", self.browser.text("main"))
        self.assert_no_error("status of 401")

    def test_every_view_is_reached_and_used_by_keyboard(self):
        self.enter()
        self.browser.value("document.activeElement.blur()")
        reached = []
        for _ in range(2 + len(VIEWS)):
            self.browser.press("Tab")
            reached.append(self.browser.focused())
            self.assertNotEqual(self.browser.value("getComputedStyle(document.activeElement).outlineStyle"), "none", reached[-1])
        self.assertEqual(reached, ["A Skip to content", "BUTTON Forget token", *(f"A {title}" for title in TITLES)])
        for view, title in list(zip(VIEWS, TITLES))[::-1]:
            self.assertEqual(self.browser.focused(), f"A {title}")
            self.browser.press("Enter")
            until(lambda: self.browser.value("document.activeElement.id") == "view-title", f"the focus on the title of {view}")
            self.assertEqual(self.browser.text("main h2"), title)
            self.assertEqual(self.browser.text("nav [aria-current]"), title)
            for _ in range(20):
                self.browser.press("Tab", shift=True)
                if self.browser.focused() == f"A {TITLES[max(0, VIEWS.index(view) - 1)]}":
                    break
        self.open("pools", "web")
        self.press_on("SUMMARY array", "Space")
        self.assertFalse(self.browser.value("document.querySelector('details').open"))
        self.open("vnics", "a1")
        self.press_on("INPUT Filter vNICs", "Tab")
        self.browser.press("Tab", shift=True)
        self.browser.type("b")
        until(lambda: len(self.rows()) == 2, "the vNICs of B alone")
        self.press_on("A b1")
        self.browser.wait_text("Why b1", "h2")
        self.assert_no_error()

    def test_on_a_narrow_screen_no_view_is_wider_than_it_and_both_color_schemes_can_be_read(self):
        self.enter()
        grounds = set()
        for scheme, width in (("light", NARROW), ("dark", NARROW), ("dark", 1280)):
            self.browser.prefer(scheme)
            self.browser.resize(width, 800)
            for view in [*VIEWS, "vnics/a1"]:
                self.open(view, selector="main section")
                until(lambda: self.browser.value("document.querySelector('main').innerText.length > 30"), f"{view} filled")
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, view)
                for selector in ("body", "nav a", "#state", "main h2"):
                    self.assertGreater(self.browser.value(f"{CONTRAST}({json.dumps(selector)})"), 4.5, (scheme, view, selector))
            grounds.add(self.browser.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(grounds, {"rgb(255, 255, 255)", "rgb(20, 23, 27)"})
        self.assert_no_error()

    def test_no_script_or_style_of_a_document_and_no_foreign_origin_is_taken(self):
        self.enter()
        self.browser.value("""(() => { const script = document.createElement('script'); script.textContent = 'window.breached = 1';
            document.body.append(script); const style = document.createElement('style'); style.textContent = 'body { margin: 77px }';
            document.body.append(style); })()""")
        self.assertEqual(self.browser.value("[window.breached ?? 0, getComputedStyle(document.body).margin].join()"), "0,0px")
        self.assertEqual(self.browser.value("fetch('http://127.0.0.2:9/').then(() => 'sent', () => 'refused')"), "refused")
        for refused in ("inline script", "inline style", "Connecting to 'http://127.0.0.2:9/'"):
            self.assertTrue(any(refused in error and "Content Security Policy" in error for error in self.browser.errors), self.browser.errors)

    def test_a_server_that_is_away_is_named_with_the_time_of_the_values(self):
        self.enter()
        self.open("hosts", "h1")
        self.controller.kill()
        self.browser.wait_text("The server is away", "#warning")
        self.browser.wait_text("All values are of", "#warning")
        self.assertIn("h1", self.browser.text("main"))
        self.controller.start()
        self.browser.wait_text("Live", "#state")
        self.assertEqual(self.browser.text("#warning"), "")


class StaleTest(ConsoleCase):
    def test_intervals_that_stand_still_are_named(self):
        self.serve(SteppedController, **cluster(interval="1s"))
        self.enter()
        self.browser.wait_text("Stale: the controller has ended no interval for", "#warning")
        self.controller.step("1s")
        until(lambda: self.browser.text("#warning") == "", "the values are those of now")


class ManyVnicsTest(ConsoleCase):
    def test_of_1000_vnics_a_page_is_in_the_document_and_the_filter_finds_one(self):
        self.serve(interval="1s", topology={"hosts": [{"name": f"h{number}"} for number in range(50)]},
                   tenants=[{"name": f"t{number}", "vnics": [{"name": f"v{number}x{vnic}"} for vnic in range(10)]} for number in range(100)])
        self.enter()
        self.open("vnics", "1-50 of 1000")
        self.assertEqual(len(self.rows()), 50)
        self.browser.value("[...document.querySelectorAll('.tools button')].at(-1).click()")
        self.browser.wait_text("51-100 of 1000")
        self.browser.value("document.querySelector('input[type=search]').focus()")
        self.browser.type("v42x7")
        self.browser.wait_text("1-1 of 1 (of 1000)")
        self.assertEqual([row[:2] for row in self.rows()], [["v42x7", "t42"]])
        self.open("tenants", "1-50 of 100")
        self.open("resources", "of 100")
        self.assert_no_error()
