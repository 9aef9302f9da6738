"""Programs for the simulator whose times reproduce the device description, and the share of it that compiled kernels reach.

  benchmarks/microbenchmarks.py [--devices=dtu-t10,dtu-t20,dtu-i20] [--only=machine,products,collectives] [--build=build]
                                [--json=FILE]

`machine`: hand-written instruction streams for one or two ranks; each figure of the description is the difference of two
runs with different trip counts or tile sizes. `products`: matrix products that st-compile compiles from StableHLO, against
the peak of a cluster's matrix engines. `collectives`: all-reduces that st-compile compiles, against a formula
(all_reduce_formula) of the latency of a hop (from a ping-pong of two sizes), the rates of link, DTE and memory, and the
pieces of a part; and their share of the link's rate. Rows that differ by more than 3 % are marked. No program runs on
data. Simulated times depend only on the compiled program, not on the load of the machine.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES = ROOT / "devices"
CLOSE = 0.03
MIB = 1 << 20
NEGATE = """func.func @main(%a: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = stablehlo.negate %a : tensor<65536xf32>
  return %0 : tensor<65536xf32>
}
"""


def read_description(device):
    """The figures of a built-in device, or of a description file."""
    path = pathlib.Path(device) if str(device).endswith(".textproto") else DEVICES / f"{device}.textproto"
    text = re.sub(r'"[^"]*"|#.*', "", path.read_text())
    return {name: float(value) for name, value in re.findall(r"(?m)^(\w+)(?: { value)?: ([\d.]+)", text)}


class Bench:
    """Compiles programs for a device in a folder, and times them."""

    def __init__(self, device, folder, build=ROOT / "build"):
        self.device, self.folder, self.bin = device, pathlib.Path(folder), pathlib.Path(build) / "bin"
        self.figures = read_description(device)
        self.queues = int(self.figures["dte_per_chip"] // self.figures["clusters_per_chip"])
        self.cores = int(self.figures["cores_per_cluster"])
        self.bases = {}

    def tool(self, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout

    def compile(self, text, ids, *flags):
        """The output of st-compile for a module on devices with these ids, one shard each."""
        shards = {f"shard_{i}": f"/device:XLA_DTU:{d}" for i, d in enumerate(ids)}
        layout = self.folder / "layout.json"
        layout.write_text(json.dumps({"mode": "sharding", "sharding_size": len(ids),
                                      "device_mapping": {"stage_0": shards}}))
        source = self.folder / "source.mlir"
        source.write_text(text)
        return self.tool(self.bin / "st-compile", "-q", source, f"--target={self.device}", f"--parallel={layout}", *flags)

    def report(self, binary):
        self.tool(binary, "--timing-only", f"--report={binary}.json")
        return json.loads(pathlib.Path(f"{binary}.json").read_text())

    def time_module(self, text, ids=(0,)):
        """The time and the work of a run of a StableHLO module; sim_ns is the time in nanoseconds."""
        binary = self.folder / "module"
        self.compile(text, ids, "--predict=false", "-o", binary)
        report = self.report(binary)
        return report | {"sim_ns": report["sim_ms"] * 1e6}

    def time_streams(self, streams, ids=(0,), l3=0, host=0, l2=0, semaphores=64):
        """Nanoseconds that the program of these streams takes: (engine, first, count, instructions)."""
        ids = tuple(ids)
        if ids not in self.bases:
            self.bases[ids] = self.compile(NEGATE, ids, "--compile-to=dtu")
        ir = self.bases[ids]
        l3 = max(int(l3), 2 * 4 * 65536)
        body = "\n".join(f'dtu.stream "{engine}" first {first} count {count} {{\n' + "\n".join(lines) + "\n}"
                         for engine, first, count, lines in streams)
        program = (f'dtu.program "forward0" semaphores {semaphores} barriers 1 l1 {int(self.figures["l1_bytes_per_core"])} '
                   f"l2 {int(l2)} l3 {l3} host {int(host)} table 0 {{\n{body}\n}}\n")
        ir, count = re.subn(r"st\.arena_bytes = \d+", f"st.host_arena_bytes = {int(host)} : i64, st.arena_bytes = {l3}", ir)
        if count != 1:
            raise RuntimeError(f"the IR has {count} arenas")
        begin, end = ir.index("dtu.program"), ir.index('st.schedule "')
        source, binary = self.folder / "streams.mlir", self.folder / "streams"
        source.write_text(ir[:begin] + program + "}\n" + ir[end:])
        self.tool(self.bin / "st-compile", "-q", source, "--compile-from=dtu", "--predict=false", "-o", binary)
        return self.report(binary)["sim_ms"] * 1e6


# ---- instructions as IR ----------------------------------------------------------------------------------------------


def loop(trips, *body, start="0", register=4):
    return [f"dtu.loop {{reg = {register}, start = #dtu.affine<{start}>, limit = #dtu.affine<{trips}>, step = 1}} do {{",
            *body, "}"]


def view(space, offset, stride, core=None):
    """Bytes in a memory, `stride` further on for each instance of the stream."""
    at = f"{space}[{offset} + {stride} * r1]" + (f" core {core}" if core is not None else "")
    return f"#dtu.view<{at} strides [4]>"


def copy(dst, src, size):
    return f"dtu.copy {{dst = {dst}, src = {src}, sizes = [#dtu.extent<{size // 4}>]}}"


def send(size, peer=5, channel=0, offset=0):
    return (f"dtu.send {{peer = {peer}, src = #dtu.view<L3[{offset}] strides [4]>, sizes = [#dtu.extent<{size // 4}>], "
            f"channel = {channel}}}")


def recv(size, peer=5, channel=0, offset=0):
    return (f"dtu.recv {{peer = {peer}, dst = #dtu.view<L3[{offset}] strides [4]>, sizes = [#dtu.extent<{size // 4}>], "
            f"channel = {channel}}}")


# ---- the machine -----------------------------------------------------------------------------------------------------


def per_trip(run, few=4, many=12):
    """Nanoseconds per trip of `run(trips)`, without the time to start and end."""
    return (run(many) - run(few)) / (many - few)


def line(run, small, large):
    """(nanoseconds a unit, constant nanoseconds) of a run that takes run(units) nanoseconds."""
    slope = (run(large) - run(small)) / (large - small)
    return slope, run(small) - slope * small


def round_down(size):
    return max(4096, int(size) // 4096 * 4096)


class Machine:
    """Measures figures of the description; all are (what, described, measured, unit)."""

    def __init__(self, bench):
        self.bench, self.f, self.rows = bench, bench.figures, []

    def note(self, name, measured, described=None):
        self.rows.append((name, self.f[name] if described is None else described, measured))

    def queues(self, trips, size, dst, src, queues):
        """Nanoseconds of `queues` engines that copy `size` bytes `trips` times."""
        return self.bench.time_streams(
            [("dte", 0, queues, loop(trips, copy(dst, src, size)))], l3=2 * size * self.bench.queues,
            l2=min(2 * size * self.bench.queues, self.f["l2_bytes_per_cluster"]),
            host=size * self.bench.queues if "host" in dst + src else 0)

    def rate(self, size, dst, src, queues, sides=1):
        """GB/s of `queues` copies at a time."""
        return sides * size * queues / per_trip(lambda trips: self.queues(trips, size, dst, src, queues))

    def delays(self):
        empty = [("dte", 0, 1, [copy(view("L3", 4096, 0), view("L3", 0, 0), 0)])]
        self.note("task_launch_ns", self.bench.time_streams(empty))
        signals = lambda n: self.bench.time_streams([("dte", 0, 1, loop(n, "dtu.signal {sem = #dtu.affine<0>}"))])
        self.note("sync_ns", per_trip(signals))

    def transfers(self):
        one = lambda size: per_trip(lambda n: self.queues(n, size, view("L3", MIB, 0), view("L3", 0, 0), 1))
        slope, rest = line(one, 1 << 16, 1 << 19)
        self.note("dte_gbytes_per_second", 1 / slope)
        self.note("dte_latency_ns", rest)
        every, f = self.bench.queues, self.f
        cores = self.bench.cores
        # Both sides are in one memory, which serves twice the copied bytes.
        self.note("l3_gbytes_per_second", self.rate(2 * MIB, view("L3", 2 * MIB * every, 2 * MIB), view("L3", 0, 2 * MIB),
                                                    every, sides=2))
        self.note("l3_burst_bytes", self.column() * f["l3_gbytes_per_second"])
        part = round_down(f["l2_bytes_per_cluster"] / every / 2)
        self.note("l2_gbytes_per_second", self.rate(part, view("L2", part * every, part), view("L2", 0, part), every, sides=2))
        part = round_down(f["l1_bytes_per_core"] / 8)
        self.note("l1_gbytes_per_second", self.rate(part, view("L1", 4 * part, part, 0), view("L1", 0, part, 0), 3, sides=2))
        # From level to level: whichever of the two, or all engines together, is slowest.
        part = round_down(f["l2_bytes_per_cluster"] / every)
        engines = every / (f["dte_latency_ns"] / part + 1 / f["dte_gbytes_per_second"])
        self.note("L3 -> L2, GB/s", self.rate(part, view("L2", 0, part), view("L3", 0, part), every),
                  min(f["l3_gbytes_per_second"], f["l2_gbytes_per_second"], engines))
        expected, measured = max(self.to_cores(used) for used in {every, min(every, cores)})
        self.note("L2 -> L1, GB/s", measured, expected)

    def column(self, elements=4096, stride=512):
        """Nanoseconds an element of columns of L3 that all queues copy."""
        every = self.bench.queues
        source = f"#dtu.view<L3[0 + {elements * stride} * r1] strides [{stride}]>"
        lines = [f"dtu.copy {{dst = {view('L2', 0, 4 * elements)}, src = {source}, sizes = [#dtu.extent<{elements}>]}}"]
        return per_trip(lambda trips: self.bench.time_streams(
            [("dte", 0, every, loop(trips, *lines))], l3=elements * stride * every,
            l2=4 * elements * every)) / elements / every

    def to_cores(self, used):
        """GB/s of queues that copy from L2 to L1, queue q to core q modulo the cores: expected and measured."""
        f, cores = self.f, self.bench.cores
        most = -(-used // cores)
        part = round_down(f["l1_bytes_per_core"] / most * 7 / 8)

        def run(trips):
            streams = [("dte", first, min(cores, used - first),
                        loop(trips, copy(view("L1", part * (first // cores), 0, "1 * r1"), view("L2", 0, 0), part)))
                       for first in range(0, used, cores)]
            return self.bench.time_streams(streams, l2=part)
        engines = used / (f["dte_latency_ns"] / part + 1 / f["dte_gbytes_per_second"])
        expected = min(f["l2_gbytes_per_second"], used / most * f["l1_gbytes_per_second"], engines)
        return expected, used * part / per_trip(run)

    def host(self):
        for what, dst, src in (("to the host, GB/s", "host", "L3"), ("from the host, GB/s", "L3", "host")):
            self.note(what, self.rate(2 * MIB, view(dst, 0, 2 * MIB), view(src, 0, 2 * MIB), 4),
                      self.f["host_gbytes_per_second"])
        one = lambda size: per_trip(lambda n: self.queues(n, size, view("host", 0, 0), view("L3", 0, 0), 1))
        _, rest = line(one, 1 << 16, 1 << 19)
        self.note("host_latency_ns", rest - self.f["dte_latency_ns"])

    def cores(self):
        core = lambda lines: lambda n: self.bench.time_streams([("core", 0, 1, loop(n, *lines))])
        cycle = 1 / self.f["clock_ghz"]

        def product(kind, k):
            return per_trip(core([
                f"dtu.matmul {{c = #dtu.address<L1[0]>, a = #dtu.address<L1[65536]>, b = #dtu.address<L1[98304]>, "
                f"m = #dtu.extent<64>, n = #dtu.extent<64>, k = #dtu.extent<{k}>, ldc = 64, lda = {k}, ldb = 64, "
                f'type = "{kind}"}}']))

        def vector(op, columns, stride=1):
            operand = "#dtu.operand<f32 L1[{}] rows 0 cols {}>"
            return per_trip(core([
                f'dtu.vector {{op = "{op}", dst = {operand.format(0, 1)}, a = {operand.format(131072, stride)}, '
                f"rows = #dtu.extent<1>, cols = #dtu.extent<{columns}>}}"]))

        for kind, name in (("f32", "fp32_macs_per_core_cycle"), ("bf16", "bf16_macs_per_core_cycle")):
            slope, rest = line(lambda k: product(kind, k), 32, 96)
            self.note(name, 64 * 64 / slope * cycle)
        self.note("matrix_start_cycles", rest / cycle)
        slope, rest = line(lambda columns: vector("neg", columns), 3200, 12800)
        self.note("vector_bytes_per_cycle", 4 * cycle / slope)
        self.note("vector_start_cycles", rest / cycle)
        slow, _ = line(lambda columns: vector("exp", columns), 3200, 12800)
        self.note("transcendental_cycles", slow / slope)
        # Elements that are `apart` words apart use only 1 / `apart` of the banks.
        apart = 16
        slope, _ = line(lambda columns: vector("neg", columns, apart), 512, 1536)
        self.note("l1_banks", apart * cycle / slope)

    def links(self):
        for kind, ids in pairs(self.f).items():
            # On a chip a port is faster than the DTE of one receiver.
            others = range(1, int(self.f["clusters_per_chip"])) if kind == "onchip" else ids[1:]
            rate = stream_rate(self.bench, (ids[0], *others))
            reached = len(others) * self.f["dte_gbytes_per_second"]
            if reached < self.f[f"{kind}_gbytes_per_second"]:
                self.note(f"{kind}, GB/s, as the receivers' DTE takes it", rate, reached)
            else:
                self.note(f"{kind}_gbytes_per_second", rate)
            self.note(f"{kind}_latency_ns", hop(self.bench, ids)[0] - 2 * self.f["sync_ns"])

    def measure(self):
        for part in (self.delays, self.transfers, self.cores, self.links):
            part()
        if "host_gbytes_per_second" in self.f:
            self.host()
        return self.rows


# ---- links -----------------------------------------------------------------------------------------------------------


def pairs(figures):
    """Ids of two clusters for each kind of link that the device has."""
    chip, group = int(figures["ids_per_chip"]), int(figures["chips_per_group"])
    found = {"onchip": (0, 1)}
    if figures["max_chips"] > 1 and group > 1:
        found["chip"] = (0, chip)
    if figures["max_chips"] > group:
        found["group"] = (0, group * chip)
    return found


def stream_rate(bench, ids, size=4 * MIB):
    """GB/s that the first cluster sends to the others in turn. A single receiver takes at most the rate of its DTE."""
    others = len(ids) - 1

    def run(trips):
        sends = [line for peer in range(1, others + 1)
                 for line in (f"dtu.index {{dst = 5, value = #dtu.affine<{peer}>}}", send(size))]
        is_receiver = f"dtu.index {{dst = 6, value = #dtu.affine<{others - 1} + 1 * r3>, divide = {others}}}"
        tx = [is_receiver, *loop(trips, *sends, start=f"{trips} * r6")]
        rx = [is_receiver, *loop(trips, recv(size, peer=0, offset=size), start=f"{trips} + {-trips} * r6")]
        return bench.time_streams([("tx", 0, 1, tx), ("rx", 0, 1, rx)], ids, l3=2 * size)
    return others * size / per_trip(run)


def hop(bench, ids, small=64 * 1024, large=MIB):
    """(alpha in ns, beta in ns a byte) of sending and passing on, from a ping-pong of two sizes."""
    def run(size):
        def trips(n):
            other = "dtu.index {dst = 5, value = #dtu.affine<1 + -1 * r3>}"
            ping = loop(n, send(size), "dtu.wait {sem = #dtu.affine<0>}", start=f"{n} * r3")
            pong = loop(n, "dtu.wait {sem = #dtu.affine<0>}", send(size), start=f"{n} + {-n} * r3")
            back = loop(n, recv(size, offset=large), "dtu.signal {sem = #dtu.affine<0>}")
            return bench.time_streams([("tx", 0, 1, [other, *ping, *pong]), ("rx", 0, 1, [other, *back])], ids, l3=2 * large)
        return per_trip(trips) / 2
    slope, rest = line(run, small, large)
    return rest, slope


# ---- compiled kernels ------------------------------------------------------------------------------------------------


def peak(figures, kind):
    """FLOP/s of a cluster's matrix engines, in GFLOP/s."""
    macs = figures["fp32_macs_per_core_cycle" if kind == "f32" else "bf16_macs_per_core_cycle"]
    return 2 * macs * figures["cores_per_cluster"] * figures["clock_ghz"]


def product(m, n, k, kind):
    a, b, c = f"tensor<{m}x{k}x{kind}>", f"tensor<{k}x{n}x{kind}>", f"tensor<{m}x{n}xf32>"
    return (f"func.func @main(%a: {a}, %b: {b}) -> {c} {{\n"
            f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}\n"
            f"  return %0 : {c}\n}}\n")


def all_reduces(ranks, elements):
    """An all-reduce over all ranks. Each rank holds a separate row."""
    operand, own = f"tensor<{ranks}x{elements}xf32>", f"tensor<1x{elements}xf32>"
    group = ", ".join(map(str, range(ranks)))
    return (f'sdy.mesh @mesh = <["x"={ranks}]>\nfunc.func @main(%a: {operand}) -> {own} {{\n'
            '  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] '
            f'manual_axes={{"x"}} (%arg: {own}) {{\n'
            '    %1 = "stablehlo.all_reduce"(%arg) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, '
            f"replica_groups = dense<[[{group}]]> : tensor<1x{ranks}xi64>, use_global_device_ids}}> ({{\n"
            "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      %s = stablehlo.add %x, %y : tensor<f32>\n"
            f"      stablehlo.return %s : tensor<f32>\n    }}) : ({own}) -> {own}\n    sdy.return %1 : {own}\n"
            f"  }} : ({operand}) -> {own}\n  return %0 : {own}\n}}\n")


def ring_time(bench, ids, size):
    """Nanoseconds from the first send of an all-reduce of `size` bytes to its last receive."""
    # Without the copies of operand and result, which ranks of a chip do not end at the same time.
    code = bench.compile(all_reduces(len(ids), size // 4), ids, "--compile-to=dtu")
    source, binary, trace = (bench.folder / name for name in ("ring.mlir", "ring", "trace.json"))
    source.write_text("\n".join(line for line in code.splitlines() if not line.strip().startswith("dtu.copy ")))
    bench.tool(bench.bin / "st-compile", "-q", source, "--compile-from=dtu", "--predict=false", "-o", binary)
    bench.tool(binary, "--timing-only", f"--trace={trace}")
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    links = {(e["pid"], e["tid"]) for e in events
             if e["name"] == "thread_name" and e["args"]["name"].startswith(("tx", "rx"))}
    spans = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in links]
    return 1e3 * (max(e["ts"] + e["dur"] for e in spans) - min(e["ts"] for e in spans))


def ring_steps(figures, steps, part, hop):
    """Nanoseconds of steps of a ring by pieces k; steps are the (memory accesses of a receive, number) of each kind.

    A step moves `part` bytes of each rank. It takes the longest of these times: that of the link, of the receiver (a
    DTE's rate and two signals a piece) and of the memory, and the time of a piece once around the ring, alpha + b / k *
    beta. The last step ends when its remaining pieces have arrived.
    """
    dte, signals = 1 / figures["dte_gbytes_per_second"], 2 * figures["sync_ns"]
    alpha, link, memory = hop

    def took(pieces):
        total, piece = 0, part / pieces
        for touches, count in steps:
            sent, received = piece * max(link, memory), piece * max(dte, touches * memory) + signals
            busiest = max(sent, received, piece * (1 + touches) * memory)
            around = alpha - signals + sent + received
            total += count * max(pieces * busiest, around)
        return total - max(pieces * busiest, around) + around + (pieces - 1) * busiest
    return took


def all_reduce_formula(bench, ids, size, alphas):
    """(nanoseconds, sizes of the rings) of an all-reduce as the best rings within rings, each in the best pieces.

    A ring of p ranks reduces n bytes of each in p - 1 steps of n / p, which leave each rank a part, and gathers them in
    as many. In between, rings across these do the same with the part. A receive that reduces reads as well as it writes.
    """
    figures, ranks = bench.figures, len(ids)

    def best(stride):
        """Of the rings whose members are `stride` apart and those around them."""
        ways = []
        for ring in range(2, ranks // stride + 1):
            if ranks // stride % ring:
                continue
            hop = hop_figures(figures, ids, stride, ring, alphas)
            part = size / (stride * ring)
            if stride * ring == ranks:
                stages = [[(2, ring - 1), (1, ring - 1)]]
                rest, sizes = 0, ()
            else:
                stages = [[(2, ring - 1)], [(1, ring - 1)]]
                rest, sizes = best(stride * ring)
            tooks = [ring_steps(figures, steps, part, hop) for steps in stages]
            ways.append((min(sum(took(2**k) for took in tooks) for k in range(9)) + rest, (ring, *sizes)))
        return min(ways)
    took, sizes = best(1)
    return took - figures["sync_ns"], sizes  # The last piece needs no signal.


def hop_figures(figures, ids, stride, ring, alphas):
    """(alpha, ns a byte on the busiest link, ns a byte in the busiest memory) of rings of members `stride` apart."""
    chip = lambda at: int(ids[at] // figures["ids_per_chip"])
    group = lambda at: int(chip(at) // figures["chips_per_group"])
    counts, alpha, slowest = collections.Counter(), 0, 0
    for at in range(len(ids)):
        number = at // stride % ring
        to = at + ((number + 1) % ring - number) * stride
        kind = "onchip" if chip(at) == chip(to) else "chip" if group(at) == group(to) else "group"
        used = {"onchip": [("tx", at)], "chip": [(chip(at), chip(to))], "group": [("out", group(at)), ("in", group(to))]}[kind]
        for link in used:
            counts[link] += 1
            slowest = max(slowest, counts[link] / figures[f"{kind}_gbytes_per_second"])
        alpha = max(alpha, alphas[kind])
    sharing = max(collections.Counter(map(chip, range(len(ids)))).values())
    return alpha, slowest, sharing / figures["l3_gbytes_per_second"]


# ---- tables ----------------------------------------------------------------------------------------------------------

PRODUCTS = (512, 1024, 2048, 4096, 6144)
SIZES = (64 * 1024, MIB, 16 * MIB)
RINGS = {"onchip": (2, 4), "chip": (2, 3, 4), "group": (2, 4, 8), "all": (8, 16, 64)}


def machine_table(bench):
    """(figure, described, measured)."""
    return Machine(bench).measure()


def product_table(bench, sizes=PRODUCTS):
    """(type, size, GFLOP/s, share of the peak)."""
    rows = []
    for kind in ("f32", "bf16"):
        for n in sizes:
            rate = 2 * n**3 / bench.time_module(product(n, n, n, kind))["sim_ns"]
            rows.append((kind, n, rate, rate / peak(bench.figures, kind)))
    return rows


def ring_ids(bench, kind, ranks):
    """`ranks` clusters: of one chip, of as many chips or groups of chips, or filling chip after chip."""
    if kind == "all":
        clusters, ids = int(bench.figures["clusters_per_chip"]), int(bench.figures["ids_per_chip"])
        return tuple(rank // clusters * ids + rank % clusters for rank in range(ranks))
    step = pairs(bench.figures)[kind][1]
    return tuple(i * step for i in range(ranks))


def ring_table(bench, sizes=SIZES, rings=None):
    """(link, ranks, bytes, sizes of rings by the formula, ns, ns by the formula, share of the link's rate)."""
    rows, found = [], pairs(bench.figures)
    alphas = {kind: hop(bench, ids)[0] for kind, ids in found.items()}
    for kind in [*found, "all"]:
        for ranks in (rings or RINGS).get(kind, ()):
            if ranks > bench.figures["clusters_per_chip"] and len(found) == 1 or kind == "all" and len(found) == 1:
                continue
            rate = bench.figures["group_gbytes_per_second" if kind == "all" else f"{kind}_gbytes_per_second"]
            ids = ring_ids(bench, kind, ranks)
            for size in sizes:
                took = ring_time(bench, ids, size)
                formula, within = all_reduce_formula(bench, ids, size, alphas)
                rows.append((kind, ranks, size, within, took, formula, 2 * (ranks - 1) / ranks * size / rate / took))
    return rows


def mark(deviation):
    return f"{100 * deviation:+.2f} %" + (" (!)" if abs(deviation) > CLOSE else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="dtu-t10,dtu-t20,dtu-i20")
    parser.add_argument("--only", default="machine,products,collectives")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    found = figures.Figures(options.json, "simulation", figures.SIMULATED)
    wanted = options.only.split(",")
    for device in options.devices.split(","):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(device, folder, options.build)
            if "machine" in wanted:
                print(f"\n| {device} | described | measured | off by |\n| --- | ---: | ---: | ---: |")
                for name, described, measured in machine_table(bench):
                    print(f"| {name} | {described:g} | {measured:.4g} | {mark(measured / described - 1)} |", flush=True)
                    found.add(f"{device}: {name}", measured, "", baseline={"name": "described", "value": described})
            if "products" in wanted:
                print(f"\n| {device}, product | size | GFLOP/s | of the peak |\n| --- | ---: | ---: | ---: |")
                for kind, n, rate, share in product_table(bench):
                    print(f"| {kind} | {n} | {rate:,.0f} | {100 * share:.1f} %{'' if share > 1 - CLOSE else ' (!)'} |",
                          flush=True)
                    found.add(f"{device}: product of {n}, {kind}", rate, "GFLOP/s", {"of the peak": [100 * share, "%"]})
            if "collectives" in wanted:
                print(f"\n| {device}, all-reduce | ranks | KiB | rings | us | formula | off by | of the link |\n"
                      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
                for kind, ranks, size, within, took, formula, share in ring_table(bench):
                    print(f"| {kind} | {ranks} | {size // 1024} | {' x '.join(map(str, within))} | {took / 1e3:.1f} | {formula / 1e3:.1f} "
                          f"| {mark(took / formula - 1)} | {100 * share:.0f} % |", flush=True)
                    found.add(f"{device}: all-reduce of {size // 1024} KiB, {kind}, {ranks} ranks", took / 1e3, "us",
                              {"of the link's rate": [100 * share, "%"]}, {"name": "formula", "value": formula / 1e3})


if __name__ == "__main__":
    main()
