"""Gradients of ops on windows: convolutions, pooling and cumulative ops."""

import jax
import jax.numpy as jnp
import numpy as np
from gradient_testing import Case, drawn, of, refused
from jax import lax


@drawn("plain", "empty")
def convolutions(draw):
    """Any strides, padding, dilations and layout, and groups of one kind."""
    rank = draw.rank(0, 2)
    groups, feature_groups = draw.choice(1, 1, 2, 3), draw.flag()
    batch, features = draw.size(1, 3) * (1 if feature_groups else groups), draw.integer(1, 2)
    outputs = draw.integer(1, 2) * groups
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    strides, base, dilations = ([draw.integer(1, 3) for _ in range(rank)] for _ in range(3))
    padding = [(draw.integer(-1, 3), draw.integer(-1, 3)) for _ in range(rank)]
    # The input is at least as large as its cropping and the kernel.
    image = [draw.integer(2, 4) + (k - 1) * d for k, d in zip(kernel, dilations)]
    space = "HW"[:rank]
    layout = draw.choice(("NC" + space, "OI" + space, "NC" + space), ("N" + space + "C", space + "IO", "N" + space + "C"),
                         (space + "CN", "I" + space + "O", "C" + space + "N"))
    sizes = dict(zip("HW", image)) | {"N": batch, "C": features * (groups if feature_groups else 1)}
    weights = dict(zip("HW", kernel)) | {"I": features, "O": outputs}
    return Case(lambda x, k: lax.conv_general_dilated(
        x, k, strides, padding, base, dilations, layout, groups if feature_groups else 1,
        1 if feature_groups else groups), [sizes[c] for c in layout[0]], [weights[c] for c in layout[1]])


IDENTITIES = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}


def pooling(name, dilated=False, reference=None):
    """Windows that overlap, leave gaps and cross the edges; no window of a maximum or minimum is entirely outside the
    operand."""
    @drawn("plain", "empty")
    def make(draw):
        shape = draw.shape(low=1, high=2, largest=6)
        window = [draw.integer(1, 3) for _ in shape]
        strides = [draw.integer(1, 3) for _ in shape]
        base, dilations = ([draw.integer(1, 3) if dilated else 1 for _ in shape] for _ in range(2))
        padding = [(draw.integer(0, w - 1), draw.integer(0, w - 1)) if d else (0, 0) for w, d in zip(window, shape)]
        arguments = window, strides, padding, base, dilations

        def run(x):
            return lax.reduce_window(x, of(x, IDENTITIES[name]), getattr(lax, name), *arguments)
        return Case(run, shape, reference=reference and (lambda x: reference(x, *arguments)))
    return make


@drawn("plain")
def selections(draw):
    """The transpose of pooling: the operand's windows determine where the source goes."""
    shape = (draw.integer(3, 6), draw.integer(3, 6))
    window, strides = [draw.integer(1, 3) for _ in shape], [draw.integer(1, 3) for _ in shape]
    padding = [(draw.integer(0, w - 1), draw.integer(0, w - 1)) for w in window]

    def pool(x):
        return lax.reduce_window(x, of(x, -np.inf), lax.max, window, strides, padding)
    return Case(lambda x, source: jax.vjp(pool, x)[1](source)[0], shape,
                jax.eval_shape(pool, jax.ShapeDtypeStruct(shape, np.float32)).shape)


def window_products(x, window, strides, padding, base, dilations):
    """Products over windows, from slices, because JAX does not differentiate its own op."""
    x = lax.pad(x, of(x, 1), tuple((low, high, d - 1) for (low, high), d in zip(padding, base)))
    counts = [(x.shape[d] - (w - 1) * dilations[d] - 1) // strides[d] + 1 for d, w in enumerate(window)]
    result = jnp.ones([max(0, count) for count in counts], x.dtype)
    if result.size:
        for place in np.ndindex(*window):
            start = [i * d for i, d in zip(place, dilations)]
            limit = [s + (c - 1) * t + 1 for s, c, t in zip(start, counts, strides)]
            result = result * lax.slice(x, start, limit, strides)
    return result


CUMULATIVE = [lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp]


def cumulative(function, platform):
    @drawn("plain", "empty")
    def make(draw):
        shape = draw.shape(low=1, largest=9)
        dim, reverse = draw.integer(0, len(shape) - 1), draw.flag()
        return Case(lambda x: function(x, dim, reverse=reverse), shape, platform=platform)
    return make


WINDOWS = {
    "stablehlo.convolution": [
        ("shapes", convolutions),
        ("depthwise", Case(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", feature_group_count=3),
                           (2, 3, 4, 5), (6, 1, 2, 2))),
        ("complex", Case(lambda x, y: lax.imag(lax.conv_general_dilated(
            lax.complex(x, y), lax.complex(y, x)[:, :, :2, :2], (2, 1), "SAME")), (3, 3, 4, 4), (3, 3, 4, 4),
            platform="tpu"))],
    "stablehlo.reduce_window": [
        ("add", pooling("add", dilated=True)),
        ("maximum", pooling("max")),
        ("minimum", pooling("min")),
        ("multiply", pooling("mul", dilated=True, reference=window_products)),
        ("nothing", Case(lambda x: lax.reduce_window(x, of(x, 0), lax.add, (2,), (1,), "VALID"), (1,))),
        ("multiply of nothing", Case(lambda x: lax.reduce_window(x, of(x, 1), lax.mul, (2,), (1,), "VALID"), (1,),
                                     reference=lambda x: x[:0])),
        ("maximum, spread", Case(lambda x: lax.reduce_window(
            x, of(x, -np.inf), lax.max, (2, 3), (1, 2), ((1, 1), (1, 0)), (2, 2)), (4, 5))),
        ("maximum, dilated", Case(lambda x: lax.reduce_window(x, of(x, -np.inf), lax.max, (2,), (1,), "VALID", (1,), (2,)),
                                  (6,), reference=lambda x: jnp.maximum(x[:-2], x[2:]))),
        ("maximum and more", Case(lambda x: lax.reduce_window(x, of(x, 0.5), lax.max, (2,), (1,), "VALID"), (6,),
                                  reference=lambda x: jnp.maximum(jnp.maximum(x[:-1], x[1:]), 0.5))),
        ("logs of sums of exponentials", Case(
            lambda x: lax.reduce_window(x, of(x, -np.inf), jnp.logaddexp, (3,), (1,), ((2, 1),)), (6,),
            reference=lambda x: jax.nn.logsumexp(jnp.stack([lax.pad(x, of(x, -np.inf), [(2 - i, i - 1, 0)])
                                                            for i in range(3)]), 0))),
        *[(f"{function.__name__} for {platform}", cumulative(function, platform))
          for function in CUMULATIVE for platform in ("cpu", "cuda", "tpu")],
        *[(f"{function.__name__} of equals", Case(lambda x, function=function: function(x, 1), values=[
            np.array([[1, 2, 2, 2, 0, 2, 3], [0, 0, 0, -1, -1, 0, 1]])])) for function in CUMULATIVE],
        ("a computation that is not elementwise", refused("""
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%w, %low) <{window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  %y = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>""",
                                                          "has no gradient rule: expected a computation of elementwise "
                                                          "ops"))],
    "stablehlo.select_and_scatter": [
        ("shapes", selections),
        ("nothing", Case(lambda x, source: jax.vjp(lambda x: lax.reduce_window(
            x, of(x, -np.inf), lax.max, (2, 1), (2, 1), "VALID"), x)[1](source)[0], (4, 0), (2, 0))),
        ("another selection", refused("""
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.slice %w [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %0 = "stablehlo.select_and_scatter"(%w, %s, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare NE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.slice %0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>"""))],
}
