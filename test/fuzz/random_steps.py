"""Random training steps: a loss of random layers, its gradients and an optimizer, under a random parallel file.

Stages, micro-batches, shards, replicas, the schedule and recomputation are drawn. Half of the time every layer is a block;
otherwise there are as many blocks as stages, so the boundaries of stages are random.
"""

import json
import math

from program_builder import MESHES, constraint_text, seed_text

PREPARE = "differentiate,canonicalize,cse,add-optimizer{{{optimizer}}},canonicalize"
LOCAL = ("apply-parallel-config{config=CONFIG},expand-branches,pad-dimensions,propagate-shardings,assign-stages,"
         "insert-reshards{min-part-bytes=16},global-to-local,simplify-collectives")
TASKS = LOCAL + ",split-tasks,rematerialise,combine-collectives,reuse-accumulators"
# The compilation phases up to which a step may go before it runs.
ROADS = (LOCAL, TASKS, TASKS + ",schedule-pipeline",
         TASKS + ",schedule-pipeline,form-loops,lower-loops,lower-tensor-ops,form-kernels{attention=fitting},split-attention{streamed-only},"
         "derive-row-sums{streamed-only},share-heads,"
         "overlap-products{always},"
         "overlap-collectives{assume-speed},offload-stash,plan-memory,verify-memory-plan",
         TASKS.replace("rematerialise", "rematerialise{otherwise=selective reuse-products}") +
         ",schedule-pipeline,form-loops,lower-loops,lower-tensor-ops,form-kernels{attention=streamed},overlap-products{always},"
         "split-products,fuse-epilogues,accumulate-in-products,split-attention,mark-attention-gradients,derive-row-sums,hoist-row-values,join-attention-gradients,fuse-transposes,sink-conversions,split-reductions{always},join-reductions,invert-divisors,separate-maxima,convert-in-update,lift-constants,group-kernels,"
         "overlap-collectives{assume-speed},offload-stash,plan-memory,verify-memory-plan")
# Numbers whose default in st-compile depends on the optimizer are explicit, as in the pass.
OPTIMIZERS = ("kind=sgd", "kind=sgd momentum=0", "kind=adamw", "kind=adam", "kind=sgd clip-norm=0.5",
              "kind=lamb epsilon=1e-6 clip-norm=0.5", "kind=adafactor epsilon=1e-30 weight-decay=0.01 min-factored-size=2",
              "kind=adamw state-bits=8 min-8bit-size=2", "kind=sgd state-bits=8 min-8bit-size=8 clip-norm=0.5")


def quoted(text):
    """A string of MLIR, whose escapes differ from JSON's."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def in_16_bits(prepare, compute="bf16"):
    """The passes of PREPARE for a step that computes in 16 bits."""
    return f"assign-precision{{compute={compute}}}," + prepare.replace(
        "differentiate,", f"differentiate,widen-sums,narrow-residuals{{compute={compute}}},", 1)


class Step:
    """The loss of a batch of rows; values are rows x features, and the number of features changes from layer to
    layer."""

    def __init__(self, rng, uneven=0.0):
        self.rng = rng
        self.uneven = uneven
        self.lines, self.arguments, self.count = [], [], 0
        self.tokens = set()  # sizes of the second dimensions of batch arguments
        self.stages = rng.choice([1, 2, 2, 3, 4])
        self.micro = rng.choice([1, 2, 4])
        self.data = rng.choice([1, 1, 2])
        self.shards = rng.choice([1, 2, 2, 4])
        # A mesh of the program's own, with arbitrary shardings, instead of a layout in the file.
        self.axes = rng.choice([axes for axes in MESHES if math.prod(axes.values()) <= 8]) if rng.random() < 0.4 else None
        if self.axes:
            self.data, self.shards = 1, math.prod(self.axes.values())
        self.rows = self.micro * self.data * rng.choice([1, 2, 3, 4])
        if rng.random() < uneven:
            self.rows = rng.randint(1, self.rows)
        if self.rows < self.micro or -(-self.rows // self.micro) < self.data:
            self.micro = self.data = 1
        self.block = 0
        self.cuts = self.stages if rng.random() < 0.5 else 0
        self.features = self.width()
        self.tables = []
        self.zero = self.constant("0.0", ())
        x = self.embedded() if rng.random() < 0.4 else self.argument("x", (self.rows, self.features), "batch")
        layers = max(rng.randint(2, 6), self.stages)
        for layer in range(layers):
            # As many blocks as stages, each with at least one layer, or one block per layer.
            if layer and (not self.cuts or (self.block + 1 < self.cuts and (
                    layers - layer <= self.cuts - 1 - self.block or rng.random() < 0.5))):
                self.block += 1
            x = getattr(self, "layer_" + (rng.choice(LAYERS) if layer else "linear"))(x)
        self.rows_out = self.apply("tanh", x) if rng.random() < 0.3 else None
        self.loss = self.close(x)

    def width(self):
        """A number of features."""
        return self.rng.choice([5, 6, 7, 9, 10]) if self.rng.random() < self.uneven else self.rng.choice([4, 8, 12])

    # ---- pieces of text

    @staticmethod
    def type(shape, element="f32"):
        return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"

    def emit(self, text, types):
        """An op with attributes before its types."""
        name = f"%{self.count}"
        self.count += 1
        # Values flow only forward, in any assignment of blocks.
        block = self.rng.randint(0, self.block) if self.rng.random() < 0.05 else self.block
        self.lines.append(f"{name} = {text} {{st.block = {block} : i64}} : {types}")
        return name

    def sharding(self, shape, role):
        """Each axis splits a dimension that it divides (or any, if sizes may be uneven), the rows of a batch outside of
        the micro-batches, or none."""
        dims, left = [[] for _ in shape], list(shape)
        for axis, size in self.rng.sample(sorted(self.axes.items()), len(self.axes)):
            fitting = [d for d, part in enumerate(left)
                       if part % (size * (self.micro if role == "batch" and d == 0 else 1)) == 0
                       or (part > 1 and self.rng.random() < self.uneven)]
            if fitting and self.rng.random() < 0.7:
                dim = self.rng.choice(fitting)
                dims[dim].append(f'"{axis}"')
                left[dim] = -(-left[dim] // size)
        return seed_text(self.rng, self.axes, dims)

    def argument(self, name, shape, role, element="f32", extra=""):
        if self.axes and self.rng.random() < 0.8:
            extra += f", st.sharding = #st.sharding{self.sharding(shape, role)}"
        if role == "batch":
            self.tokens.update(shape[1:2])
        self.arguments.append(f'%{name}: {self.type(shape, element)} {{st.name = "{name}", st.role = "{role}"{extra}}}')
        return f"%{name}"

    def parameter(self, *shape):
        name = f"w{len(self.arguments)}"
        return self.argument(name, shape, "parameter", extra=', st.init = {kind = "normal", std = 1.0 : f64}')

    def constant(self, value, shape):
        # Its type is that of the attribute.
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"{name} = stablehlo.constant dense<{value}> : {self.type(shape)}")
        return name

    def apply(self, op, *operands, shape=None):
        return self.emit(f"stablehlo.{op} {', '.join(operands)}", self.type((self.rows, self.features) if shape is None else shape))

    def spread(self, x, dims, shape, to):
        return self.emit(f"stablehlo.broadcast_in_dim {x}, dims = {dims}", f"({self.type(shape)}) -> {self.type(to)}")

    def reduced(self, x, dims, shape, op="add", init=None, attributes=""):
        left = [s for d, s in enumerate(shape) if d not in dims]
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"{name} = stablehlo.reduce({x} init: {init or self.zero}) applies stablehlo.{op} across dimensions = "
                          f"{dims} {{st.block = {self.block} : i64{attributes}}} : ({self.type(shape)}, tensor<f32>) -> {self.type(left)}")
        return name

    def product(self, x, w, left, right, features, contract="[1] x [0]"):
        y = self.emit(f"stablehlo.dot_general {x}, {w}, contracting_dims = {contract}",
                      f"({self.type(left)}, {self.type(right)}) -> {self.type((self.rows, features))}")
        self.features = features
        # Numbers stay of order one for any number of products in a sum.
        return self.apply("multiply", y, self.constant(left[-1] ** -0.5, (self.rows, features)))

    # ---- layers

    def layer_constrain(self, x):
        if not self.axes:
            return x
        shape = (self.rows, self.features)
        seed = constraint_text(self.rng, self.sharding(shape, "batch"), group=self.features)
        return self.emit(f"st.constrain {x} {seed}", self.type(shape))

    def embedded(self):
        """Rows of a table."""
        ids = self.argument("ids", (self.rows,), "batch", "i32", ", st.limit = 8 : i64")
        table = self.parameter(8, self.features)
        self.tables.append((table, self.features))
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(
            f'{name} = "stablehlo.gather"({table}, {ids}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
            "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, "
            f"{self.features}>}}> {{st.block = 0 : i64}} : ({self.type((8, self.features))}, {self.type((self.rows,), 'i32')}) "
            f"-> {self.type((self.rows, self.features))}")
        return name

    def layer_linear(self, x):
        features = self.width()
        return self.product(x, self.parameter(self.features, features), (self.rows, self.features),
                            (self.features, features), features)

    def layer_transposed(self, x):
        features = self.width()
        return self.product(x, self.parameter(features, self.features), (self.rows, self.features),
                            (features, self.features), features, "[1] x [1]")

    def layer_perceptron(self, x):
        """Column then row, with a residual."""
        before, inner = self.features, self.rng.choice([8, 16])
        h = self.layer_bias(self.product(x, self.parameter(before, inner), (self.rows, before), (before, inner), inner))
        h = self.apply("tanh", h)
        y = self.product(h, self.parameter(inner, before), (self.rows, inner), (inner, before), before)
        return self.apply("add", x, y)

    def layer_tied(self, x):
        """Multiplies by the transpose of an earlier stage's weight."""
        for table, features in self.tables:
            if features == self.features:
                return self.product(x, table, (self.rows, features), (8, features), 8, "[1] x [1]")
        return self.layer_linear(x)

    def layer_bias(self, x):
        b = self.parameter(self.features)
        return self.apply("add", x, self.spread(b, [1], (self.features,), (self.rows, self.features)))

    def layer_scale(self, x):
        g = self.parameter(self.features)
        y = self.apply("multiply", x, self.spread(g, [1], (self.features,), (self.rows, self.features)))
        return self.apply("tanh", y)

    def layer_nonlinear(self, x):
        return self.apply(self.rng.choice(["tanh", "logistic", "sine"]), x)

    def layer_normalize(self, x):
        shape = (self.rows, self.features)
        squares = self.reduced(self.apply("multiply", x, x), [1], shape)
        one = self.apply("add", squares, self.constant(1.0, (self.rows,)), shape=(self.rows,))
        root = self.apply("rsqrt", one, shape=(self.rows,))
        return self.apply("multiply", x, self.spread(root, [0], (self.rows,), shape))

    def layer_softmax(self, x):
        shape = (self.rows, self.features)
        e = self.apply("exponential", self.apply("tanh", x))
        total = self.spread(self.reduced(e, [1], shape), [0], (self.rows,), shape)
        return self.apply("divide", e, total)

    def layer_heads(self, x):
        """Products within each row, by head: [rows, heads, size]."""
        heads = self.rng.choice([n for n in (2, 3, 4, 5, 7) if self.features % n == 0] or [1])
        size = self.features // heads
        split, square = (self.rows, heads, size), (self.rows, heads, heads)
        h = self.emit(f"stablehlo.reshape {x}", f"({self.type((self.rows, self.features))}) -> {self.type(split)}")
        scores = self.emit(f"stablehlo.dot_general {h}, {h}, batching_dims = [0] x [0], contracting_dims = [2] x [2]",
                           f"({self.type(split)}, {self.type(split)}) -> {self.type(square)}")
        scores = self.apply("multiply", scores, self.constant(1 / size, square), shape=square)
        weights = self.apply("tanh", scores, shape=square)
        y = self.emit(f"stablehlo.dot_general {weights}, {h}, batching_dims = [0] x [0], contracting_dims = [2] x [1]",
                      f"({self.type(square)}, {self.type(split)}) -> {self.type(split)}")
        return self.emit(f"stablehlo.reshape {y}", f"({self.type(split)}) -> {self.type((self.rows, self.features))}")

    # ---- the loss

    def close(self, x):
        shape = (self.rows, self.features)
        target = self.argument("target", shape, "batch")
        difference = self.apply("subtract", self.apply("tanh", x), target)
        rows = self.reduced(self.apply("multiply", difference, difference), [1], shape)
        if self.rng.random() < 0.5:
            total = self.reduced(rows, [0], (self.rows,))
            return self.apply("multiply", total, self.constant(1 / self.rows, ()), shape=())
        # Rows that count, and their number, which is known only after all micro-batches.
        mask = self.argument("mask", (self.rows,), "batch", "i32", ", st.limit = 2 : i64")
        counts = self.emit(f"stablehlo.convert {mask}", f"({self.type((self.rows,), 'i32')}) -> {self.type((self.rows,))}")
        total = self.reduced(self.apply("multiply", rows, counts, shape=(self.rows,)), [0], (self.rows,))
        count = self.apply("maximum", self.reduced(counts, [0], (self.rows,)), self.constant(1.0, ()), shape=())
        return self.apply("divide", total, count, shape=())

    # ---- the whole

    def parallel(self):
        file = {"mode": "hybrid", "sharding_size": self.shards, "sharding_dim": self.rng.choice([0, -1, "megatron"]),
                "stage_cnt": self.stages, "accum_degree": self.micro, "data": self.data}
        contexts = [n for n in (2, 4) if self.tokens and n * self.data * self.shards * self.stages <= 16
                    and all(size % n == 0 for size in self.tokens)]
        if contexts and not self.axes and self.rng.random() < 0.4:
            file["context"] = self.rng.choice(contexts)
            if self.rng.random() < 0.6:
                file["context_attention"] = self.rng.choice(["keys", "ring"])
        if self.data * file.get("context", 1) > 1:
            file["zero"] = self.rng.choice([0, 1, 2, 3])
        if self.rng.random() < 0.5:
            file["bucket_bytes"] = self.rng.choice([0, 100, 400, 1000])
        if self.stages > 1 and self.micro > 1:
            file["schedule"] = self.rng.choice(["sequential", "gpipe", "1f1b"])
        return file

    def text(self):
        parallel, optimizer, road = self.parallel(), self.rng.choice(OPTIMIZERS), self.rng.choice(ROADS)
        parallel["recompute"] = self.rng.choice(["none", "selective", "full", "full",
                                                 {"bytes": int(2 ** self.rng.uniform(6, 13))}])
        parallel["offload"] = self.rng.choice([False, True, {"bytes": int(2 ** self.rng.uniform(6, 13))}])
        if "schedule" in parallel and self.rng.random() < 0.4:
            parallel["schedule"] = self.rng.choice(["zb-h1", "zb-h2"])
        if self.rng.random() < 0.5:
            # Rows of weights with 4 or 8 elements, as matrix units need.
            road = road.replace("pad-dimensions", "pad-dimensions{row-alignment=%d row-bytes=%d max-percent=100}" % (
                self.rng.choice([(16, 16), (8, 32), (16, 32)])))
        attributes = (f"st.prepare = {json.dumps(PREPARE.format(optimizer=optimizer))}, st.passes = {json.dumps(road)}, "
                      f"st.parallel = {quoted(json.dumps(parallel))}")
        body = "\n  ".join(self.lines)
        mesh = ", ".join(f'"{name}"={size}' for name, size in (self.axes or {}).items())
        mesh = f"st.mesh @mesh <[{mesh}], micro=1>\n" if mesh else ""
        rows = self.type((self.rows, self.features))
        names, types, results = self.loss, "tensor<f32>", 'tensor<f32> {st.name = "loss", st.role = "loss"}'
        if self.rows_out:
            names, types = f"{names}, {self.rows_out}", f"{types}, {rows}"
            results += f', {rows} {{st.name = "rows", st.role = "metric"}}'
        return (f"module attributes {{{attributes}}} {{\n{mesh}func.func @main({', '.join(self.arguments)}) -> ({results}) {{\n"
                f"  {body}\n  return {names} : {types}\n}}\n}}\n")


LAYERS = sorted(name.removeprefix("layer_") for name in dir(Step) if name.startswith("layer_"))
LAYERS += ["linear", "perceptron", "linear"]
