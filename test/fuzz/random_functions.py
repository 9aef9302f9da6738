"""Random differentiable JAX functions: a sequence of steps, including control flow.

Values stay of order one, and nothing depends on the sign of a rounding error.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LARGEST = 400


class RandomFunction:
    """A function of a list of parameters; its shapes and steps follow from the seed alone. A step is a function of all
    values so far; the newest ones are the most likely operands."""

    def __init__(self, rng):
        self.rng = rng
        self.shapes = [self.shape() for _ in range(rng.randint(2, 4))]
        self.parameters = list(self.shapes)
        self.steps = []
        names = [name.removeprefix("step_") for name in dir(self) if name.startswith("step_")]
        while len(self.steps) < rng.randint(4, 9):
            self.extend(getattr(self, "step_" + rng.choice(names))())

    def extend(self, step):
        """Adds the step if it fits the available values."""
        if step is None:
            return
        example = [jax.ShapeDtypeStruct(shape, np.float32) for shape in self.shapes]
        shape = jax.eval_shape(lambda *values: step(list(values)), *example).shape
        if np.prod(shape, dtype=int) <= LARGEST:
            self.steps.append(step)
            self.shapes.append(shape)

    def __call__(self, *parameters):
        values = list(parameters)
        for step in self.steps:
            values.append(step(values))
        # Values that no step reads count too.
        return jnp.concatenate([jnp.ravel(value) for value in values[-3:]])

    # ---- choices

    def shape(self, rank=None):
        return tuple(self.rng.choice([1, 2, 3, 4, 5]) for _ in range(self.rng.randint(0, 3) if rank is None else rank))

    def pick(self, condition=lambda shape: True):
        fitting = [i for i, shape in enumerate(self.shapes) if condition(shape)]
        return fitting[-1 - min(int(self.rng.expovariate(0.6)), len(fitting) - 1)] if fitting else None

    def ranked(self, rank=1):
        return self.pick(lambda shape: len(shape) >= rank and 0 not in shape)

    # ---- steps

    def step_unary(self):
        i = self.pick()
        function = self.rng.choice([jnp.tanh, jnp.sin, jnp.cos, lax.logistic, jnp.arctan, lambda x: jnp.log1p(x * x),
                                    lambda x: lax.rsqrt(1 + x * x), lambda x: lax.erf(x), lambda x: jnp.exp(-x * x)])
        return lambda v: function(v[i])

    def step_binary(self):
        i = self.pick()
        j = self.pick(lambda shape: shape == self.shapes[i])
        function = self.rng.choice([lax.add, lax.sub, lax.max, lax.min, lambda a, b: jnp.tanh(a * b),
                                    lambda a, b: a / (1 + b * b), lambda a, b: jnp.where(a > b, a * 1.5, jnp.sin(b))])
        return lambda v: function(v[i], v[j])

    def step_broadcast(self):
        i = self.pick()
        shape = (self.rng.randint(1, 3), *self.shapes[i])
        return lambda v: jnp.broadcast_to(v[i], shape)

    def step_transpose(self):
        i = self.ranked(2)
        order = i is not None and self.rng.sample(range(len(self.shapes[i])), len(self.shapes[i]))
        return None if i is None else lambda v: jnp.transpose(v[i], order)

    def step_dot(self):
        i = self.ranked()
        j = i is not None and self.pick(lambda shape: shape and shape[0] == self.shapes[i][-1])
        return None if i is None or j is None else lambda v: jnp.tanh(jnp.tensordot(v[i], v[j], 1))

    def step_reduce(self):
        i = self.ranked()
        function = self.rng.choice([jnp.sum, jnp.mean, jnp.max, jnp.min, lambda x, axis: jnp.prod(jnp.cos(x), axis),
                                    jax.nn.logsumexp])
        axis = i is not None and self.rng.randrange(len(self.shapes[i]))
        return None if i is None else lambda v: jnp.tanh(function(v[i], axis=axis))

    def step_cumulate(self):
        i = self.ranked()
        function = self.rng.choice([lax.cumsum, lax.cumprod, lax.cummax])
        axis, reverse = i is not None and self.rng.randrange(len(self.shapes[i])), self.rng.random() < 0.5
        return None if i is None else lambda v: jnp.tanh(function(jnp.sin(v[i]), axis, reverse=reverse))

    def step_rearrange(self):
        i = self.ranked()
        function = self.rng.choice([
            lambda x: jnp.flip(x, 0), lambda x: jnp.concatenate([x, x * 0.5]), lambda x: x[1:], lambda x: x[::2],
            lambda x: jnp.pad(x, [(1, 2)] + [(0, 0)] * (x.ndim - 1)), jnp.ravel, lambda x: lax.sort(x, dimension=0)])
        return None if i is None else lambda v: function(v[i])

    def step_gather(self):
        i = self.ranked()
        if i is None:
            return None
        places = np.array([self.rng.randrange(self.shapes[i][0]) for _ in range(self.rng.randint(1, 4))], np.int32)
        return lambda v: v[i][places]

    def step_scatter(self):
        i = self.ranked()
        kind = self.rng.choice(["add", "set", "max"])
        places = np.array([self.rng.randrange(4) for _ in range(3)], np.int32)

        def step(v):
            updates = jnp.cos(jnp.broadcast_to(v[i].sum(0), (3, *v[i].shape[1:])) * np.arange(1, 4).reshape(
                3, *[1] * (v[i].ndim - 1)))
            return getattr(v[i].at[places], kind)(updates, mode="drop")
        return None if i is None else step

    def step_scan(self):
        i, factor = self.ranked(), self.pick()
        reverse, last = self.rng.random() < 0.3, self.rng.random() < 0.3

        def step(v):
            def body(carry, row):
                carry = jnp.tanh(carry * jnp.sin(v[factor]).sum() + row)
                return carry, carry * row
            carry, rows = lax.scan(body, jnp.zeros_like(v[i][0]), v[i], reverse=reverse)
            return carry if last else rows
        return None if i is None else step

    def step_repeat(self):
        i, j = self.pick(), self.pick()
        start, count = self.rng.choice([0, 3]), self.rng.randint(1, 4)

        def step(v):
            def body(trip, x):
                return jnp.where(trip % 2 == 0, jnp.sin(x) * jnp.mean(v[j]), jnp.cos(x) + trip)
            return lax.fori_loop(start, start + count, body, v[i])
        return step

    def step_choose(self):
        i, j, k = self.pick(), self.pick(), self.rng.randint(0, 2)
        return lambda v: lax.switch(jnp.int32(k) + (v[j].sum() * 0).astype(jnp.int32), [
            jnp.sin, lambda x: x * jnp.mean(jnp.cos(v[j])), lambda x: jnp.tanh(x) * x], v[i])
