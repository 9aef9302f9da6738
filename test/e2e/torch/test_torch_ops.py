"""Compares the operators of the package st_torch with PyTorch: results, and gradients of all float inputs.

Prints the recorded graphs as StableHLO and runs them in the reference interpreter. If PyTorch is installed, it draws new shapes and
attributes as well; $ST_SEED repeats a draw.
"""

import importlib.util
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

from st_testing import Failure, expect, main, run_seed
from torch_programs import compare, evaluate, read_reference

import st_torch


def bound_of(graph):
    """16-bit results are rounded in other places than PyTorch's."""
    narrow = any(type.dtype in ("bf16", "f16") for node in graph.nodes for type in node.types)
    return 2e-2 if narrow else 2e-5


def like_torch(make):
    def run(folder):
        case = make()
        difference = compare(evaluate(case["graph"], case["inputs"], folder), case["expected"], bound_of(case["graph"]))
        return f"{difference:.0e}"
    return run


def names_what_it_refuses(_):
    """An unknown operator, and arguments that are not supported, are errors of one line."""
    graph = read_reference("ops")["relu"]["graph"]
    node = next(n for n in graph.nodes if n.op == "aten.relu.default")
    for change, message in (({"op": "aten.unknown.default"}, f"aten.unknown.default, node {node.name}: this operator is not supported"),
                            ({"op": "aten.nonzero.default"}, f"aten.nonzero.default, node {node.name}: a shape that depends on data is not supported")):
        old = dict(vars(node))
        vars(node).update(change)
        try:
            st_torch.print_program(graph)
        except st_torch.UnsupportedError as error:
            expect(str(error) == message, f"found \"{error}\", expected \"{message}\"")
        else:
            raise Failure(f"{node.op} is not refused")
        vars(node).update(old)


def drawn_cases():
    """New draws of all operators."""
    from torch_numbers import record_op
    from torch_ops import CASES

    seed = run_seed()
    print(f"new shapes, drawn with ST_SEED={seed}", flush=True)
    return [(f"{name}, drawn", like_torch(lambda name=name: record_op(name, seed))) for name in CASES]


CASES = [(name, like_torch(lambda case=case: case)) for name, case in read_reference("ops").items()]
CASES.append(("errors", names_what_it_refuses))
if importlib.util.find_spec("torch"):
    CASES += drawn_cases()

if __name__ == "__main__":
    sys.exit(main(*CASES))
