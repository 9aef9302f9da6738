"""MiniLM-L6 (six layers of 384): token ids and hidden states of 20 sentences against an independent WordPiece and a
JAX encoder that reads the same safetensors file, and 50 steps of fine-tuning on real text.

$ST_MINILM names a Hugging Face folder with the real weights and vocabulary. Without it, a folder of the same
architecture is made up: a vocabulary out of a text, and seeded weights. The output says which of the two it was.
"""

import collections
import json
import os
import pathlib
import re
import sys
import unicodedata

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

import st_testing as st
from jax_models import Dropout, bert_encoder
from st_programs import import_model, interpret, random_parameters, signature

jax.config.update("jax_enable_x64", True)

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
STEPS = 50
CONFIG = {
    "model_type": "bert", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
    "intermediate_size": 1536, "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "initializer_range": 0.02,
}
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


def word_pieces(vocabulary, text):
    """BERT's uncased tokenizer by its description: fold, split at spaces, punctuation and ideographs, then take the
    longest piece again and again."""
    folded = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")

    def stands_alone(c):
        ascii_symbol = ord(c) < 128 and not c.isalnum() and not c.isspace()
        return ascii_symbol or unicodedata.category(c).startswith("P") or 0x4E00 <= ord(c) <= 0x9FFF

    ids = [vocabulary["[CLS]"]]
    for word in "".join(f" {c} " if stands_alone(c) else c for c in folded).split():
        found, begin = [], 0
        while begin < len(word):
            sizes = (end for end in range(len(word), begin, -1)
                     if ("##" if begin else "") + word[begin:end] in vocabulary)
            end = next(sizes, None)
            if end is None:
                found = [vocabulary["[UNK]"]]
                break
            found.append(vocabulary[("##" if begin else "") + word[begin:end]])
            begin = end
        ids += found
    return ids + [vocabulary["[SEP]"]]


def made_up_vocabulary():
    """Special pieces, single characters, the text's frequent words and the ends of its words."""
    words = re.findall(r"[a-z]+", TEXT.read_text().lower())
    characters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    ends = collections.Counter(w[-n:] for w in words for n in (2, 3, 4) if len(w) > n)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters)]
    pieces += [w for w, n in sorted(collections.Counter(words).items()) if n >= 3]
    pieces += sorted(f"##{e}" for e, n in ends.items() if n >= 20)
    return list(dict.fromkeys(pieces))


def make_folder(folder):
    """A folder as BertModel saves it: no prefix, no heads."""
    vocabulary = made_up_vocabulary()
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = CONFIG | {"vocab_size": len(vocabulary)}
    program = import_model(folder, config, "encode", 1, 8)
    weights = {n.removeprefix("bert."): v * np.float32(0.3) if v.ndim > 1 else v
               for n, v in random_parameters(program, 6).items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def model_folder(folder):
    given = os.environ.get("ST_MINILM")
    return (pathlib.Path(given), "real weights") if given else (make_folder(folder / "hf"), "made-up weights")


def read_vocabulary(hf):
    return {piece: i for i, piece in enumerate((hf / "vocab.txt").read_text().splitlines())}


def token_ids(hf, folder):
    text = folder / "sentences.txt"
    text.write_text("\n".join(SENTENCES) + "\n")
    done = st.check_run([st.BIN / "st-translate", "--text-to-token-ids", f"--vocab={hf / 'vocab.txt'}", text])
    return [[int(i) for i in line.split()] for line in done.stdout.splitlines()]


def tokens_match(folder):
    hf, which = model_folder(folder)
    vocabulary, found = read_vocabulary(hf), token_ids(hf, folder)
    st.expect(len(found) == len(SENTENCES) == 20, f"{len(found)} lines")
    for sentence, ids in zip(SENTENCES, found, strict=True):
        expected = word_pieces(vocabulary, sentence)
        st.expect(ids == expected, f"{sentence!r}: {ids}, not {expected}")
    unknown = sum(ids.count(vocabulary["[UNK]"]) for ids in found)
    return f"{which}, {sum(map(len, found))} tokens, {unknown} unknown"


def run_compiled(hf, folder, batch):
    """The encoder as a binary for two shards, which reads the folder's weights itself."""
    binary, given, found = folder / "encoder.bin", folder / "batch.safetensors", folder / "states.safetensors"
    rows, length = batch["input_ids"].shape
    parallel = st.write_json(folder / "parallel.json", st.layout(1, 2))
    st.check_run([st.BIN / "st-compile", hf, "--task=encode", f"--batch={rows}", f"--seq={length}",
                  "--target=dtu-t10", f"--parallel={parallel}", "-o", binary])
    save_file(batch, given)
    st.check_run([binary, f"--init={hf}", f"--inputs={given}", f"--outputs={found}"])
    return load_file(found)


def hidden_states_match(folder):
    hf, which = model_folder(folder)
    sentences = token_ids(hf, folder)
    length = max(map(len, sentences))
    mask = np.array([[i < len(s) for i in range(length)] for s in sentences])
    ids = np.array([s + [0] * (length - len(s)) for s in sentences])
    batch = {"input_ids": ids, "token_type_ids": np.zeros_like(ids), "attention_mask": mask}
    batch = {name: value.astype(np.int32) for name, value in batch.items()}
    config = json.loads((hf / "config.json").read_text())
    stored = {"bert." + n.removeprefix("bert."): v for n, v in load_file(hf / "model.safetensors").items()}
    program = import_model(folder / "own", config, "encode", *ids.shape)
    names = [a.name for a in signature(program)[0] if a.role == "parameter"]
    expected, _ = bert_encoder(config, {n: stored[n].astype(np.float64) for n in names}, batch, Dropout(None))
    found = {"interpreted": interpret(program, {n: stored[n].astype(np.float32) for n in names} | batch),
             "compiled": run_compiled(hf, folder, batch)}
    worst = {name: np.abs(states["hidden_states"] - np.asarray(expected))[mask].max() for name, states in found.items()}
    for name, off in worst.items():
        st.expect(off <= 1e-4, f"hidden states, {name}, are off by {off:.1e}")
    errors = ", ".join(f"{name} {off:.0e}" for name, off in worst.items())
    return f"{which}, {mask.sum()} states of up to {np.abs(expected).max():.1f} off by at most: {errors}"


def fine_tunes(folder):
    hf, which = model_folder(folder)
    binary = folder / "minilm.bin"
    st.check_run([st.BIN / "st-compile", hf, "--task=mlm", "--batch=8", "--seq=64", "--target=dtu-t10", "--lr=3e-4",
                  "-o", binary])
    losses = st.losses(st.train(binary, f"--init={hf}", f"--data=text:{TEXT}", "--warmup=5", steps=STEPS))
    first, last = np.mean(losses[:5]), np.mean(losses[-5:])
    st.expect(last < first - 0.5, f"{STEPS} steps take the loss from {first:.3f} to {last:.3f}")
    return f"{which}, loss {first:.2f} to {last:.2f}"


CASES = [("token ids", tokens_match), ("hidden states", hidden_states_match), ("fine-tuning", fine_tunes)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
