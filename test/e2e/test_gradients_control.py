"""Compares the gradients of control flow with jax.grad: loops of known trips, branches, nested ones."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from st_testing import main
from test_gradients import A, case

W, X, H = (3, 3), (4, 3), (3,)


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
    return lax.scan(body, (jnp.zeros(3, xs.dtype), jnp.zeros(3, xs.dtype)), xs)[1]


def counter_loop(start, end, step, compare):
    """A loop as no helper of JAX's prints it: the counter itself enters the value."""
    def run(x):
        def body(state):
            i, y = state
            return i + step, jnp.sin(y) * x + i.astype(x.dtype)
        return lax.while_loop(lambda state: compare(state[0], end), body, (start, x))[1]

    def unrolled(x):
        i, y = start, x
        while compare(i, end):
            i, y = i + step, jnp.sin(y) * x + i.astype(x.dtype)
        return y
    return case(run, A, reference=unrolled)


def nested(w, x):
    def outer(h, row):
        def inner(k, v):
            return jnp.tanh(v @ w + row) * (1 + 0.1 * jnp.asarray(k, v.dtype))
        return lax.fori_loop(0, 3, inner, h), h.sum()
    h, ys = lax.scan(outer, jnp.ones(3, x.dtype), x)
    return jnp.concatenate([h, ys])


def branch_in_loop(w, x):
    def body(h, row):
        h = lax.cond(row.sum() > 0, lambda h: jnp.sin(h @ w), lambda h: h * row, h)
        return h, h
    return lax.scan(body, jnp.ones(3, x.dtype), x)[1]


def loop_in_branch(p, w, x):
    def steps(x):
        return lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ w), x)
    return lax.cond(p > 0, steps, lambda x: x * w.sum(), x)


def switch(index):
    def run(x, y, c):
        return lax.switch(index, [lambda x: jnp.sin(x) * y, lambda x: x * 2, lambda x: jnp.exp(x @ y.T) @ x + c], x)
    return run


def cond(value):
    def run(x, y):
        p = x[0, 0] * 0 + value > 0
        return lax.cond(p, lambda x, y: jnp.sin(x) * jnp.cos(y), lambda x, y: jnp.exp(x) + y, x, y)
    return run


def swap(x, y):
    """Carries change places."""
    def body(i, state):
        a, b = state
        return b * 1.5, a * b
    return sum(lax.fori_loop(0, 3, body, (x, y)))


def carried(x):
    """Values that are carried but have no part in the result, and one that has from the second trip on."""
    def body(i, state):
        a, b, c = state
        return a * 2, b + c, jnp.cos(x) * c
    return lax.fori_loop(0, 3, body, (x, jnp.zeros_like(x), x))[1]


def powers(x):
    """A stacked value that the loop reads and writes at different places."""
    def body(i, rows):
        return lax.dynamic_update_index_in_dim(rows, lax.dynamic_index_in_dim(rows, i, 0, False) * x, i + 1, 0)
    return lax.fori_loop(0, 4, body, jnp.zeros((5, 3), x.dtype).at[0].set(jnp.cos(x)))


def integers(x):
    """The loop sorts and looks up: what it saves are integers too."""
    def body(i, y):
        order = jnp.argsort(y)
        return jnp.where(y[order] > 0.5, y[order] * x, jnp.sin(y)) + x[i]
    return lax.fori_loop(0, 3, body, x)


LOOPS = [
    ("scan", case(rnn, W, X, H, ())),
    ("scan, reversed", case(lambda xs, c: lax.scan(lambda h, x: (h * c + jnp.sin(x), h * x), xs[0], xs, reverse=True)[1], X, ())),
    ("scan, lstm", case(lstm, (12, 3), (12, 3), (12,), X)),
    ("scan of no trips", case(lambda xs, h: lax.scan(lambda h, x: (h * x, h), h, xs)[0], (0, 3), H)),
    ("scan of one trip", case(lambda xs, h: lax.scan(lambda h, x: (h * x, h), h, xs)[0], (1, 3), H)),
    ("scan of nothing", case(lambda xs, h: lax.scan(lambda h, x: (h * x, h), h, xs)[0], (2, 0), (0,))),
    ("scan of scalars", case(lambda xs, h: lax.scan(lambda h, x: (jnp.sin(h) * x, h), h, xs)[1], (5,), ())),
    ("scan of rematerialised steps", case(lambda w, x: lax.scan(
        jax.checkpoint(lambda h, row: (jnp.tanh(h @ w + row), h)), jnp.ones(3, x.dtype), x)[1], W, X)),
    ("fori_loop", case(lambda x, y: lax.fori_loop(2, 6, lambda i, v: v * y + jnp.sin(v) * i, x), A, A)),
    ("loop that counts down", counter_loop(jnp.int32(7), 1, -2, lambda i, n: i > n)),
    ("loop up to and with", counter_loop(jnp.int32(-1), 5, 3, lambda i, n: i <= n)),
    ("loop until unequal", counter_loop(jnp.int32(3), 0, -1, lambda i, n: i != n)),
    ("loop with the limit on the left", counter_loop(jnp.int32(0), 3, 1, lambda i, n: n > i)),
    ("loop of an unsigned counter", counter_loop(jnp.uint8(200), np.uint8(206), np.uint8(2), lambda i, n: i < n)),
    ("loop that exchanges", case(swap, A, A)),
    ("loop with idle carries", case(carried, A)),
    ("loop that writes rows", case(powers, H)),
    ("loop that saves integers", case(integers, (5,))),
    ("loop in a loop", case(nested, W, X)),
]
BRANCHES = [
    *[(f"switch {i}", case(switch(jnp.int32(i)), A, A, ())) for i in range(3)],
    *[(f"cond {which}", case(cond(value), A, A)) for which, value in (("true", 1.0), ("false", -1.0))],
    ("branch in a loop", case(branch_in_loop, W, X)),
    *[(f"loop in a branch {which}", case(loop_in_branch, values=[np.float32(p), *(
        np.random.default_rng(0).uniform(-1, 1, s).astype(np.float32) for s in (W, H))]))
      for which, p in (("true", 1), ("false", -1))],
]

if __name__ == "__main__":
    sys.exit(main(*LOOPS, *BRANCHES))
