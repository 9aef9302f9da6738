"""The order of samples in training binaries: every sample once an epoch, with any number of replicas and after any resumes.

Batches are those that the run records. The samples of a GPT are compared with the token file that this test wrote.
"""

import pathlib
import random
import sys

import numpy as np
from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT
from test_megatron_data import PIECES, sentences, write_dataset

GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 4096,
       "n_positions": 32}
BATCH, SEQ, WINDOWS, EPOCHS = 8, 32, 96, 3
RESUMES = 50
REPLICAS = {1: None, 2: {"mode": "sharding", "data": 2}, 8: {"mode": "sharding", "data": 8}}


def recorded(binary, folder, *flags):
    st.check_run([binary, f"--record-batches={folder / 'batches.safetensors'}", *flags])
    return load_file(folder / "batches.safetensors")


def same(a, b):
    return set(a) == set(b) and all((a[name] == b[name]).all() for name in a)


def windows(folder):
    """No token of the file occurs twice, so that a row says which window of the file it is."""
    tokens = np.random.default_rng(1).permutation(4096)[:WINDOWS * SEQ]
    write_dataset(folder / "data", np.split(tokens, [100, 700, 1200]), np.uint16)
    return f"--data=megatron:{folder / 'data'}", tokens.reshape(WINDOWS, SEQ)


def gpt(folder):
    data, expected = windows(folder)
    steps = EPOCHS * WINDOWS // BATCH
    runs = {}
    for count, layout in REPLICAS.items():
        binary = st.compile_model(folder, f"gpt{count}", GPT, "clm", layout, batch=BATCH, seq=SEQ)
        runs[count] = recorded(binary, folder, data, f"--steps={steps}", "--seed=9")
        st.expect(same(runs[count], runs[1]), f"{count} replicas have other batches")
    numbers = {tuple(row): i for i, row in enumerate(expected)}
    order = [numbers.get(tuple(row)) for row in runs[1]["input_ids"].reshape(-1, SEQ)]
    st.expect(None not in order, "a row is no window of the file")
    epochs = np.reshape(order, (EPOCHS, WINDOWS))
    st.expect((np.sort(epochs) == np.arange(WINDOWS)).all(), f"not every sample once an epoch: {epochs}")
    st.expect(len({tuple(epoch) for epoch in epochs}) == EPOCHS, "two epochs have one order")
    return f"{EPOCHS} epochs of {WINDOWS} samples, {len(REPLICAS)} numbers of replicas"


def resumed(folder):
    """Runs of random lengths, each resumed from an earlier checkpoint or the last one, in 1, 2 or 8 replicas."""
    data, _ = windows(folder)
    seed = st.run_seed()
    draw = random.Random(seed)
    binaries = {count: st.compile_model(folder, f"gpt{count}", GPT | {"n_embd": 4}, "clm", layout, batch=BATCH, seq=SEQ)
                for count, layout in REPLICAS.items()}
    whole = recorded(binaries[1], folder, data, f"--steps={4 * RESUMES}", "--seed=9")
    st.check_run([binaries[1], "--steps=0", "--seed=9", data, f"--save={folder / 'at-0'}"])
    saved = [0]
    for _ in range(RESUMES):
        begin, length = draw.choice(saved[-3:]), draw.randrange(1, 5)
        found = recorded(binaries[draw.choice([*REPLICAS])], folder, data, f"--resume={folder / f'at-{begin}'}", f"--steps={length}",
                         f"--save={folder / f'at-{begin + length}'}")
        st.expect(same(found, {name: value[begin:begin + length] for name, value in whole.items()}),
                  f"ST_SEED={seed}: steps {begin + 1} to {begin + length} have other batches")
        if begin + length not in saved:
            saved.append(begin + length)
    return f"{RESUMES} resumes up to step {saved[-1]}"


def bert(folder):
    """Pairs, masks and labels are those of one replica too."""
    lines = sentences(400)
    (folder / "text").write_text(" ".join(lines))
    runs = {}
    for count, layout in REPLICAS.items():
        (folder / f"bert{count}").mkdir()
        (folder / f"bert{count}/vocab.txt").write_text("\n".join(PIECES) + "\n")
        binary = st.compile_model(folder, f"bert{count}", TINY_BERT | {"vocab_size": len(PIECES)}, "mlm", layout, batch=BATCH, seq=16)
        runs[count] = recorded(binary, folder, f"--data=text:{folder / 'text'}", "--steps=20", "--seed=9")
        st.expect(same(runs[count], runs[1]), f"{count} replicas have other batches")
    st.expect((runs[1]["labels"] >= 0).any(), "nothing is masked")


if __name__ == "__main__":
    sys.exit(st.main(("gpt", gpt), ("resumed", resumed), ("bert", bert)))
