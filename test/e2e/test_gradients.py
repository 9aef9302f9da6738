"""Compares the gradient rule of every op with jax.grad, on programs that JAX prints."""

import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax_models import loss_function
from st_programs import interpret, transform
from st_testing import expect, main

A, B = (3, 4), (4, 5)


def arrays(shapes, low, high):
    rng = np.random.default_rng(0)
    return [rng.uniform(low, high, shape).astype(np.float32) for shape in shapes]


def loss_of(function):
    """A scalar that weighs every element of the function's value differently."""
    def loss(*arguments):
        value = function(*arguments)
        weights = np.cos(np.arange(value.size, dtype=np.float32)).reshape(value.shape)
        return jnp.sum(value.astype(jnp.float32) * weights)
    return loss


def case(function, *shapes, low=-2.0, high=2.0, values=None, reference=None):
    """The gradients of `function` for operands of the shapes, drawn from [low, high). JAX differentiates
    `reference`, where it is given, in its stead."""
    def run(folder):
        operands = values if values is not None else arrays(shapes, low, high)
        loss = loss_of(function)
        text = jax.jit(loss, keep_unused=True).lower(*operands).as_text()
        signature = re.search(r"@main\((.*?)\) ->", text).group(1)
        named = re.sub(r"%arg(\d+): (tensor<[^>]*>)", r'%arg\1: \2 {st.name = "x\1", st.role = "parameter"}', signature)
        program = folder / "program.mlir"
        program.write_text(text.replace(signature, named, 1))
        found = interpret(transform(program, "--inline-calls", "--differentiate"),
                          {f"x{i}": x for i, x in enumerate(operands)})
        value, gradients = jax.value_and_grad(loss_of(reference or function), tuple(range(len(operands))))(*operands)
        expect(np.allclose(found["loss"], value, rtol=1e-5, atol=1e-5), f"value {found['loss']}, JAX's {value}")
        for i, gradient in enumerate(gradients):
            expect(found[f"x{i}"].shape == gradient.shape, f"gradient of x{i} has shape {found[f'x{i}'].shape}")
            error = np.abs(found[f"x{i}"] - gradient).max(initial=0)
            expect(error <= 2e-5 * max(1, np.abs(gradient).max(initial=0)),
                   f"gradient of x{i} is off by {error:.1e}:\n{found[f'x{i}']}\nJAX's:\n{gradient}")
    return run


def take(x, indices, **changed):
    numbers = lax.GatherDimensionNumbers(**({"offset_dims": (1,), "collapsed_slice_dims": (0,),
                                             "start_index_map": (0,)} | changed.pop("numbers", {})))
    return lax.gather(x, np.array(indices, np.int32), numbers, **({"slice_sizes": (1, 4), "mode": "clip"} | changed))


TIES = [np.array([[1, 2, 2], [3, 3, 3]], np.float32)]

def clamp_by_extrema(low, x, high):
    # JAX's own gradient knows no scalar bounds, and none that cross.
    return jnp.minimum(jnp.maximum(x, low), high)


ELEMENTWISE = [
    ("add", case(lax.add, A, A)),
    ("subtract", case(lax.sub, A, A)),
    ("multiply", case(lax.mul, A, A)),
    ("multiply by itself", case(lambda x: x * x, A)),
    ("divide", case(lax.div, A, A, low=0.5)),
    ("maximum", case(lax.max, A, A)),
    ("maximum of equals", case(lambda x: lax.max(x, jnp.float32(2) + jnp.zeros_like(x)), values=TIES)),
    ("minimum", case(lax.min, A, A)),
    ("power", case(lax.pow, A, A, low=0.3)),
    ("power of zero", case(lax.pow, values=[np.array([0, 0, 2], np.float32), np.array([2, 1, 0], np.float32)])),
    ("atan2", case(lax.atan2, A, A, low=0.3)),
    ("abs", case(lax.abs, A)),
    ("cbrt", case(lax.cbrt, A, low=0.5)),
    ("cosine", case(lax.cos, A)),
    ("exponential", case(lax.exp, A)),
    ("exponential_minus_one", case(lax.expm1, A)),
    ("log", case(lax.log, A, low=0.3)),
    ("log_plus_one", case(lax.log1p, A, low=-0.5)),
    ("logistic", case(lax.logistic, A)),
    ("negate", case(lax.neg, A)),
    ("rsqrt", case(lax.rsqrt, A, low=0.3)),
    ("sine", case(lax.sin, A)),
    ("sqrt", case(lax.sqrt, A, low=0.3)),
    ("tan", case(lax.tan, A, low=-1.0, high=1.0)),
    ("tanh", case(lax.tanh, A)),
    ("erf", case(lax.erf, A)),
    ("erfc", case(lax.erfc, A)),
    ("erf_inv", case(lax.erf_inv, A, low=-0.9, high=0.9)),
    ("square", case(lax.square, A)),
    ("remainder", case(lax.rem, values=[np.array([7.5, -7.5, 5.3, -2.0], np.float32),
                                        np.array([2, 2, -1.4, 3], np.float32)])),
    ("lgamma", case(lax.lgamma, A, low=0.3, high=5.0)),
    ("digamma", case(lax.digamma, A, low=0.3, high=5.0)),
    ("sinh", case(lax.sinh, A)),
    ("cosh", case(lax.cosh, A)),
    ("asin", case(lax.asin, A, low=-0.9, high=0.9)),
    ("acos", case(lax.acos, A, low=-0.9, high=0.9)),
    ("atan", case(lax.atan, A)),
    ("asinh", case(lax.asinh, A)),
    ("acosh", case(lax.acosh, A, low=1.2, high=4.0)),
    ("atanh", case(lax.atanh, A, low=-0.9, high=0.9)),
    ("convert", case(lambda x: (x.astype(jnp.bfloat16) * jnp.bfloat16(3)).astype(jnp.float32), A)),
    ("reduce_precision", case(lambda x: lax.reduce_precision(x, 8, 10) * 3, A)),
    ("zero gradients", case(lambda x: x * (jnp.floor(x) + jnp.ceil(x) + lax.round(x) + jnp.sign(x)), A)),
    ("select", case(lambda x, y: jnp.where(x > y, x * 2, y * 3), A, A)),
    ("select by a scalar", case(lambda x, y: lax.select(x[0, 0] > 9, x, y), A, A)),
    ("clamp", case(lax.clamp, A, A, A, reference=clamp_by_extrema)),
    ("clamp by scalars", case(lax.clamp, reference=clamp_by_extrema, values=[
        np.float32(-0.5), *arrays([A], -2, 2), np.float32(0.7)])),
    ("optimization_barrier", case(lambda x, y: sum(lax.optimization_barrier((x * 2, y))), A, A)),
]

SHAPES = [
    ("broadcast_in_dim", case(lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)), A)),
    ("broadcast_in_dim of size one", case(lambda x: lax.broadcast_in_dim(x, (3, 6, 4), (0, 1, 2)), (3, 1, 4))),
    ("broadcast_in_dim of a scalar", case(lambda x: -lax.broadcast_in_dim(x, (3, 4), ()), ())),
    ("reshape", case(lambda x: lax.reshape(x, (2, 6)), A)),
    ("transpose", case(lambda x: lax.transpose(x, (2, 0, 1)), (2, 3, 4))),
    ("reverse", case(lambda x: lax.rev(x, (1,)), A)),
    ("slice", case(lambda x: lax.slice(x, (1, 0), (3, 4), (1, 3)), A)),
    ("slices that tile", case(lambda x: lax.slice(x, (2, 0), (3, 4)) * lax.slice(x, (0, 0), (2, 4)).sum(), A)),
    ("slices that overlap", case(lambda x: x[:2] * x[1:], A)),
    ("pad", case(lambda x, v: lax.pad(x, v, ((1, 2, 0), (0, 1, 2))), A, ())),
    ("pad that crops", case(lambda x, v: lax.pad(x, v, ((-1, 2, 1), (1, -2, 0))), A, ())),
    ("concatenate", case(lambda x, y: lax.concatenate([x, y, x], 0), A, (2, 4))),
    ("dynamic_slice", case(lambda x: lax.dynamic_slice(x, (jnp.int32(1), jnp.int32(9)), (2, 2)), A)),
    ("dynamic_update_slice", case(lambda x, y: lax.dynamic_update_slice(x, y, (jnp.int32(1), jnp.int32(2))), A, (2, 2))),
]

REDUCTIONS = [
    ("reduce add", case(lambda x: x.sum((0, 2)), (2, 3, 4))),
    ("reduce add, nothing", case(lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), (0, 3))),
    ("reduce maximum", case(lambda x: x.max(1), A)),
    ("reduce maximum of equals", case(lambda x: x.max(1), values=TIES)),
    ("reduce minimum", case(lambda x: x.min(0), A)),
    ("softmax", case(jax.nn.softmax, A)),
    ("layer norm", case(lambda x: jax.nn.standardize(x, axis=-1), A)),
]

PRODUCTS = [
    ("dot_general", case(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))), A, B)),
    ("dot_general, right transposed", case(lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))), A, (5, 4))),
    ("dot_general, left transposed", case(lambda x, y: lax.dot_general(x, y, (((0,), (1,)), ((), ()))), A, (5, 3))),
    ("dot_general, batch", case(
        lambda x, y: lax.dot_general(x, y, (((3,), (1,)), ((0, 2), (0, 3)))), (2, 3, 4, 5), (2, 5, 6, 4))),
    ("dot_general, two contracted", case(
        lambda x, y: lax.dot_general(x, y, (((1, 3), (2, 0)), ((), ()))), (2, 3, 4, 5), (5, 6, 3))),
    ("dot_general, batch in another order", case(
        lambda x, y: lax.dot_general(x, y, (((0,), (2,)), ((2, 1), (0, 1)))), (2, 3, 4), (4, 3, 2, 5))),
    ("dot_general, outer", case(lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), (3,), (2, 2))),
    ("dot_general, vectors", case(lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))), (4,), (4,))),
    ("dot_general of transposes", case(
        lambda x, y: lax.dot_general(x.transpose(0, 2, 1), y.T, (((1,), (0,)), ((), ()))), (2, 3, 4), (5, 4))),
    ("attention", case(lambda q, k, v: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(
        jnp.einsum("bqhd,bkhd->bhqk", q, k)), v).reshape(2, 3, 8), (2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4))),
]

INDEXING = [
    ("gather of rows", case(lambda x: take(x, [[1], [0], [1], [1]]), A)),
    ("gather out of bounds", case(lambda x: take(x, [[7], [-3], [1]]), A)),
    ("gather of blocks", case(lambda x: take(x, [[0, 9], [1, 1], [2, 0]], slice_sizes=(2, 2), numbers={
        "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}), (4, 4))),
    ("gather with batches", case(lambda x: take(x, [[[0], [1]], [[3], [3]]], slice_sizes=(1, 1), numbers={
        "offset_dims": (), "collapsed_slice_dims": (1,), "start_index_map": (1,), "operand_batching_dims": (0,),
        "start_indices_batching_dims": (0,)}), (2, 4))),
    ("scatter add", case(lambda x, u: x.at[jnp.array([1, 0, 1])].add(u), A, (3, 4))),
    ("scatter add out of bounds", case(lambda x, u: x.at[jnp.array([1, 9, 0]), jnp.array([0, 1, 7])].add(u), A, (3,))),
    ("scatter add of one", case(lambda x, u: x.at[1, 2].add(u), A, ())),
    ("scatter that overwrites", case(lambda x, u: x.at[jnp.array([2, 0])].set(u * 2), A, (2, 4))),
    ("scatter that overwrites out of bounds", case(lambda x, u: x.at[jnp.array([2, 9])].set(u), A, (2, 4))),
    ("scatter that overwrites itself", case(lambda x, u: x.at[jnp.array([1, 1, 0])].set(u), A, (3, 4))),
    ("scatter of nothing", case(lambda x, u: x.at[jnp.zeros((0,), jnp.int32)].add(u), A, (0, 4))),
    ("sort", case(lambda x: lax.sort(x, dimension=0), (5, 3))),
    ("sort of several by a key", case(lambda x, y: lax.sort((x, y * 2, x + y), dimension=1, num_keys=1)[1], A, A)),
    ("sort of equals", case(lambda x, y: lax.sort((x, y), num_keys=1)[1], values=[*TIES, 2 * TIES[0]])),
    ("top_k", case(lambda x: lax.top_k(x, 2)[0], (3, 5))),
    ("top_k of a vector", case(lambda x: lax.top_k(x, 3)[0], (6,))),
]



def conv(strides, padding, lhs_dilation, rhs_dilation, layout, feature_groups=1, batch_groups=1):
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, lhs_dilation, rhs_dilation, layout,
                                                 feature_groups, batch_groups)


NCHW, NHWC = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")
NO, ONES = ((0, 0), (0, 0)), (1, 1)
DILATED = ((2, 1), ((1, 2), (0, 3)), (1, 2), (2, 1))

WINDOWS = [
    ("convolution", case(conv(ONES, NO, ONES, ONES, NCHW), (2, 3, 5, 4), (4, 3, 3, 2))),
    ("convolution, strided beyond the kernel", case(conv((3, 2), NO, ONES, ONES, NHWC), (2, 8, 7, 3), (2, 1, 3, 4))),
    ("convolution, padded and dilated", case(conv(*DILATED, NHWC), (2, 6, 5, 3), (3, 2, 3, 4))),
    ("convolution that crops", case(conv((1, 2), ((-1, 2), (3, -2)), ONES, ONES, NCHW), (1, 2, 6, 7), (3, 2, 2, 3))),
    ("convolution, feature groups", case(conv(*DILATED, NHWC, 2), (2, 6, 5, 4), (3, 2, 2, 6))),
    ("convolution, depthwise", case(conv(ONES, NO, ONES, ONES, NCHW, 3), (2, 3, 4, 5), (6, 1, 2, 2))),
    ("convolution, batch groups", case(conv(*DILATED, NCHW, 1, 2), (4, 3, 6, 5), (6, 3, 3, 2))),
    ("convolution of no batch", case(conv(ONES, NO, ONES, ONES, NCHW), (0, 3, 5, 4), (4, 3, 3, 2))),
    ("reduce_window add", case(lambda x: lax.reduce_window(
        x, np.float32(0), lax.add, (2, 3), (2, 1), ((1, 0), (0, 2)), (1, 2), (2, 1)), (5, 6))),
    ("reduce_window add, strided beyond the window", case(lambda x: lax.reduce_window(
        x, np.float32(0), lax.add, (2, 1), (3, 2), "VALID"), (6, 6))),
    ("reduce_window maximum", case(lambda x: lax.reduce_window(
        x, -np.float32(np.inf), lax.max, (2, 3), (1, 2), ((1, 0), (1, 2))), (5, 6))),
    ("reduce_window minimum", case(lambda x: lax.reduce_window(
        x, np.float32(np.inf), lax.min, (2, 2), (2, 2), "VALID"), (4, 6))),
    ("cumsum", case(lambda x: lax.cumsum(x, 0), (5, 3))),
    ("cumsum, reversed", case(lambda x: lax.cumsum(x, 1, reverse=True), (3, 5))),
    ("cummax", case(lambda x: lax.cummax(x, 0), (5, 3))),
]


def whole_model(task, config, fields):
    """A model as JAX prints it, without St's front end. `fields` are the names and shapes of its parameters
    and integer inputs, (name, shape, limit), limit 0 for a parameter."""
    rng = np.random.default_rng(1)
    parameters = {n: rng.normal(scale=0.2, size=s).astype(np.float32) for n, s, limit in fields if not limit}
    batch = {n: rng.integers(0, limit, s).astype(np.int32) for n, s, limit in fields if limit}

    def function(*values):
        return loss_function(config, task)(dict(zip(parameters, values, strict=True)), batch)

    return case(function, values=list(parameters.values()))


def bert_fields(hidden, inner, vocab, ids):
    def linear(name, out, inputs):
        return [(f"{name}.weight", (out, inputs), 0), (f"{name}.bias", (out,), 0)]

    def norm(name):
        return [(f"{name}.weight", (hidden,), 0), (f"{name}.bias", (hidden,), 0)]

    layer = "bert.encoder.layer.0."
    fields = [("bert.embeddings.word_embeddings.weight", (vocab, hidden), 0),
              ("bert.embeddings.position_embeddings.weight", (8, hidden), 0),
              ("bert.embeddings.token_type_embeddings.weight", (2, hidden), 0), *norm("bert.embeddings.LayerNorm")]
    for which in ("self.query", "self.key", "self.value", "output.dense"):
        fields += linear(f"{layer}attention.{which}", hidden, hidden)
    fields += norm(f"{layer}attention.output.LayerNorm") + norm(f"{layer}output.LayerNorm")
    fields += linear(f"{layer}intermediate.dense", inner, hidden) + linear(f"{layer}output.dense", hidden, inner)
    fields += linear("cls.predictions.transform.dense", hidden, hidden) + norm("cls.predictions.transform.LayerNorm")
    fields += [("cls.predictions.bias", (vocab,), 0)] + linear("bert.pooler.dense", hidden, hidden)
    fields += linear("cls.seq_relationship", 2, hidden)
    fields += [(name, ids, limit) for name, limit in (("input_ids", vocab), ("token_type_ids", 2), ("labels", vocab))]
    return fields + [("attention_mask", ids, 2), ("next_sentence_label", ids[:1], 2)]


MODELS = [("bert as JAX prints it", whole_model(
    "mlm", {"model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_dropout_prob": 0,
            "attention_probs_dropout_prob": 0}, bert_fields(8, 12, 11, (2, 5))))]

if __name__ == "__main__":
    sys.exit(main(*MODELS, *ELEMENTWISE, *SHAPES, *REDUCTIONS, *PRODUCTS, *INDEXING, *WINDOWS))
