"""host.py - the machine under the benches: where tools are, cores, a private folder, what to write beside every number."""
import argparse
import atexit
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "support"))
from processes import come_first  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build"))
SWITCH_CORE = 0   # the switch's polling thread; its other threads go to the generator's core
LOAD_CORE = 1     # the generator's polling thread, and the other way round
EAL = ["--no-pci", "--single-file-segments"]
EAL_SWITCH = [*EAL, "--in-memory", "--lcores", f"0@{LOAD_CORE},1@{SWITCH_CORE}"]
EAL_LOAD = [*EAL, "--in-memory", "--lcores", f"0@{SWITCH_CORE},1@{LOAD_CORE}"]


def tool(relative):
    """A binary of our build, by its path in the build folder."""
    path = BUILD / relative
    if not path.exists():
        raise SystemExit(f"{path} is missing: meson setup build -Dbench=true && ninja -C build")
    return str(path)


def say(text):
    """A line of progress; results alone go to standard output."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def prepare():
    """Makes a request to end an orderly one, and puts pollers first: see _raise_priority."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _raise_priority()


def _raise_priority():
    """Pollers of a measurement come before anything else that runs here."""
    try:
        had = come_first(-20)
        if had is not None:  # the session's, so it is given back
            atexit.register(come_first, had)
    except OSError:
        say("cannot raise the priority: run as root for steadier figures")


class Place:
    """A private folder for sockets, configurations and logs; gone afterwards."""

    def __init__(self, keep=False):
        self.keep = keep
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="weir-bench-", dir="/tmp"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return str(self.path / name)

    def write(self, name, content):
        (self.path / name).write_text(json.dumps(content))
        return self.file(name)


def run(*args, env=None, timeout=30):
    """Runs a short command and returns its output; its words on failure are the exception's."""
    done = subprocess.run(args, env=env, timeout=timeout, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _output(*args):
    try:
        return run(*args).strip()
    except (RuntimeError, OSError):
        return None


def _cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine():
    """What has to stand beside a figure for it to mean anything."""
    packages = {}
    for name in ("libdpdk-dev", "openvswitch-switch-dpdk"):
        packages[name] = _output("dpkg-query", "-W", "-f=${Version}", name)
    return {"commit": _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "cpu": _cpu(), "cores": os.cpu_count(), "kernel": platform.release(), "packages": packages}


def leave_table(name, table, **found):
    """Prints the lines of a table and leaves them, with what they come from, in the build folder for bench/papers.sh."""
    (BUILD / f"{name}.json").write_text(json.dumps({"machine": machine(), **found, "table": table}, indent=1) + "\n")
    print("\n".join(table))


def parser(bench, about, rounds=3, seconds=2.0):
    """The options that every bench has."""
    options = argparse.ArgumentParser(description=about.splitlines()[0].split(" - ", 1)[1])
    options.add_argument("--rounds", type=int, default=rounds)
    options.add_argument("--seconds", type=float, default=seconds, help="of each measured stretch")
    options.add_argument("--peers", action="store_true", help="OVS-DPDK too")
    options.add_argument("--keep", action="store_true", help="keep the logs in /tmp")
    options.add_argument("--output", default=str(BUILD / f"{bench}.json"))
    return options
