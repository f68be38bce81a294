#!/usr/bin/env python3
"""record.py - records real sessions for the tests of the parsers: test/cost_functions/captures/record.py [NAME]...

Programs of the distribution talk through a proxy (recorder.py). Without a name it records all. Needs nbdkit,
libnbd-bin, qemu-utils, qemu-block-extra, tgt, libiscsi-bin, memcached, redis and the packages for guests (test/support/setup.sh --guests), root,
and a network namespace of its own: `unshare --net -- test/cost_functions/captures/record.py`.
"""
import os
import socket
import subprocess
import sys
import tempfile
import time

from nvme_guest import nvme, nvme_digests
from recorder import Recorder, connect, run
from stores import (memcached_binary, memcached_meta, memcached_text, redis_2, redis_3, redis_inline,
                    redis_pipelined)


def qemu_io(uri, *orders, fails=False):
    run("qemu-io", "-f", "raw", *[word for order in orders for word in ("-c", order)], uri, fails=fails)


def nbd(name, server, client):
    """`server` is a command with SOCKET in it, `client` a function of a URI."""
    with tempfile.TemporaryDirectory() as folder:
        real, proxy, disk = (os.path.join(folder, part) for part in ("real", "proxy", "disk"))
        with open(disk, "wb") as stream:  # every other 4 KiB is a hole
            for at in range(0, 65536, 8192):
                stream.seek(at)
                stream.write(b"weir" * 1024)
            stream.truncate(65536)
        process = subprocess.Popen([word.replace("SOCKET", real).replace("DISK", disk) for word in server],
                                   stdout=subprocess.DEVNULL)
        try:
            connect(real).close()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(proxy)
            listener.listen()
            recorder = Recorder(listener, real)
            client(f"nbd+unix:///?socket={proxy}")
            time.sleep(0.2)
            recorder.write(name)
        finally:
            process.terminate()
            process.wait()


def nbdkit(*arguments):
    return ["nbdkit", "-f", "-U", "SOCKET", *arguments]


MIXED = ("write -P 1 4096 1024", "read 4096 1024", "write -z 8192 4096", "read 0 512", "discard 4096 4096", "flush")


def nbd_simple():
    nbd("nbd-simple", nbdkit("--no-sr", "memory", "1M"), lambda uri: qemu_io(uri, *MIXED))


def nbd_structured():
    nbd("nbd-structured", nbdkit("memory", "1M"), lambda uri: qemu_io(uri, *MIXED))


def nbd_chunks():
    """Several chunks per reply, and the map of the disk."""
    nbd("nbd-chunks", ["qemu-nbd", "-t", "-e", "0", "-k", "SOCKET", "-f", "raw", "DISK"],
        lambda uri: qemu_io(uri, "read 3072 6144", "read 0 512", "map"))


def nbdcopy(uri, *options):
    run("nbdcopy", "--connections=1", "--requests=8", "--request-size=4096", *options, uri, "null:")


def nbd_pipelined():
    """Many requests outstanding, answered out of order."""
    nbd("nbd-pipelined", nbdkit("--filter=delay", "memory", "16K", "delay-read=1ms"),
        lambda uri: nbdcopy(uri, "--no-extents"))


def nbd_pipelined_simple():
    nbd("nbd-pipelined-simple", nbdkit("--no-sr", "--filter=delay", "memory", "16K", "delay-read=1ms"), nbdcopy)


def nbd_export_name():
    """Newstyle that is not fixed: EXPORT_NAME, answered with zeroes."""
    nbd("nbd-export-name", nbdkit("--mask-handshake=0", "memory", "1M"), lambda uri: qemu_io(uri, *MIXED[:2]))


def nbd_oldstyle():
    nbd("nbd-oldstyle", nbdkit("--oldstyle", "memory", "4K"), nbdcopy)


def nbd_errors(name, *options):
    nbd(name, nbdkit(*options, "--filter=error", "memory", "1M", "error=EIO", "error-pread-rate=100%"),
        lambda uri: qemu_io(uri, "write 0 512", "read 0 512", "read 512 512", fails=True))


def nbd_errors_simple():
    nbd_errors("nbd-errors-simple", "--no-sr")


def nbd_errors_structured():
    nbd_errors("nbd-errors-structured")


def nbd_list():
    nbd("nbd-list", nbdkit("memory", "1M"), lambda uri: run("nbdinfo", "--list", uri))


TARGET = "iqn.2024-01.weir:disk"
CONTROL = 77  # of our tgtd, in case another one runs


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


def tgtadm(*words):
    run("tgtadm", "-C", str(CONTROL), "--lld", "iscsi", "--tid", "1", *words)


def iscsi(name, client, **parameters):
    """`client` is a function of the portal; parameters are the target's, as RFC 7143 names them."""
    os.makedirs("/run/tgtd", exist_ok=True)
    port = free_port()
    with tempfile.NamedTemporaryFile() as disk:
        disk.truncate(1 << 20)
        process = subprocess.Popen(["tgtd", "-f", "-C", str(CONTROL), "--iscsi", f"portal=127.0.0.1:{port}"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            connect(("127.0.0.1", port)).close()
            tgtadm("--mode", "target", "--op", "new", "-T", TARGET)
            tgtadm("--mode", "logicalunit", "--op", "new", "--lun", "1", "-b", disk.name)
            tgtadm("--mode", "logicalunit", "--op", "update", "--lun", "1", "--params", "thin_provisioning=1")
            tgtadm("--mode", "target", "--op", "bind", "-I", "ALL")
            for key, value in parameters.items():
                tgtadm("--mode", "target", "--op", "update", "-n", key, "-v", value)
            listener = socket.create_server(("127.0.0.1", 0))
            recorder = Recorder(listener, ("127.0.0.1", port))
            client(f"127.0.0.1:{listener.getsockname()[1]}")
            time.sleep(0.2)
            recorder.write(name)
        finally:
            process.kill()  # it stays for anything less as long as it has a target
            process.wait()


def iscsi_io(portal, *orders, digest="none"):
    run("qemu-io", "--image-opts", *[word for order in orders for word in ("-c", order)],
        f"driver=raw,file.driver=iscsi,file.transport=tcp,file.portal={portal},file.target={TARGET},file.lun=1,"
        f"file.header-digest={digest}")


def iscsi_plain():
    iscsi("iscsi-plain", lambda portal: iscsi_io(portal, *MIXED))


def iscsi_header_digest():
    iscsi("iscsi-header-digest", lambda portal: iscsi_io(portal, *MIXED, digest="crc32c"), HeaderDigest="CRC32C")


def iscsi_r2t():
    """Data only when the target asks for it, and little at a time."""
    iscsi("iscsi-r2t", lambda portal: iscsi_io(portal, *MIXED[:2]), ImmediateData="No", InitialR2T="Yes",
          MaxRecvDataSegmentLength="512", MaxXmitDataSegmentLength="512", MaxBurstLength="512",
          FirstBurstLength="512")


def iscsi_discovery():
    iscsi("iscsi-discovery", lambda portal: run("iscsi-ls", f"iscsi://{portal}"))


SESSIONS = {function.__name__.replace("_", "-"): function for function in (
    nbd_simple, nbd_structured, nbd_chunks, nbd_pipelined, nbd_pipelined_simple, nbd_export_name, nbd_oldstyle,
    nbd_errors_simple, nbd_errors_structured, nbd_list, iscsi_plain, iscsi_header_digest, iscsi_r2t, iscsi_discovery, nvme, nvme_digests,
    memcached_text, memcached_meta, memcached_binary, redis_2, redis_3, redis_pipelined, redis_inline)}


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for name in sys.argv[1:] or SESSIONS:
        if name not in SESSIONS:
            sys.exit(f"record.py: unknown session {name}; there are: {', '.join(SESSIONS)}")
        SESSIONS[name]()


if __name__ == "__main__":
    main()
