"""Gradients of control flow: loops with known trip counts, branches, and nested ones."""

import jax
import jax.numpy as jnp
import numpy as np
from gradient_testing import Case, alike, drawn, lettered, refused
from jax import lax


def rnn(w, xs, h, c):
    """Carries, outputs, weights that no trip changes, and inputs that each trip slices."""
    def body(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h * c
    h, ys = lax.scan(body, h, xs)
    return jnp.concatenate([ys.reshape(-1), h])


def lstm(w, u, b, xs):
    def body(state, x):
        h, c = state
        i, f, g, o = jnp.split(w @ x + u @ h + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    start = jnp.zeros(xs.shape[1:], xs.dtype)
    return lax.scan(body, (start, start), xs)[1]


def counter_loop(start, end, step, compare):
    """A loop that no helper of JAX prints: the counter itself enters the value."""
    def run(x):
        def body(state):
            i, y = state
            return i + step, jnp.sin(y) * x + i.astype(x.dtype)
        return lax.while_loop(lambda state: compare(state[0], end), body, (start, x))[1]

    def unrolled(x):
        i, y = np.asarray(start)[()], x
        while compare(i, end):
            i, y = i + step, jnp.sin(y) * x + i.astype(x.dtype)
        return y
    return lettered(run, "ab", kinds=("plain", "empty", "scalar"), reference=unrolled)


def nested(w, x):
    def outer(h, row):
        def inner(k, v):
            return jnp.tanh(v @ w + row) * (1 + 0.1 * jnp.asarray(k, v.dtype))
        return lax.fori_loop(0, 3, inner, h), h.sum()
    h, ys = lax.scan(outer, jnp.ones(x.shape[1], x.dtype), x)
    return jnp.concatenate([h, ys])


def branch_in_loop(w, x):
    def body(h, row):
        h = lax.cond(row.sum() > 0, lambda h: jnp.sin(h @ w), lambda h: h * row, h)
        return h, h
    return lax.scan(body, jnp.ones(x.shape[1], x.dtype), x)[1]


def loop_in_branch(p, w, x):
    def steps(x):
        return lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ w), x)
    return lax.cond(p > 0, steps, lambda x: x * w.sum(), x)


def switch(index):
    def run(x, y, c):
        branches = [lambda x: jnp.sin(x) * y, lambda x: x * 2, lambda x: jnp.exp(x @ y.T) @ x + c]
        return lax.switch((x.sum() * 0).astype(jnp.int32) + index, branches, x)
    return run


def cond(value):
    def run(x, y):
        p = x.sum() * 0 + value > 0
        return lax.cond(p, lambda x, y: jnp.sin(x) * jnp.cos(y), lambda x, y: jnp.exp(x) + y, x, y)
    return run


def swap(x, y):
    """Carries swap places."""
    def body(i, state):
        a, b = state
        return b * 1.5, a * b
    return sum(lax.fori_loop(0, 3, body, (x, y)))


def carried(x):
    """Carried values that do not affect the result, and one that does from the second trip on."""
    def body(i, state):
        a, b, c = state
        return a * 2, b + c, jnp.cos(x) * c
    return lax.fori_loop(0, 3, body, (x, jnp.zeros_like(x), x))[1]


def powers(x):
    """A loop reads and writes a stacked value at different positions."""
    def body(i, rows):
        return lax.dynamic_update_index_in_dim(rows, lax.dynamic_index_in_dim(rows, i, 0, False) * x, i + 1, 0)
    return lax.fori_loop(0, 4, body, jnp.zeros((5, *x.shape), x.dtype).at[0].set(jnp.cos(x)))


def integers(x):
    """The loop sorts and looks up, so it also saves integers."""
    def body(i, y):
        order = jnp.argsort(y)
        return jnp.where(y[order] > 0.5, y[order] * x, jnp.sin(y)) + x[i]
    return lax.fori_loop(0, min(3, x.size), body, x)


def folds(x, y):
    """Each trip reduces and sorts with computations that differentiation replaces by other ops."""
    def body(i, state):
        a, b = state
        rows = lax.reduce(a, np.array(-np.inf, a.dtype), jnp.logaddexp, (1,))
        order, payload = lax.sort((a, b), dimension=1, num_keys=1, is_stable=False)
        return jnp.tanh(order * y), jnp.sin(payload) + rows[:, None] * (b.shape[1] > 0)
    return sum(lax.fori_loop(0, 3, body, (x, jnp.cos(x))))


@drawn("plain", "empty")
def lstms(draw):
    n, trips = draw.size(1, 4), draw.size(1, 4)
    return Case(lstm, (4 * n, n), (4 * n, n), (4 * n,), (trips, n))


IF = """
  %c = stablehlo.constant dense<0.25> : tensor<TYPE>
  %p = stablehlo.compare GT, %x1, %c : (tensor<TYPE>, tensor<TYPE>) -> tensor<i1>
  %b:2 = "stablehlo.if"(%p) ({
    %e = stablehlo.exponential %x0 : tensor<DIMSTYPE>
    %m = stablehlo.multiply %e, %x0 : tensor<DIMSTYPE>
    stablehlo.return %m, %x1 : tensor<DIMSTYPE>, tensor<TYPE>
  }, {
    %s = stablehlo.multiply %x1, %x1 : tensor<TYPE>
    stablehlo.return %x0, %s : tensor<DIMSTYPE>, tensor<TYPE>
  }) : (tensor<i1>) -> (tensor<DIMSTYPE>, tensor<TYPE>)
  %d = stablehlo.broadcast_in_dim %b#1, dims = [] : (tensor<TYPE>) -> tensor<DIMSTYPE>
  %y = stablehlo.multiply %b#0, %d : tensor<DIMSTYPE>"""


def chosen(x, p):
    return jnp.where(p > 0.25, jnp.exp(x) * x * p, x * p * p)


def complex_steps(x, y):
    """A linear recurrence of complex numbers that reads its factor from outside."""
    factor = lax.complex(jnp.cos(x), jnp.sin(y))
    z = lax.fori_loop(0, 3, lambda i, z: z * factor + lax.complex(y, x), lax.complex(x, y))
    return jnp.concatenate([lax.real(z), lax.imag(z)])


LOOPS = [
    ("scan", lettered(rnn, "nn", "tn", "n", "")),
    ("scan, reversed", lettered(lambda xs, h, c: lax.scan(
        lambda h, x: (h * c + jnp.sin(x), h * x), h, xs, reverse=True)[1], "tn", "n", "")),
    ("scan, lstm", lstms),
    ("loop of no trips", counter_loop(jnp.int32(3), 3, 1, lambda i, n: i < n)),
    ("scan of one trip", lettered(lambda xs, h: lax.scan(lambda h, x: (h * x, h), h, xs[None])[0], "n", "n")),
    ("scan of scalars", lettered(lambda xs, h: lax.scan(lambda h, x: (jnp.sin(h) * x, h), h, xs)[1], "t", "")),
    ("scan of rematerialised steps", lettered(lambda w, x: lax.scan(jax.checkpoint(
        lambda h, row: (jnp.tanh(h @ w + row), h)), jnp.ones(x.shape[1], x.dtype), x)[1], "nn", "tn")),
    ("fori_loop", lettered(lambda x, y: lax.fori_loop(2, 6, lambda i, v: v * y + jnp.sin(v) * i, x), "ab", "ab")),
    ("loop that counts down", counter_loop(jnp.int32(7), 1, -2, lambda i, n: i > n)),
    ("loop up to and with", counter_loop(jnp.int32(-1), 5, 3, lambda i, n: i <= n)),
    ("loop until unequal", counter_loop(jnp.int32(3), 0, -1, lambda i, n: i != n)),
    ("loop with the limit on the left", counter_loop(jnp.int32(0), 3, 1, lambda i, n: n > i)),
    ("loop of an unsigned counter", counter_loop(jnp.uint8(200), np.uint8(206), np.uint8(2), lambda i, n: i < n)),
    ("loop that exchanges", lettered(swap, "ab", "ab")),
    ("loop with idle carries", lettered(carried, "ab")),
    ("loop that writes rows", lettered(powers, "n")),
    ("loop that saves integers", lettered(integers, "n", kinds=("plain",))),
    ("loop that folds", lettered(folds, "ab", "ab")),
    ("loop in a loop", lettered(nested, "nn", "tn")),
    ("a loop's own gradient", lettered(lambda w, xs, h: jax.grad(
        lambda xs: jnp.sum(rnn(w, xs, h, 0.5) ** 2))(xs), "nn", "tn", "n")),
    ("loop of complex numbers", lettered(complex_steps, "n", "n")),
    ("unknown trips", refused("""
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.convert %w : (tensor<f32>) -> tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %w) : tensor<i32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %m = stablehlo.add %x, %x : tensor<f32>
    stablehlo.return %j, %m : tensor<i32>, tensor<f32>
  }
  %y = stablehlo.negate %0#1 : tensor<f32>""",
                              "has no gradient rule: expected a known trip count", "tensor<f32>")),
]
CASES = [
    *[(f"switch {i}", lettered(switch(i), "ab", "ab", "")) for i in range(3)],
    *[(f"cond {which}", lettered(cond(value), "ab", "ab")) for which, value in (("true", 1.0), ("false", -1.0))],
    ("in a loop", lettered(branch_in_loop, "nn", "tn")),
    ("a branch's own gradient", lettered(lambda x, y: jax.grad(lambda x: jnp.sum(cond(1.0)(x, y) ** 2))(x), "ab", "ab")),
    *[(f"with a loop, {which}", lettered(lambda p, w, x, sign=sign: loop_in_branch(p * sign, w, x), "", "nn", "tn",
                                         low=0.1, high=1.0)) for which, sign in (("true", 1), ("false", -1))],
]


def chosen_branch(low):
    return alike(None, 1, (), text=IF, reference=chosen, low=low, high=low + 0.2)


IFS = [("true", chosen_branch(0.3)), ("false", chosen_branch(-0.7))]


def collective(text, attributes, region=True):
    body = """({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })""" if region else ""
    return [("refused", refused(f"""
  %0 = "stablehlo.{text}"(%w) <{{{attributes}}}> {body} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.slice %0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>"""))]


GROUPS = "replica_groups = dense<0> : tensor<1x1xi64>"
PAIRS = "source_target_pairs = dense<0> : tensor<1x2xi64>"
TUPLE = """
  %t = stablehlo.tuple %x0, %x1 : tuple<tensor<DIMSTYPE>, tensor<DIMSTYPE>>
  %a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<DIMSTYPE>, tensor<DIMSTYPE>>) -> tensor<DIMSTYPE>
  %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<DIMSTYPE>, tensor<DIMSTYPE>>) -> tensor<DIMSTYPE>
  %y = stablehlo.multiply %a, %b : tensor<DIMSTYPE>"""
OF_TWO = ("of two", alike(None, 2, text=TUPLE, passes=["--canonicalize"], reference=lambda x, y: x * y))
FUNCTION = """func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}"""
CONTROL = {
    "stablehlo.while": LOOPS,
    "stablehlo.case": CASES,
    "stablehlo.if": IFS,
    "stablehlo.tuple": [OF_TWO],
    "stablehlo.get_tuple_element": [OF_TWO,
                                    ("of a call", refused("""
  %t = stablehlo.custom_call @f(%w) : (tensor<f32>) -> tuple<tensor<f32>>
  %y = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>>) -> tensor<f32>""", parameter="tensor<f32>"))],
    "stablehlo.custom_call": [("refused", refused(
        "  %y = stablehlo.custom_call @f(%w) : (tensor<f32>) -> tensor<f32>", parameter="tensor<f32>"))],
    "stablehlo.composite": [("refused", refused(
        '  %y = stablehlo.composite "my.f" %w {decomposition = @f} : (tensor<f32>) -> tensor<f32>',
        "has no gradient rule, and the loss depends on a parameter through it; run expand-ops and "
        "inline-calls first",
        "tensor<f32>", FUNCTION))],
    "stablehlo.all_reduce": collective("all_reduce", GROUPS),
    "stablehlo.all_gather": collective("all_gather", GROUPS + ", all_gather_dim = 0 : i64", False),
    "stablehlo.all_to_all": collective("all_to_all", GROUPS + ", split_dimension = 0 : i64, concat_dimension = 0 : i64, "
                                       "split_count = 1 : i64", False),
    "stablehlo.reduce_scatter": collective("reduce_scatter", GROUPS + ", scatter_dimension = 0 : i64"),
    "stablehlo.collective_broadcast": collective("collective_broadcast", GROUPS, False),
    "stablehlo.collective_permute": collective("collective_permute", PAIRS, False),
}


@jax.custom_vjp
def clipped(x, y):
    return jnp.sin(x) * y


def clipped_forward(x, y):
    return clipped(x, y), (x, y)


def clipped_backward(saved, ct):
    x, y = saved
    return jnp.clip(ct * jnp.cos(x) * y, -0.5, 0.5), ct * 2


clipped.defvjp(clipped_forward, clipped_backward)

CLIPPED = """st.custom_gradient(%a, %b) forward {
  ^bb0(%u: tensor<DIMSTYPE>, %v: tensor<DIMSTYPE>):
    %s = stablehlo.sine %u : tensor<DIMSTYPE>
    %m = stablehlo.multiply %s, %v : tensor<DIMSTYPE>
    stablehlo.return %m, %u, %v : tensor<DIMSTYPE>, tensor<DIMSTYPE>, tensor<DIMSTYPE>
  } backward {
  ^bb0(%u: tensor<DIMSTYPE>, %v: tensor<DIMSTYPE>, %ct: tensor<DIMSTYPE>):
    %low = stablehlo.constant dense<-0.5> : tensor<TYPE>
    %high = stablehlo.constant dense<0.5> : tensor<TYPE>
    %c = stablehlo.cosine %u : tensor<DIMSTYPE>
    %p = stablehlo.multiply %ct, %c : tensor<DIMSTYPE>
    %q = stablehlo.multiply %p, %v : tensor<DIMSTYPE>
    %r = stablehlo.clamp %low, %q, %high : (tensor<TYPE>, tensor<DIMSTYPE>, tensor<TYPE>) -> tensor<DIMSTYPE>
    %t = stablehlo.add %ct, %ct : tensor<DIMSTYPE>
    stablehlo.return %r, %t : tensor<DIMSTYPE>, tensor<DIMSTYPE>
  } : (tensor<DIMSTYPE>, tensor<DIMSTYPE>) -> tensor<DIMSTYPE>"""
CLIPPED_STEPS = """
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %i0, %a = %x0) : tensor<i32>, tensor<DIMSTYPE>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.multiply %a, %x1 : tensor<DIMSTYPE>
    %z = CLIPPED
    stablehlo.return %j, %z : tensor<i32>, tensor<DIMSTYPE>
  }
  %y = stablehlo.negate %0#1 : tensor<DIMSTYPE>""".replace("CLIPPED", CLIPPED)


def clipped_steps(x, y):
    for _ in range(3):
        x = clipped(x, x * y)
    return -x


# The ops of St's own dialect that may come before gradients.
CUSTOM = {"st.custom_gradient": [
    ("residuals", alike(None, 2, reference=lambda x, y: clipped(-x, y + y) * x, text=f"""
  %a = stablehlo.negate %x0 : tensor<DIMSTYPE>
  %b = stablehlo.add %x1, %x1 : tensor<DIMSTYPE>
  %z = {CLIPPED}
  %y = stablehlo.multiply %z, %x0 : tensor<DIMSTYPE>""")),
    ("in a loop", alike(None, 2, reference=clipped_steps, text=CLIPPED_STEPS))]}
