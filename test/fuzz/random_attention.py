"""Random training steps with attention, for the kernels of the CUDA backend and those of the DTU that stream rows: gradients,
masks, dropout, a norm and an optimizer.

One device computes one micro-batch, mostly in bf16. Sizes are not multiples of the tile sizes 16, 64 and 128.
device_runs.py runs the kernels on the host for two steps. The second step reads the 16-bit weights of the first update.
"""

import json

from random_steps import PREPARE, ROADS, Step, in_16_bits, quoted

LOW = "-1.0e30"
OPTIMIZERS = ("kind=sgd", "kind=sgd momentum=0", "kind=adamw", "kind=adam", "kind=sgd clip-norm=0.5",
              "kind=lamb epsilon=1e-6 clip-norm=0.5")
SIZES = (5, 16, 33, 48, 64, 72, 100, 130, 150, 200)


class AttentionStep(Step):
    """The loss of `batch` sequences; values between layers are batch x rows x features."""

    def __init__(self, rng):
        self.rng, self.uneven = rng, 0.0
        self.lines, self.arguments, self.count, self.tokens = [], [], 0, set()
        self.stages = self.micro = self.data = self.shards = 1
        self.axes, self.block = None, 0
        self.compute = rng.choice(["bf16", "bf16", "bf16", "f32"])
        self.batch, self.heads = rng.choice([1, 1, 2]), rng.choice([1, 2, 3])
        self.depth = rng.choice([8, 16, 20, 24, 32, 40, 64, 64, 128])
        self.rows = rng.choice(SIZES)
        self.columns = self.rows if rng.random() < 0.7 else rng.choice(SIZES)
        self.features = rng.choice([8, 16, 24])
        self.space, self.result = ((self.batch, self.heads, self.rows, n) for n in (self.columns, self.depth))
        self.zero = self.constant("0.0", ())
        shape = (self.batch, self.rows, self.features)
        x = self.argument("x", shape, "batch")
        y = x if self.columns == self.rows and rng.random() < 0.8 else self.argument(
            "y", (self.batch, self.columns, self.features), "batch")
        x = self.apply("add", x, self.attention(x, y), shape=shape)
        order = rng.random()
        if order < 0.4:
            x = self.norm(x, shape)
        elif order < 0.8:  # The gradient of the norm's result is a product, which the sums of scale and shift share.
            x = self.apply("add", x, self.linear(self.norm(x, shape), shape, self.features), shape=shape)
        if rng.random() < 0.3:
            x = self.apply("add", x, self.linear(self.apply("tanh", x, shape=shape), shape, self.features), shape=shape)
        self.loss = self.close(x, shape)

    def full(self, value, shape, element="f32"):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"{name} = stablehlo.constant dense<{value}> : {self.type(shape, element)}")
        return name

    def linear(self, x, shape, features):
        """Applies a linear layer along the last dimension."""
        out = (*shape[:-1], features)
        w = self.parameter(shape[-1], features)
        y = self.emit(f"stablehlo.dot_general {x}, {w}, contracting_dims = [{len(shape) - 1}] x [0]",
                      f"({self.type(shape)}, {self.type((shape[-1], features))}) -> {self.type(out)}")
        y = self.apply("multiply", y, self.full(shape[-1] ** -0.5, out), shape=out)
        if self.rng.random() < 0.5:
            y = self.apply("add", y, self.spread(self.parameter(features), [len(out) - 1], (features,), out), shape=out)
        return y

    # ---- attention

    def project(self, x, rows):
        """Returns the heads of a linear layer's result."""
        split = (self.batch, rows, self.heads, self.depth)
        y = self.linear(x, (self.batch, rows, self.features), self.heads * self.depth)
        return self.emit(f"stablehlo.reshape {y}",
                         f"({self.type((self.batch, rows, self.heads * self.depth))}) -> {self.type(split)}")

    def position(self, dim, space, element):
        return self.emit(f"stablehlo.iota dim = {dim}", self.type(space, element))

    def compare(self, direction, x, y, space, element):
        return self.emit(f"stablehlo.compare {direction}, {x}, {y}",
                         f"({self.type(space, element)}, {self.type(space, element)}) -> {self.type(space, 'i1')}")

    def select(self, mask, x, y, space):
        return self.emit(f"stablehlo.select {mask}, {x}, {y}", f"{self.type(space, 'i1')}, {self.type(space)}")

    def masked(self, scores, space):
        """Applies up to two of: a bound of the scores, a bias by distance, a causal mask, a window, documents, a column mask."""
        kinds = ["none", "columns", "bounded", "distance"]
        if self.rows == self.columns:
            kinds += ["causal", "causal", "window", "documents"]
        elif self.rows < self.columns:  # The last columns have no row that sees them.
            kinds += ["causal", "causal"]
        for kind in self.rng.sample(kinds, self.rng.choice([1, 1, 2])):
            scores = getattr(self, f"mask_{kind}")(scores, space)
        return scores

    def mask_none(self, scores, space):
        return scores

    def mask_causal(self, scores, space):
        seen = self.compare("GE", self.position(2, space, "i32"), self.position(3, space, "i32"), space, "i32")
        return self.select(seen, scores, self.full(LOW, space), space)

    def mask_window(self, scores, space):
        """A token sees itself and some before it."""
        distance = self.emit(f"stablehlo.subtract {self.position(2, space, 'i32')}, {self.position(3, space, 'i32')}",
                             self.type(space, "i32"))
        width = self.rng.choice([1, 7, 16, 40, 64])
        scores = self.select(self.compare("LT", distance, self.full(width, space, "i32"), space, "i32"), scores,
                             self.full(LOW, space), space)
        return self.mask_causal(scores, space)

    def mask_distance(self, scores, space):
        """ALiBi: a slope of each head times the distance."""
        slopes = self.full([2.0 ** -(i + 3) for i in range(self.heads)], (self.heads,))
        distance = self.emit(f"stablehlo.subtract {self.position(3, space, 'i32')}, {self.position(2, space, 'i32')}",
                             self.type(space, "i32"))
        distance = self.emit(f"stablehlo.convert {distance}", f"({self.type(space, 'i32')}) -> {self.type(space)}")
        bias = self.apply("multiply", distance, self.spread(slopes, [1], (self.heads,), space), shape=space)
        return self.apply("add", scores, bias, shape=space)

    def mask_bounded(self, scores, space):
        """Soft-capping: cap * tanh(scores / cap)."""
        cap = self.rng.choice([2.0, 30.0])
        scores = self.apply("tanh", self.apply("multiply", scores, self.full(1 / cap, space), shape=space), shape=space)
        return self.apply("multiply", scores, self.full(cap, space), shape=space)

    def mask_documents(self, scores, space):
        """A token sees its own document, from front to back. Every row sees itself."""
        shape, wide = (self.batch, self.rows), (self.batch, self.rows, self.rows)
        documents = self.argument("documents", shape, "batch", "i32", ", st.limit = 4 : i64")

        def spread(dims):
            return self.emit(f"stablehlo.broadcast_in_dim {documents}, dims = {dims}",
                             f"({self.type(shape, 'i32')}) -> {self.type(wide, 'i32')}")
        same = self.compare("EQ", spread([0, 1]), spread([0, 2]), wide, "i32")
        same = self.emit(f"stablehlo.broadcast_in_dim {same}, dims = [0, 2, 3]",
                         f"({self.type(wide, 'i1')}) -> {self.type(space, 'i1')}")
        return self.mask_causal(self.select(same, scores, self.full(LOW, space), space), space)

    def mask_columns(self, scores, space):
        shape = (self.batch, self.columns)
        mask = self.argument("mask", shape, "batch", "i32", ", st.limit = 4 : i64")
        hidden = self.emit(f"stablehlo.compare EQ, {mask}, {self.full(0, shape, 'i32')}",
                           f"({self.type(shape, 'i32')}, {self.type(shape, 'i32')}) -> {self.type(shape, 'i1')}")
        wide = self.emit(f"stablehlo.convert {hidden}", f"({self.type(shape, 'i1')}) -> {self.type(shape)}")
        low = self.apply("multiply", wide, self.full("-50.0", shape), shape=shape)
        return self.apply("add", scores, self.spread(low, [0, 3], shape, space), shape=space)

    def dropped(self, p, space):
        """Applies no dropout, dropout by bits from an argument, or by bits that each element computes from its position."""
        kind = self.rng.choice(["none", "none", "given", "computed", "computed"])
        if kind == "none":
            return p
        if kind == "given":
            bits = self.argument("bits", space, "batch", "i32", ", st.limit = 4 : i64")
            kept = self.compare("NE", bits, self.full(0, space, "i32"), space, "i32")
        else:
            def apply(op, x, value):
                y = self.full(value, space, "ui32") if isinstance(value, int) else value
                return self.emit(f"stablehlo.{op} {x}, {y}", self.type(space, "ui32"))
            bits = self.position(3, space, "ui32")
            for dim, stride in ((2, self.columns), (1, self.columns * self.rows), (0, self.columns * self.rows * self.heads)):
                bits = apply("add", bits, apply("multiply", self.position(dim, space, "ui32"), stride))
            bits = apply("multiply", bits, 0x9E3779B1)
            bits = apply("xor", bits, apply("shift_right_logical", bits, 15))
            bits = apply("multiply", bits, 0x85EBCA77)
            kept = self.compare("GE", bits, self.full(0x40000000, space, "ui32"), space, "ui32")
        grown = self.apply("multiply", p, self.full(4 / 3, space), shape=space)
        return self.select(kept, grown, self.full("0.0", space), space)

    def softmax(self, scores, space):
        """Mostly as models write it: no gradient flows through the maximum, and a row has one division. Only then does the
        compiler derive the sums of rows from the forward pass, and join the two kernels of the gradient."""
        kept = space[:-1]
        low, constant_maximum = self.full("0xFF800000", ()), ", st.stop_gradient" if self.rng.random() < 0.8 else ""
        most = self.spread(self.reduced(scores, [3], space, "maximum", low, constant_maximum), [0, 1, 2], kept, space)
        e = self.apply("exponential", self.apply("subtract", scores, most, shape=space), shape=space)
        total = self.reduced(e, [3], space)
        if self.rng.random() < 0.8:
            inverse = self.apply("divide", self.full(1.0, kept), total, shape=kept)
            return self.apply("multiply", e, self.spread(inverse, [0, 1, 2], kept, space), shape=space)
        return self.apply("divide", e, self.spread(total, [0, 1, 2], kept, space), shape=space)

    def attention(self, x, y):
        q, k, v = self.project(x, self.rows), self.project(y, self.columns), self.project(y, self.columns)
        rows, columns = ((self.batch, n, self.heads, self.depth) for n in (self.rows, self.columns))
        if self.rng.random() < 0.3:
            return self.attend_by_head(q, k, v, rows, columns)
        scores = self.emit(f"stablehlo.dot_general {q}, {k}, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]",
                           f"({self.type(rows)}, {self.type(columns)}) -> {self.type(self.space)}")
        p = self.probabilities(scores)
        o = self.emit(f"stablehlo.dot_general {p}, {v}, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]",
                      f"({self.type(self.space)}, {self.type(columns)}) -> {self.type(self.result)}")
        return self.merged(o, rows)

    def attend_by_head(self, q, k, v, rows, columns):
        """As users of JAX and PyTorch write it: heads first. The gradient of the values comes before that of the scores."""
        def transposed(x, shape):
            swapped = tuple(shape[i] for i in (0, 2, 1, 3))
            return self.emit(f"stablehlo.transpose {x}, dims = [0, 2, 1, 3]", f"({self.type(shape)}) -> {self.type(swapped)}")
        q, k, v = transposed(q, rows), transposed(k, columns), transposed(v, columns)
        held = tuple(columns[i] for i in (0, 2, 1, 3))
        scores = self.emit(f"stablehlo.dot_general {q}, {k}, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]",
                           f"({self.type(self.result)}, {self.type(held)}) -> {self.type(self.space)}")
        o = self.emit(f"stablehlo.dot_general {self.probabilities(scores)}, {v}, batching_dims = [0, 1] x [0, 1], "
                      "contracting_dims = [3] x [2]", f"({self.type(self.space)}, {self.type(held)}) -> {self.type(self.result)}")
        return self.merged(o, rows)

    def probabilities(self, scores):
        scores = self.apply("multiply", scores, self.full(self.depth ** -0.5, self.space), shape=self.space)
        return self.dropped(self.softmax(self.masked(scores, self.space), self.space), self.space)

    def merged(self, o, rows):
        o = self.emit(f"stablehlo.transpose {o}, dims = [0, 2, 1, 3]", f"({self.type(self.result)}) -> {self.type(rows)}")
        whole = (self.batch, self.rows, self.heads * self.depth)
        o = self.emit(f"stablehlo.reshape {o}", f"({self.type(rows)}) -> {self.type(whole)}")
        return self.linear(o, whole, self.features)

    # ---- after attention

    def norm(self, x, shape):
        """A norm of rows with a scale and a shift. The gradients of both are sums over the same rows."""
        kept = shape[:-1]

        def mean(value):
            total = self.apply("multiply", self.reduced(value, [2], shape), self.full(1 / shape[-1], kept), shape=kept)
            return total
        d = self.apply("subtract", x, self.spread(mean(x), [0, 1], kept, shape), shape=shape)
        variance = self.apply("add", mean(self.apply("multiply", d, d, shape=shape)), self.full(0.01, kept), shape=kept)
        root = self.apply("rsqrt", variance, shape=kept)
        y = self.apply("multiply", d, self.spread(root, [0, 1], kept, shape), shape=shape)
        scale, shift = (self.spread(self.parameter(shape[-1]), [2], (shape[-1],), shape) for _ in range(2))
        return self.apply("add", self.apply("multiply", y, scale, shape=shape), shift, shape=shape)

    def close(self, x, shape):
        target = self.argument("target", shape, "batch")
        d = self.apply("subtract", self.apply("tanh", x, shape=shape), target, shape=shape)
        total = self.reduced(self.apply("multiply", d, d, shape=shape), [0, 1, 2], shape)
        return self.apply("multiply", total, self.full(1 / (shape[0] * shape[1]), ()), shape=())

    def text(self):
        parallel = {"mode": "hybrid", "sharding_size": 1, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 1, "data": 1,
                    "precision": {"compute": self.compute}}
        prepare = "stop-softmax-gradients," + PREPARE.format(optimizer=self.rng.choice(OPTIMIZERS))
        if self.compute != "f32":
            prepare = in_16_bits(prepare, self.compute)
        attributes = (f"st.prepare = {json.dumps(prepare)}, st.passes = {json.dumps(ROADS[-1])}, "
                      f"st.parallel = {quoted(json.dumps(parallel))}")
        body = "\n  ".join(self.lines)
        return (f"module attributes {{{attributes}}} {{\nfunc.func @main({', '.join(self.arguments)}) -> "
                f'(tensor<f32> {{st.name = "loss", st.role = "loss"}}) {{\n  {body}\n  return {self.loss} : tensor<f32>\n}}\n}}\n')
