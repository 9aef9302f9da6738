"""Cases of ATen operators with random shapes and attributes, for record_torch.py and test_torch_ops.py. Needs PyTorch.

A case draws its inputs and returns (function, inputs). Float inputs become parameters, others the batch.
"""

import math
import random

import torch
import torch.nn.functional as F

CASES = {}


def case(function):
    CASES[function.__name__.strip("_")] = function
    return function


def floats(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape) * scale).to(dtype)


def positive(*shape):
    return torch.rand(shape) * 2 + 0.2


def integers(high, *shape, low=0, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def bools(*shape):
    return torch.rand(shape) < 0.5


def sizes(rank, most=4):
    return [random.randint(1, most) for _ in range(rank)]


def broadcastable(shape):
    """A shape that broadcasts to `shape`: some dimensions are 1, leading ones may be missing."""
    shape = [random.choice((1, size)) for size in shape]
    return shape[random.randint(0, len(shape)):]


def some_dim(rank):
    return random.randint(-rank, rank - 1)


def some_dims(rank):
    dims = random.sample(range(rank), random.randint(1, rank))
    return [dim - random.choice((0, rank)) for dim in dims]


# Elementwise

UNARY = {
    "neg": torch.neg, "exp": torch.exp, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "erf": torch.erf, "abs": torch.abs, "relu": F.relu, "silu": F.silu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardtanh": F.hardtanh, "relu6": lambda x: F.relu6(4 * x),
    "hardswish": lambda x: F.hardswish(3 * x), "hardsigmoid": lambda x: F.hardsigmoid(3 * x), "elu": F.elu, "selu": F.selu,
    "celu": F.celu, "leaky_relu": F.leaky_relu, "softplus": lambda x: F.softplus(20 * x, 1.5), "mish": F.mish,
    "logsigmoid": F.logsigmoid, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc,
    "sign": torch.sign, "square": torch.square, "sinh": torch.sinh, "cosh": torch.cosh, "atan": torch.atan, "tanhshrink": F.tanhshrink,
    "softsign": F.softsign, "isnan": torch.isnan, "isinf": lambda x: torch.isinf(x / (x > 0)), "glu": lambda x: F.glu(torch.cat([x, 2 * x], -1)),
    "threshold": lambda x: F.threshold(x, 0.1, 20), "detach": lambda x: x.detach() * x, "clone": lambda x: x.clone(),
}
POSITIVE = {"log": torch.log, "log1p": torch.log1p, "log2": torch.log2, "log10": torch.log10, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
            "reciprocal": torch.reciprocal, "tan": lambda x: torch.tan(x * 0.5)}
INSIDE = {"asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh, "erfinv": torch.erfinv}


def _unary(function, make):
    return lambda: (function, [make(*sizes(random.randint(1, 3)))])


for _name, _function in UNARY.items():
    CASES[_name] = _unary(_function, floats)
for _name, _function in POSITIVE.items():
    CASES[_name] = _unary(_function, positive)
for _name, _function in INSIDE.items():
    CASES[_name] = _unary(_function, lambda *shape: torch.rand(shape) * 1.6 - 0.8)

BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "minimum": torch.minimum,
    "fmod": torch.fmod, "remainder": torch.remainder, "atan2": torch.atan2, "floor_divide": lambda a, b: torch.floor_divide(a.detach(), b.detach()),
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "add_alpha": lambda a, b: torch.add(a, b, alpha=-2.5), "sub_alpha": lambda a, b: torch.sub(a, b, alpha=3),
    "rsub": lambda a, b: torch.rsub(a, b), "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "hypot": torch.hypot, "lerp": lambda a, b: torch.lerp(a, b, 0.3), "logaddexp": torch.logaddexp,
}


def _binary(function):
    def make():
        shape = sizes(random.randint(1, 4))
        return function, [floats(*shape), floats(*broadcastable(shape))]
    return make


for _name, _function in BINARY.items():
    CASES[_name] = _binary(_function)

PROMOTED = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.int8, torch.bool)


def _typed(dtype, *shape):
    value = torch.randint(0, 5, shape)
    return value.to(dtype)


def _promotion(function):
    def make():
        shape = sizes(2)
        a, b = random.choice(PROMOTED), random.choice(PROMOTED)
        other = random.choice([_typed(b, *broadcastable(shape)), _typed(b), 2, 1.5, True])
        if isinstance(other, torch.Tensor):
            return function, [_typed(a, *shape), other]
        return (lambda x: function(x, other)), [_typed(a, *shape)]
    return make


for _i in range(8):
    CASES[f"promotion_mul_{_i}"] = _promotion(torch.mul)
    CASES[f"promotion_add_{_i}"] = _promotion(torch.add)
    CASES[f"promotion_gt_{_i}"] = _promotion(torch.gt)
for _i in range(4):
    CASES[f"promotion_div_{_i}"] = _promotion(lambda a, b: torch.div(a, b + 1 if not isinstance(b, bool) else 2))
    CASES[f"promotion_where_{_i}"] = _promotion(lambda a, b: torch.where(a > 2, a, b))


@case
def integer_division():
    return (lambda a, b: (torch.floor_divide(a, b), torch.remainder(a, b), torch.fmod(a, b))), [
        integers(9, 4, 3, low=-9), integers(5, 3, low=1) * random.choice((1, -1))]


@case
def power_scalar():
    exponent = random.choice((2, 3, 4, 0.5, -0.5, -1, 1.7, 0, 1))
    return (lambda x: torch.pow(x, exponent)), [positive(*sizes(2))]


@case
def power_tensor():
    return torch.pow, [positive(3, 4), floats(4)]


@case
def power_of_scalar():
    return (lambda x: torch.pow(2.5, x)), [floats(3, 4)]


@case
def clamp():
    low, high = random.choice(((-0.5, 0.5), (None, 0.3), (-0.2, None)))
    return (lambda x: torch.clamp(x, low, high)), [floats(*sizes(3))]


@case
def clamp_tensor():
    return (lambda x, low, high: torch.clamp(x, low, high)), [floats(3, 4), floats(4) - 1, floats(3, 1) + 1]


@case
def where():
    shape = sizes(3)
    return torch.where, [bools(*broadcastable(shape)), floats(*shape), floats(*broadcastable(shape))]


@case
def masked_fill():
    return (lambda x, m: x.masked_fill(m, -7.5)), [floats(3, 4), bools(1, 4)]


@case
def logic():
    return (lambda a, b: (a & b, a | b, a ^ b, ~a, torch.logical_not(b), torch.logical_and(a, b))), [bools(3, 4), bools(4)]


@case
def bitwise_integers():
    return (lambda a, b: (a & b, a | b, a ^ b, ~a)), [integers(99, 3, 4, low=-99), integers(99, 4)]


@case
def addcmul():
    return (lambda x, a, b: (torch.addcmul(x, a, b, value=0.7), torch.addcdiv(x, a, b.abs() + 1, value=-1.5))), [
        floats(3, 4), floats(3, 1), floats(4)]


@case
def conversions():
    return (lambda x: (x.to(torch.int32), x.half(), x.bfloat16(), x.to(torch.bool), x.double())), [floats(3, 4, scale=3.0)]


# Reductions

REDUCTIONS = {
    "sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin, "var": torch.var, "std": torch.std,
    "logsumexp": torch.logsumexp, "norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim),
}


def _reduction(function):
    def make():
        shape, keepdim = [size + 1 for size in sizes(random.randint(1, 4), 3)], random.random() < 0.5
        dims = some_dims(len(shape))
        return (lambda x: function(x, dim=dims, keepdim=keepdim)), [floats(*shape)]
    return make


for _name, _function in REDUCTIONS.items():
    CASES[_name] = _reduction(_function)


@case
def reductions_to_scalars():
    return (lambda x: (x.sum(), x.mean(), x.amax(), x.var(), x.std(), x.prod())), [floats(3, 4)]


@case
def prod():
    dim = some_dim(3)
    return (lambda x: torch.prod(x, dim)), [floats(2, 3, 4)]


@case
def any_all():
    dim = some_dim(2)
    return (lambda x: (x.any(dim), x.all(dim, keepdim=True), x.any(), x.all())), [bools(3, 4)]


@case
def sum_of_integers():
    return (lambda x, m: (x.sum(1), m.sum(), m.sum(0), x.sum(dtype=torch.float32))), [integers(9, 3, 4), bools(3, 4)]


@case
def cumsum():
    dim = some_dim(3)
    return (lambda x, i: (torch.cumsum(x, dim), torch.cumsum(i, -1))), [floats(2, 3, 4), integers(5, 2, 6)]


@case
def softmax():
    dim = some_dim(3)
    return (lambda x: (F.softmax(x, dim), F.log_softmax(x, dim))), [floats(2, 3, 4, scale=5.0)]


@case
def softmax_of_16_bits():
    return (lambda x: (F.softmax(x.bfloat16(), -1), F.log_softmax(x.half(), -1))), [floats(3, 5)]


@case
def sorting():
    dim, descending, largest = some_dim(2), random.random() < 0.5, random.random() < 0.5
    return (lambda x: (*x.sort(dim, descending), *x.topk(2, dim, largest), *x.sort(stable=True, dim=dim, descending=descending))), [floats(3, 4)]


@case
def extremes():
    dim, keepdim = some_dim(2), random.random() < 0.5
    return (lambda x, i: (*x.max(dim, keepdim), *x.min(dim, keepdim), x.argmax(), x.argmin(dim, keepdim), i.argmax(dim))), [
        floats(3, 4), torch.randperm(12).view(3, 4)]


# Shapes


@case
def view():
    return (lambda x: (x.view(6, -1), x.reshape(2, 12), x.flatten(1), x[:, None].squeeze(1), x.unsqueeze(-1))), [floats(2, 3, 4)]


@case
def permute():
    order = random.sample(range(4), 4)
    return (lambda x: (x.permute(order), x.transpose(1, -1), x[0, 0].t())), [floats(2, 3, 4, 2)]


@case
def expand():
    return (lambda x: (x.expand(3, -1, 4), x.expand(2, 3, 2, 4))), [floats(1, 2, 1)]


@case
def repeat():
    repeats = [random.randint(1, 3) for _ in range(random.randint(2, 4))]
    return (lambda x: (x.repeat(repeats), x.repeat_interleave(2, dim=1))), [floats(2, 3)]


@case
def slices():
    dim = some_dim(3)
    start, end, step = random.randint(-6, 3), random.randint(-2, 9), random.randint(1, 3)
    return (lambda x: (torch.ops.aten.slice.Tensor(x, dim, start, end, step), x[..., 1:-1], x[:, -1], x.narrow(1, 1, 2))), [floats(4, 5, 6)]


@case
def concatenate():
    dim = some_dim(3)
    return (lambda a, b: (torch.cat([a, b, a], dim), torch.stack([a, b], dim))), [floats(2, 3, 4), floats(2, 3, 4)]


@case
def splits():
    dim = some_dim(2)
    return (lambda x: (*x.split(2, dim), *x.chunk(2, dim), *x.unbind(0), *x.split([1, 3], 0))), [floats(4, 5)]


@case
def flips():
    return (lambda x: (x.flip([0, -1]), x.roll([1, -5], [0, 2]), x.roll(3))), [floats(2, 3, 4)]


@case
def padding():
    amounts = [random.randint(-1, 2) for _ in range(4)]
    return (lambda x: (F.pad(x, amounts, value=1.5), F.pad(x, [1, 2], mode="reflect"))), [floats(2, 4, 5)]


@case
def triangles():
    diagonal = random.randint(-2, 2)
    return (lambda x: (x.tril(diagonal), x.triu(diagonal))), [floats(2, 4, 5)]


@case
def slice_assignment():
    def assign(x, y):
        x = x.clone()
        x[:, 1:3] = y
        x[0, -1] = 2.0
        return x
    return assign, [floats(3, 4), floats(3, 2)]


@case
def pixel_shuffle():
    return (lambda x: F.pixel_shuffle(x, 2)), [floats(2, 8, 3, 2)]


@case
def created():
    return (lambda x: (torch.zeros_like(x) + 1, x.new_ones(2, 3), torch.full((2,), 3.5) * x[0, :2], torch.arange(1, 9, 3) * x[0, 0],
                       torch.full_like(x, math.inf) > x)), [floats(3, 4)]


# Indexing


@case
def embedding():
    padding = random.choice((None, 0, 2, -1))
    return (lambda w, i: F.embedding(i, w, padding_idx=padding)), [floats(5, 4), integers(5, 2, 3)]


@case
def gather():
    dim = some_dim(3)
    shape = [2, 3, 4]
    shape[dim] = random.randint(1, 6)
    return (lambda x, i: torch.gather(x, dim, i)), [floats(2, 3, 4), integers([2, 3, 4][dim], *shape)]


@case
def gather_of_fewer_rows():
    return (lambda x, i: torch.gather(x, 1, i)), [floats(4, 5, 3), integers(5, 2, 3, 2)]


@case
def index_select():
    dim = some_dim(3)
    return (lambda x, i: torch.index_select(x, dim, i)), [floats(3, 4, 5), integers(3, 4)]


@case
def index_one():
    return (lambda x, i: (x[i], x[:, i], x[..., i])), [floats(3, 3, 3), integers(3, 2, 2, low=-3)]


@case
def index_many():
    return (lambda x, i, j: (x[i, j], x[:, i, j], x[i, :, j], x[i[:, None], j], x[i, j, 1:])), [
        floats(3, 4, 5), integers(3, 2, low=-3), integers(4, 2)]


@case
def index_by_positions():
    return (lambda x: (x[torch.arange(3)[:, None], torch.arange(4)[None]], x[torch.arange(3), torch.arange(3)], x[[2, 0]], x[:, [1, 2]])), [
        floats(3, 4)]


@case
def index_put():
    return (lambda x, i, y: (x.index_put((i,), y), x.index_put((i,), y, accumulate=True), x.index_put((i[:2], i[1:]), y[0, 0]))), [
        floats(4, 4), torch.tensor([2, 0, -1]), floats(3, 4)]


@case
def scatter():
    dim = some_dim(2)
    index = torch.stack([torch.randperm(3)[:2] for _ in range(3)])
    index = index if dim % 2 else index.t().contiguous()
    return (lambda x, i, y: (x.scatter(dim, i, y), x.scatter_add(dim, i, y), x.scatter(dim, i, 1.5))), [floats(3, 3), index, floats(*index.shape)]


# Products


@case
def matmul():
    a, b = random.choice((([3, 4], [4, 5]), ([4], [4]), ([2, 3, 4], [4]), ([4], [2, 4, 3]), ([2, 1, 3, 4], [5, 4, 2]), ([2, 3, 4], [4, 5])))
    return torch.matmul, [floats(*a), floats(*b)]


@case
def products():
    return (lambda a, b, c: (a @ b, torch.addmm(c, a, b, beta=0.5, alpha=2.0), torch.bmm(a[None], b[None]), torch.baddbmm(c[None], a[None], b[None]),
                             torch.einsum("ij,jk->ki", a, b), torch.outer(a[0], b[0]))), [floats(3, 4), floats(4, 5), floats(3, 5)]


@case
def linear():
    return (lambda x, w, b: (F.linear(x, w, b), F.linear(x[0], w), F.linear(x, w[0]))), [floats(2, 3, 4), floats(5, 4), floats(5)]


@case
def attention():
    return (lambda q, k, v, m: (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                F.scaled_dot_product_attention(q, k, v, m), F.scaled_dot_product_attention(q, k, v, m * 2.0, scale=0.3))), [
        floats(2, 3, 4, 5), floats(2, 3, 6, 5), floats(2, 3, 6, 7), torch.arange(24).view(4, 6) % 5 > 0]


@case
def attention_with_masked_rows():
    return (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m)), [
        floats(1, 2, 3, 4), floats(1, 2, 3, 4), floats(1, 2, 3, 4), torch.tensor([[True, False, True], [False] * 3, [True] * 3])]


@case
def attention_of_groups():
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)), [floats(2, 4, 3, 5), floats(2, 2, 3, 5), floats(2, 2, 3, 5)]


def _convolution(n, transposed):
    def make():
        groups = random.choice((1, 2, 3))
        inputs, outputs = groups * random.randint(1, 2), groups * random.randint(1, 2)
        window = [random.randint(1, 3) for _ in range(n)]
        stride, dilation = ([random.randint(1, 3) for _ in range(n)] for _ in range(2))
        padding = [random.randint(0, 2) for _ in range(n)]
        image = [random.randint(7, 8) for _ in range(n)]
        attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if not transposed:
            function = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
            weight = floats(outputs, inputs // groups, *window)
        else:
            function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
            weight = floats(inputs, outputs // groups, *window)
            attributes["output_padding"] = [random.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation)]
        bias = [floats(outputs)] if random.random() < 0.5 else []
        return (lambda x, w, b=None: function(x, w, b, **attributes)), [floats(2, inputs, *image), weight, *bias]
    return make


for _n in (1, 2, 3):
    CASES[f"convolution_{_n}d"] = _convolution(_n, False)
    CASES[f"transposed_convolution_{_n}d"] = _convolution(_n, True)
CASES["convolution_2d_again"] = _convolution(2, False)


def _pooling_attributes():
    sizes_ = [random.randint(2, 3) for _ in range(2)]
    return {"kernel_size": sizes_, "stride": [random.randint(1, 3) for _ in range(2)], "padding": [random.randint(0, s // 2) for s in sizes_],
            "ceil_mode": random.random() < 0.5}


@case
def max_pool():
    attributes = _pooling_attributes() | {"dilation": random.randint(1, 2)}
    return (lambda x: F.max_pool2d(x, **attributes)), [floats(2, 3, 7, 8)]


@case
def avg_pool():
    attributes = _pooling_attributes() | {"count_include_pad": random.random() < 0.5, "divisor_override": random.choice((None, None, 5))}
    return (lambda x: F.avg_pool2d(x, **attributes)), [floats(2, 3, 7, 8)]


@case
def adaptive_pool():
    size = [random.randint(1, 6), random.randint(1, 6)]
    return (lambda x: F.adaptive_avg_pool2d(x, size)), [floats(2, 3, 6, 7)]


@case
def upsample():
    return (lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest")), [floats(2, 3, 3, 4)]


@case
def upsample_linear():
    align, size = random.random() < 0.5, [random.randint(1, 8), random.randint(1, 8)]
    return (lambda x: (F.interpolate(x, size, mode="bilinear", align_corners=align), F.interpolate(x, scale_factor=1.7, mode="bilinear"))), [
        floats(2, 3, 4, 5)]


# Normalisation


@case
def layer_norm():
    n = random.randint(1, 2)
    shape = [3, 4, 5][-n:]
    return (lambda x, w, b: (F.layer_norm(x, shape, w, b), F.layer_norm(x, shape))), [floats(2, 3, 4, 5), floats(*shape), floats(*shape)]


@case
def rms_norm():
    return (lambda x, w: (F.rms_norm(x, [5], w), F.rms_norm(x, [4, 5], eps=1e-3))), [floats(2, 4, 5), floats(5)]


@case
def group_norm():
    groups = random.choice((1, 2))
    return (lambda x, w, b: F.group_norm(x, groups, w, b)), [floats(2, 4, 3, 3), floats(4), floats(4)]


@case
def instance_norm():
    return (lambda x, w, b: F.instance_norm(x, weight=w, bias=b)), [floats(2, 3, 4, 4), floats(3), floats(3)]


@case
def batch_norm():
    return (lambda x, w, b, mean, var: (F.batch_norm(x, mean.detach(), var.detach(), w, b), F.batch_norm(x, None, None, w, b, training=True))), [
        floats(4, 3, 5), floats(3), floats(3), floats(3), positive(3)]


# Losses


@case
def cross_entropy():
    smoothing, reduction = random.choice((0.0, 0.1)), random.choice(("mean", "sum", "none"))
    labels = integers(5, 6)
    labels[1] = -100
    return (lambda x, y: F.cross_entropy(x, y, label_smoothing=smoothing, reduction=reduction)), [floats(6, 5), labels]


@case
def cross_entropy_of_images():
    return (lambda x, y, w: F.cross_entropy(x, y, weight=w.detach())), [floats(2, 4, 3, 3), integers(4, 2, 3, 3), positive(4)]


@case
def losses():
    return (lambda x, y, z: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.7),
                             F.binary_cross_entropy_with_logits(x, z.float()), F.kl_div(F.log_softmax(x, -1), F.softmax(y, -1), reduction="batchmean"),
                             F.cosine_embedding_loss(x, y, z[:, 0].float() * 2 - 1), F.triplet_margin_loss(x, y, y.flip(0)))), [
        floats(3, 4), floats(3, 4), bools(3, 4)]
