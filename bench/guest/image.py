"""image.py - builds the guests' initramfs: busybox, iperf3 with its libraries, the virtio modules, our init.

The image is cached in build/guest under a name made of its inputs; nothing is built when they have not changed. A
guest's further programs and modules are its Extras.
"""

import glob
import hashlib
import lzma
import os
import subprocess
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(ROOT, "build", "guest")

# In the order in which they must be loaded.
MODULES = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
           "failover", "net_failover", "virtio_net", "virtio_console", "pktgen"]
PROGRAMS = ["/bin/busybox", "/usr/bin/iperf3"]
FOLDERS = ["bin", "dev", "etc", "modules", "proc", "sys", "tmp", "usr", "usr/bin", "var", "var/run"]


@dataclass(frozen=True)
class Extras:
    """The further contents of an image called `name`: programs (or plugins) with their libraries, under their own path when
    they are the system's and in /usr/bin otherwise; kernel modules in loading order."""
    name: str = "plain"
    programs: tuple = ()
    modules: tuple = ()


class ImageError(Exception):
    """A kernel, program or module that the image needs is missing; the text names it."""


def kernel():
    """The newest cloud kernel of the distribution: (its image, its modules' folder)."""
    for image in sorted(glob.glob("/boot/vmlinuz-*-cloud-amd64"), key=os.path.getmtime, reverse=True):
        modules = "/lib/modules/" + os.path.basename(image).removeprefix("vmlinuz-")
        if os.path.isdir(modules):
            return image, modules
    raise ImageError("no guest kernel in /boot: run test/support/setup.sh --guests")


def libraries(program):
    """The shared libraries that a program needs, by path; none for a static one."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    linked = [word for word in listing.split() if word.startswith("/")]
    # The C library loads this one when a thread is cancelled.
    late = [os.path.join(os.path.dirname(path), "libgcc_s.so.1") for path in linked if os.path.basename(path) == "libc.so.6"]
    return linked + [path for path in late if os.path.exists(path)]


def contents(extras):
    """Every file of the image: its path inside -> its path on this machine."""
    files = {}
    for program in [*PROGRAMS, *extras.programs]:
        if not os.path.exists(program):
            raise ImageError(f"{program} is missing: run test/support/setup.sh --guests")
        own = program.startswith(("/bin/", "/sbin/", "/usr/"))
        files[program.lstrip("/") if own else f"usr/bin/{os.path.basename(program)}"] = program
        for path in libraries(program):
            files[path.lstrip("/")] = path
    return files | modules(kernel()[1], [*MODULES, *extras.modules])


def modules(folder, names):
    """The modules among these that the kernel does not have built in, in this order: path inside -> path on this machine.
    Debian 13 compresses them."""
    files = {}
    with open(os.path.join(folder, "modules.builtin")) as stream:
        built_in = {os.path.basename(line.strip()).removesuffix(".ko") for line in stream}
    for name in names:
        found = glob.glob(f"{folder}/kernel/**/{name}.ko", recursive=True) + glob.glob(f"{folder}/kernel/**/{name}.ko.xz", recursive=True)
        if found:
            files[f"modules/{name}.ko"] = found[0]
        elif name not in built_in:
            raise ImageError(f"the guest kernel has no module {name} in {folder}")
    return files


def data_of(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as stream:
        return stream.read()


def key(files):
    """Changes whenever an input changes."""
    digest = hashlib.sha256()
    for source in (__file__, os.path.join(HERE, "init")):
        with open(source, "rb") as stream:
            digest.update(stream.read())
    for inside, path in sorted(files.items()):
        status = os.stat(path)
        digest.update(f"{inside} {path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def entry(name, data, mode, number):
    """One member of a cpio archive in the `newc` format that the kernel unpacks."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    pad = lambda block: block + b"\0" * (-len(block) % 4)
    return pad(head) + pad(data)


def archive(files):
    """The initramfs as bytes; not compressed, because unpacking is slow under software emulation."""
    members = [(folder, b"", 0o040755) for folder in FOLDERS]
    parents = {os.path.dirname(inside) for inside in files} - set(FOLDERS)
    for parent in sorted(parents):
        steps = parent.split("/")
        members += [("/".join(steps[:depth]), b"", 0o040755) for depth in range(1, len(steps) + 1)]
    for inside, path in files.items():
        members.append((inside, data_of(path), 0o100755))
    members.append(("init", data_of(os.path.join(HERE, "init")), 0o100755))
    order = [inside.removeprefix("modules/").removesuffix(".ko") for inside in files if inside.startswith("modules/")]
    members.append(("modules/order", " ".join(order).encode(), 0o100644))
    parts = [entry(*member, number) for number, member in enumerate(members, start=1)]
    return b"".join(parts) + entry("TRAILER!!!", b"", 0, 0)


def build(extras=Extras()):
    """Builds the initramfs unless it is cached; returns (kernel image, initramfs), both paths."""
    files = contents(extras)
    path = os.path.join(CACHE, f"initramfs-{extras.name}-{key(files)}.cpio")
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        for stale in glob.glob(os.path.join(CACHE, f"initramfs-{extras.name}-*")):
            os.unlink(stale)
        part = f"{path}.{os.getpid()}"
        with open(part, "wb") as stream:
            stream.write(archive(files))
        os.replace(part, path)
    return kernel()[0], path


if __name__ == "__main__":
    print(*build(), sep="\n")
