"""child.py - a process that a bench starts, writes lines to, reads lines from, and stops by its own id."""
import json
import queue
import subprocess
import threading
import time

# The kernel kills the child when the bench dies of any cause.
END_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")


class Child:
    def __init__(self, name, args, log, env=None):
        self.name = name
        self.log_path = log
        self._log = open(log, "ab")
        self.started_ns = time.monotonic_ns()
        self._process = subprocess.Popen([*END_WITH_PARENT, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=env)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process.poll() is None

    def _read(self):
        for raw in self._process.stdout:
            self._lines.put(raw.decode(errors="replace").rstrip("\n"))
        self._lines.put(None)

    def write_line(self, line):
        self._process.stdin.write((line + "\n").encode())
        self._process.stdin.flush()

    def line_with(self, wanted, timeout=20):
        """The first line of its output for which wanted(line) is true."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"{self.name}: no answer in {timeout} s; see {self.log_path}") from None
            if line is None:
                raise RuntimeError(f"{self.name} has ended: {self._tail()}")
            if wanted(line):
                return line

    def event(self, kind, timeout=20):
        """The next JSON event of that kind; an event of kind `error` is raised as RuntimeError."""
        def wanted(line):
            if not line.startswith("{"):
                return False
            found = json.loads(line)
            if found.get("event") == "error":
                raise RuntimeError(f"{self.name}: {found['message']}")
            return found.get("event") == kind
        return json.loads(self.line_with(wanted, timeout))

    def _tail(self):
        with open(self.log_path, "rb") as log:
            return log.read()[-600:].decode(errors="replace")

    def kill(self):
        """Ends it without a chance to do anything about it."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def stop(self):
        """Closes its input and, while it does not end, sends SIGTERM after 0.3 s and SIGKILL after 5 s more."""
        try:
            self._process.stdin.close()
        except OSError:
            pass
        for request, patience in ((lambda: None, 0.3), (self._process.terminate, 5), (self._process.kill, 5)):
            request()
            try:
                self._process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                continue
        self._log.close()
