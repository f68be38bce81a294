"""tokens.py - tokens of the controller's HTTP API: `make_token(folder, "viewer", "view")`."""

import json
import os

from daemon import WEIRCTL
from processes import run


def make_token(folder, name, role):
    """The token's secret; its line is added to the folder's file of tokens."""
    made = json.loads(run([WEIRCTL, "--json", "token", "create", name, "--role", role]).stdout)["data"]
    with open(os.path.join(folder, "tokens"), "a", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
        stream.write(made["line"] + "\n")
    return made["token"]
