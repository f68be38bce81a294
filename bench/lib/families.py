"""families.py - processor families, and the parts of a published block: one for each family that was measured.

Figures of different families are not compared: a frame that costs 128 cycles on one may cost 173 on the next. A block of a page in docs/results keeps
the newest figures of each family, the last one measured first, each behind `<!-- family:Intel 6-85 -->`. Pure.
"""
import re

VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}
MARK = re.compile(r"^<!-- family:(.+?) -->\n", re.MULTILINE)
VENDOR = re.compile(rf"^({'|'.join(VENDORS.values())}|ARM)\b", re.MULTILINE)    # a processor's name begins the line under the tables


def of_cpuinfo(text):
    """Vendor, family and model of /proc/cpuinfo: "Intel 6-85", "ARM 0x41-0xd0c"; None where it has none."""
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    if "vendor_id" in facts:
        vendor = VENDORS.get(facts["vendor_id"], facts["vendor_id"])
        return f"{vendor} {facts.get('cpu family', '?')}-{facts.get('model', '?')}"
    if "CPU implementer" in facts:
        return f"ARM {facts['CPU implementer']}-{facts.get('CPU part', '?')}"
    return None


def parts(content):
    """{family: its text} of a block. Text without a family's mark is of the vendor that it names: its family was not recorded."""
    head, *marked = MARK.split(content)
    found = dict(zip(marked[::2], (text.strip("\n") for text in marked[1::2])))
    if head.strip():
        vendor = VENDOR.search(head)
        found[vendor[1] if vendor else "unknown"] = head.strip("\n")
    return found


def newest(content):
    """The text of the family that was measured last."""
    return next(iter(parts(content).values()), "")


def with_part(content, family, text):
    """The block with the text of one family, which comes first; figures of this vendor without a recorded family give way to it."""
    kept = {name: old for name, old in parts(content).items() if name not in (family, family.split(" ")[0], "unknown")}
    return "\n\n".join(f"<!-- family:{name} -->\n{each}" for name, each in {family: text, **kept}.items())
