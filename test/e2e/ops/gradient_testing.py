"""One program, differentiated by St and by JAX, in f32 and in f64.

A Case holds a function and the ranges of its operands. The bound is relative to the largest element of each operand's
gradient: 2e-5 in f32, and 1e-9 for the same program in f64, which shows that the remaining error in f32 is rounding.

Shapes are drawn: in f64 with a fixed seed, in f32 with the seed of the run (`st_testing.run_seed`). A failure prints the
seed, and $ST_SEED repeats it.
"""

import math
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from st_programs import interpret, transform
from st_testing import BIN, Failure, expect, run, run_seed

# XLA rounds to narrow types exactly where the program does, and compiles fast.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_allow_excess_precision=false"
jax.config.update("jax_disable_most_optimizations", True)

BOUNDS = {np.float32: 2e-5, np.float64: 1e-9}
RUN_SEED = run_seed()
VALUE_BOUNDS = {np.float32: 1e-5, np.float64: 1e-9}
ELEMENTS = {np.float32: "f32", np.float64: "f64"}


def loss_of(function, of_terms=jnp.sum):
    """A scalar that weights every element of the function's value differently and adds up these terms."""
    def loss(*arguments):
        value = jnp.asarray(function(*arguments))
        kind = value.dtype if value.dtype == jnp.float64 else jnp.float32
        weights = np.cos(np.arange(value.size)).reshape(value.shape).astype(kind)
        return of_terms(value.astype(kind) * weights)
    return loss


def printed(loss, operands, platform):
    """The program that JAX prints, with its arguments marked as parameters."""
    text = jax.jit(loss, keep_unused=True).trace(*operands).lower(lowering_platforms=(platform,)).as_text()
    signature = re.search(r"@main\((.*?)\) ->", text).group(1)
    named = re.sub(r"%arg(\d+): (tensor<[^>]*>)", r'%arg\1: \2 {st.name = "x\1", st.role = "parameter"}', signature)
    return text.replace(signature, named, 1)


def of(x, value):
    """`value` as an array of the type of `x`."""
    return np.asarray(value, x.dtype)


def type_of(shape, element):
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


class Case:
    """A function of operands with the given values, or of the given shapes with values from [low, high). JAX
    differentiates `reference` instead, if there is one. `text` is a program that JAX does not print: the ops that make
    %y of %x0, %x1, ..., with TYPE for the element type. With `together` the bound is relative to the largest element of
    all gradients, but to no more than 1 or its own: in models some gradients are zero except for rounding."""

    def __init__(self, function, *shapes, low=-2.0, high=2.0, values=None, reference=None, text=None,
                 platform="cpu", f32=True, f64=True, together=False, passes=()):
        self.options = {"low": low, "high": high, "platform": platform, "f32": f32, "f64": f64, "together": together}
        self.function, self.shapes, self.range = function, shapes, (low, high)
        self.values, self.reference, self.text, self.platform = values, reference, text, platform
        self.dtypes = [np.float32] * f32 + [np.float64] * f64
        self.together, self.passes = together, passes

    def operands(self, dtype):
        if self.values is not None:
            return [np.asarray(value).astype(dtype) for value in self.values]
        rng = np.random.default_rng(0)
        return [rng.uniform(*self.range, shape).astype(np.float32).astype(dtype) for shape in self.shapes]

    def program(self, loss, operands, dtype):
        if self.text is None:
            return printed(loss, operands, self.platform), {}
        element = ELEMENTS[dtype]
        shape = jax.eval_shape(self.reference, *operands).shape
        kind = type_of(shape, element)
        arguments = "".join(f'%x{i}: {type_of(x.shape, element)} {{st.name = "x{i}", st.role = "parameter"}}, '
                            for i, x in enumerate(operands))
        text = f"""func.func @main({arguments}%weights: {kind} {{st.name = "weights"}})
    -> (tensor<{element}> {{st.role = "loss"}}) {{
{self.text.replace("TYPE", element)}
  %weighed = stablehlo.multiply %y, %weights : {kind}
  %zero = stablehlo.constant dense<0.0> : tensor<{element}>
  %loss = stablehlo.reduce(%weighed init: %zero) applies stablehlo.add across dimensions = {list(range(len(shape)))}
    : ({kind}, tensor<{element}>) -> tensor<{element}>
  return %loss : tensor<{element}>
}}
"""
        return text, {"weights": np.cos(np.arange(math.prod(shape))).reshape(shape).astype(dtype)}

    def run_at(self, folder, op, dtype):
        operands = self.operands(dtype)
        text, extra = self.program(loss_of(self.function), operands, dtype)
        expect(op is None or re.search(rf"\b{re.escape(op)}\b", text), f"the program has no {op}:\n{text}")
        program = folder / f"{ELEMENTS[dtype]}.mlir"
        program.write_text(text)
        found = interpret(transform(program, "--inline-calls", "--differentiate", *self.passes),
                          {f"x{i}": x for i, x in enumerate(operands)} | extra)
        function = self.reference or self.function
        loss = loss_of(function)
        # Without jit it would compile hundreds of computations.
        differentiate = jax.jit(jax.value_and_grad(loss, tuple(range(len(operands)))))
        value, gradients = differentiate(*operands)
        bound, of_value = BOUNDS[dtype], VALUE_BOUNDS[dtype]
        overall = max(np.abs(gradient).max(initial=0) for gradient in gradients)
        # Terms that cancel leave the rounding of each.
        sizes = jax.jit(loss_of(function, lambda terms: jnp.sum(jnp.abs(terms))))(*operands)
        allowed = of_value * (1 + abs(value)) + np.finfo(dtype).eps * sizes
        expect(abs(found["loss"] - value) <= allowed, f"value {found['loss']}, JAX's {value}, of terms of {sizes}")
        worst = 0.0
        for i, gradient in enumerate(map(np.asarray, gradients)):
            ours = found[f"x{i}"]
            expect(ours.shape == gradient.shape and ours.dtype == gradient.dtype,
                   f"gradient of x{i} is {ours.dtype}{ours.shape}, JAX's {gradient.dtype}{gradient.shape}")
            expect(np.isfinite(gradient).all(), f"JAX's gradient of x{i} is not finite: {gradient}")
            error = np.abs(ours - gradient).max(initial=0)
            largest = np.abs(gradient).max(initial=0)
            if self.together:
                largest = min(overall, max(1, largest))
            if error > bound * largest and dtype == np.float32 and np.float64 in self.dtypes:
                # JAX's f32 is rounded, too, so its f64 result for the same operands decides.
                with jax.enable_x64(True):
                    gradient = np.asarray(differentiate(*(x.astype(np.float64) for x in operands))[1][i])
                error = np.abs(ours - gradient).max(initial=0)
            expect(error <= bound * largest, f"{ELEMENTS[dtype]}: gradient of x{i} is off by {error:.1e} of "
                   f"{largest:.1e}:\n{ours}\nJAX's:\n{gradient}")
            worst = max(worst, error / largest if largest else 0)
        return worst

    def run(self, folder, op=None, dtypes=(np.float32, np.float64)):
        """Returns the largest relative error of each of `dtypes` that the case has."""
        worst = []
        for dtype in self.dtypes:
            if dtype in dtypes:
                with jax.enable_x64(dtype == np.float64):
                    worst.append(self.run_at(folder, op, dtype))
        # The compiled computations of hundreds of cases would take gigabytes.
        jax.clear_caches()
        return " ".join(f"{error:.0e}" for error in worst)


def combined(cases):
    """Combines several cases into one, with the options of the first."""
    counts = [len(case.shapes) for case in cases]

    def together(functions):
        def run(*operands):
            values, start = [], 0
            for function, count in zip(functions, counts, strict=True):
                values.append(jnp.ravel(function(*operands[start:start + count])))
                start += count
            return jnp.concatenate(values)
        return run
    references = None
    if any(case.reference for case in cases):
        references = together([case.reference or case.function for case in cases])
    return Case(together([case.function for case in cases]), *[shape for case in cases for shape in case.shapes],
                reference=references, **cases[0].options)


def each(function, *variants, **options):
    """One case for each of several lists of shapes."""
    return combined([Case(function, *shapes, **options) for shapes in variants])


class Draw:
    """Draws shapes and attributes of a case. Some draws have the lowest ranks that the case allows ("scalar"), some of
    shapes without elements ("empty")."""

    def __init__(self, seed, kind):
        self.rng, self.kind = np.random.default_rng([seed, *kind.encode()]), kind

    def integer(self, low, high):
        """An integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def flag(self):
        return bool(self.integer(0, 1))

    def choice(self, *values):
        return values[self.integer(0, len(values) - 1)]

    def rank(self, low=0, high=3):
        return low if self.kind == "scalar" else self.integer(low, high)

    def size(self, low=1, high=5):
        """The size of a dimension that may be zero."""
        return 0 if self.kind == "empty" and self.flag() else self.integer(low, high)

    def shape(self, low=0, high=3, largest=5):
        sizes = [self.size(1, largest) for _ in range(self.rank(low, high))]
        if self.kind == "empty" and sizes:
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return tuple(sizes)

    def order(self, count):
        return tuple(int(i) for i in self.rng.permutation(count))

    def subset(self, count, low=0):
        """Some of the numbers below `count`, at least `low` of them, ascending."""
        return tuple(sorted(self.order(count)[:self.integer(low, count)]))


class Drawn:
    """The cases that `make` makes of several draws; those that JAX prints are one program."""

    def __init__(self, make, kinds=("plain", "empty", "scalar")):
        self.make, self.kinds = make, kinds

    def run(self, folder, op=None):
        fixed, of_run = self.make(Draw(0, "plain")), [self.make(Draw(RUN_SEED, kind)) for kind in self.kinds]
        worst = []
        # A drawn transpose may move nothing, so the op has to appear in the program of the fixed draw.
        for cases, dtypes, present in (([fixed, *of_run], fixed.dtypes, op),) if len(fixed.dtypes) == 1 else (
                (of_run, [np.float32], None), ([fixed], [np.float64], op)):
            if all(case.text is None and case.values is None for case in cases):
                cases = [combined(cases)]
            for case in cases:
                try:
                    error = case.run(folder, present, dtypes)
                except Failure as failure:
                    raise Failure(f"ST_SEED={RUN_SEED}, operands of {case.shapes}: {failure}") from failure
            worst.append(error)
        return " ".join(worst)


def drawn(*kinds):
    """Makes a test from a function that maps a draw to a case."""
    return lambda make: Drawn(make, kinds) if kinds else Drawn(make)


def lettered(function, *shapes, kinds=("plain", "empty"), **options):
    """Operands of the shapes that the words spell: a letter is the same size in all of them."""
    def make(draw):
        sizes = {letter: draw.size(1, 4) for letter in sorted(set("".join(shapes)))}
        return Case(function, *[tuple(sizes[letter] for letter in word) for word in shapes], **options)
    return Drawn(make, kinds)


def alike(function, operands, *scalars, text=None, kinds=("plain", "empty", "scalar"), **options):
    """Operands of one shape, then scalars. In a text DIMS is replaced by the sizes of a type, and AXES by the dimension
    numbers."""
    def make(draw):
        shape = draw.shape()
        filled = text and text.replace("DIMS", "".join(f"{d}x" for d in shape)).replace(
            "AXES", ": " + ", ".join(map(str, range(len(shape)))) if shape else "")
        return Case(function, *[shape] * operands, *scalars, text=filled, **options)
    return Drawn(make, kinds)


def elementwise(function, operands=1, **options):
    """Random shapes, rank 0, size zero, and operands that broadcast to each other."""
    reference = options.pop("reference", None)

    def case(target, *shapes):
        def spread(function):
            return function and (lambda *xs: function(*(jnp.broadcast_to(x, target) for x in xs)))
        return Case(spread(function), *shapes, reference=spread(reference), **options)

    def make(draw):
        shape = draw.shape(high=4)
        cases = [case(shape, *[shape] * operands)]
        for i in range(operands):
            other = draw.choice(shape[1:], (), tuple(d if draw.flag() else 1 for d in shape))
            cases.append(case(shape, *[shape] * i, other, *[shape] * (operands - i - 1)))
        return combined(cases)
    return Drawn(make)


class Refused:
    """A program with an op without a gradient rule between parameter and loss: the message names it."""

    def __init__(self, text, message):
        self.text, self.message = text, message

    def run(self, folder, op):
        program = folder / "program.mlir"
        program.write_text(self.text)
        done = run([BIN / "st-opt", "--differentiate", program])
        expect(done.returncode == 1 and "LLVM ERROR" not in done.stderr, f"exit {done.returncode}: {done.stderr}")
        expect(f"'{op}' op {self.message}" in done.stderr, f"expected '{op}' op {self.message}, found: {done.stderr}")
        expect(done.stdout == "", "a program came out")


NO_RULE = "has no gradient rule"


def refused(ops, message=NO_RULE, parameter="tensor<4xf32>", before="", arguments=""):
    """Ops that compute a scalar %y from %w."""
    return Refused(f"""{before}
func.func @main(%w: {parameter} {{st.name = "w", st.role = "parameter"}}{arguments}) -> (tensor<f32> {{st.role = "loss"}}) {{
{ops}
  return %y : tensor<f32>
}}
""", message)


class NoOperand:
    """An op whose operands depend on no parameter."""

    def run(self, folder, op):
        return "nothing to differentiate by"
