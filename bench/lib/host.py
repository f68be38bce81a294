"""host.py - the machine under the benches: programs of the build, cores, a private folder, and the data of the machine beside every figure."""
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

from bench.lib import families
from processes import come_first  # in test/support: bench/__init__.py

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build"))
SWITCH_CORE = 0   # the switch's polling thread; its other threads go to the generator's core
LOAD_CORE = 1     # the generator's polling thread; its other threads go to the switch's core
EAL = ["--no-pci", "--single-file-segments"]
EAL_SWITCH = [*EAL, "--in-memory", "--lcores", f"0@{LOAD_CORE},1@{SWITCH_CORE}"]
EAL_LOAD = [*EAL, "--in-memory", "--lcores", f"0@{SWITCH_CORE},1@{LOAD_CORE}"]
CODE = (".", ":!docs", ":!*.md")  # the paths that may change figures
PACKAGES = ("libdpdk-dev", "openvswitch-switch-dpdk")


def tool(relative, build=BUILD):
    """A program by its path in a build folder."""
    path = pathlib.Path(build) / relative
    if not path.exists():
        raise SystemExit(f"{path} is missing: meson setup {build} -Dbench=true && ninja -C {build}")
    return str(path)


def progress(text):
    """Writes a line of progress to standard error; standard output has the results alone."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def prepare():
    """Makes SIGTERM end the bench as an exception does, and gives its processes the highest priority."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        before = come_first(-20)
        if before is not None:  # the priority belongs to the session, so it is restored at the end
            atexit.register(come_first, before)
    except OSError:
        progress("cannot raise the priority: run as root for steadier figures")


class Place:
    """A private folder for sockets, configurations and logs; removed at the end unless `keep`."""

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
    """Runs a short command and returns its output; raises RuntimeError with its error output when it fails, TimeoutError when it hangs."""
    try:
        done = subprocess.run(args, env=env, timeout=timeout, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{' '.join(args)}: no end within {timeout} s") from None
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


def _family():
    return families.of_cpuinfo(pathlib.Path("/proc/cpuinfo").read_text()) or platform.machine()


def _source_of(build):
    """The source folder of a build folder; this one where that is not known."""
    try:
        return json.loads((pathlib.Path(build) / "meson-info" / "meson-info.json").read_text())["directories"]["source"]
    except (OSError, KeyError, ValueError):
        return str(ROOT)


def commit_of(build):
    """The short hash of the commit that a build folder's sources are at; None where that is not known."""
    return _output("git", "-C", _source_of(build), "rev-parse", "--short", "HEAD")


def base_of(options):
    """The base's build folder of the options, or None; its path and its commit are noted in them for the JSON."""
    if not options.base:
        return None
    base = options.base.resolve()
    options.base, options.base_commit = str(base), commit_of(base)
    return base


def last_change(build, paths):
    """(short hash of the last commit that changed one of the paths in a build folder's sources, None where git does not know; whether they have
    changes that are not committed)."""
    git = ("git", "-C", _source_of(build))
    return _output(*git, "log", "-1", "--format=%h", "--", *paths), bool(_output(*git, "status", "--porcelain", "--untracked-files=no", "--", *paths))


def machine():
    """The data beside every figure: commit, whether anything but documents has changes beside it, time, processor, kernel and packages."""
    return {"commit": commit_of(BUILD), "changed": last_change(BUILD, CODE)[1], "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cpu": _cpu(), "family": _family(),
            "cores": os.cpu_count(), "kernel": platform.release(),
            "packages": {name: _output("dpkg-query", "-W", "-f=${Version}", name) for name in PACKAGES}}


def leave_table(name, table, **found):
    """Prints the lines of a table and leaves them, with the machine and the figures behind them, in the build folder for the papers' pages."""
    (BUILD / f"{name}.json").write_text(json.dumps({"machine": machine(), **found, "table": table}, indent=1) + "\n")
    print("\n".join(table))


def parser(bench, about, rounds=3, seconds=None, peers=False):
    """The options that benches share.

    @param about the bench's docstring, whose first line after the dash is the description
    @param seconds of a measured stretch by default; without it there is no such option
    @param peers adds the option for OVS-DPDK
    """
    options = argparse.ArgumentParser(prog=f"bench/run.sh {bench}", description=about.splitlines()[0].split(" - ", 1)[1])
    options.add_argument("--rounds", type=int, default=rounds, help="(default %(default)s)")
    if seconds is not None:
        options.add_argument("--seconds", type=float, default=seconds, help="of each measured stretch (default %(default)s)")
    if peers:
        options.add_argument("--peers", action="store_true", help="measure OVS-DPDK too")
    options.add_argument("--keep", action="store_true", help="keep logs and configurations in /tmp")
    options.add_argument("--output", default=str(BUILD / f"{bench}.json"), help="JSON of all samples (default %(default)s)")
    return options
