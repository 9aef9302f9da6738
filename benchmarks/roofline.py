"""Roofline plots of a cluster: compiled kernels and a training step under the roofs of its description.

  benchmarks/roofline.py [--devices=dtu-t10,dtu-t20] [--into=docs/images] [--no-step] [--build=build]

The x axis is FLOP per byte of device memory (L3) that the program's transfers read and write; the y axis is GFLOP/s of one
cluster. Kernels run on one cluster that has its chip and all of L3 to itself. The BERT-large step (4 stages of 8 shards,
span, sequence 384, AdamW) appears as one point, the average over its 32 clusters. At any time most clusters wait for other
stages. FLOP are those of the products; other ops count one per element and op of the formula (softmax 5, layer norm 8).
Times are simulated and do not depend on the load of the machine. Writes roofline-t10.svg.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import microbenchmarks as micro

ROOT = micro.ROOT
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 560, 70, 40, 20, 60
ROWS, COLUMNS = 4096, 1024  # Of layer norm and softmax.
HEADS, SEQUENCE, DEPTH = 16, 384, 64
COLORS = {"f32": "#1f5fa8", "bf16": "#b8500f", "other": "#3a7d34", "step": "#7a3b93"}


# ---- kernels as StableHLO --------------------------------------------------------------------------------------------


class Rows:
    """Writes ops on tensors whose last dimension is reduced."""

    def __init__(self, *shape):
        self.full, self.few = "x".join(map(str, (*shape, "f32"))), "x".join(map(str, (*shape[:-1], "f32")))
        self.dim, self.dims = len(shape) - 1, ", ".join(str(d) for d in range(len(shape) - 1))
        self.lines = []

    def op(self, name, *operands, shape=None):
        value = f"%v{len(self.lines)}"
        self.lines.append(f"  {value} = stablehlo.{name} {', '.join(operands)} : tensor<{shape or self.full}>")
        return value

    def constant(self, number, shape):
        value = f"%v{len(self.lines)}"
        self.lines.append(f"  {value} = stablehlo.constant dense<{number}> : tensor<{shape}>")
        return value

    def reduce(self, kind, operand, start):
        initial = self.constant(start, "f32")
        value = f"%v{len(self.lines)}"
        self.lines.append(f"  {value} = stablehlo.reduce({operand} init: {initial}) applies stablehlo.{kind} across dimensions "
                          f"= [{self.dim}] : (tensor<{self.full}>, tensor<f32>) -> tensor<{self.few}>")
        return value

    def spread(self, operand):
        value = f"%v{len(self.lines)}"
        self.lines.append(f"  {value} = stablehlo.broadcast_in_dim {operand}, dims = [{self.dims}] : (tensor<{self.few}>) -> "
                          f"tensor<{self.full}>")
        return value

    def softmax(self, x):
        shifted = self.op("subtract", x, self.spread(self.reduce("maximum", x, "0xFF800000")))
        powers = self.op("exponential", shifted)
        return self.op("divide", powers, self.spread(self.reduce("add", powers, "0.0")))

    def layer_norm(self, x, count):
        each = self.constant(f"{1 / count:e}", self.few)
        mean = self.op("multiply", self.reduce("add", x, "0.0"), each, shape=self.few)
        centred = self.op("subtract", x, self.spread(mean))
        square = self.op("multiply", centred, centred)
        variance = self.op("multiply", self.reduce("add", square, "0.0"), each, shape=self.few)
        scale = self.op("rsqrt", self.op("add", variance, self.constant("1.0e-12", self.few), shape=self.few), shape=self.few)
        return self.op("multiply", centred, self.spread(scale))

    def module(self, result):
        body = "\n".join(self.lines)
        return (f"func.func @main(%x: tensor<{self.full}>) -> tensor<{self.full}> {{\n{body}\n"
                f"  return {result} : tensor<{self.full}>\n}}\n")


def softmax():
    rows = Rows(ROWS, COLUMNS)
    return rows.module(rows.softmax("%x")), 5 * ROWS * COLUMNS


def layer_norm():
    rows = Rows(ROWS, COLUMNS)
    return rows.module(rows.layer_norm("%x", COLUMNS)), 8 * ROWS * COLUMNS


def attention():
    """One sequence, all heads: scores, softmax, context."""
    rows = Rows(HEADS, SEQUENCE, SEQUENCE)
    q, scores = f"tensor<{HEADS}x{SEQUENCE}x{DEPTH}xf32>", f"tensor<{rows.full}>"
    given = "batching_dims = [0] x [0], contracting_dims = "
    rows.lines.append(f"  %v0 = stablehlo.dot_general %q, %k, {given}[2] x [2] : ({q}, {q}) -> {scores}")
    probabilities = rows.softmax("%v0")
    body = "\n".join(rows.lines)
    text = (f"func.func @main(%q: {q}, %k: {q}, %v: {q}) -> {q} {{\n{body}\n"
            f"  %out = stablehlo.dot_general {probabilities}, %v, {given}[2] x [1] : ({scores}, {q}) -> {q}\n"
            f"  return %out : {q}\n}}\n")
    return text, HEADS * SEQUENCE * SEQUENCE * (4 * DEPTH + 5)


# ---- measuring -------------------------------------------------------------------------------------------------------


def point(bench, name, kind, text, flop):
    report = bench.time_module(text)
    return name, kind, flop / report["devices"][0]["l3_bytes"], flop / report["sim_ns"]


def kernels(bench):
    for kind in ("f32", "bf16"):
        for n in (256, 512, 1024, 2048, 4096):
            yield point(bench, str(n), kind, micro.product(n, n, n, kind), 2 * n**3)
    for name, make in (("layer norm", layer_norm), ("softmax", softmax), ("attention", attention)):
        yield point(bench, name, "other", *make())


def training_step(bench):
    binary = bench.folder / "step"
    bench.tool(bench.bin / "st-compile", "-q", ROOT / "examples/models/bert-large-uncased", "--task=span", "--batch=1",
               "--seq=384", f"--parallel={ROOT / 'examples/parallel/bert-large-dtu-4x8.json'}", f"--target={bench.device}",
               "--predict=false", "-o", binary)
    report = bench.report(binary)
    flop = 2 * sum(device["macs"] for device in report["devices"])
    moved = sum(device["l3_bytes"] for device in report["devices"])
    return "BERT-large step", "step", flop / moved, flop / len(report["devices"]) / (report["sim_ms"] * 1e6)


def roofs(bench):
    """Flat roofs in GFLOP/s, and memory rates in GB/s, of a cluster."""
    f = bench.figures
    # Two per lane: a multiply-add is one instruction.
    vector = 2 * f["cores_per_cluster"] * f["vector_bytes_per_cycle"] / 4 * f["clock_ghz"]
    flat = {"matrix engines, f32": ("f32", micro.peak(f, "f32")), "matrix engines, bf16": ("bf16", micro.peak(f, "bf16")),
            "vector engines, f32": ("other", vector)}
    slopes = {"L3, the chip's": f["l3_gbytes_per_second"],
              "L3, a cluster's share": f["l3_gbytes_per_second"] / f["clusters_per_chip"],
              "L2": f["l2_gbytes_per_second"],
              "L1 of all cores": f["cores_per_cluster"] * f["l1_gbytes_per_second"]}
    return flat, slopes


# ---- drawing ---------------------------------------------------------------------------------------------------------


class Plot:
    """A log-log plot as SVG."""

    def __init__(self, title, x, y):
        self.x, self.y = [math.log10(v) for v in x], [math.log10(v) for v in y]
        self.parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
        self.text(LEFT, 24, title, size=16, anchor="start")
        self.grid()

    def at(self, x, y):
        along, up = ((math.log10(v) - low) / (high - low) for v, (low, high) in ((x, self.x), (y, self.y)))
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def text(self, x, y, text, size=12, anchor="middle", color="#222", turn=0):
        turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{turned}>'
                          f"{escape(text)}</text>")

    def line(self, start, end, color, dashes="", width=1.5):
        (x1, y1), (x2, y2) = self.at(*start), self.at(*end)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
                          f'stroke-width="{width}"{dashed}/>')

    def grid(self):
        low_x, high_x, low_y, high_y = (10**v for v in (*self.x, *self.y))
        for power in range(math.ceil(self.x[0]), math.floor(self.x[1]) + 1):
            self.line((10.0**power, low_y), (10.0**power, high_y), "#ddd", width=1)
            self.text(self.at(10.0**power, low_y)[0], HEIGHT - BOTTOM + 18, f"{10.0**power:g}")
        for power in range(math.ceil(self.y[0]), math.floor(self.y[1]) + 1):
            self.line((low_x, 10.0**power), (high_x, 10.0**power), "#ddd", width=1)
            self.text(LEFT - 8, self.at(low_x, 10.0**power)[1] + 4, f"{10**power:,}", anchor="end")
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18, "FLOP for each byte of device memory")
        self.text(18, (TOP + HEIGHT - BOTTOM) / 2, "GFLOP/s of a cluster", turn=-90)

    def draw_roofs(self, flat, slopes):
        low_x, high_x, low_y = 10 ** self.x[0], 10 ** self.x[1], 10 ** self.y[0]
        highest = max(rate for _, rate in flat.values())
        for name, (kind, rate) in flat.items():
            self.line((rate / max(slopes.values()), rate), (high_x, rate), COLORS[kind])
            x, y = self.at(high_x, rate)
            self.text(x - 4, y - 5, f"{name}: {rate:,.0f}", anchor="end", color=COLORS[kind])
        (x1, y1), (x2, y2) = self.at(1, low_y), self.at(10, 10 * low_y)
        turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
        for number, (name, rate) in enumerate(slopes.items()):
            start = max(low_x, low_y / rate)
            self.line((start, rate * start), (highest / rate, highest), "#666", dashes="" if number == 0 else "5 4")
            # Names follow one another, because the lines are close.
            middle = max(1.3 * start, 0.9 * 5**number * low_y / rate)
            x, y = self.at(middle, rate * middle)
            self.text(x, y - 4, f"{name}: {rate:,.0f} GB/s", size=11, color="#444", turn=turn, anchor="start")

    def draw_points(self, points):
        """Nearby points of one kind share a label, from the first one's name to the last one's."""
        labels = []
        for name, kind, x, y in points:
            at_x, at_y = self.at(x, y)
            self.parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="4" fill="{COLORS[kind]}"/>')
            known = labels[-1] if labels else None
            if known and known["kind"] == kind and math.hypot(at_x - known["x"], at_y - known["y"]) < 24:
                known |= {"last": name, "x": at_x, "y": at_y}
            else:
                labels.append({"kind": kind, "first": name, "last": name, "x": at_x, "y": at_y})
        for label in labels:
            name = label["first"] if label["first"] == label["last"] else f"{label['first']} to {label['last']}"
            self.text(label["x"] + 8, label["y"] + 15, name, size=11, anchor="start", color=COLORS[label["kind"]])

    def svg(self):
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
                f"{body}\n</svg>\n")


def draw(bench, points):
    flat, slopes = roofs(bench)
    name = bench.device.removeprefix("dtu-").upper()
    plot = Plot(f"A cluster of a {name}: products by size in f32 and bf16, other kernels in f32", (0.1, 2000), (10, 40000))
    plot.draw_roofs(flat, slopes)
    plot.draw_points(points)
    return plot.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="dtu-t10,dtu-t20")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "docs/images")
    parser.add_argument("--no-step", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    print("| device | what | type | FLOP/byte of L3 | GFLOP/s | of its roof |\n| --- | --- | --- | ---: | ---: | ---: |")
    for device in options.devices.split(","):
        with tempfile.TemporaryDirectory() as folder:
            bench = micro.Bench(device, folder, options.build)
            points = list(kernels(bench)) + ([] if options.no_step else [training_step(bench)])
            for name, kind, x, y in points:
                roof = min(micro.peak(bench.figures, kind if kind == "bf16" else "f32"),
                           x * bench.figures["l3_gbytes_per_second"])
                element = "bf16" if kind == "bf16" else "f32"
                print(f"| {device} | {name} | {element} | {x:.2f} | {y:,.1f} | {100 * y / roof:.0f} % |", flush=True)
            (options.into / f"roofline-{device.removeprefix('dtu-')}.svg").write_text(draw(bench, points))


if __name__ == "__main__":
    main()
