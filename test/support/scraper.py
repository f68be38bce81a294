"""scraper.py - pages of metrics over HTTP, and the distribution's Prometheus that scrapes them every 200 ms.

`page("127.0.0.1:9417")` is one page as {sample: value}; `Prometheus(folder, {"weir-switch": [address]}, rules).start()`.
"""

import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from processes import Process, run
from wait import BOUND_SECONDS, until

OPEN_METRICS = "application/openmetrics-text;version=1.0.0"


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def get(address, path="/metrics", accept="text/plain"):
    """(status, text) of a page."""
    request = urllib.request.Request(f"http://{address}{path}", headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=BOUND_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def page(address):
    status, text = get(address, accept=OPEN_METRICS)
    if status != 200 or not text.endswith("# EOF\n"):
        raise ValueError(f"{address}: {status}: {text[:300]}")
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {sample: float(value) for sample, value in rows}


def families(text):
    """Names of a page in the text format, with their types."""
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))


def check_page(text):
    """The faults that promtool finds in a page."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Prometheus:
    """`jobs`: addresses by job; `rules`: the text of a file of rules. Its data go with the folder."""

    def __init__(self, folder, jobs, rules):
        self.folder = folder
        self.address = free_address()
        self.log = os.path.join(folder, "prometheus.log")
        self.file = os.path.join(folder, "prometheus.yml")
        self.process = None
        with open(os.path.join(folder, "rules.yml"), "w") as stream:
            stream.write(rules)
        with open(self.file, "w") as stream:
            json.dump({"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"},
                       "rule_files": ["rules.yml"],
                       "scrape_configs": [{"job_name": name, "static_configs": [{"targets": targets}]}
                                          for name, targets in jobs.items()]}, stream)

    def start(self):
        run(["promtool", "check", "config", self.file])
        self.process = Process(["prometheus", f"--config.file={self.file}", f"--storage.tsdb.path={self.folder}/prometheus",
                                f"--web.listen-address={self.address}", "--log.level=warn"], self.log)
        until(self.is_ready, "Prometheus is ready")
        return self

    def is_ready(self):
        if not self.process.alive():
            raise ChildProcessError(self.process.output())
        try:
            return get(self.address, "/-/ready")[0] == 200
        except OSError:
            return False

    def ask(self, path, **parameters):
        status, text = get(self.address, f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}", "application/json")
        if status != 200:
            raise ValueError(text)
        return json.loads(text)["data"]

    def query(self, expression):
        """The instant vector: a list of (labels, value)."""
        return [(row["metric"], float(row["value"][1])) for row in self.ask("query", query=expression)["result"]]

    def firing(self):
        """{alert: its labels} of those that fire; of several with one name, one."""
        return {alert["labels"]["alertname"]: alert["labels"] for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"}

    def targets(self):
        """{job: health} of all targets, with the fault of one that is down."""
        return {target["labels"]["job"]: (target["health"], target["lastError"]) for target in self.ask("targets")["activeTargets"]}
