"""Rows that compare ops and types with the reference interpreter, with programs of the conformance suite in
test/e2e/ops."""

import sys

from tools import ROOT

sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())

# From the groups of test_cuda_conformance.py. Functions of f64 need CUDA's libdevice on the machine that makes a
# bundle.
TYPES = {"elementwise": ["f32", "bf16", "f16", "i32", "i1"], "reductions": ["f32", "bf16", "i32"], "moves": ["f32", "bf16", "i8"],
         "products": ["f32", "bf16", "f16", "f64"], "others": ["f32", "bf16", "i32"], "collectives": ["f32", "bf16", "i32"]}
# Groups of a bundle of stand-ins: its kernels are compiled for the host, which takes longer.
FEW = {"reductions": ["f32"], "collectives": ["f32"]}


def add(bundle):
    if not bundle.wants("conformance"):
        return
    import test_conformance as suite
    import test_cuda_conformance as cuda
    from conformance_bounds import Ulps, bound_of, largest
    from conformance_collectives import COLLECTIVES
    from conformance_program import COMPLEX, Shard

    for group, elements in (FEW if bundle.is_standins else TYPES).items():
        for element in elements:
            keys = [key for key in suite.ALL if key[0] in cuda.GROUPS[group] and suite.allows(key, element)
                    and (key[0], element) not in suite.UNDEFINED]
            function, owners = suite.write(keys, element)
            is_collective = keys[0] in COLLECTIVES
            parallel = {"mode": "sharding", "data": 1, "sharding_size": Shard.DEVICES} if is_collective else None
            name = f"conformance-{group}-{element}"
            wanted = bundle.add_once(name, function.text(), {f"arg{i}": a for i, a in enumerate(function.arguments.values())},
                                     parallel)
            bounds, names = {}, {}
            assert element not in COMPLEX
            for i, key in enumerate(owners):
                bound = bound_of(suite.label(key), element)
                scale = float(largest([wanted[f"result{j}"] for j, other in enumerate(owners) if other == key]))
                bounds[f"result{i}"] = ["ulps", bound.most] if isinstance(bound, Ulps) else ["scaled", bound.most, scale]
                names[f"result{i}"] = suite.label(key)
            bundle.add_row({"stage": "conformance", "name": f"{group}, {element}, {len(keys)} cases", "program": name,
                            "inputs": f"{name}.in", "wanted": f"{name}.wanted", "bounds": bounds, "owners": names, "limit": 15,
                            "needs": ["runner", "driver", "cublasLt"], "call": "the kernels of the ops that are named"})
