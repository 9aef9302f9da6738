"""Functions that JAX computes by iteration until all elements converge, on a simulated device and on JAX's CPU.

    .venv/bin/python benchmarks/jax/iterated_functions.py [--elements=10000] [--calls=60] [--json=FILE]

Each is a `while` loop of many elementwise ops on small tiles, so the time is that of the simulator's instructions more than
that of arithmetic. The two platforms take turns in one process; a figure is the fastest of all calls.
"""

import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "test/e2e/jax")]
import figures  # noqa: E402
from jax_plugin import setup  # noqa: E402


def functions(jax, np, elements):
    """The functions, and their arguments."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.5, 20, elements).astype(np.float32) for _ in range(2))
    x, u = rng.uniform(0.1, 30, elements).astype(np.float32), rng.uniform(0, 1, elements).astype(np.float32)
    key = np.array([0, 7], np.uint32)
    return {
        "`jax.random.gamma`": (lambda key, a: jax.random.gamma(jax.random.wrap_key_data(key), a), (key, a)),
        "`lax.igamma`": (jax.lax.igamma, (a, x)),
        "`lax.igammac`": (jax.lax.igammac, (a, x)),
        "`lax.betainc`": (jax.lax.betainc, (a, b, u)),
    }


def prepared(jax, function, arguments, device):
    """A call on a device whose result has arrived when it returns; the first one compiles."""
    placed = [jax.device_put(argument, device) for argument in arguments]
    compiled = jax.jit(function)

    def call():
        with jax.default_device(device):
            return jax.block_until_ready(compiled(*placed))

    return call


def measure(jax, np, function, arguments, calls):
    """The fewest seconds of a call on the simulated device, and on the CPU."""
    runs = [prepared(jax, function, arguments, jax.devices(platform)[0]) for platform in ("st", "cpu")]
    found, wanted = (np.asarray(run()) for run in runs)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
    best = [float("inf")] * len(runs)
    for _ in range(calls):
        for i, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=10000)
    parser.add_argument("--calls", type=int, default=60, help="calls on each platform")
    figures.add_option(parser)
    options = parser.parse_args()
    kept = figures.Figures(options.json, "peers", figures.host())
    if not setup.has_jax():
        kept.failed("Functions of JAX", "missing: jax")
        return
    setup.use(1)
    import jax
    import numpy as np

    print(f"{'function':<22} {'St, ms':>8} {'CPU, ms':>8} {'ratio':>6}")
    for name, (function, arguments) in functions(jax, np, options.elements).items():
        ours, theirs = measure(jax, np, function, arguments, options.calls)
        print(f"{name:<22} {ours * 1e3:8.2f} {theirs * 1e3:8.2f} {ours / theirs:6.1f}")
        kept.add(f"{name} of {options.elements:,} elements on a simulated device", round(ours * 1e3, 3), "ms",
                 baseline={"name": f"JAX {jax.__version__} on the CPU", "value": round(theirs * 1e3, 3)})


if __name__ == "__main__":
    main()
