"""Token files of Megatron-LM (.bin and .idx), written here from the format's description, train as the text does."""

import pathlib
import random
import re
import struct
import sys

import numpy as np

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT, expect_error

GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 300,
       "n_positions": 32}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *(chr(ord("a") + i) for i in range(26)),
          *("##" + chr(ord("a") + i) for i in range(26))]
CODES = {np.uint8: 1, np.int16: 3, np.int32: 4, np.int64: 5, np.uint16: 8}


def write_dataset(prefix, sequences, kind=np.uint16, documents=None):
    """Writes the files that Megatron-LM's tools/preprocess_data.py writes."""
    arrays = [np.asarray(sequence, kind) for sequence in sequences]
    pathlib.Path(f"{prefix}.bin").write_bytes(b"".join(array.tobytes() for array in arrays))
    sizes = np.array([len(array) for array in arrays], np.int32)
    places = np.concatenate([[0], np.cumsum(sizes[:-1], dtype=np.int64) * np.dtype(kind).itemsize]).astype(np.int64)
    documents = np.arange(len(arrays) + 1, dtype=np.int64) if documents is None else np.array(documents, np.int64)
    pathlib.Path(f"{prefix}.idx").write_bytes(
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, CODES[kind], len(arrays), len(documents)) +
        sizes.tobytes() + places.tobytes() + documents.tobytes())


def sentences(count):
    draw = random.Random(3)
    return [" ".join("".join(draw.choices("abcdefgh", k=draw.randrange(1, 6))) for _ in range(draw.randrange(3, 9))) + "."
            for _ in range(count)]


def losses(binary, data):
    done = st.check_run([binary, "--steps=4", f"--data={data}"])
    return [line.split("  host")[0] for line in done.stdout.splitlines() if line.startswith("step ")]


def gpt(folder):
    """Every type of token, and documents of any length."""
    text = " ".join(sentences(60))
    (folder / "text").write_text(text)
    binary = st.compile_model(folder, "gpt", GPT, "clm", None, batch=2, seq=32)
    expected = losses(binary, f"text:{folder / 'text'}")
    data = text.encode()
    for kind in CODES:
        cuts = sorted({0, len(data), *random.Random(kind.__name__).sample(range(len(data)), 9)})
        write_dataset(folder / kind.__name__, [list(data[a:b]) for a, b in zip(cuts, cuts[1:])], kind)
        found = losses(binary, f"megatron:{folder / kind.__name__}")
        st.expect(found == expected, f"{kind.__name__}: {found}\n{expected}")


def bert(folder):
    """Sentences are sequences; pairs and masks are those of the text."""
    lines = sentences(60)
    (folder / "text").write_text(" ".join(lines))
    (folder / "lines").write_text("\n".join(lines) + "\n")
    (folder / "bert").mkdir()
    (folder / "bert/vocab.txt").write_text("\n".join(PIECES) + "\n")
    binary = st.compile_model(folder, "bert", TINY_BERT, "mlm", None, batch=2, seq=16)
    done = st.check_run([st.BIN / "st-translate", "--text-to-token-ids", f"--vocab={folder / 'bert/vocab.txt'}",
                         folder / "lines"])
    tokens = [[int(word) for word in re.findall(r"\d+", line)][1:-1] for line in done.stdout.splitlines()]
    # Without [CLS] and [SEP], as preprocess_data.py has them.
    st.expect(len(tokens) == len(lines), f"{len(tokens)} lines of tokens")
    write_dataset(folder / "data", tokens, documents=[0, len(tokens)])
    st.expect(losses(binary, f"megatron:{folder / 'data'}") == losses(binary, f"text:{folder / 'text'}"), "other losses")


def damaged(folder):
    binary = st.compile_model(folder, "gpt", GPT, "clm", None, batch=2, seq=32)
    prefix = folder / "data"
    write_dataset(prefix, [range(200), range(100)])
    index, tokens = (pathlib.Path(f"{prefix}.{ending}") for ending in ("idx", "bin"))
    good = index.read_bytes(), tokens.read_bytes()

    def expect(pattern, changed_index=None, changed_tokens=None):
        index.write_bytes(good[0] if changed_index is None else changed_index)
        tokens.write_bytes(good[1] if changed_tokens is None else changed_tokens)
        expect_error([binary, "--steps=1", f"--data=megatron:{prefix}"], pattern)

    expect(r"data\.idx: not an index", b"")
    expect(r"data\.idx: not an index", b"X" + good[0][1:])
    expect(r"data\.idx: version 2, expected 1", good[0][:9] + b"\x02" + good[0][10:])
    expect(r"data\.idx: type code 7 holds no tokens", good[0][:17] + b"\x07" + good[0][18:])
    for cut in (30, len(good[0]) - 1, len(good[0]) - 8):
        expect(r"data\.idx: (truncated or damaged|not an index)", good[0][:cut])
    expect(r"data\.idx: sequence 1 has 100 tokens from byte 401 on", good[0].replace(struct.pack("<q", 400), struct.pack("<q", 401)))
    bounds = struct.pack("<qqq", 0, 1, 2)
    for wrong, pattern in (((0, 1, 3), "the documents end with sequence 3, expected 2"), ((0, 2, 1), "document 2 begins with sequence 1"),
                           ((1, 1, 2), "document 0 begins with sequence 1: expected 0")):
        expect(rf"data\.idx: {pattern}", good[0].replace(bounds, struct.pack("<qqq", *wrong)))
    expect(r"data\.bin: 598 bytes, expected 600", None, good[1][:-2])
    expect(r"data\.bin: token 300 at position \d+: expected 0 to 299", None, struct.pack("<H", 300) * 300)
    index.unlink()
    expect_error([binary, "--steps=1", f"--data=megatron:{prefix}"], r"data\.idx: cannot read")
    expect_error([binary, "--steps=1", "--data=megatron:"], "expected the name of a file")
    index.write_bytes(good[0])
    expect_error([binary, "--steps=1", f"--data=megatron:{prefix}", f"--metrics={tokens}"], "are the same file")
    other = st.compile_model(folder, "bert", TINY_BERT, "mlm", None, batch=2, seq=16)
    expect_error([other, "--steps=1", f"--data=megatron:{prefix}"], r"the task mlm needs the model folder's tokenizer\.json or vocab\.txt")


if __name__ == "__main__":
    sys.exit(st.main(("GPT", gpt), ("BERT", bert), ("damaged", damaged)))
