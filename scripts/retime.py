#!/usr/bin/env python3
"""Computes the simulated time of a step from a program's text alone.

    st-translate --executable-to-text BINARY | scripts/retime.py

This is a second implementation of the rules of time in docs/dtu-isa.md, written from that page and the device's
description. It shares no code with the compiler and the simulator, which share theirs, so an error in either side or in
the page shows as a different time. It supports programs of one rank without `load`, and runs every trip of every loop.
"""

import argparse
import functools
import heapq
import json
import math
import pathlib
import re
import sys

DEVICES = pathlib.Path(__file__).resolve().parent.parent / "devices"
WIDTH = {"i1": 1, "i8": 1, "ui8": 1, "i16": 2, "ui16": 2, "bf16": 2, "f16": 2, "i32": 4, "ui32": 4, "f32": 4,
         "i64": 8, "ui64": 8, "f64": 8}
TRANSCENDENTAL = {"exp", "expm1", "log", "log1p", "logistic", "tanh", "sqrt", "rsqrt", "cbrt", "erf", "erfc", "sin",
                  "cos", "div", "pow", "rem"}
# The number of operands of each op; one for ops that are not listed.
OPERANDS = {"iota": 0, "fill": 0, "select": 3, "clamp": 3, "mul_add": 3} | dict.fromkeys(
    ["add", "sub", "mul", "div", "max", "min", "pow", "rem", "and", "or", "xor", "shl", "shr_logical", "shr_arith",
     "rotl", "mul_high", "eq", "ne", "lt", "le", "gt", "ge"], 2)


class Refused(Exception):
    """This script cannot time the program."""


def read_device(path):
    """The figures of a device description: {name: number}."""
    text = re.sub(r'"[^"]*"|#.*', "", pathlib.Path(path).read_text())
    number = r"([-+\d.eE]+)"
    return {name: float(value) for name, value in re.findall(r"(\w+)\s*:?\s*\{\s*value\s*:\s*" + number, text)}


def round_half_up(value):
    return math.floor(value + 0.5)


def bank_step(stride):
    """The distance in banks of L1 between elements that are `stride` bytes apart."""
    stride = abs(stride)
    return stride if stride <= 4 else max(4, stride & -stride)


class Machine:
    """One cluster: the rates of its memories and engines, when each memory is free again, and total work. Times are in
    picoseconds."""

    def __init__(self, device, cores):
        def rate(name):
            return 1000.0 / device[name] if name in device else 0.0

        def delay(name):
            return round_half_up(device.get(name, 0.0) * 1000)

        host = rate("host_gbytes_per_second")
        self.per_byte = {"L1": rate("l1_gbytes_per_second"), "L2": rate("l2_gbytes_per_second"),
                         "L3": rate("l3_gbytes_per_second"), "dte": rate("dte_gbytes_per_second"),
                         "to host": host, "from host": host}
        self.cycle = rate("clock_ghz")
        self.sync, self.launch = delay("sync_ns"), delay("task_launch_ns")
        self.dte_latency, self.host_latency = delay("dte_latency_ns"), delay("host_latency_ns")
        self.matrix_start, self.vector_start = device["matrix_start_cycles"], device["vector_start_cycles"]
        self.transcendental = device["transcendental_cycles"]
        self.vector_bytes = max(1, round_half_up(device["vector_bytes_per_cycle"]))
        macs = device["fp32_macs_per_core_cycle"]
        self.rows = 1
        while self.rows < 16 and (2 * self.rows) ** 2 <= macs:
            self.rows *= 2
        self.columns = max(1, round_half_up(macs / self.rows))
        self.steps16 = max(1, round_half_up(device["bf16_macs_per_core_cycle"] / macs))
        self.burst, self.banked = int(device["l3_burst_bytes"]), 4 * int(device["l1_banks"])
        self.occupied, self.vector_cycles = functools.cache(self.occupied), functools.cache(self.vector_cycles)
        self.cores = cores
        self.free = {space: [0] * (cores if space == "L1" else 1) for space in self.per_byte}
        self.moved = dict.fromkeys(self.per_byte, 0)
        self.l2_busy = self.macs32 = self.macs16 = self.serial = 0

    def time_of(self, place, size):
        return math.ceil(size * self.per_byte[place])

    def matmul(self, now, m, n, k, width):
        if m <= 0 or n <= 0:
            return now
        steps = 1 if width == 4 else self.steps16
        cycles = -(-m // self.rows) * -(-n // self.columns) * -(-k // steps)
        if width == 4:
            self.macs32 += m * n * k
        else:
            self.macs16 += m * n * k
        return self.spend(now, math.ceil((self.matrix_start + cycles) * self.cycle))

    def vector(self, now, rows, columns, width, cost, strides):
        if rows <= 0 or columns <= 0:
            return now
        cycles = self.vector_cycles(rows, columns, width, cost, strides)
        return self.spend(now, math.ceil((self.vector_start + cycles) * self.cycle))

    def vector_cycles(self, rows, columns, width, cost, strides):
        """`strides`: of each operand in bytes, from row to row and from column to column."""
        return min(self.vectors(lines, length, width, cost, [operand[dimension] for operand in strides])
                   for lines, length, dimension in ((rows, columns, 1), (columns, rows, 0)))

    def vectors(self, lines, length, width, cost, strides):
        """Cycles of vectors along lines of this many elements."""
        elements = min(length, max(1, self.vector_bytes // width))
        worst = max(-(-elements * min(bank_step(stride), self.banked) // self.banked) for stride in strides)
        return lines * -(-length * width // self.vector_bytes) * max(cost, worst, 1)

    def occupied(self, width, dimensions):
        """Bytes for which a side occupies L3; dimensions are (size, stride), outermost first."""
        span, occupied = width, self.round_up(width)
        for size, stride in sorted(reversed(dimensions), key=lambda dimension: abs(dimension[1])):
            if size <= 0:
                return 0
            span += (size - 1) * abs(stride)
            occupied = min(size * occupied, self.round_up(span))
        return occupied

    def round_up(self, size):
        return -(-size // self.burst) * self.burst

    def spend(self, now, time):
        self.serial += time
        return now + time

    def transfer(self, now, sides):
        """Returns the time at which a transfer is complete; a side is (place, first core, count of cores, bytes, bytes
        that it occupies)."""
        largest = max(side[3] for side in sides)
        if largest == 0:
            return now
        moving = self.time_of("dte", largest)
        latency, end = self.dte_latency, now + moving
        alone = {"": moving}
        for place, first, count, _, size in sides:
            if first < 0 or first + count > len(self.free[place]):
                raise Refused(f"cores {first} to {first + count - 1} of {len(self.free[place])}")
            time = self.time_of(place, size)
            free = self.free[place]
            for server in range(first, first + count):
                free[server] = max(free[server], now) + time
                end = max(end, free[server])
            alone[place] = alone.get(place, 0) + time
            self.moved[place] += size
            if place == "L2":
                self.l2_busy += time
            elif place.endswith("host"):
                latency = self.dte_latency + self.host_latency
        self.serial += max(alone.values()) + latency
        return end + latency

    def roofline(self):
        lanes = self.rows * self.columns * self.cores
        return int(max((self.macs32 / lanes + self.macs16 / (lanes * self.steps16)) * self.cycle, self.l2_busy,
                       *(self.time_of(place, self.moved[place]) for place in ("L3", "to host", "from host"))))


class Task:
    """One run of a task: its semaphores, its barriers, and the queue of what happens next."""

    def __init__(self, machine, semaphores):
        self.machine = machine
        self.counts = [0] * semaphores
        self.waiting = [[] for _ in range(semaphores)]
        self.standing = {}
        self.queue = []

    def take(self, semaphore, count, instance):
        """False if the instance has to wait."""
        self.check(semaphore)
        if self.counts[semaphore] >= count:
            self.counts[semaphore] -= count
            return True
        self.waiting[semaphore].append((count, instance))
        return False

    def signal(self, semaphore, count, now):
        self.counts[semaphore] += count
        left = []
        for wanted, instance in self.waiting[semaphore]:
            if wanted > self.counts[semaphore]:
                left.append((wanted, instance))
            else:
                self.counts[semaphore] -= wanted
                heapq.heappush(self.queue, (now, instance))
        self.waiting[semaphore] = left

    def meet(self, barrier, participants, instance, now):
        standing = self.standing.setdefault(barrier, [])
        standing.append(instance)
        if len(standing) == participants:
            self.machine.serial += self.machine.sync
            for other in self.standing.pop(barrier):
                heapq.heappush(self.queue, (now + self.machine.sync, other))

    def check(self, semaphore):
        if not 0 <= semaphore < len(self.counts):
            raise Refused(f"semaphore {semaphore} of {len(self.counts)}")

    def run(self, instances, begin):
        """Runs generators. Each receives the current time, and yields the time of its next step, or None if another one
        has to wake it."""
        for index, instance in enumerate(instances):
            next(instance)
            heapq.heappush(self.queue, (begin, index))
        go_on = [instance.send for instance in instances]
        alive, now = len(instances), begin
        while self.queue:
            now, index = heapq.heappop(self.queue)
            try:
                due = go_on[index](now)
            except StopIteration:
                alive -= 1
                continue
            if due is not None:
                heapq.heappush(self.queue, (due, index))
        if alive:
            raise Refused(f"{alive} instances wait forever")
        return now


def wrap(value):
    """Wraps a number to 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def index_of(value, divide, modulo, multiply):
    if value < 0:
        raise Refused(f"index of the negative value {value}")
    value //= divide
    return wrap((value % modulo if modulo else value) * multiply)


def entry_of(table, index):
    if not 0 <= index < len(table):
        raise Refused(f"entry {index} of a rank table of {len(table)}")
    return table[index]


ADDRESS = re.compile(r"(?:(\w+):)?(L1|L2|L3|host)\[([^;\]]*)(?:;([^\]]*))?\](?:\{([^}]*)\})?$")
EXTENT = re.compile(r"min\(([-\d]+),([-\d]+)-r(\d+)\)$|([-\d]+)$")
TERM = re.compile(r"([-+]?\d+)(?:\*(r\d+))?")


def affine(text):
    """Translates an affine expression to Python."""
    terms = TERM.findall(text)
    if "".join(number + (register and "*" + register) for number, register in terms) != text:
        raise Refused(f"not an affine expression: {text}")
    kept = [f"{int(number)}*{register}" if register else str(int(number))
            for number, register in terms if register != "r0"] or ["0"]
    return kept[0] if len(kept) == 1 and "*" not in kept[0] else f"wrap({' + '.join(kept)})"


def extent(text):
    """Translates an extent to Python: it is a number, or `tile`."""
    found = EXTENT.match(text)
    if not found:
        raise Refused(f"not an extent: {text}")
    tile, limit, register, plain = found.groups()
    return plain or (tile if register == "0" else f"max(0, min({tile}, {limit} - r{register}))")


def register(text):
    if not re.fullmatch(r"r([0-9]|[12][0-9]|3[01])", text):
        raise Refused(f"not a register: {text}")
    return text


def integer(fields, key, standard):
    return str(int(fields.get(key, standard)))


def product(factors):
    """Translates a product to Python, with its constant factors folded."""
    known = math.prod(int(f) for f in factors if f.isdigit())
    others = [f for f in factors if not f.isdigit()]
    return str(known) if not others or not known else " * ".join([str(known), *others])


class StreamTranslator:
    """Translates a stream into a Python generator. Control flow runs inside it, and it yields at steps that take
    time."""

    def __init__(self):
        self.depth, self.lines, self.loops = 1, [], []

    def emit(self, line):
        self.lines.append("    " * self.depth + line)

    def add(self, mnemonic, fields):
        translate = getattr(self, f"add_{mnemonic}", None)
        if not translate:
            raise Refused("its time depends on data that it loads" if mnemonic == "load" else
                          f"no instruction of a program of one rank: {mnemonic}")
        translate(fields)

    def source(self):
        if self.loops:
            raise Refused("a loop is left open")
        registers = " = ".join(f"r{i}" for i in range(4, 32))
        return "\n".join(["def stream(task, machine, instance, r1, r2, r3, table):",
                          f"    r0 = {registers} = 0", "    now = yield", *self.lines])

    def add_loop(self, fields):
        counter, limit = register(fields["reg"]), f"limit{len(self.loops)}"
        self.emit(f"{limit} = {affine(fields.get('limit', '0'))}; {counter} = {affine(fields.get('start', '0'))}")
        self.emit(f"while {counter} < {limit}:")
        self.depth += 1
        self.loops.append((counter, limit, int(fields.get("step", 1))))

    def add_end(self, fields):
        # The counter keeps the value of the last trip.
        if not self.loops:
            raise Refused("an end without a loop")
        counter, limit, step = self.loops.pop()
        self.emit(f"if {limit} - {counter} <= {step}: break")
        self.emit(f"{counter} += {step}")
        self.depth -= 1

    def add_leave(self, fields):
        self.emit(f"if {register(fields.get('unless', 'r0'))} == 0: break")

    def add_index(self, fields):
        numbers = ", ".join(integer(fields, key, standard) for key, standard in
                            (("divide", 1), ("modulo", 0), ("multiply", 1)))
        self.emit(f"{register(fields['dst'])} = index_of({affine(fields.get('value', '0'))}, {numbers})")

    def add_table(self, fields):
        self.emit(f"{register(fields['dst'])} = entry_of(table, {affine(fields.get('index', '0'))})")

    def add_wait(self, fields):
        semaphore, count = affine(fields.get("sem", "0")), integer(fields, "count", 1)
        self.emit(f"if not task.take({semaphore}, {count}, instance): now = yield None")

    def add_signal(self, fields):
        self.emit(f"semaphore = {affine(fields.get('sem', '0'))}; task.check(semaphore)")
        self.emit("now = yield machine.spend(now, machine.sync)")
        self.emit(f"task.signal(semaphore, {integer(fields, 'count', 1)}, now)")

    def add_barrier(self, fields):
        barrier, participants = integer(fields, "id", 0), integer(fields, "participants", 1)
        self.emit(f"now = yield task.meet({barrier}, {participants}, instance, now)")

    def add_matmul(self, fields):
        sizes = ", ".join(extent(fields[key]) for key in ("m", "n", "k"))
        self.emit(f"now = yield machine.matmul(now, {sizes}, {WIDTH[fields.get('type', 'f32')]})")

    def add_vector(self, fields):
        op = fields.get("op", "copy")
        types = [ADDRESS.match(fields[key])[1] for key in ("dst", "a", "b", "c")[:1 + OPERANDS.get(op, 1)]]
        cost = "machine.transcendental" if op in TRANSCENDENTAL else "1"
        keys = ("dst", "a", "b", "c")
        strides = [self.strides(fields[key], WIDTH[kind]) for key, kind in zip(keys, types, strict=False)]
        # The address of a reduction's result does not move along reduced dimensions.
        reduced = {"row": 1, "col": 0}.get(op[:3] if op[3:] in ("_sum", "_max", "_min") else "")
        if reduced is not None:
            strides[0][reduced] = 0
        self.emit(f"now = yield machine.vector(now, {extent(fields['rows'])}, {extent(fields['cols'])}, "
                  f"{max(WIDTH[t] for t in types)}, {cost}, {tuple(map(tuple, strides))})")

    @staticmethod
    def strides(operand, width):
        """Bytes from row to row and from column to column."""
        return [int(stride) * width for stride in ADDRESS.match(operand)[5].split(",")]

    def add_copy(self, fields):
        sizes = self.sizes(fields)
        dst, src = self.view(fields["dst"]), self.view(fields["src"])
        read = [size for size, stride in zip(sizes, src[2], strict=True) if stride != 0]
        # Rereading the same bytes counts once, but a read of no elements counts as nothing.
        again = [f"({size} > 0)" for size, stride in zip(sizes, src[2], strict=True)
                 if stride == 0 and not (size.isdigit() and int(size) > 0)]
        to, from_ = self.width(fields, "to"), self.width(fields, "from")
        self.transfer((dst, True, integer(fields, "multicast", 1), [*sizes, to], self.strided(to, sizes, dst)),
                      (src, False, "1", [*read, *again, from_], self.strided(from_, sizes, src)))

    def add_fill(self, fields):
        sizes, dst, width = self.sizes(fields), self.view(fields["dst"]), self.width(fields, "type")
        self.transfer((dst, True, integer(fields, "multicast", 1), [*sizes, width], self.strided(width, sizes, dst)))

    def add_gather(self, fields):
        self.rows(fields, "dst", 1, "dst_stride")

    def add_scatter(self, fields):
        self.rows(fields, "src", 1 if fields.get("combine", "sum") == "none" else 2, "src_stride")

    def rows(self, fields, other, times, stride):
        count, elements = extent(fields["count"]), extent(fields["elements"])
        bytes_ = [count, elements, self.width(fields, "type")]
        has_elements = [] if elements.isdigit() and int(elements) > 0 else [f"({elements} > 0)"]
        row = product([elements, self.width(fields, "type")])
        index = [count, *has_elements, self.width(fields, "index_type", "i32")]
        other_stride = integer(fields, stride, 0)
        self.transfer((self.view(fields["table"]), False, "1", [*bytes_, str(times)],
                       f"{times} * {count} * machine.round_up({row})"),
                      (self.view(fields[other]), False, "1", bytes_,
                       f"machine.occupied({row}, (({count}, {other_stride}),))"),
                      (self.view(fields["index"]), False, "1", index, f"machine.round_up({product(index)})"))

    def transfer(self, *sides):
        """Sides as (view, whether it is written, cores, factors of its bytes, bytes that it occupies in L3)."""
        written = ""
        for (space, core, _), is_write, cores, factors, occupied in sides:
            place = space if space != "host" else "to host" if is_write else "from host"
            size = product(factors)
            written += f"({place!r}, {core}, {cores}, {size}, {occupied if space == 'L3' else size}), "
        self.emit(f"now = yield machine.transfer(now, ({written}))")

    @staticmethod
    def strided(width, sizes, view):
        dimensions = "".join(f"({size}, {stride}), " for size, stride in zip(sizes, view[2], strict=True))
        return f"machine.occupied({width}, ({dimensions}))"

    def view(self, text):
        """Space, core as Python and strides."""
        found = ADDRESS.match(text)
        if not found:
            raise Refused(f"not an address: {text}")
        core = affine(found[4]) if found[4] and found[2] == "L1" else "0"
        return found[2], core, [int(stride) for stride in (found[5] or "").split(",") if stride]

    @staticmethod
    def sizes(fields):
        return [extent(size) for size in re.findall(r"min\([^)]*\)|[-\d]+", fields["sizes"])]

    @staticmethod
    def width(fields, key, standard="f32"):
        return str(WIDTH[fields.get(key, standard)])


class Program:
    """The streams of a task, as generator functions in the order of their text."""

    def __init__(self, header):
        sizes = re.search(r" semaphores=(\d+) .* table=(\d+) {$", header)
        if not sizes:
            raise Refused(f"not the head of a program: {header}")
        self.semaphores, self.table_size = map(int, sizes.groups())
        self.streams = []

    def add_stream(self, count, source):
        names = {"wrap": wrap, "index_of": index_of, "entry_of": entry_of}
        exec(source, names)
        self.streams.append((names["stream"], count))

    def instances(self, task, machine, micro_batch, table):
        every = [(stream, i) for stream, count in self.streams for i in range(count)]
        return [stream(task, machine, number, i, micro_batch, 0, table[:self.table_size])
                for number, (stream, i) in enumerate(every)]


class Executable:
    """The parts of the output of `st-translate --executable-to-text` that time depends on."""

    def __init__(self, text):
        self.lines = iter(text.splitlines())
        self.device, self.schedule, self.table, self.programs = None, [], [], {}
        groups = 0
        for line in self.lines:
            words = line.split(maxsplit=1)
            if line.startswith("executable for dtu "):
                self.device = re.search(r'"([^"]*)"', line)[1]
            elif line.startswith("group "):
                groups += 1
                if groups > 1 or not re.search(r" ranks 0 to 0 on devices \[\d+\]$", line):
                    raise Refused("not a program of one rank")
            elif line.startswith("  rank_table 0 ["):
                self.table = [int(entry) for entry in re.findall(r"-?\d+", line.split("[", 1)[1])]
            elif line.startswith("  schedule ["):
                self.schedule = [(name, int(micro_batch)) for name, micro_batch in
                                 re.findall(r"([^,\[\] ]+)\((\d+)\)", line)]
            elif line.startswith("  task "):
                self.add_task(re.match(r'  task "([^"]*)"', line)[1])
            elif words and words[0] == "program":
                raise Refused("a program outside of a task")
        if self.device is None or not self.schedule:
            raise Refused("not the text of a training binary for a DTU")

    def add_task(self, name):
        if name in self.programs:
            raise Refused(f"two tasks have the name {name}")
        program = self.programs[name] = Program(next(self.lines, ""))
        for line in self.lines:
            if line == "}":
                return
            program.add_stream(int(re.search(r" count=(\d+)", line)[1]), self.read_stream())
        raise Refused("the text ends inside of a program")

    def read_stream(self):
        stream = StreamTranslator()
        for line in self.lines:
            if line == "  }":
                return stream.source()
            mnemonic, *fields = line.split()
            if mnemonic not in ("name", "label"):
                try:
                    stream.add(mnemonic, dict(field.split("=", 1) for field in fields))
                except (KeyError, ValueError):
                    raise Refused(f"not an instruction: {line.strip()}") from None
        raise Refused("the text ends inside of a stream")

    def time(self, device, cores):
        """Runs the schedule; returns the result of retime()."""
        machine = Machine(device, cores)
        now = 0
        for name, micro_batch in self.schedule:
            program = self.programs[name]
            machine.serial += machine.launch
            task = Task(machine, program.semaphores)
            now = task.run(program.instances(task, machine, micro_batch, self.table), now + machine.launch)
        return {"step": now, "roofline": machine.roofline(), "serial": machine.serial,
                "l3_burst_bytes": machine.moved["L3"]}


def retime(text, device_file=None):
    """The times of a step of a program in picoseconds and the bytes for which it occupies L3: {"step", "roofline",
    "serial", "l3_burst_bytes"}."""
    executable = Executable(text)
    path = pathlib.Path(device_file or DEVICES / f"{executable.device}.textproto")
    cores = int(re.search(r"\bcores_per_cluster:\s*(\d+)", path.read_text())[1])
    return executable.time(read_device(path), cores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", default="-", help="what st-translate --executable-to-text prints")
    parser.add_argument("--device", help="description of the device (default: the one of the repository)")
    options = parser.parse_args()
    text = sys.stdin.read() if options.text == "-" else pathlib.Path(options.text).read_text()
    try:
        print(json.dumps(retime(text, options.device)))
    except (Refused, OSError) as error:
        print(f"retime.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
