"""Models that classify texts or their tokens learn from JSON lines and from synthetic text, in layouts as on one device.
test/e2e/models/test_families.py compares the models with transformers."""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import expect_error

SEQ, BATCH = 24, 4
NAMES = {"good": 0, "bad": 1, "so so": 2}
LABELS = {"num_labels": 3, "label2id": NAMES, "vocab_size": 300}
BERT = st.SMALL_BERT | LABELS | {"num_hidden_layers": 2, "max_position_embeddings": SEQ}
GPT2 = st.SMALL_GPT2 | LABELS | {"n_layer": 2, "n_positions": SEQ, "pad_token_id": 0}
HYBRID = {"mode": "hybrid", "data": 2, "stage_cnt": 2, "accum_degree": 2, "sharding_size": 2, "sharding_dim": "megatron"}
SAMPLES = [{"text": "fine", "label": "good"}, {"text": "a long and boring one, really", "label": 1}, {"text": "", "label": "so so"},
           {"text": "is it old?", "text_pair": "what is its age in years?", "label": 0}]
WORDS = [{"words": ["Ada", "saw", "me"], "labels": [1, 0, None]}, {"words": ["x" * 30], "labels": ["so so"]},
         {"words": [], "labels": []}, {"words": ["é", "b"], "labels": [2, 1]}]


def write_lines(path, samples):
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return f"--data=jsonl:{path}"


def expected_row(sample, is_encoder):
    """Tokens are bytes: of an encoder byte b is 4 + b, and [CLS] and [SEP] are 1 and 2."""
    encode = lambda text: [byte + 4 * is_encoder for byte in text.encode()]
    words = sample.get("words")
    first = encode(" ".join(words) if words is not None else sample["text"])
    second = encode(sample.get("text_pair", ""))
    labels = [-100] * len(first)
    begin = 0
    for word, label in zip(words or [], sample.get("labels", []), strict=True):
        # The space before a word belongs to it.
        start = begin - 1 if begin else 0
        labels[start] = -100 if label is None else NAMES.get(label, label)
        begin += len(word.encode()) + 1
    room = SEQ - is_encoder * (3 if second else 2)
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    tokens, labels = (first, labels[:len(first)])
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1) if second else []
    if is_encoder:
        tokens, labels = [1, *first, 2, *second, *([2] if second else [])], [-100, *labels]
    pad = lambda values, value: tuple([*values, *[value] * (SEQ - len(values))])
    row = {"input_ids": pad(tokens, 0)}
    if is_encoder:
        row |= {"token_type_ids": pad(types, 0), "attention_mask": pad([1] * len(tokens), 0)}
    row["labels"] = pad(labels, -100) if words is not None else (NAMES.get(sample["label"], sample["label"]),)
    return tuple(sorted(row.items()))


def reads_lines(config, task, samples):
    def case(folder):
        is_encoder = "n_embd" not in config
        binary = st.compile_model(folder, "m", config, task, None, batch=BATCH, seq=SEQ)
        data = write_lines(folder / "lines.jsonl", samples)
        st.check_run([binary, "--steps=1", data, f"--record-batches={folder / 'batch.safetensors'}"])
        recorded = {name: value.reshape(BATCH, -1) for name, value in load_file(folder / "batch.safetensors").items()}
        rows = {tuple(sorted((name, tuple(value[i].tolist())) for name, value in recorded.items())) for i in range(BATCH)}
        expected = {expected_row(sample, is_encoder) for sample in samples}
        st.expect(rows == expected, f"rows {sorted(rows - expected)}, expected {sorted(expected - rows)}")
    return case


def learns(config, task, bound, **more):
    """The synthetic text is learned, with the losses of one device."""
    def case(folder):
        config_here = config | more
        losses = []
        for name, layout in (("one", None), ("many", HYBRID)):
            binary = st.compile_model(folder, name, config_here, task, layout, "--eval", batch=16, seq=SEQ)
            metrics = folder / f"{name}.jsonl"
            st.check_run([binary, "--steps=80", "--lr=1e-3", "--valid-data=synthetic", f"--metrics={metrics}"])
            lines = [json.loads(line) for line in metrics.read_text().splitlines()]
            losses.append([line["loss"] for line in lines if "evaluation" not in line])
        # Later losses near 0 amplify roundings.
        apart = st.relative_difference(*(each[:20] for each in losses))
        st.expect(apart < 1e-4, f"losses are {apart:.1e} apart")
        last = lines[-1]
        value = last.get("label_accuracy", -last["loss"])
        st.expect(value > bound, f"{last}: expected more than {bound}")
        return f"accuracy {value:.2f}, losses {losses[1][0]:.3f} -> {losses[1][-1]:.3f}, {apart:.0e} apart"
    return case


def refused(folder):
    bert = st.compile_model(folder, "bert", BERT, "classify", None, batch=2, seq=SEQ)
    gpt = st.compile_model(folder, "gpt", {name: value for name, value in GPT2.items() if name != "pad_token_id"}, "classify", None,
                           batch=2, seq=SEQ)
    tags = st.compile_model(folder, "tags", BERT, "classify-tokens", None, batch=2, seq=SEQ)
    for binary, sample, words in (
            (bert, {"text": "x", "label": 3}, "lines.jsonl:1.label: expected the name of a label, or a number from 0 to 2"),
            (bert, {"text": "x", "label": "great"}, "lines.jsonl:1.label: \"label2id\" of the model's config.json has no label 'great'"),
            (bert, {"text": "x"}, "lines.jsonl:1: no \"label\""),
            (bert, {"text": 1, "label": 0}, "lines.jsonl:1.text"),
            (gpt, {"text": "x", "label": 0}, "the task classify needs \"pad_token_id\" in the model's config.json"),
            (tags, {"words": ["a", "b"], "labels": [1]}, "lines.jsonl:1: 2 words have 1 labels"),
            (tags, {"words": "a", "labels": [1]}, "lines.jsonl:1.words")):
        expect_error([binary, "--steps=1", write_lines(folder / "lines.jsonl", [sample])], words)
    expect_error([bert, "--steps=1", f"--data=text:{folder / 'lines.jsonl'}"], "the task classify needs texts with labels; expected synthetic, jsonl:FILE")
    config = st.write_json(folder / "config.json", {"model_type": "megatron-gpt"})
    expect_error([*st.COMPILE, config, "--task=classify", "-o", folder / "x"], "task 'classify': expected clm for model_type \"megatron-gpt\"")


if __name__ == "__main__":
    sys.exit(st.main(
        ("lines of texts and pairs", reads_lines(BERT, "classify", SAMPLES)),
        ("lines of texts for a decoder", reads_lines(GPT2, "classify", [{"text": s["text"], "label": s["label"]} for s in SAMPLES])),
        ("lines of words", reads_lines(BERT, "classify-tokens", WORDS)),
        ("bert learns classes", learns(BERT, "classify", 0.7)),
        ("gpt2 learns classes of tokens", learns(GPT2, "classify-tokens", 0.7)),
        ("gpt2 learns a number", learns(GPT2, "classify", -0.6, num_labels=1)),
        ("refused", refused)))
