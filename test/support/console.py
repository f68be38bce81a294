"""console.py - the controller's console in the browser: `Console(folder).start()`, then `enter(url, token)` and `open("tenants", "A")`."""

from browser import Browser
from wait import until


class Console(Browser):
    """A browser that knows the page's token field and its views."""

    def enter(self, url, token):
        self.go(url)
        until(lambda: self.focused() == "INPUT token", "the token asked for")
        self.type(token)
        self.press("Enter")
        self.wait_text("Live", "#state")

    def open(self, view, text="", selector="main"):
        self.value(f"location.hash = '#/{view}'")
        self.wait_text(text, selector)
