#!/usr/bin/env python3
"""report.py - reads flow-setup-bench's JSON on stdin and prints it as Markdown tables with the bound, then as JSON."""

import json
import sys

BOUND_US = 20       # new flow to limiter installed, in the switch


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def times(summary):
    return f"{summary['p50_us']:.2f}", f"{summary['p99_us']:.2f}"


def verdict(report):
    worst = max(row["p50_us"] for row in report["switch"]["limiter"].values())
    return {"found_us": round(worst, 2), "allowed_us": BOUND_US, "met": worst <= BOUND_US}


def table(report):
    line("in the switch", "p50, us", "p99, us", "bound, us", "")
    line("---", "---:", "---:", "---:", "---")
    for beside, row in sorted(report["switch"]["limiter"].items(), key=lambda item: int(item[0])):
        line(f"limiter of a new destination, beside {int(beside):,}", *times(row), BOUND_US,
             "met" if row["p50_us"] <= BOUND_US else "MISSED")
    line("a request flow's new rate: the agent computes the buckets", *times(report["switch"]["profile"]), "", "")
    line("a request flow's new rate: the worker takes it", *times(report["switch"]["command"]), "", "")
    print()
    line("with the controller, flows", "agent says, us", "controller, us", "agent hears, us", "together, us", "p99, us")
    line("---:", "---:", "---:", "---:", "---:", "---:")
    for row in report["controller"]:
        line(f"{row['flows']:,}", *(times(row[part])[0] for part in ("agent_says", "controller", "agent_hears")),
             *times(row["all"]))


def main(only_json):
    report = json.load(sys.stdin)
    if not only_json:
        table(report)
        print()
    print(json.dumps({**report, "verdict": verdict(report)}))


if __name__ == "__main__":
    main(sys.argv[1:] == ["--json"])
