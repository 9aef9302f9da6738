"""Tokenizers of model folders compute the tokens of Hugging Face's own `tokenizers` on all of Unicode. Binaries read text,
JSON lines and token files with them."""

import json
import os
import pathlib
import sys

import numpy as np
from tokenizers import Tokenizer

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
import tokenizer_kinds as kinds
from st_errors import expect_error
from test_megatron_data import write_dataset

# The number of random texts; ST_ALL also tests every code point.
TEXTS = 400
GPT = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 3100,
       "n_positions": 32, "eos_token_id": 0}


def every_code_point():
    codes = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    for at in range(0, len(codes), 40):
        yield " ".join(f"a{c}1" for c in codes[at:at + 40])
        yield "A\u0301\u0345".join(codes[at:at + 40])


def describe(tokenizer, text, found, expected):
    """The first difference."""
    at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    name = lambda ids: [tokenizer.id_to_token(i) for i in ids[max(0, at - 2):at + 4]]
    return f"{text[:200]!r}: token {at}: {name(found)}, expected {name(expected)}"


def compare(name, tokenizer, folder, texts):
    """Saves the tokenizer in the folder and compares ours with it; returns the number of tokens."""
    folder.mkdir(exist_ok=True)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(folder / "tokenizer.json"))
    return held_against(name, tokenizer, folder, texts)


def held_against(name, tokenizer, folder, texts):
    count = wrong = 0
    first = None
    for text, (special, ids, _) in zip(texts, kinds.ours(folder, texts), strict=True):
        expected = tokenizer.encode(text).ids
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        count += len(expected)
        if (special, ids) != (expected, plain):
            wrong += 1
            first = first or describe(tokenizer, text, special, expected)
    st.expect(not wrong, f"{name}: {wrong} of {len(texts)} texts differ, {first}")
    return count


def all_kinds(folder):
    texts = [*kinds.hard_texts(1, TEXTS), *(line for text in kinds.plain_text() for line in text.split("\n")[::9])]
    if os.environ.get("ST_ALL"):
        texts += [*every_code_point(), *kinds.hard_texts(2, 10 * TEXTS)]
    made = kinds.kinds(folder)
    total = sum(compare(name, make(), folder / "tokenizer", texts) for name, make in made.items())
    return f"{total} tokens of {len(made)} tokenizers, {len(texts)} texts"


def vocabulary_and_merges(folder):
    """The same tokenizer, from vocab.json and merges.txt."""
    tokenizer = kinds.byte_level(kinds.training_lines())
    target = folder / "gpt"
    target.mkdir()
    tokenizer.model.save(str(target))
    st.expect(sorted(os.listdir(target)) == ["merges.txt", "vocab.json"], f"{os.listdir(target)}")
    return f"{held_against('GPT-2', tokenizer, target, kinds.hard_texts(3, 200))} tokens"


def invalid_bytes(folder):
    """Invalid UTF-8 is read as with Python's errors="replace"."""
    draw = np.random.default_rng(5)
    texts = [bytes(draw.choice([0x20, 0x41, 0x61, 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0xFF, 0xC0], size))
             for size in range(1, 60) for _ in range(8)]
    count = 0
    for name in ("GPT-2", "BERT cased", "Llama"):
        tokenizer = kinds.kinds(folder)[name]()
        target = folder / name
        target.mkdir()
        tokenizer.save(str(target / "tokenizer.json"))
        for text, (special, _, places) in zip(texts, kinds.ours(target, texts), strict=True):
            expected = tokenizer.encode(text.decode(errors="replace")).ids
            st.expect(special == expected, f"{name}: {text!r}: {special}, expected {expected}")
            st.expect(all(a <= b <= len(text) for a, b in places), f"{name}: {text!r}: {places}")
            count += len(special)
    return f"{count} tokens"


def places(folder):
    """Tokens know their positions in the text, which are needed to find an answer's position."""
    texts = [text for text in kinds.hard_texts(4, 200) if text.isprintable()]
    for name in ("BERT cased", "GPT-2"):
        tokenizer = kinds.kinds(folder)[name]()
        (folder / name).mkdir()
        tokenizer.post_processor = kinds.processors.ByteLevel(trim_offsets=False)
        tokenizer.save(str(folder / name / "tokenizer.json"))
        for text, (_, _, found) in zip(texts, kinds.ours(folder / name, texts), strict=True):
            begins = np.cumsum([0, *(len(c.encode()) for c in text)])
            # For a token within a character, the whole character counts there.
            widened = [(int(np.searchsorted(begins, a, "right")) - 1, int(np.searchsorted(begins, b))) for a, b in found]
            expected = tokenizer.encode(text).offsets
            st.expect(widened == expected, f"{name}: {text!r}: {widened}, expected {expected}")


def binaries(folder):
    """A GPT reads text, JSON lines and Megatron-LM's files with its folder's tokenizer, and its checkpoint has it."""
    tokenizer = kinds.byte_level(kinds.training_lines())
    (folder / "gpt").mkdir()
    tokenizer.save(str(folder / "gpt/tokenizer.json"))
    binary = st.compile_model(folder, "gpt", GPT, "clm", None, batch=2, seq=32)
    documents = kinds.plain_text()[3:5]
    (folder / "lines.jsonl").write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in documents))
    # Sentences are encoded separately, so the compared text has none.
    words = [[" ".join(text.replace("\n", " ").replace(".", ",").replace("!", ",").replace("?", ",").split())][0] for text in documents]
    (folder / "words.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in words))
    write_dataset(folder / "data", [[*tokenizer.encode(text).ids, 0] for text in words], np.int32)
    losses = lambda data, *flags: st.losses(st.train(binary, f"--data={data}", *flags, steps=3))
    found, expected = losses(f"jsonl:{folder / 'words.jsonl'}"), losses(f"megatron:{folder / 'data'}")
    st.expect(found == expected, f"{found}, of token files {expected}")
    losses(f"jsonl:{folder / 'lines.jsonl'}", "--eod-mask-loss", "--split=1,1", f"--save={folder / 'saved'}")
    st.expect((folder / "saved/tokenizer.json").read_bytes() == (folder / "gpt/tokenizer.json").read_bytes(), "another tokenizer saved")
    run = [binary, "--steps=1", f"--data=jsonl:{folder / 'lines.jsonl'}"]
    expect_error([*run, "--reset-position-ids"], r'--reset-position-ids: the program reads no "position_ids"')
    expect_error([*run, "--prefix-lm"], r'--prefix-lm: the program reads no "prefix_length"')
    expect_error([*run, "--split=1,x"], r"--split=1,x: expected up to three weights")
    expect_error([*run, "--mask-prob=0.2"], r"--mask-prob has no effect with --data=jsonl:.* and the task clm")
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": 5}\n')
    expect_error([binary, "--steps=1", f"--data=jsonl:{folder / 'bad.jsonl'}"], r"bad\.jsonl:2\.text: expected a string")
    saved = json.loads((folder / "saved/tokenizer.json").read_text())
    saved["normalizer"] = {"type": "NFC"}
    st.write_json(folder / "saved/tokenizer.json", saved)
    expect_error([*run, f"--resume={folder / 'saved'}"], r"saved/tokenizer\.json.*(damaged|checksum)")
    expect_error([*run, f"--init={folder / 'saved'}"], r"saved/tokenizer\.json: its normalizer differs from that of the program's tokenizer")


def refused(folder):
    """st-compile names the features that our tokenizer does not support."""
    model = st.write_json(folder / "model/config.json", GPT).parent
    words = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    command = [*st.COMPILE, model, "--task=clm", "--batch=2", "--seq=32", "--target=dtu-t10", "-o", folder / "out.bin"]
    for changes, pattern in (
            ({"normalizer": {"type": "Upside"}}, r"tokenizer\.json\.normalizer: the normalizer 'Upside' is not supported"),
            ({"pre_tokenizer": {"type": "UnicodeScripts"}}, r"pre_tokenizer: the pre-tokenizer 'UnicodeScripts' is not supported"),
            ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}, r'model: a "dropout" of merges is not'),
            ({"model": words | {"vocab": {"a": 5000}}}, r"tokenizer\.json: 5001 token ids, but the model has 3100")):
        st.write_json(model / "tokenizer.json", {"model": words} | changes)
        expect_error(command, pattern)
    (model / "tokenizer.json").write_text("{")
    expect_error(command, r"tokenizer\.json: malformed JSON")
    (model / "tokenizer.json").unlink()
    (model / "vocab.json").write_text("{}")
    expect_error(command, r"vocab\.json: expected merges\.txt in the same folder")


CASES = [("all kinds", all_kinds), ("vocabulary and merges", vocabulary_and_merges), ("invalid bytes", invalid_bytes),
         ("places", places), ("binaries", binaries), ("refused", refused)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
