"""weir.py - gdb printers for the switch's queues, rings, wheel and frames: `source docs/gdb/weir.py` in gdb.

They read memory alone and call nothing, so that they work on a core file, too. `print` and `info locals` use them; `weir-frame ADDRESS` prints
a frame's source and destination (vswitch/datapath/frame/frame_word.h) and its first bytes. The program needs debug information: a build of `-Dbuildtype=debugoptimized`.
"""
import re

import gdb

NEVER = 2**64 - 1
NO_CHUNK = 2**32 - 1
SHOWN = 32      # entries of a queue, ring or wheel; more are summed up


def number(value):
    """Of an integer or an atomic one."""
    fields = {field.name for field in value.type.strip_typedefs().fields()} if value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT else ()
    if "_M_i" in fields:
        return int(value["_M_i"])
    for base in (field for field in value.type.strip_typedefs().fields() if field.is_base_class) if fields else ():
        return number(value[base])
    return int(value)


def first_pointer(unique):
    """The pointer in a std::unique_ptr to an array; with the usual deleter it has no other field."""
    element = unique.type.strip_typedefs().template_argument(0).target()
    return unique.address.cast(element.pointer().pointer()).dereference()


def elements(vector):
    """(address of the first element, their number) of a std::vector."""
    start, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return start, int(end - start)


class PacketQueue:
    """Packets, bytes and buffers, then the packets from the front."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        packets = (int(self.value["tail_"]) - int(self.value["head_"])) % 2**32
        return f"{packets} packets, {int(self.value['bytes_'])} bytes, {int(self.value['buffers_'])} buffers"

    def children(self):
        slots = first_pointer(self.value["slots_"])
        head, tail, mask = (int(self.value[name]) for name in ("head_", "tail_", "mask_"))
        for place in range(min((tail - head) % 2**32, SHOWN)):
            yield f"[{place}]", slots[(head + place) & mask]


class SpscRing:
    """How many events wait, then the events, the oldest first."""

    def __init__(self, value):
        self.value = value
        self.capacity = int(value.type.strip_typedefs().template_argument(1))
        self.head, self.tail = number(value["head_"]), number(value["tail_"])

    def to_string(self):
        return f"{self.tail - self.head} of {self.capacity} events"

    def children(self):
        slots = self.value["slots_"]["_M_elems"]
        for place in range(self.head, min(self.tail, self.head + SHOWN)):
            yield f"[{place - self.head}]", slots[place % self.capacity]


class TimingWheel:
    """How many ids wait and when the first is due, then the ids by slot."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        due = int(self.value["next_due_"])
        when = "nothing is due" if due == NEVER else f"the first slot begins at {due} ns"
        handing = "" if int(self.value["due_"]) == NO_CHUNK else ", a slot is being handed out"
        return f"{int(self.value['size_'])} ids, {when}{handing}"

    def children(self):
        chunks, _ = elements(self.value["chunks_"])
        heads = self.value["heads_"]["_M_elems"]
        first, last = heads.type.strip_typedefs().range()
        slots = last - first + 1
        cursor, bits = int(self.value["cursor_"]), int(self.value["granularity_bits_"])
        shown = 0
        for ahead in range(slots):
            chunk = int(heads[(cursor + ahead) % slots])
            ids = []
            while chunk != NO_CHUNK:
                ids += [int(chunks[chunk]["ids"]["_M_elems"][i]) for i in range(int(chunks[chunk]["count"]))]
                chunk = int(chunks[chunk]["next"])
            if ids and shown < SHOWN:
                shown += 1
                yield f"[{(cursor + ahead) << bits} ns]", ", ".join(map(str, ids))


class FloodQueue:
    """How many floods wait, and how far the first is."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        waiting = (int(self.value["tail_"]) - int(self.value["head_"])) % 2**32
        begun = f", the first was copied {int(self.value['copies'])} times, next to vNIC {int(self.value['next'])}" if self.value["begun"] else ""
        return f"{waiting} floods{begun}"


class Printers:
    """Finds the printer of a type by its name."""

    name = "weir"
    enabled = True
    subprinters = None
    KNOWN = {"weir::PacketQueue": PacketQueue, "weir::TimingWheel": TimingWheel, "weir::FloodQueue": FloodQueue}

    def __call__(self, value):
        kind = value.type.strip_typedefs().unqualified()
        if re.match(r"weir::SpscRing<", str(kind)):
            return SpscRing(value)
        printer = self.KNOWN.get(str(kind))
        return printer(value) if printer else None


class FrameCommand(gdb.Command):
    """weir-frame ADDRESS: prints a frame's lengths, its source, its destination while it waits, and its first bytes."""

    ORIGINS = ("VM", "wire", "feedback", "tunnel")

    def __init__(self):
        super().__init__("weir-frame", gdb.COMMAND_DATA)

    def invoke(self, argument, _from_tty):
        frame = gdb.parse_and_eval(f"*(rte_mbuf*)({argument})")
        word = int(frame["hash"]["usr"])
        print(f"{int(frame['pkt_len'])} bytes in {int(frame['nb_segs'])} buffers, {int(frame['refcnt'])} references, flags {int(frame['ol_flags']):#x}")
        print(f"from vNIC {int(frame['port'])}; waiting: to {word & 0xFFFF:#x}, from {self.ORIGINS[word >> 16 & 3]}, generation {word >> 18}")
        data = gdb.selected_inferior().read_memory(int(frame["buf_addr"]) + int(frame["data_off"]), min(int(frame["data_len"]), 64))
        print(" ".join(f"{byte:02x}" for byte in bytes(data)))


gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers(), replace=True)
FrameCommand()
