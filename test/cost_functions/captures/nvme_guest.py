"""nvme_guest.py - a guest that is NVMe/TCP target and host at once, through a proxy on this machine.

The kernel of the machine may lack both; that of the guests has them.
"""
import os
import socket
import sys
import tempfile
import time

from recorder import HERE, Recorder, run

ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "bench", "guest")]

TARGET = [
    "mount -t configfs none /sys/kernel/config",
    "truncate -s 32K /tmp/disk",
    "mkdir /sys/kernel/config/nvmet/subsystems/weir",
    "echo 1 > /sys/kernel/config/nvmet/subsystems/weir/attr_allow_any_host",
    "mkdir /sys/kernel/config/nvmet/subsystems/weir/namespaces/1",
    "echo -n /tmp/disk > /sys/kernel/config/nvmet/subsystems/weir/namespaces/1/device_path",
    "echo 1 > /sys/kernel/config/nvmet/subsystems/weir/namespaces/1/buffered_io",
    "echo 1 > /sys/kernel/config/nvmet/subsystems/weir/namespaces/1/enable",
    "mkdir /sys/kernel/config/nvmet/ports/1",
    "echo ipv4 > /sys/kernel/config/nvmet/ports/1/addr_adrfam",
    "echo tcp > /sys/kernel/config/nvmet/ports/1/addr_trtype",
    "echo 10.0.0.1 > /sys/kernel/config/nvmet/ports/1/addr_traddr",
    "echo 4420 > /sys/kernel/config/nvmet/ports/1/addr_trsvcid",
    "echo 4096 > /sys/kernel/config/nvmet/ports/1/param_inline_data_size",
    "ln -s /sys/kernel/config/nvmet/subsystems/weir /sys/kernel/config/nvmet/ports/1/subsystems/weir",
]
# A write that fits into the capsule, discard, write zeroes, a write that waits for R2T, flush, a read. The disk is small and
# stays open, so that few partitions are looked for.
WORK = [
    "exec 9</dev/nvme0n1",
    "dd if=/bin/busybox of=/dev/nvme0n1 bs=4096 seek=1 count=1 oflag=direct conv=notrunc",
    "/usr/sbin/blkdiscard -f -o 16384 -l 4096 /dev/nvme0n1",
    "/usr/sbin/blkdiscard -f -z -o 20480 -l 4096 /dev/nvme0n1",
    "dd if=/bin/busybox of=/dev/nvme0n1 bs=8192 seek=1 count=1 oflag=direct conv=notrunc,fsync",
    "dd if=/dev/nvme0n1 of=/dev/null bs=4096 skip=1 count=1 iflag=direct",
]


def session(names, options):
    import guest  # needs QEMU and a guest's kernel, which other sessions do not
    import image
    extras = image.Extras("nvme", ("/usr/sbin/blkdiscard",),
                          ("configfs", "nvmet", "nvmet-tcp", "nvme-fabrics", "libcrc32c", "nvme-tcp"))
    run("ip", "tuntap", "add", "capture", "mode", "tap")
    run("ip", "addr", "add", "10.0.0.2/24", "dev", "capture")
    run("ip", "link", "set", "capture", "up")
    with tempfile.TemporaryDirectory() as folder:
        machine = guest.Guest("nvme", folder, [guest.Nic("52:54:00:00:00:01", "10.0.0.1/24", tap="capture")],
                              extras=extras)
        try:
            machine.boot()
            for command in TARGET:
                machine.run(command)
            recorder = Recorder(socket.create_server(("10.0.0.2", 4420)), ("10.0.0.1", 4420))
            machine.run(f"echo transport=tcp,traddr=10.0.0.2,trsvcid=4420,nqn=weir,nr_io_queues=1{options} "
                        "> /dev/nvme-fabrics")
            for command in ["until test -b /dev/nvme0n1; do usleep 10000; done", " && ".join(WORK),
                            "echo 1 > /sys/class/nvme/nvme0/delete_controller"]:
                machine.run(command)
            time.sleep(0.5)
            recorder.write(*names)
        finally:
            machine.kill()
            run("ip", "link", "del", "capture")


def nvme():
    """The admin queue and the queue of the work."""
    session(("nvme-admin", "nvme-io"), "")


def nvme_digests():
    session((None, "nvme-io-digests"), ",hdr_digest,data_digest")
