"""Differential fuzzing of gradients: random functions, differentiated by St and by JAX.

  test_gradients.py [--seed=N] [--count=N]

Function N is the same on every machine, so that `--seed=N --count=1` reproduces a failure. Compares in f64, to 1e-9:
some of the functions amplify rounding, so f32 would be a weak test.
"""

import argparse
import pathlib
import random
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())

from gradient_testing import Case  # noqa: E402
from random_functions import RandomFunction  # noqa: E402
from st_testing import Failure  # noqa: E402


def check(seed, folder):
    function = RandomFunction(random.Random(seed))
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in function.parameters]
    Case(function, values=values, together=True, f32=False).run(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory(prefix="st-fuzz-") as folder:
            try:
                check(seed, pathlib.Path(folder))
            except Failure as failure:
                print(f"FAILED  seed {seed}: {failure}", flush=True)
                failed += 1
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
