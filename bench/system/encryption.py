#!/usr/bin/env python3
"""encryption.py - cycles per frame of 1400 bytes into ESP, beside those of the crypto device alone in dpdk-test-crypto-perf.

Ours is the whole way of a frame: checks, headers, sequence numbers, trailer, IVs and the crypto device. The other program feeds the same
device with the same algorithm in bursts of 32. Both use the same few buffers again and again (the other's come from a mempool's cache), in
hugepages, on one core and in turn, ours between two runs of the other, so that the machine's changes affect both.
"""
import re

from bench.lib import micro
from bench.lib.figures import median_of
from bench.lib.host import EAL_SWITCH, parser, prepare, run
from bench.lib.record import Record
from bench.lib.report import Table, finish, mark, number

SIZE = 1400
PERCENT_LEAST = 90
AEAD = ["--optype", "aead", "--aead-algo", "aes-gcm", "--aead-op", "encrypt", "--aead-key-sz", "16", "--aead-iv-sz", "12",
        "--aead-aad-sz", "8"]
CHAIN = ["--optype", "cipher-then-auth", "--cipher-algo", "aes-cbc", "--cipher-op", "encrypt", "--cipher-key-sz", "16",
         "--cipher-iv-sz", "16", "--auth-algo", "sha2-256-hmac", "--auth-op", "generate", "--auth-key-sz", "32"]
CHAIN_SIZE = 1408  # dpdk-test-crypto-perf pads nothing: the next multiple of AES's block
# The case in esp-bench -> crypto device, the algorithm's name, arguments of dpdk-test-crypto-perf.
CASES = {"openssl_gcm": ("crypto_openssl", "AES-128-GCM", AEAD),
         "openssl_cbc": ("crypto_openssl", "AES-128-CBC + HMAC-SHA-256", CHAIN),
         "aesni_gcm_gcm": ("crypto_aesni_gcm", "AES-128-GCM", AEAD),
         "aesni_mb_gcm": ("crypto_aesni_mb", "AES-128-GCM", AEAD),
         "aesni_mb_cbc": ("crypto_aesni_mb", "AES-128-CBC + HMAC-SHA-256", CHAIN)}
# Frames that a core encrypts in a second, roughly: dpdk-test-crypto-perf is given a count, not a time.
PER_SECOND = {"crypto_openssl": 600_000, "crypto_aesni_gcm": 3_000_000, "crypto_aesni_mb": 1_500_000}


def device_alone(name, seconds):
    """Cycles per buffer by dpdk-test-crypto-perf."""
    driver, _, algorithm = CASES[name]
    size = CHAIN_SIZE if algorithm is CHAIN else SIZE
    operations = int(PER_SECOND[driver] * seconds)
    output = run("dpdk-test-crypto-perf", *EAL_SWITCH, "--no-telemetry", f"--vdev={driver}", "--", "--devtype", driver,
                 "--ptest", "throughput", *algorithm, "--digest-sz", "16", "--buffer-sz", str(size), "--burst-sz", "32",
                 "--total-ops", str(operations), "--silent", timeout=60)
    lines = [line.split() for line in output.splitlines() if re.match(rf"\s*\d+\s+{size}\s+32\s", line)]
    if not lines:
        raise RuntimeError(f"dpdk-test-crypto-perf: {output.strip()[-300:]}")
    return float(lines[-1][-1])


def ours(name, seconds):
    """Cycles per frame by esp-bench."""
    report = micro.measure("esp-bench", f"--benchmark_filter=/{name}$", f"--benchmark_min_time={seconds}", timeout=60)
    return micro.cases(report)[0]["cycles_per_packet"]


def figures(name, seconds):
    before, found, after = device_alone(name, seconds), ours(name, seconds), device_alone(name, seconds)
    alone = (before + after) / 2
    return {"device_alone": alone, "device_moved": abs(after - before) / alone, "ours": found, "percent": 100 * alone / found}


HEAD = ["", "algorithm", "device alone, cycles", "our ESP, cycles", "of the device %"]


def measured(samples):
    return [name for name in CASES if median_of(samples, "ours", case=name) is not None]


def rows(samples):
    """Under HEAD, the medians of each case."""
    return [[CASES[name][0], CASES[name][1],
             *(number(median_of(samples, key, case=name), digits) for key, digits in (("device_alone", 0), ("ours", 0), ("percent", 1)))]
            for name in measured(samples)]


def tables(samples):
    return [Table(f"Encryption of frames of {SIZE} bytes, bursts of 32 (medians)", HEAD, rows(samples))]


def marks(samples):
    return [mark(f"{CASES[name][0]}, {CASES[name][1]}, of the device's throughput", median_of(samples, "percent", case=name),
                 PERCENT_LEAST, " %", least=True)
            for name in measured(samples)]


def main():
    arguments = parser("encryption", __doc__, rounds=7, seconds=0.5)
    arguments.add_argument("--cases", default=",".join(CASES), help=f"some of {','.join(CASES)}")
    options = arguments.parse_args()
    prepare()
    record = Record(options)
    for number_of_round in range(options.rounds):
        for name in options.cases.split(","):
            record.attempt(lambda: record.stretch(lambda: figures(name, options.seconds)), case=name, round=number_of_round)
    finish(record, "bench.system.encryption")


if __name__ == "__main__":
    main()
