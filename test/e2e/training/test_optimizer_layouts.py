"""Every optimizer under stages, shards, replicas, micro-batches and each ZeRO level: the losses of one device, on the DTU and on cuda-host.

State in 8 bits is compared too: the file is the same under any layout, except for elements that rounding moves across the middle
of two codes.
"""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import load_file

# Rows of 64 are one block in parts of four shards; rows of 512 are two blocks, and boundaries of eight shards split
# them.
BERT = st.SMALL_BERT | {"hidden_size": 64, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
OPTIMIZERS = {
    "adamw-8bit": ["--optimizer=adamw-8bit", "--lr=1e-3", "--min-8bit-size=64"],
    "adafactor": ["--optimizer=adafactor", "--lr=1e-2", "--min-factored-size=32"],
    "lamb": ["--optimizer=lamb", "--lr=1e-2"],
    "adamw": ["--optimizer=adamw", "--lr=1e-3", "--weight-decay=0.1", "--weight-decay-groups=vectors=0,*.word_embeddings.*=0.01"],
    "sgd": ["--optimizer=sgd", "--lr=0.1"],
}
LAYOUTS = {
    "2 stages of 8 shards": {"mode": "hybrid", "data": 1, "sharding_size": 8, "sharding_dim": -1, "stage_cnt": 2, "accum_degree": 2},
    "2 stages of 2 shards, contracted": {"mode": "hybrid", "data": 1, "sharding_size": 2, "sharding_dim": 0, "stage_cnt": 2,
                                         "accum_degree": 2},
    "2 replicas of 4 shards, ZeRO 1": {"mode": "sharding", "data": 2, "sharding_size": 4, "sharding_dim": "megatron", "zero": 1},
    "2 replicas of 2 stages of 2 shards, ZeRO 2": {
        "mode": "hybrid", "data": 2, "zero": 2, "sharding_size": 2, "sharding_dim": -1, "stage_cnt": 2, "accum_degree": 2},
    "4 replicas, ZeRO 3": {"mode": "sharding", "data": 4, "zero": 3, "accum_degree": 1},
    "2 replicas of 2 shards, ZeRO 3": {"mode": "sharding", "data": 2, "zero": 3, "sharding_size": 2, "sharding_dim": 0,
                                       "accum_degree": 2},
}
STEPS = 6
# Moments of the first step do not depend on codes yet: their maxima must agree closely.
EARLY = 1
# The step of the dynamic map of Dettmers et al. between the codes from 0.1 to 1.
LARGEST_STEP = 0.9 / 64


class Reference:
    cache = {}

    @classmethod
    def get(cls, folder, optimizer, clip):
        key = (optimizer, clip)
        if key not in cls.cache:
            cls.cache[key] = train(folder / "one", optimizer, clip, None)
        return cls.cache[key]


def train(folder, optimizer, clip, layout, target="dtu-t10"):
    folder.mkdir()
    flags = [*OPTIMIZERS[optimizer], *(["--clip-norm=0.5"] if clip else []), f"--target={target}"]
    binary = st.compile_model(folder, "bert", BERT, "mlm", layout, *flags)
    losses = st.losses(st.train(binary, f"--save={folder / 'out'}", steps=STEPS))
    st.train(binary, f"--save={folder / 'early'}", steps=EARLY)
    return losses, [load_file(folder / name / "optimizer.safetensors") for name in ("early", "out")]


def compare_states(expected, found, bound=2e-3):
    """The share of codes that differ. The gradient of a key's bias is only rounding.

    Where another code was chosen, later steps read a moment that is up to a step of the codes larger, so a few blocks have
    other maxima.
    """
    st.expect(sorted(expected) == sorted(found), "the files have other tensors")
    codes = apart = blocks = moved = 0
    for name, value in expected.items():
        other = found[name]
        st.expect(value.shape == other.shape and value.dtype == other.dtype, f"{name} is another tensor")
        if ".key.bias." in name:
            continue
        if value.dtype == np.uint8:
            codes, apart = codes + value.size, apart + (value != other).sum()
        else:
            differences = np.abs(value - other) / max(np.abs(value).max(), 1e-30)
            has_codes = name.endswith(".absmax")
            st.expect(differences.max() <= (bound if has_codes else 2e-3), f"{name} is {differences.max():.2g} apart")
            if has_codes:
                blocks, moved = blocks + value.size, moved + (differences > 1e-3).sum()
    st.expect(moved <= 5e-3 * blocks, f"{moved} of {blocks} maxima of blocks differ")
    st.expect(apart <= 5e-3 * codes, f"{apart} of {codes} codes differ")
    return f", {apart} of {codes} codes differ" if codes else ""


def case(optimizer, name, target, clip):
    def check(folder):
        losses, states = Reference.get(folder, optimizer, clip)
        found, other = train(folder / "split", optimizer, clip, LAYOUTS[name], target)
        st.expect(losses[-1] < losses[0] - 1e-3, f"it does not learn: {losses}")
        difference = st.relative_difference(losses, found)
        st.expect(difference <= 1e-5, f"losses differ by {difference:.2g}:\n{losses}\n{found}")
        compare_states(states[0], other[0], 1e-3)
        return f"losses agree to {difference:.0e}" + compare_states(states[1], other[1], LARGEST_STEP)
    return check


CASES = [(f"{optimizer}, {name}, {target}{', clipped' if clip else ''}", case(optimizer, name, target, clip))
         for i, optimizer in enumerate(OPTIMIZERS) for j, name in enumerate(LAYOUTS)
         for target in ("dtu-t10", "cuda-host") for clip in [(i + j) % 3 == 0]]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 30)))
