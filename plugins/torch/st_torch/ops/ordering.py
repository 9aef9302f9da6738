"""Sorting, and positions of extreme elements. Of equal elements the first counts."""

import math

from ..emitter import Value, is_float
from ..graph import Type
from .reductions import highest, lowest
from .shapes import axes, axis
from .table import op


def _sort(e, x, dim, descending):
    """The sorted elements and their old positions, an i64."""
    places = e.iota(x.shape, dim)
    kind = "TOTALORDER" if is_float(x.dtype) else "UNSIGNED" if x.dtype in ("i1", "ui8") else "SIGNED"
    element, place, truth = Type((), x.dtype), Type((), "i64"), Type((), "i1")
    both = e.emit(
        f'"stablehlo.sort"({x.name}, {places.name}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n'
        f"    ^bb0(%a: {element}, %b: {element}, %c: {place}, %d: {place}):\n"
        f"      %r = stablehlo.compare {'GT' if descending else 'LT'}, %a, %b, {kind} : ({element}, {element}) -> {truth}\n"
        f"      stablehlo.return %r : {truth}\n    }}) : ({x.type}, {places.type}) -> ({x.type}, {places.type})", x.type, results=2)
    return both, Value(both.name.replace("#0", "#1"), places.type)


@op("sort.default", "sort.stable")
def sort(e, out, x, *args, **named):
    named |= dict(zip(("dim", "descending"), args)) if "stable" not in named else {}
    if not x.rank:
        return x, e.splat(0, "i64")
    return _sort(e, x, axis(named.get("dim", -1), x.rank), named.get("descending", False))


@op("topk.default")
def topk(e, out, x, k, dim=-1, largest=True, sorted=True):
    if not x.rank:
        return x, e.splat(0, "i64")
    dim = axis(dim, x.rank)
    return tuple(e.slice_dim(v, dim, 0, k) for v in _sort(e, x, dim, largest))


def _position(e, x, dim, largest):
    """The first position of an extreme element along `dim`, which is removed."""
    extreme = e.reduce("maximum" if largest else "minimum", x, [dim], lowest(x.dtype) if largest else highest(x.dtype), passes_gradient=False)
    found = e.compare("EQ", x, e.spread(extreme, [dim], x.shape))
    places = e.iota(x.shape, dim)
    return e.reduce("minimum", e.select(found, places, e.like(places, x.shape[dim])), [dim], highest("i64"))


def _argument(largest):
    def function(e, out, x, dim=None, keepdim=False):
        if dim is None:
            x, dim = e.reshape(x, [math.prod(x.shape)]), 0
        return e.reshape(_position(e, x, axes(dim, x.rank)[0], largest), out.shape)
    return function


def _with_position(largest):
    def function(e, out, x, dim, keepdim=False):
        if not x.rank:
            return x, e.splat(0, "i64")
        dim = axis(dim, x.rank)
        places = _position(e, x, dim, largest)
        # All of the gradient belongs to the element at the position.
        chosen = e.compare("EQ", e.iota(x.shape, dim), e.spread(places, [dim], x.shape))
        value = e.sum(e.select(chosen, x, e.like(x, 0)), [dim])
        return e.reshape(value, out.shape), e.reshape(places, out.shape)
    return function


for _name, _largest in (("max", True), ("min", False)):
    op(f"arg{_name}.default")(_argument(_largest))
    op(f"{_name}.dim")(_with_position(_largest))
