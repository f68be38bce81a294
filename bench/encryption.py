#!/usr/bin/env python3
"""encryption.py - cycles per frame of 1400 bytes: the switch's ESP (checks, headers, sequence numbers, trailer, IVs
and the crypto device) beside dpdk-test-crypto-perf, which feeds the same device with the same algorithm in bursts of 32.

Both use the same few buffers again and again (theirs come from a mempool's cache), in hugepages as the switch's are, on one core and in
turn, ours between two runs of theirs, so that what else the machine does meets both alike.
"""
import json
import re

from lib.host import EAL_SWITCH, Place, SWITCH_CORE, parser, prepare, run, say, tool
from lib.report import median, number, print_targets, save, table, target

SIZE = 1400
LEAST_PERCENT = 90
AEAD = ["--optype", "aead", "--aead-algo", "aes-gcm", "--aead-op", "encrypt", "--aead-key-sz", "16", "--aead-iv-sz", "12",
        "--aead-aad-sz", "8"]
CHAIN = ["--optype", "cipher-then-auth", "--cipher-algo", "aes-cbc", "--cipher-op", "encrypt", "--cipher-key-sz", "16",
         "--cipher-iv-sz", "16", "--auth-algo", "sha2-256-hmac", "--auth-op", "generate", "--auth-key-sz", "32"]
CHAIN_SIZE = 1408  # theirs pads nothing: the next multiple of AES's block
# The bench's name -> crypto device, algorithm as people say it, theirs.
CASES = {"openssl_gcm": ("crypto_openssl", "AES-128-GCM", AEAD),
         "openssl_cbc": ("crypto_openssl", "AES-128-CBC + HMAC-SHA-256", CHAIN),
         "aesni_gcm_gcm": ("crypto_aesni_gcm", "AES-128-GCM", AEAD),
         "aesni_mb_gcm": ("crypto_aesni_mb", "AES-128-GCM", AEAD),
         "aesni_mb_cbc": ("crypto_aesni_mb", "AES-128-CBC + HMAC-SHA-256", CHAIN)}
# Frames that a core does in a second, roughly; theirs are told how many to do.
PER_SECOND = {"crypto_openssl": 600_000, "crypto_aesni_gcm": 3_000_000, "crypto_aesni_mb": 1_500_000}


def device_alone(name, seconds):
    """Cycles per buffer by dpdk-test-crypto-perf."""
    driver, _, algorithm = CASES[name]
    size = CHAIN_SIZE if algorithm is CHAIN else SIZE
    operations = int(PER_SECOND[driver] * seconds)
    said = run("dpdk-test-crypto-perf", *EAL_SWITCH, "--no-telemetry", f"--vdev={driver}", "--", "--devtype", driver,
               "--ptest", "throughput", *algorithm, "--digest-sz", "16", "--buffer-sz", str(size), "--burst-sz", "32",
               "--total-ops", str(operations), "--silent", timeout=60)
    lines = [line.split() for line in said.splitlines() if re.match(rf"\s*\d+\s+{size}\s+32\s", line)]
    if not lines:
        raise RuntimeError(f"dpdk-test-crypto-perf: {said.strip()[-300:]}")
    return float(lines[-1][-1])


def ours(name, seconds):
    said = run("taskset", "-c", str(SWITCH_CORE), tool("bench/micro/esp-bench"), f"--benchmark_filter=/{name}$",
               f"--benchmark_min_time={seconds}", "--benchmark_format=json", timeout=60)
    result = json.loads(said[said.index("{\n"):])["benchmarks"][0]
    if result.get("error_occurred"):
        raise RuntimeError(result["error_message"])
    return result["cycles_per_packet"]


def measure(name, seconds):
    before, found, after = device_alone(name, seconds), ours(name, seconds), device_alone(name, seconds)
    alone = (before + after) / 2
    return {"case": name, "device": CASES[name][0], "algorithm": CASES[name][1], "device_alone": alone,
            "device_moved": abs(after - before) / alone, "ours": found, "percent": 100 * alone / found}


HEAD = ["", "algorithm", "device alone, cycles", "our ESP, cycles", "of the device %"]


def of(samples, name, key):
    return median([sample[key] for sample in samples if sample["case"] == name])


def measured(samples):
    return [name for name in CASES if of(samples, name, "ours") is not None]


def rows(samples):
    """Under HEAD, the medians of each case."""
    return [[CASES[name][0], CASES[name][1], number(of(samples, name, "device_alone"), 0), number(of(samples, name, "ours"), 0),
             number(of(samples, name, "percent"), 1)] for name in measured(samples)]


def report(samples, options):
    table(f"Encryption of frames of {SIZE} bytes, bursts of 32 (medians)", HEAD, rows(samples))
    marks = [target(f"{CASES[name][0]}, {CASES[name][1]}", of(samples, name, "percent"), LEAST_PERCENT, " %", least=True)
             for name in measured(samples)]
    print_targets(marks, "Encryption against the device's own throughput")
    save(options.output, "encryption", vars(options), samples, marks)


def main():
    arguments = parser("encryption", __doc__, rounds=7, seconds=0.5)
    arguments.add_argument("--cases", default=",".join(CASES), help="which of " + ",".join(CASES))
    options = arguments.parse_args()
    prepare()
    samples = []
    with Place(keep=options.keep):
        for _ in range(options.rounds):
            for name in options.cases.split(","):
                try:
                    samples.append(measure(name, options.seconds))
                    say(json.dumps(samples[-1]))
                except RuntimeError as error:
                    say(f"{name}: {error}")
    report(samples, options)


if __name__ == "__main__":
    main()
