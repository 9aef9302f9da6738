"""Dropout. Masks are functions of the seed, the step and an element's position, as in
dialects/StableHLO/Utils/DropoutMask.h, so they do not depend on the layout. They are not PyTorch's masks."""

import math

from ..emitter import unsupported
from .table import op

MULTIPLIER, KEY_INCREMENT, STEP_FACTOR, ROUNDS = 0xD256D193, 0x9E3779B9, 0xBB67AE85, 8
OTHER_PART = 8  # rows and columns this far apart share a block of random bits


def _positions(e, shape):
    """The row-major index of an element's block, and whether the element takes its other column and row."""
    index, stride, parts = None, 1, {}
    for dim in reversed(range(len(shape))):
        if shape[dim] != 1:
            term = e.iota(shape, dim, "ui32")
            if dim + 2 >= len(shape) and shape[dim] > OTHER_PART:
                part = e.binary("and", term, e.like(term, OTHER_PART))
                parts[dim - len(shape)] = e.compare("EQ", part, e.like(part, 0))
                term = e.sub(term, part)
            term = term if stride == 1 else e.scale(term, stride)
            index = term if index is None else e.add(term, index)
        stride *= shape[dim]
    return (e.splat(0, "ui32", shape) if index is None else index), parts


def _round(e, x0, x1, key):
    """One round of Philox 2x32."""
    product = e.scale(e.convert(x0, "ui64"), MULTIPLIER)
    high = e.convert(e.binary("shift_right_logical", product, e.like(product, 32)), "ui32")
    mixed = e.expand(key, x0.shape)
    mixed = mixed if x1 is None else e.binary("xor", x1, mixed)
    return e.binary("xor", mixed, high), e.convert(product, "ui32")


def _key(e):
    """seed + STEP_FACTOR * step."""
    words = e.random_key()
    seed, step = (e.reshape(e.slice(words, [i], [i + 1]), []) for i in range(2))
    return e.add(seed, e.scale(step, STEP_FACTOR))


def kept(e, shape, probability):
    """A mask of elements that are kept, an i1, and the exact probability of dropping an element, a multiple of 2^-16."""
    if math.prod(shape) > 1 << 32:
        unsupported(f"a random mask of {math.prod(shape)} elements")
    rate = min(round(probability * 65536), 65535)
    site = e.next_site()
    key = _key(e)
    index, parts = _positions(e, shape)
    # The counter is (site, index); the site's product of the first round is known.
    high, low = divmod(site * MULTIPLIER, 1 << 32)
    x0 = e.binary("xor", index, e.expand(e.binary("xor", key, e.splat(high, "ui32")), shape))
    x1 = None
    for i in range(1, ROUNDS):
        round_key = e.offset(key, i * KEY_INCREMENT % (1 << 32))
        if i == 1 and low:
            round_key = e.binary("xor", round_key, e.splat(low, "ui32"))
        x0, x1 = _round(e, x0, x1, round_key)
    drawn = e.select(parts[-1], x0, x1) if -1 in parts else x0
    if -2 in parts:
        drawn = e.select(parts[-2], drawn, e.binary("shift_left", drawn, e.like(drawn, 16)))
    return e.compare("GE", drawn, e.like(drawn, rate << 16)), rate / 65536


@op("native_dropout.default")
def native_dropout(e, out, x, probability, train=True):
    if not train or probability == 0:
        return x, e.splat(True, "i1", x.shape)
    if probability == 1:
        return e.like(x, 0), e.splat(False, "i1", x.shape)
    mask, rate = kept(e, x.shape, probability)
    return e.select(mask, e.scale(x, 1 / (1 - rate)), e.like(x, 0)), mask


@op("bernoulli.p")
def bernoulli(e, out, x, probability, generator=None):
    if probability in (0, 1):
        return e.splat(probability, out.dtype, out.shape)
    mask, _ = kept(e, out.shape, 1 - probability)
    return e.convert(mask, out.dtype)


@op("rand.default", "rand_like.default", "randn.default", "randn_like.default", "bernoulli.default", "multinomial.default",
    "randint.low", "randperm.default", "normal_functional.default", "uniform.default")
def random(e, out, *_, **__):
    unsupported("a random number other than a mask of dropout")

