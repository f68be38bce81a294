"""processes.py - child processes that never outlive us, with their output in a file; commands that run to their end."""

import contextlib
import glob
import os
import signal
import subprocess

from wait import BOUND_SECONDS, until

AUTOGROUP = "/proc/self/autogroup"
# Commands that a child runs before its program: the kernel is to kill it when we die; then its priority ($0), and that of its
# session. A preexec_fn would run between fork and exec, where a lock that another of our threads holds stays locked.
DIE_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
COME_FIRST = ["sh", "-ec", 'renice --priority "$0" --pid $$ >/dev/null; [ ! -e ' + AUTOGROUP + ' ] || echo "$0" >' + AUTOGROUP
              + '; exec "$@"']
RUNNING = []


def run(words, after=0, check=True, **keys):
    """Runs a command to its end, with its output as text; at most the bound of wait.py, and `after` seconds that it takes in
    any case. With `check`, a failure is an error that quotes the command's output."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=after + BOUND_SECONDS, check=False, **keys)
    if check and done.returncode != 0:
        raise ChildProcessError(f"'{' '.join(map(str, words))}' ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done


def come_first(nice):
    """Sets the niceness of this process, of those that it starts and of its autogroup, for measurements of rates and times: nice
    alone stays within an autogroup, where sessions compete before processes do. Returns the autogroup's niceness before, None
    where there is none: the kernel has no such file, or this session is the machine's first, for which it is empty."""
    Process.first = nice < 0
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    if not os.path.exists(AUTOGROUP):
        return None
    with open(AUTOGROUP, "r+") as stream:
        words = stream.read().split()
        if not words:
            return None
        stream.seek(0)
        stream.write(str(nice))
    return int(words[-1])


def tail(path, lines=5):
    """The last lines of a log, for a message; control characters of a console made harmless."""
    try:
        with open(path, errors="replace") as stream:
            text = stream.readlines()[-lines:]
    except OSError:
        return ""
    return "".join("".join(c for c in line if c.isprintable()) + "\n" for line in text).strip()


def threads(pid):
    """Where each thread of a process is: its name, state, processor time and system call, for a message."""
    rows = []
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        try:
            with open(f"{task}/stat") as stat, open(f"{task}/syscall") as call, open(f"{task}/wchan") as place:
                name, _, rest = stat.read().partition("(")[2].rpartition(")")
                state = rest.split()
                rows.append(f"  {name}: {state[0]}, {int(state[11]) + int(state[12])} ticks, call {call.read().strip()}, in {place.read()}")
        except OSError:
            continue                                # it has ended
    return "\n".join(rows)


def in_group(group):
    """The processes of a group that have not ended."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as stat:
                state, _, its = stat.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue                                # it has ended
        if int(its) == group and state != "Z":
            found.append(path)
    return found


def end_group(group):
    """Ends the processes of a group whose first one has ended, and waits: they may still write to a folder that is about to go."""
    def ended():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        return not in_group(group)
    until(ended, f"the end of all processes of group {group}")


class Process:
    """One child: output in `log`, its own process group, killed by the kernel when we die.

    `cores`: where it may run; absent = anywhere. `nice`: its priority where rates are measured (`first`), because a
    poll-mode worker or a guest that waits for its core is a slow one; elsewhere it has the priority of any other program.
    `descriptors`: further ones that it gets, by their numbers.
    """

    first = False

    def __init__(self, arguments, log, cores=None, nice=-10, descriptors=()):
        self.name = os.path.basename(arguments[0])
        self.log = log
        pinned = ["taskset", "--cpu-list", ",".join(map(str, cores))] if cores else []
        with open(log, "ab") as output:
            self.child = subprocess.Popen([*DIE_WITH_US, *([*COME_FIRST, str(nice)] if self.first else []), *pinned, *arguments],
                                          stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
                                          pass_fds=descriptors)
        RUNNING.append(self)

    @property
    def pid(self):
        return self.child.pid

    def alive(self):
        return self.child.poll() is None

    def set_nice(self, nice):
        """The priority of all its threads from now on, and of its session among the others."""
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)
        if os.path.exists(f"/proc/{self.pid}/autogroup"):
            with open(f"/proc/{self.pid}/autogroup", "w") as stream:
                stream.write(str(nice))

    def write(self, text):
        """Sends text to its standard input."""
        self.child.stdin.write(text.encode())
        self.child.stdin.flush()

    def output(self):
        with open(self.log, errors="replace") as stream:
            return stream.read()

    def expect(self, text):
        """Waits until its output holds `text`; an early end is an error that quotes the log."""
        def printed():
            if text in self.output():
                return True
            if not self.alive():
                raise ChildProcessError(f"{self.name} ended with {self.child.returncode}: {tail(self.log)}")
            return False
        until(printed, f"{self.name} printing '{text}'")

    def stop(self, how=signal.SIGTERM):
        """Ends it with a signal, then by force, and the helpers that it has left; returns its exit status. Harmless when it has ended
        already."""
        if self.alive():
            self.child.send_signal(how)
            try:
                self.child.wait(BOUND_SECONDS)
            except subprocess.TimeoutExpired:
                print(f"{self.name} goes on after signal {how} and {BOUND_SECONDS:g} s:\n{threads(self.pid)}", flush=True)
                self.child.kill()
        status = self.child.wait()
        end_group(self.pid)
        self.child.stdin.close()
        if self in RUNNING:
            RUNNING.remove(self)
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)


def stop_all():
    """Ends the processes that still run, the youngest first."""
    for process in reversed(list(RUNNING)):
        process.kill()
