"""process.py - CPU time and memory of a running process, read from /proc."""
import pathlib
import re
import time


def thread_ns(pid):
    """CPU time of each thread since its start: {tid: ns}."""
    times = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            times[int(task.name)] = int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # it ended meanwhile
    return times


def grown(before, after):
    """CPU time that each thread used in between."""
    return {tid: ns - before.get(tid, 0) for tid, ns in after.items()}


def cpu_share(pid, tid, seconds):
    """Percent of a core that one thread uses over the next seconds."""
    before, began = thread_ns(pid)[tid], time.monotonic_ns()
    time.sleep(seconds)
    return 100 * (thread_ns(pid)[tid] - before) / (time.monotonic_ns() - began)


def resident_mib(pid):
    """MiB of resident memory that is not in hugepages."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.M).group(1)) / 1024


def _huge_mappings(pid):
    """Hugepage mappings by the file behind them: {(device, inode): KiB present}."""
    found, key = {}, None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        header = re.match(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ (\S+) (\d+)", line)
        if header:
            key = header.groups()
        elif re.match(r"^(Private|Shared)_Hugetlb:", line):
            found[key] = found.get(key, 0) + int(line.split()[1])
    return found


def huge_mib(pid, guests_pid):
    """MiB of hugepages that the process mapped, less those that its guests share with it."""
    guests = _huge_mappings(guests_pid)
    return sum(kib for key, kib in _huge_mappings(pid).items() if key not in guests) / 1024
