"""A run of 100 steps that stops after 40 and resumes: in the same layout to the bit, in others up to rounding.

With --reduce=exact the steps in other layouts are those of the first one to the bit, and so is the last checkpoint.
"""

import hashlib
import json
import pathlib
import sys
import tempfile

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32, "n_layer": 4, "n_head": 4, "vocab_size": 61,
       "n_positions": 16}
STEPS, FIRST = 100, 40
RUN = [f"--train-steps={STEPS}", "--lr=1e-3", "--min-lr=1e-4", "--lr-decay-style=cosine", "--warmup=10", "--seed=5"]
SAVED = st.layout(2, 2, mode="hybrid", accum=2)
OTHERS = {
    "4 shards": st.layout(1, 4),
    "4 stages, 4 micro-batches": st.layout(4, 1, mode="pipeline", accum=4),
    "4 replicas": {"mode": "sharding", "data": 4},
    "2 replicas, ZeRO 3": {"mode": "sharding", "data": 2, "zero": 3},
    "one device": None,
}


def hash_of(folder):
    files = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        files.update(path.name.encode() + b"\0" + path.read_bytes())
    return files.hexdigest()


class Run:
    """The whole run in one layout, and its first part, once for each kind of sum."""

    made = {}
    folder = tempfile.TemporaryDirectory(prefix="st-resumed-")

    def __init__(self, reduce):
        self.flags = [f"--reduce={reduce}", "--optimizer=adamw"]
        self.path = pathlib.Path(self.folder.name) / reduce
        self.path.mkdir()
        self.binary = self.compiled(SAVED, "saved")
        self.losses, self.last = self.train(self.binary, "whole", *RUN)
        self.first, self.middle = self.train(self.binary, "parts", *RUN, f"--exit-interval={FIRST}")

    def compiled(self, layout, name):
        return st.compile_model(self.path, name, GPT, "clm", layout, *self.flags, batch=4, seq=16)

    def train(self, binary, name, *flags):
        """The losses of a run that saves in steps, and its last checkpoint."""
        metrics = self.path / f"{name}.jsonl"
        st.check_run([binary, *flags, "--save-interval=20", f"--save={self.path / name}", f"--metrics={metrics}"])
        losses = st.losses([json.loads(line) for line in metrics.read_text().splitlines()])
        return losses, max((self.path / name).iterdir())

    @classmethod
    def get(cls, reduce):
        if reduce not in cls.made:
            cls.made[reduce] = cls(reduce)
        return cls.made[reduce]


def same_layout(reduce):
    """The same command resumes at the step at which the first part ended."""
    def check(folder):
        run = Run.get(reduce)
        st.expect(len(run.losses) == STEPS and len(run.first) == FIRST and run.middle.name == f"step-{FIRST:07d}", f"{run.middle}")
        losses, last = run.train(run.binary, "parts", *RUN)
        st.expect(losses == run.losses, f"other losses: {losses}\n{run.losses}")
        st.expect(last.name == run.last.name == f"step-{STEPS:07d}" and hash_of(last) == hash_of(run.last), "another checkpoint")
        return f"{len(losses)} losses, checkpoint {hash_of(last)[:16]}"
    return check


def other_layout(reduce, name):
    def check(folder):
        run = Run.get(reduce)
        losses, last = run.train(run.compiled(OTHERS[name], name), name, f"--resume={run.path / 'parts' / run.middle.name}",
                                 f"--train-steps={STEPS}")
        apart = st.relative_difference(run.losses[FIRST:], losses)
        if reduce == "exact":
            st.expect(losses == run.losses[FIRST:], f"losses are up to {apart:.1e} apart")
            st.expect(hash_of(last) == hash_of(run.last), "another checkpoint")
            return f"{len(losses)} equal losses, checkpoint {hash_of(last)[:16]}"
        st.expect(len(losses) == STEPS - FIRST and apart <= 1e-5, f"losses are up to {apart:.1e} apart")
        return f"{len(losses)} losses within {apart:.1e}"
    return check


CASES = [(f"{name}, {reduce} sums", other_layout(reduce, name)) for name in OTHERS for reduce in ("fast", "exact")]

if __name__ == "__main__":
    sys.exit(st.main(*((f"the same layout, {reduce} sums", same_layout(reduce)) for reduce in ("fast", "exact")),
                     *st.drawn_part(CASES, 3)))
