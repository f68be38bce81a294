#!/usr/bin/env python3
"""docs_canary.py - a copy of this repository that breaks every rule of docs_test.py once: each rule must report it.

A rule that lets the copy pass counts as passed, and a canary that passes is a failure of its suite. The last line is
`N passed, N failed`.
"""

import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))

from rules import run_canary  # noqa: E402  (the path above comes first)

LEFT_OUT = shutil.ignore_patterns(".git", "build*", "__pycache__")
# Appended to each file, which is new where there is none. Words in two parts, so that this file itself keeps the rules.
BAD = {
    "README.md": "\n[nowhere](no/such/page.md)\n",
    "docs/algorithms.md": '\nThe test "a name that no test has" and `no/such/file.cc`.\n',
    "docs/architecture.md": "\n| 1 | `no/such/file.cc` | `run_once` | nothing |\n",
    "docs/architecture.svg": "<!-- drawn by hand -->\n",
    "docs/results/canary.md": "# Canary\n\nIts target is m" "et. Not measured y" "et.\n\n"
                              "<!-- results:canary -->\nfigures of no commit\n<!-- /results -->\n",
    "vswitch/canary.h": "// canary.h - in no table of files.\n",
    "vswitch/base/drop_reason.h": '{"canary_reason", "explained nowhere"},\n',
    "vswitch/agent/report_json.cc": '{"canary_key", 1}\n',
    "vswitch/metrics/switch_metrics.h": '{"weir_canary_of_code", Type::kGauge, "", "explained nowhere"}\n',
    "configs/dashboards/weir.rules.yml": "# weir_canary_of_no_program\n",
    "ctrl/cli/commands.h": ' COMMAND(canary, "canary", add_canary, "explained nowhere")\n',
}


def main():
    with tempfile.TemporaryDirectory(prefix="weir-canary-") as folder:
        tree = os.path.join(folder, "weir")
        shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
        for name, text in BAD.items():
            with open(os.path.join(tree, name), "a") as stream:
                stream.write(text)
        return run_canary(os.path.join(tree, "test", "docs_test.py"))


if __name__ == "__main__":
    sys.exit(main())
