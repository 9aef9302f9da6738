"""The functions of all operators; `TABLE` has them by name."""

from . import elementwise, indexing, ordering, products, random, reductions, shapes
from .table import TABLE

__all__ = ["TABLE", "elementwise", "indexing", "ordering", "products", "random", "reductions", "shapes"]
