"""guest.py - a QEMU virtual machine that runs commands for us: `Guest(name, folder, [Nic(...)]).boot().run("ip a")`.

KVM where it works, which is found by trying; else software emulation. Needs test/support on the module path.
"""

import itertools
import os
import queue
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass

import image
from processes import Process, tail
from wait import BOUND_SECONDS, until

PROBE_SECONDS = 4
OFFLOADS = ["csum", "gso", "host_tso4", "host_tso6", "host_ecn", "host_ufo",
            "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"]


@dataclass
class Nic:
    """One network card of a guest: a vhost-user socket, or a tap interface that exists."""
    mac: str
    address: str = ""          # with prefix length: 10.0.0.1/24
    socket: str = ""
    tap: str = ""
    listens: bool = True       # QEMU owns the socket and waits for the switch (the switch's client mode)
    queues: int = 1
    packed: bool = False
    mergeable: bool = True
    offloads: bool = True

    def arguments(self, index, accelerator):
        """QEMU's arguments for this card."""
        if self.tap:
            backend = f"tap,id=net{index},ifname={self.tap},script=no,downscript=no"
            chardev = []
        else:
            role = "server=on" if self.listens else "reconnect=1"
            chardev = ["-chardev", f"socket,id=vhost{index},path={self.socket},{role}"]
            backend = f"vhost-user,id=net{index},chardev=vhost{index},queues={self.queues}"
        device = [f"virtio-net-pci,netdev=net{index},mac={self.mac},romfile="]
        # QEMU 7.2 crashes at driver start under software emulation when a vhost-user card has MSI-X vectors.
        device.append("vectors=0" if accelerator == "tcg" else f"vectors={2 * self.queues + 2}")
        if self.queues > 1:
            device.append("mq=on")
        device += ["packed=on"] * self.packed + ["mrg_rxbuf=off"] * (not self.mergeable)
        device += [] if self.offloads else [f"{name}=off" for name in OFFLOADS]
        return [*chardev, "-netdev", backend, "-device", ",".join(device)]


class CommandError(Exception):
    """A command in a guest ended with a status that is not zero."""


class Job:
    """A command that runs in a guest."""

    def __init__(self, guest, command):
        self.guest, self.command = guest, command
        self.answer = queue.Queue(1)

    def wait(self, after=0, check=True):
        """Its output, once it has ended; a CommandError when it failed and `check`."""
        try:
            status, output = self.answer.get(timeout=after + BOUND_SECONDS)
        except queue.Empty:
            raise TimeoutError(f"{self.guest.name}: '{self.command}' not ended within {after + BOUND_SECONDS:g} s") from None
        if status is None:
            raise CommandError(f"{self.guest.name}: stopped during '{self.command}'")
        if check and status != 0:
            raise CommandError(f"{self.guest.name}: '{self.command}' ended with {status}: {output.strip()[-300:]}")
        return output


def base_arguments(accelerator, memory_mib, cpus, extras=image.Extras()):
    """A machine with shared memory and no devices that we have not asked for."""
    kernel, initramfs = image.build(extras)
    return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-accel", accelerator,
            # Extra programs may be built for newer processors than QEMU's usual one.
            "-cpu", "host" if accelerator == "kvm" else "max" if extras.programs else "qemu64",
            "-m", str(memory_mib), "-smp", str(cpus), "-kernel", kernel, "-initrd", initramfs,
            "-object", f"memory-backend-memfd,id=mem,size={memory_mib}M,share=on", "-numa", "node,memdev=mem"]


def accelerator():
    """'kvm' when a machine boots with it, else 'tcg'; tried once per boot of this machine."""
    os.makedirs(image.CACHE, exist_ok=True)
    with open("/proc/sys/kernel/random/boot_id") as stream:
        note = os.path.join(image.CACHE, f"accelerator-{stream.read().strip()}")
    if not os.path.exists(note):
        works = os.access("/dev/kvm", os.R_OK | os.W_OK) and kvm_boots()
        with open(note, "w") as stream:
            stream.write("kvm" if works else "tcg")
    with open(note) as stream:
        return stream.read()


def kvm_boots():
    command = [*base_arguments("kvm", 256, 1), "-no-reboot", "-append", "quiet panic=-1 weir.poweroff"]
    try:
        return subprocess.run(command, timeout=PROBE_SECONDS, capture_output=True, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Guest:
    """A virtual machine. `folder` holds its console, log and command socket; `cores` is where QEMU may run; `extras` are
    the programs and modules that its image holds beside the usual ones."""

    def __init__(self, name, folder, nics, cores=None, memory_mib=256, cpus=1, extras=image.Extras()):
        self.name, self.folder, self.nics = name, folder, nics
        self.cores, self.memory_mib, self.cpus, self.extras = cores, memory_mib, cpus, extras
        self.console = os.path.join(folder, f"{name}.console")
        self.process = None
        self.line = None
        self.jobs = {}
        self.numbers = itertools.count()
        self.ready = threading.Event()

    def arguments(self, kind):
        addresses = [f"weir.eth{i}={nic.address}" for i, nic in enumerate(self.nics) if nic.address]
        append = " ".join(["console=ttyS0", "quiet", *addresses])
        cards = [word for i, nic in enumerate(self.nics) for word in nic.arguments(i, kind)]
        return [*base_arguments(kind, self.memory_mib, self.cpus, self.extras), "-append", append,
                "-serial", f"file:{self.console}", "-chardev",
                f"socket,id=commands,path={self.folder}/{self.name}.commands,server=on,wait=off",
                "-device", "virtio-serial-pci,vectors=0", "-device", "virtserialport,chardev=commands", *cards]

    def boot(self, wait=True):
        """Starts QEMU and, with `wait`, waits until the guest takes commands. Returns the guest."""
        self.ready.clear()
        self.process = Process(self.arguments(accelerator()), os.path.join(self.folder, f"{self.name}.log"), self.cores)
        self.line = socket.socket(socket.AF_UNIX)
        until(self.connected, f"{self.name}: QEMU's command socket")
        threading.Thread(target=self.listen, args=(self.line,), daemon=True).start()
        return self.wait_ready() if wait else self

    def connected(self):
        if not self.process.alive():
            raise ChildProcessError(f"{self.name}: QEMU ended: {tail(self.process.log)}")
        try:
            self.line.connect(f"{self.folder}/{self.name}.commands")
        except OSError:
            return False
        return True

    def wait_ready(self):
        def up():
            if not self.process.alive():
                raise ChildProcessError(f"{self.name}: QEMU ended: {tail(self.process.log)}")
            return self.ready.is_set()
        try:
            until(up, f"{self.name}: boot")
        except TimeoutError as late:
            raise TimeoutError(f"{late}; console: {tail(self.console)}; QEMU: {tail(self.process.log)}") from None
        return self

    def listen(self, line):
        """Reads the guest's answers until QEMU goes; runs in a thread of its own."""
        with line.makefile("rb") as stream:
            try:
                for head in stream:
                    words = head.decode(errors="replace").strip().split()
                    if words == ["@ready"]:
                        self.ready.set()
                    elif len(words) == 3 and words[0][1:] in self.jobs:
                        output = stream.read(int(words[2])).decode(errors="replace")
                        self.jobs.pop(words[0][1:]).answer.put((int(words[1]), output))
            except OSError:
                pass
        self.abandon()

    def abandon(self):
        """Answers every waiting job with 'stopped'."""
        while self.jobs:
            self.jobs.popitem()[1].answer.put((None, ""))

    def start(self, command):
        """Begins a command; several may run at a time."""
        job = Job(self, command)
        identity = str(next(self.numbers))
        self.jobs[identity] = job
        self.line.sendall(f"{identity} {command}\n".encode())
        return job

    def run(self, command, after=0, check=True):
        """Runs a command to its end and returns its output."""
        return self.start(command).wait(after, check)

    def reboot(self):
        """A reset by the guest's own kernel; QEMU lives on. Waits until it takes commands again."""
        self.ready.clear()
        self.line.sendall(b"reboot reboot -f\n")
        self.wait_ready()
        self.abandon()
        return self

    def kill(self):
        """Pulls the plug."""
        self.stop(signal.SIGKILL)

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.stop(how)
            self.line.close()
            self.process = None
