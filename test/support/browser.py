"""browser.py - the distribution's Chromium without a window, driven over a pipe: `Browser(folder).start()`, then `go(url)`, `press("Tab")`.

Commands and events are JSON objects of the Chrome DevTools Protocol, each ended by a zero byte, on the browser's descriptors 3 and 4.
"""

import base64
import contextlib
import json
import os
import threading

from processes import Process, tail
from wait import BOUND_SECONDS, until

PROGRAM = "chromium"
# The shell gives the pipe's ends the numbers that the browser expects.
WITH_PIPE = ["bash", "-c", 'commands=$1 events=$2; shift 2; exec "$@" 3<&"$commands" 4>&"$events"', "browser"]
FLAGS = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--disable-extensions", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars",
         "--force-color-profile=srgb"]
# key: (code, number, text)
KEYS = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Space": ("Space", 32, " "), "Escape": ("Escape", 27, "")}
SHIFT = 8
ERRORS = {"Log.entryAdded": lambda event: event["entry"]["text"] if event["entry"]["level"] == "error" else None,
          "Runtime.exceptionThrown": lambda event: event["exceptionDetails"].get("exception", {}).get("description", str(event)),
          "Runtime.consoleAPICalled": lambda event: str(event["args"]) if event["type"] == "error" else None}


class Browser:
    """One page. `errors`: texts of exceptions, of failed loads, and of breaches of the page's Content-Security-Policy."""

    def __init__(self, folder):
        self.folder = folder
        self.log = os.path.join(folder, "browser.log")
        self.process = None
        self.session = None
        self.number = 0
        self.replies = {}
        self.errors = []
        self.changed = threading.Condition()

    def start(self):
        commands, self.commands = os.pipe()
        self.events, events = os.pipe()
        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        self.process = Process([*WITH_PIPE, str(commands), str(events), PROGRAM, *FLAGS, *sandbox,
                                f"--user-data-dir={self.folder}/browser", "about:blank"], self.log, descriptors=(commands, events))
        os.close(commands)
        os.close(events)
        threading.Thread(target=self.read, daemon=True).start()
        page = until(self.find_page, "the browser's page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def stop(self):
        """Ends it and its helpers, so that none writes to the folder any more."""
        if not self.process:
            return
        with contextlib.suppress(ChildProcessError, OSError):
            self.session = None
            self.call("Browser.close")
        self.process.stop()
        self.process = None
        os.close(self.commands)

    def find_page(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        return next((target["targetId"] for target in targets if target["type"] == "page"), None)

    def read(self):
        text = b""
        while part := os.read(self.events, 1 << 16):
            *messages, text = (text + part).split(b"\0")
            for message in map(json.loads, messages):
                with self.changed:
                    if "id" in message:
                        self.replies[message["id"]] = message
                    elif error := ERRORS.get(message["method"], lambda _: None)(message["params"]):
                        self.errors.append(error)
                    self.changed.notify_all()
        os.close(self.events)

    def call(self, method, **parameters):
        """The result of one command."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.replies or not self.process.alive(), BOUND_SECONDS):
                raise TimeoutError(f"{method}: no reply within {BOUND_SECONDS:g} s")
            reply = self.replies.pop(number, None)
        if reply is None or "error" in reply:
            raise ChildProcessError(f"{method}: {reply and reply['error']}: {tail(self.log)}")
        return reply["result"]

    def go(self, url):
        self.call("Page.navigate", url=url)
        until(lambda: self.value("document.readyState") == "complete" and self.value("location.href") != "about:blank", f"{url} loaded")

    def value(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise ValueError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self, selector="body"):
        """The text of the first element as it is shown; empty where there is none."""
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def wait_text(self, text, selector="body"):
        try:
            until(lambda: text in self.text(selector), f"'{text}' in {selector}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; there is: {self.text(selector)[:1000]}") from None

    def focused(self):
        """Tag, and name, of the element that has the focus."""
        return self.value("(({tagName, innerText, ariaLabel, id}) => `${tagName} ${ariaLabel || innerText || id}`)(document.activeElement)")

    def press(self, key, shift=False):
        code, number, text = KEYS[key]
        common = {"key": " " if key == "Space" else key, "code": code, "windowsVirtualKeyCode": number, "modifiers": SHIFT if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """`light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
