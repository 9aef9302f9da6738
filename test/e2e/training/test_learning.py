"""BERT and GPT-2 with tokenizers of their own learn from real text as in JAX: the first 60 steps of
benchmarks/learning/learning.py, on 32 and on 8 devices."""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

sys.path.insert(0, str(st.ROOT / "benchmarks/learning"))
import learning

BENCHMARK = [sys.executable, st.ROOT / "benchmarks/learning/learning.py", "--quick", f"--build={st.BIN.parent}"]


def learns(name):
    def case(folder):
        done = st.check_run([*BENCHMARK, f"--cases={name}", f"--folder={folder}"])
        rows = [line.split() for line in done.stdout.splitlines() if re.fullmatch(r"( +\S+){4}", line)]
        losses = {row[0]: float(row[1]) for row in rows if row[0].isdigit()}
        st.expect(losses["60"] < losses["1"] - 0.3, f"the loss goes from {losses['1']} to {losses['60']}\n{done.stdout}")
        return done.stdout.splitlines()[-1]
    return case


def bounds(folder):
    """A loss that differs by 0.002, and a validation that differs by 2 %, each fail the case."""
    start, validation = [3.0, 2.0], {"loss": 2.0, "masked_lm_accuracy": 0.5, "next_sentence_accuracy": 0.5}
    learning.make_model = lambda *_: {}
    learning.run_st = lambda *_: (start, validation)
    for number, (later, factor, holds) in enumerate([(0.0, 1.0, True), (2e-3, 1.0, False), (0.0, 1.02, False)]):
        learning.run_jax = lambda *_, later=later, factor=factor: ([3.0, 2.0 + later], {"loss": 2.0 * factor})
        (folder / str(number)).mkdir()
        found = learning.run_case(learning.CASES[0], [], folder / str(number), None, learning.figures.Figures(None, "learning", ""))
        st.expect(found == holds, f"a loss off by {later} and a validation of {factor} times: {found}")


if __name__ == "__main__":
    sys.exit(st.main(("BERT", learns("bert")), ("GPT-2", learns("gpt2")), ("bounds", bounds)))
