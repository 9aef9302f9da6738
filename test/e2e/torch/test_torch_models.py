"""Models of torchvision and transformers train as PyTorch trains them: losses of five steps of AdamW, gradients, and the final
parameters and running statistics, on one device and under layouts.

The graphs were recorded with PyTorch, which the test does not need. If it is installed, the models are exported anew.
"""

import importlib.util
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import load_file, save_file
from torch_programs import EPSILON, RATE, REFERENCES, STEPS, differences, digest, evaluate, make_batches, make_values, read_reference

import st_torch

LAYOUTS = {
    "one device": None,
    "2 replicas x 2 shards": {"mode": "hybrid", "stage_cnt": 1, "sharding_size": 2, "sharding_dim": -1, "data": 2},
    "2 stages": {"mode": "pipeline", "stage_cnt": 2, "sharding_size": 1, "data": 1, "accum_degree": 1},
}
# A batch norm needs the whole batch.
PIPELINE = {"2 stages x 2 shards, 4 micro-batches": {"mode": "hybrid", "stage_cnt": 2, "sharding_size": 2, "sharding_dim": -1, "data": 1, "accum_degree": 4}}


def check(what, found, expected, errors):
    """Compares arrays with recorded digests. In float32 an array may differ from float64 by ten times PyTorch's difference."""
    worst = 0.0
    for name, difference in differences({name: digest(name, found[name]) for name in expected}, expected).items():
        bound = max(1e-4, 10 * errors[name])
        st.expect(difference <= bound, f"{what} {name} differs by {difference:.1e}, the bound is {bound:.1e}")
        worst = max(worst, difference)
    return worst


def check_gradients(folder, reference, values, batches):
    first = {name: value[0] for name, value in batches.items()}
    found = evaluate(reference["graph"], values | first, folder)
    found = {key.removeprefix("gradient."): value for key, value in found.items()}
    return check("the gradient of", found, reference["gradients"], reference["gradient_errors"])


def train(folder, layout, parallel):
    """Trains with a layout; returns the losses and the final tensors."""
    binary = folder / layout.replace(" ", "-")
    flags = [f"--parallel={st.write_json(folder / 'parallel.json', parallel)}"] if parallel else []
    st.check_run([*st.COMPILE, folder / "model.mlir", "--target=dtu-t10", "--predict=false", f"--epsilon={EPSILON}", "-o", binary, *flags])
    losses = st.losses(st.train(binary, f"--init={folder}", f"--data={folder / 'batches.safetensors'}", f"--lr={RATE}",
                                f"--save={folder / 'saved'}", steps=STEPS))
    return losses, load_file(folder / "saved" / "model.safetensors") | load_file(folder / "saved" / "optimizer.safetensors")


def trains_like_torch(make):
    def run(folder):
        reference = make()
        graph = reference["graph"]
        values, batches = make_values(graph), make_batches(graph, reference["limits"])
        save_file(values, folder / "model.safetensors")
        save_file(batches, folder / "batches.safetensors")
        (folder / "model.mlir").write_text(st_torch.print_program(graph))
        gradients = check_gradients(folder, reference, values, batches)
        layouts = LAYOUTS if any(i.role == "state" for i in graph.inputs) else LAYOUTS | PIPELINE
        worst = 0.0
        for layout, parallel in layouts.items():
            losses, final = train(folder, layout, parallel)
            difference = st.relative_difference(reference["losses"], losses)
            st.expect(difference <= 1e-5, f"{layout}: losses {losses}, PyTorch's are {reference['losses']}")
            check(f"{layout}: after {STEPS} steps", final, reference["final"], reference["final_errors"])
            worst = max(worst, difference)
        return f"losses {worst:.0e}, gradients {gradients:.0e}, {len(layouts)} layouts"
    return run


def exported_anew():
    from torch_models import MODELS
    from torch_numbers import record_model
    return [(f"{name}, exported", trains_like_torch(lambda name=name: record_model(name))) for name in MODELS]


NAMES = sorted(path.name.removesuffix(".json.xz") for path in REFERENCES.iterdir() if not path.name.startswith("ops."))
CASES = [(name, trains_like_torch(lambda name=name: read_reference(name))) for name in NAMES]
if importlib.util.find_spec("torch"):
    CASES += exported_anew()

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 3)))
