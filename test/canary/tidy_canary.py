#!/usr/bin/env python3
"""tidy_canary.py - a tree that breaks every rule of tidy_test.py: each rule must report it.

A rule that lets the tree pass counts as passed, and a canary that passes is a failure of its suite. The last line is
`N passed, N failed`.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))

from rules import run_canary  # noqa: E402  (the path above comes first)

CHECKER = os.path.join(ROOT, "test", "tidy_test.py")
# Words in two parts, so that this file itself keeps the rules.
BAD = {
    "common/stray_part.h": '// stray.h: no name, no phrase\n#include <rte_' 'mbuf.h>\n#include "vswitch/qos/egress.h"\n#include "no/where.h"\n'
                           "int   x;\t\n",
    "common/stray_end.cc": "// stray_end.cc - wh" "at is a part of nothing. Source: Nowhere 3. Threads: none.\n",
    "vswitch/here/circle.h": '#include "vswitch/there/circle.h"\n',
    "vswitch/there/circle.h": '#include "vswitch/here/circle.h"\n',
    "common/long.py": '"""long.py - too long."""\n\n\ndef much():\n' + "    pass\n" * 700,
    "common/meson.build": "# TO" "DO\nfiles('a.cc', 'b.cc')\n",
    "ctrl/console/stray.js": "// stray.js - text as HTML.\nplace.innerHTML = text;\n",
    "ctrl/console/stray.html": '<!-- stray.html - a script in the document. -->\n<script>run()</script>\n',
    "page.md": "It can hea" "r us: docs/design.md " "section 99" + ", docs/design.md 9" "9" + " and so on" * 20 + "\n",
}


def main():
    with tempfile.TemporaryDirectory(prefix="weir-canary-") as tree:
        subprocess.run(["git", "init", "-q", tree], check=True)
        for name, text in BAD.items():
            path = os.path.join(tree, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as stream:
                stream.write(text)
        return run_canary(CHECKER, tree)


if __name__ == "__main__":
    sys.exit(main())
