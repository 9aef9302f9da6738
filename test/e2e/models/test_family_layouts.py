"""Trains each family of models under several layouts and on a GPU target: losses are those of one device."""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from families import FAMILIES, task_of

STEPS = 5
LAYOUTS = {
    "2 stages x 2 shards": {"mode": "hybrid", "stage_cnt": 2, "sharding_size": 2, "sharding_dim": "megatron", "data": 1,
                            "accum_degree": 2},
    "2 replicas x 2 stages x 2 shards": {"mode": "hybrid", "stage_cnt": 2, "sharding_size": 2, "sharding_dim": -1, "data": 2,
                                         "accum_degree": 2, "zero": 1},
    "full recomputation": {"mode": "pipeline", "stage_cnt": 2, "data": 1, "accum_degree": 4, "recompute": "full"},
}


def losses(binary):
    done = st.check_run([binary, f"--steps={STEPS}", "--lr=1e-2"])
    return [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step ")]


def trains_alike(name):
    def run(folder):
        config = FAMILIES[name]
        expected = losses(st.compile_model(folder, "one", config, task_of(config), None, batch=8, seq=12))
        st.expect(len(expected) == STEPS and min(expected[1:]) < expected[0], f"does not learn: {expected}")
        worst = 0.0
        for layout, parallel in LAYOUTS.items():
            found = losses(st.compile_model(folder, layout.replace(" ", "-"), config, task_of(config), parallel, batch=8, seq=12))
            worst = max(worst, st.relative_difference(expected, found))
            st.expect(worst <= 1e-5, f"{layout}: {found}, one device gives {expected}")
        found = losses(st.compile_model(folder, "host", config, task_of(config), None, "--target=cuda-host", batch=8, seq=12))
        st.expect(st.relative_difference(expected, found) <= 1e-5, f"cuda-host: {found}, simulated devices give {expected}")
        return f"{len(LAYOUTS)} layouts differ by {worst:.0e}"
    return run


# The balance loss of a batch needs all of it, so it does not go with micro-batches.
NAMES = [name for name in FAMILIES if not name.endswith("-balance")]
CASES = list(st.drawn_part([(name, trains_alike(name)) for name in NAMES], 4))

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
