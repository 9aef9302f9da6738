"""Compares the loss and all gradients of each family of models with those of transformers' classes."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
from families import BATCH, FAMILIES, SEQ, TARGET, batch, parameter, references, task_of
from st_programs import import_model, interpret, signature, transform
from st_testing import expect, main


def like_transformers(name):
    config = FAMILIES[name]

    def run(folder):
        reference = dict(np.load(references(config) / f"{name}.npz"))
        loss = float(reference.pop("loss"))
        flags = [f"--label-seq={TARGET}"] if task_of(config) == "seq2seq" else []
        program = transform(import_model(folder, config, task_of(config), BATCH, SEQ, *flags), "--differentiate")
        arguments = [a for a in signature(program)[0] if a.role == "parameter"]
        parameters = {a.name: parameter(a.name, a.shape) for a in arguments}
        trained = {a.name for a in arguments if not a.is_frozen}
        expect(trained == reference.keys(), f"other parameters: {sorted(trained ^ reference.keys())}")
        found = interpret(program, parameters | batch(config))
        difference = abs(float(found["loss"]) - loss) / loss
        expect(difference <= 1e-5, f"loss {float(found['loss'])}, transformers' is {loss}")
        total = np.sqrt(sum((gradient**2).sum() for gradient in reference.values()))
        worst = 0.0
        for key, gradient in reference.items():
            expect(found[key].shape == gradient.shape, f"{key} has another shape")
            bound = max(np.linalg.norm(gradient), 1e-4 * total)
            worst = max(worst, np.linalg.norm(found[key] - gradient) / bound)
            expect(worst <= 1e-4, f"gradient of {key} is off by {worst:.1e}")
        return f"loss {difference:.0e}, gradients {worst:.0e}"
    return run


CASES = [(name, like_transformers(name)) for name in FAMILIES]

if __name__ == "__main__":
    sys.exit(main(*CASES))
