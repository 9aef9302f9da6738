"""Random programs for one cluster, as IR of the dtu dialect.

They follow the rules of docs/dtu-isa.md, and each of their instances works on separate bytes. They always end: a stream
waits only for signals of streams that were written before it, and gets enough of them. They include instructions that
the compiler never emits.
"""

import random
import re

REGION = 1 << 14  # Bytes of an instance, twice in each memory: for reads and for writes.
CORES, QUEUES = 8, 6
SEMAPHORES = 2 * (CORES + QUEUES)  # Two semaphores that each instance may wait for.
L1 = 2 * REGION * (QUEUES + 1) + (1 << 12)
L2 = L3 = HOST = 2 * REGION * QUEUES
TABLE = [0, 3, 1, 9]  # The rank's table.
TYPES = {"i8": 1, "bf16": 2, "i32": 4, "f32": 4, "f64": 8}
MOST = 11  # Elements along a dimension of a transfer.
INPUT = """func.func @main(%a: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = stablehlo.negate %a : tensor<65536xf32>
  return %0 : tensor<65536xf32>
}
"""


def guard(register, start, limit):
    return (f"dtu.loop {{reg = {register}, start = #dtu.affine<{start}>, limit = #dtu.affine<{limit}>, step = 1000}} "
            "do {")


class Stream:
    """A stream under construction, and the counts that each instance takes from semaphores."""

    def __init__(self, rng, engine, first, count):
        self.rng, self.engine, self.first, self.count = rng, engine, first, count
        self.lines = [f'dtu.stream "{engine}" first {first} count {count} {{']
        self.registers = []  # Counters of the loops around.
        self.trips = [1] * count  # The number of times that each instance reaches the current position.
        self.taken = {}  # (set of semaphores, instance) -> the count that it waits for in this phase
        self.takers = []  # (stream, set of semaphores) that this one gives to

    def add(self, instruction):
        self.lines.append(instruction)

    def extent(self, most):
        rng = self.rng
        if rng.random() < 0.5:
            return f"#dtu.extent<{rng.randint(1, most)}>"
        register = rng.choice([1, 21, *self.registers])
        if register == 21:
            self.add(f"dtu.table {{dst = 21, index = #dtu.affine<{rng.randrange(len(TABLE))}>}}")
        limit = rng.choice([0, 1, rng.randint(0, 2 * most)])  # With 0 and 1 often nothing is left.
        return f"#dtu.extent<{rng.randint(1, most)}, {limit} - r{register}>"

    def extents(self, sizes):
        return ", ".join(self.extent(size) for size in sizes)

    def base(self, which):
        """The first of the semaphores that instances of this stream wait for, one per instance; there are two such
        sets."""
        return self.first + (QUEUES if self.engine == "core" else 0) + which * SEMAPHORES // 2

    def wait(self):
        which, count = self.rng.randrange(2), self.rng.randint(1, 3)
        for i in range(self.count):
            self.taken[which, i] = self.taken.get((which, i), 0) + count * self.trips[i]
        self.add(f"dtu.wait {{sem = #dtu.affine<{self.base(which)} + 1 * r1>, count = {count}}}")

    def signal(self):
        """Signals the streams that take from the instances of this stream, if there are any."""
        if not self.takers:
            self.add(f"dtu.signal {{sem = #dtu.affine<{self.base(self.rng.randrange(2))} + 1 * r1>}}")
            return
        taker, which = self.rng.choice(self.takers)
        self.when(min(self.count, taker.count), "1 * r1", [
            f"dtu.signal {{sem = #dtu.affine<{taker.base(which)} + 1 * r1>, count = {self.rng.randint(1, 3)}}}"])

    def when(self, limit, start, body):
        """Runs `body` where start < limit."""
        self.lines += [guard(19, start, limit), *body, "}"]

    def give(self, taker, which, i, count):
        """One instance signals another; the amount is split into random pieces."""
        giver = i % self.count
        while count > 0:
            some = self.rng.randint(1, count)
            outside, self.lines = self.lines, []
            self.transfer() if self.engine == "dte" else self.compute()
            self.add(f"dtu.signal {{sem = #dtu.affine<{taker.base(which) + i}>, count = {some}}}")
            body, self.lines = self.lines, outside
            self.when(1 - giver, "-1 * r1", [guard(18, "1 * r1", giver + 1), *body, "}"])
            count -= some

    def loop(self, body):
        """Repeats what `body` writes; the trip count differs between instances."""
        rng, register = self.rng, 4 + len(self.registers)
        limit, step, by_instance = rng.randint(0, 7), rng.randint(1, 3), rng.random() < 0.5
        leaves_at = rng.randint(2, 4) if rng.random() < 0.3 else 0
        start = "#dtu.affine<1 * r1>" if by_instance else "#dtu.affine<0>"
        self.add(f"dtu.loop {{reg = {register}, start = {start}, limit = #dtu.affine<{limit}>, step = {step}}} do {{")
        outside = self.trips
        counters = [range(i if by_instance else 0, limit, step) for i in range(self.count)]
        if leaves_at:  # At the first counter that is leaves_at - 1 modulo leaves_at.
            self.add(f"dtu.index {{dst = 20, value = #dtu.affine<1 + 1 * r{register}>, modulo = {leaves_at}}}")
            self.add("dtu.leave {unless = 20}")
            counters = [[c for n, c in enumerate(own) if all((1 + other) % leaves_at for other in own[:n + 1])]
                        for own in counters]
        self.trips = [times * len(own) for times, own in zip(outside, counters, strict=True)]
        self.registers.append(register)
        body()
        self.registers.pop()
        self.trips = outside
        self.add("}")

    def address(self, kind, offset=0, space=None, spaces=("L1", "L2", "L3")):
        """The address where this instance reads (0) or writes (1)."""
        space = space or self.rng.choice(spaces)
        address = f"{space}[{2 * REGION * self.first + kind * REGION + offset} + {2 * REGION} * r1]"
        return address + (f" core {self.rng.randrange(CORES)}" if space == "L1" else "")

    def strides(self, count, width):
        """Strides of dimensions in any order."""
        strides = [width * MOST ** (count - 1 - i) for i in range(count)]
        if self.rng.random() < 0.5:
            self.rng.shuffle(strides)
        return strides

    def transfer(self):
        self.rng.choice([self.copy, self.fill, self.gather, self.scatter])()

    def destination(self):
        """An address, and the number of cores that are written."""
        if self.rng.random() < 0.8:
            return self.address(1), 1
        cores = self.rng.randint(1, CORES)
        first = self.rng.randint(0, CORES - cores)
        return re.sub(r"core \d+", f"core {first}", self.address(1, space="L1")), cores

    def copy(self):
        rng, dims = self.rng, self.rng.randint(1, 3)
        (to, wide), (from_, narrow) = rng.choice(list(TYPES.items())), rng.choice(list(TYPES.items()))
        read = [stride * (rng.random() < 0.8) for stride in self.strides(dims, narrow)]
        dst, cores = self.destination()
        src = self.address(0, spaces=("L1", "L2", "L3", "host"))
        if cores == 1 and not src.startswith("host") and rng.random() < 0.2:
            dst = self.address(1, space="host")
        self.add(f"dtu.copy {{dst = #dtu.view<{dst} strides {self.strides(dims, wide)}>, "
                 f'to = "{to}", from = "{from_}", '
                 f"src = #dtu.view<{src} strides {read}>, sizes = [{self.extents([MOST] * dims)}], "
                 f"multicast = {cores}}}")

    def fill(self):
        dims, (type_, width) = self.rng.randint(1, 3), self.rng.choice(list(TYPES.items()))
        dst, cores = self.destination()
        self.add(f"dtu.fill {{dst = #dtu.view<{dst} strides {self.strides(dims, width)}>, "
                 f'sizes = [{self.extents([MOST] * dims)}], type = "{type_}", multicast = {cores}}}')

    def rows(self):
        index = self.rng.choice(["i32", "i64"])
        return (f"index = #dtu.address<{self.address(0, REGION // 2)}>, count = {self.extent(16)}, "
                f'elements = {self.extent(40)}, rows = 16, index_type = "{index}"')

    def gather(self):
        type_ = self.rng.choice(list(TYPES))
        self.add(f"dtu.gather {{dst = #dtu.address<{self.address(1)}>, table = #dtu.address<{self.address(0)}>, "
                 f'{self.rows()}, dst_stride = 320, table_stride = 320, type = "{type_}"}}')

    def scatter(self):
        combine = self.rng.choice(["sum", "none", "max"])
        self.add(f"dtu.scatter {{table = #dtu.address<{self.address(1)}>, src = #dtu.address<{self.address(0)}>, "
                 f'{self.rows()}, src_stride = 320, table_stride = 320, combine = "{combine}"}}')

    def compute(self):
        rng, own = self.rng, 2 * REGION * QUEUES
        at = [f"L1[{own + i * 8192}]" for i in range(4)]
        if rng.random() < 0.4:
            type_ = rng.choice(["f32", "bf16", "f16"])
            sizes = ", ".join(f"{name} = {self.extent(40)}" for name in "mnk")
            self.add(f"dtu.matmul {{c = #dtu.address<{at[0]}>, a = #dtu.address<{at[1]}>, b = #dtu.address<{at[2]}>, "
                     f'{sizes}, ldc = 40, lda = 40, ldb = 40, type = "{type_}"}}')
            return
        op, operands, types = rng.choice([
            ("copy", 1, TYPES), ("exp", 1, ["f32", "bf16"]), ("add", 2, TYPES), ("rem", 2, ["i32", "f32"]),
            ("lt", 2, TYPES), ("select", 3, TYPES), ("mul_add", 3, ["f32", "bf16"]), ("iota", 0, ["i32"]),
            ("fill", 0, TYPES), ("row_sum", 1, ["f32", "bf16"]), ("col_max", 1, ["f32"])])
        type_ = rng.choice(list(types))
        result = rng.choice(list(TYPES)) if op == "copy" else "i1" if op == "lt" else type_
        # Elements of at most 8 bytes, with 30 rows and columns, fit into the 8192 bytes of an operand.
        tiles = ["rows 30 cols 1", "rows 32 cols 1", "rows 33 cols 1", "rows 1 cols 32", "rows 1 cols 33"]
        read = [*tiles, "rows 0 cols 1", "rows 1 cols 0", "rows 0 cols 32", "rows 0 cols 0"]
        names = [f"#dtu.operand<{'i1' if op == 'select' and i == 0 else type_} {at[i + 1]} {rng.choice(read)}>"
                 for i in range(operands)]
        given = "".join(f", {name} = {operand}" for name, operand in zip("abc", names))
        self.add(f'dtu.vector {{op = "{op}", dst = #dtu.operand<{result} {at[0]} {rng.choice(tiles)}>{given}, '
                 f"rows = {self.extent(30)}, cols = {self.extent(30)}}}")

    def work(self, depth, may_wait):
        rng = self.rng
        for _ in range(rng.randint(1, 5)):
            kind = rng.random()
            if kind < 0.2 and depth < 3:
                self.loop(lambda: self.work(depth + 1, may_wait))
            elif kind < 0.4:
                self.signal()
                if may_wait and rng.random() < 0.5:
                    self.wait()
            elif kind < 0.5 and may_wait:
                self.wait()
            elif self.engine == "core":
                self.compute()
            else:
                self.transfer()


def random_program(seed):
    """The text of a dtu.program that touches `L3` bytes of the arena and `HOST` of the host's."""
    rng = random.Random(seed)
    few, cores = rng.randint(1, QUEUES - 1), rng.randint(1, CORES - 1)
    streams = [Stream(rng, "dte", 0, few), Stream(rng, "core", 0, cores), Stream(rng, "dte", few, QUEUES - few),
               Stream(rng, "core", cores, CORES - cores)]
    rng.shuffle(streams)
    for number, stream in enumerate(streams[1:]):
        for which in range(2):
            rng.choice(streams[:number + 1]).takers.append((stream, which))
    for _ in range(rng.randint(1, 3)):
        for number, stream in enumerate(streams):
            stream.work(0, may_wait=number > 0)
            if rng.random() < 0.5:
                stream.add(f"dtu.barrier {{id = {1 + number}, participants = {stream.count}}}")
                stream.work(0, may_wait=number > 0)
        # Each wait in this phase is served by the signals of the others in this phase; surplus signals remain.
        for stream in streams:
            for taker, which in stream.takers:
                for i in range(taker.count):
                    stream.give(taker, which, i, taker.taken.pop((which, i), 0))
        for stream in streams:
            stream.add(f"dtu.barrier {{participants = {QUEUES + CORES}}}")
    rng.shuffle(streams)  # Waiting instances may have lower numbers than the instances that signal them.
    return program([[*stream.lines, "}"] for stream in streams], 1 + len(streams))


def turns(between):
    """Queue 1 wakes queue 0, and both request the device's memory at that instant; then queue 0 has more to do.

    Which comes first depends on whether `between`, which takes no time, ends a turn.
    """
    def copy(dst, src, elements):
        return (f"dtu.copy {{dst = #dtu.view<{dst} strides [4]>, src = #dtu.view<{src} strides [4]>, "
                f"sizes = [#dtu.extent<{elements}>]}}")
    return program([
        ['dtu.stream "dte" first 0 count 1 {', "dtu.wait {sem = #dtu.affine<0>}", copy("L3[0]", "L3[16384]", 2000),
         copy("L2[0]", "L2[16384]", 3000), "}"],
        ['dtu.stream "dte" first 1 count 1 {', "dtu.signal {sem = #dtu.affine<1>}", "dtu.signal {sem = #dtu.affine<0>}",
         *between, copy("L3[32768]", "L3[49152]", 1000), "}"]])


EMPTY = "dtu.fill {dst = #dtu.view<L1[0] core 0 strides [4]>, sizes = [#dtu.extent<5, 0 - r1>]}"
SATISFIED = "dtu.wait {sem = #dtu.affine<1>}"


def program(streams, barriers=0):
    text = "\n".join("\n".join(lines) for lines in streams)
    return (f'dtu.program "forward0" semaphores {SEMAPHORES} barriers {barriers} l1 {L1} l2 {L2} l3 {L3} host {HOST} '
            f"table {len(TABLE)} {{\n{text}\n}}\n")


def replace_program(ir, program):
    """Returns IR of the phase dtu with another program for its one task, a rank table and memory of the host."""
    for without, given in (("dtu.rank_table = array<i64>", f"dtu.rank_table = array<i64: {str(TABLE)[1:-1]}>"),
                           ("dtu.table_size = 0", f"dtu.table_size = {len(TABLE)}"),
                           ("st.arena_bytes", f"st.host_arena_bytes = {HOST} : i64, st.arena_bytes")):
        if ir.count(without) != 1:
            raise ValueError(f"the IR has {ir.count(without)} times {without}")
        ir = ir.replace(without, given)
    begin, end = ir.index("dtu.program"), ir.index('st.schedule "')
    return ir[:begin] + program + "}\n" + ir[end:]
