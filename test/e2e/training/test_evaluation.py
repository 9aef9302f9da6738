"""Evaluations of a training run give JAX's results for the same parameters and batches in any layout, and do not affect
the training."""

import collections
import json
import pathlib
import re
import string
import sys

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import jax_models
import st_testing as st
from st_errors import expect_error

SIZES = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
BERT = st.SMALL_BERT | SIZES
GPT2 = st.SMALL_GPT2 | {"n_embd": 32, "n_layer": 4, "n_head": 4, "vocab_size": 100}
BATCH, LENGTH, BATCHES, STEPS = 8, 32, 2, 4
HYBRID = {"mode": "hybrid", "data": 2, "stage_cnt": 2, "accum_degree": 2, "sharding_size": 2, "sharding_dim": "megatron"}


def make_batches(task, seed):
    rng = np.random.default_rng(seed)
    shape = (BATCHES, BATCH, LENGTH)
    ids = rng.integers(4, 100, shape)
    some = rng.random(shape) < 0.3
    if task == "clm":
        batches = {"input_ids": ids, "labels": np.where(some, ids, -100)}
    else:
        lengths = rng.integers(LENGTH // 2, LENGTH + 1, shape[:2])[..., None]
        places = np.arange(LENGTH)
        batches = {"input_ids": ids, "attention_mask": places < lengths,
                   "token_type_ids": (places >= 8) & (places < lengths)}
    if task == "mlm":
        batches["labels"] = np.where(some & batches["attention_mask"], ids, -100)
        batches["next_sentence_label"] = rng.integers(0, 2, shape[:2])
    if task == "span":
        start = rng.integers(8, LENGTH // 2 - 3, shape[:2])
        batches["start_positions"] = np.where(rng.random(shape[:2]) < 0.2, 0, start)
        batches["end_positions"] = np.where(batches["start_positions"] == 0, 0, start + rng.integers(0, 3, shape[:2]))
    return {name: np.ascontiguousarray(value.astype(np.int32)) for name, value in batches.items()}


def mlm_accuracies(config, parameters, batches):
    """The shares of labels with the largest logit: of masked tokens, and of second sentences."""
    rights = [[], []]
    for i in range(BATCHES):
        batch = {name: value[i] for name, value in batches.items()}
        x, linear = jax_models.bert_encoder(config, parameters, batch, jax_models.Dropout(None))
        h = jax_models.ACTIVATIONS[config["hidden_act"]](linear("cls.predictions.transform.dense", x))
        h = jax_models.layer_norm(parameters, "cls.predictions.transform.LayerNorm", h, 1e-12)
        logits = h @ parameters["bert.embeddings.word_embeddings.weight"].T + parameters["cls.predictions.bias"]
        relationship = linear("cls.seq_relationship", jnp.tanh(linear("bert.pooler.dense", x[:, 0])))
        counts = batch["labels"] != -100
        rights[0].append((np.argmax(logits, -1) == batch["labels"])[counts])
        rights[1].append(np.argmax(relationship, -1) == batch["next_sentence_label"])
    return [float(np.concatenate(right).mean()) for right in rights]


def normalize(text):
    """As SQuAD 1.1's evaluation script."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1_score(found, expected):
    found, expected = normalize(found).split(), normalize(expected).split()
    same = sum((collections.Counter(found) & collections.Counter(expected)).values())
    return 2 * same / (len(found) + len(expected)) if same else 0.0


def span_scores(config, parameters, batches):
    scores = []
    for i in range(BATCHES):
        batch = {name: value[i] for name, value in batches.items()}
        x, linear = jax_models.bert_encoder(config, parameters, batch, jax_models.Dropout(None))
        logits = np.asarray(linear("qa_outputs", x))
        for row in range(BATCH):
            if batch["start_positions"][row] == 0:
                continue
            # The second segment without its last token.
            text = np.flatnonzero(batch["token_type_ids"][row])[:-1]
            spans = [(a, b) for a in text for b in text if a <= b < a + 30]
            a, b = max(spans, key=lambda span: logits[row, span[0], 0] + logits[row, span[1], 1])
            words = [str(token) for token in batch["input_ids"][row]]
            found = " ".join(words[a : b + 1])
            expected = " ".join(words[batch["start_positions"][row] : batch["end_positions"][row] + 1])
            scores.append((normalize(found) == normalize(expected), f1_score(found, expected)))
    return np.mean(scores, axis=0).tolist()


def expected_values(config, task, parameters, batches):
    loss = jax_models.loss_function(config, task)
    values = {"loss": float(np.mean([loss(parameters, {n: v[i] for n, v in batches.items()}) for i in range(BATCHES)]))}
    if task == "clm":
        values["perplexity"] = float(np.exp(values["loss"]))
    elif task == "mlm":
        values["masked_lm_accuracy"], values["next_sentence_accuracy"] = mlm_accuracies(config, parameters, batches)
    else:
        values["exact_match"], values["f1"] = span_scores(config, parameters, batches)
    return values


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_times(line):
    return {name: value for name, value in line.items() if not name.endswith("_s")}


def evaluates(config, task, parallel, *flags):
    def case(folder):
        on_gpu = any("target" in flag for flag in flags)
        binary = st.compile_model(folder, "m", config, task, parallel, "--eval", *flags, batch=BATCH, seq=LENGTH)
        batches = make_batches(task, 0)
        save_file(batches, folder / "valid.safetensors")
        save_file(make_batches(task, 1), folder / "train.safetensors")
        run = [binary, f"--steps={STEPS}", f"--data={folder / 'train.safetensors'}", "--lr=1e-3"]
        valid = [f"--valid-data={folder / 'valid.safetensors'}", f"--eval-iters={BATCHES}"]
        st.check_run([*run, f"--metrics={folder / 'plain.jsonl'}", f"--save={folder / 'plain'}"])
        st.check_run([*run, *valid, "--eval-interval=2", f"--metrics={folder / 'with.jsonl'}", f"--save={folder / 'with'}"])
        lines = read_lines(folder / "with.jsonl")
        steps = [without_times(line) for line in lines if "evaluation" not in line]
        st.expect(steps == [without_times(line) for line in read_lines(folder / "plain.jsonl")],
                  "a run that evaluates trains otherwise")
        for file in sorted((folder / "plain").iterdir()):
            st.expect(file.read_bytes() == (folder / "with" / file.name).read_bytes(), f"{file.name} is another")
        found = [line for line in lines if "evaluation" in line]
        st.expect([line["step"] for line in found] == [2, 4], f"evaluations after {[line['step'] for line in found]}")

        # The checkpoint alone gives the same result.
        st.check_run([binary, "--eval-only", f"--resume={folder / 'plain'}", *valid, f"--metrics={folder / 'only.jsonl'}"])
        only, = read_lines(folder / "only.jsonl")
        st.expect(without_times(only) == without_times(found[-1]), f"{only} is not {found[-1]}")
        st.expect(on_gpu or only["sim_ms"] > 0, f"no simulated time: {only}")
        expected = expected_values(config, task, load_file(folder / "plain" / "model.safetensors"), batches)
        for name, value in expected.items():
            st.expect(abs(only[name] - value) <= 1e-5 * max(1, abs(value)), f"{name} {only[name]}, of JAX {value}")
        return ", ".join(f"{name} {only[name]:.6f}" for name in expected)
    return case


def resumed(folder):
    """A resumed run evaluates and trains like an uninterrupted one."""
    binary = st.compile_model(folder, "m", GPT2, "clm", st.layout(2, 2, "hybrid", accum=2), "--eval", batch=BATCH, seq=LENGTH)
    run = [binary, "--valid-data=synthetic", "--test-data=synthetic", "--eval-interval=3", "--eval-iters=1", "--lr=1e-3"]
    st.check_run([*run, "--steps=6", f"--metrics={folder / 'whole'}", f"--save={folder / 'a'}"])
    st.check_run([*run, "--steps=4", f"--metrics={folder / 'first'}", f"--save={folder / 'b'}"])
    st.check_run([*run, "--steps=2", f"--metrics={folder / 'second'}", f"--resume={folder / 'b'}", f"--save={folder / 'b'}"])
    whole = [without_times(line) for line in read_lines(folder / "whole")]
    parts = [without_times(line) for name in ("first", "second") for line in read_lines(folder / name)]
    # The first part ends after step 4 and evaluates there too.
    parts = [line for line in parts if "evaluation" not in line or line["step"] != 4]
    st.expect(parts == whole, f"{parts}\nis not\n{whole}")
    for file in sorted((folder / "a").iterdir()):
        st.expect(file.read_bytes() == (folder / "b" / file.name).read_bytes(), f"{file.name} is another")


def logged(folder):
    """Megatron-LM's lines, its tags, and the memory of the evaluation."""
    binary = st.compile_model(folder, "m", BERT, "mlm", None, "--eval", batch=BATCH, seq=LENGTH)
    done = st.check_run([binary, "--steps=2", "--eval-interval=1", "--valid-data=synthetic", "--test-data=synthetic",
                         "--eval-iters=1", "--log-style=megatron", f"--tensorboard={folder / 'events'}"])
    for step in (1, 2):
        st.expect(re.search(rf"^ validation loss at iteration {step} \| lm loss value: \d\.\d{{6}}E[+-]\d\d \| lm loss PPL: "
                            r"\d\.\d{6}E[+-]\d\d \| sop loss value: ", done.stdout, re.M), f"no line of step {step}: {done.stdout}")
    st.expect(" validation loss at the end of training for test data | lm loss value: " in done.stdout, done.stdout)
    events = b"".join(path.read_bytes() for path in (folder / "events").iterdir())
    for tag in ("lm loss validation", "lm loss validation ppl", "masked_lm_accuracy validation", "lm loss test"):
        st.expect(tag.encode() in events, f"no {tag} in the events")


def refused(folder):
    plain = st.compile_model(folder, "plain", GPT2, "clm", None, batch=2, seq=8)
    binary = st.compile_model(folder, "m", GPT2, "clm", None, "--eval", batch=2, seq=8)
    expect_error([plain, "--steps=1", "--eval-interval=1", "--valid-data=synthetic"], "this binary has no evaluation: compile it with --eval")
    expect_error([binary, "--steps=1", "--eval-interval=1"], "--eval-interval needs data: give --valid-data")
    expect_error([binary, "--eval-only"], "--eval-only needs data: give --valid-data, --test-data, or --split with parts for them")
    expect_error([binary, "--eval-only", "--valid-data=synthetic", "--save=x"], "--save has no effect with --eval-only")
    expect_error([binary, "--valid-data=synthetic", "--eval-iters=0"], "--eval-iters=0: expected 1 or more, or all")
    expect_error([binary, "--valid-data=synthetic", f"--predictions={folder / 'p'}"],
                 "--predictions: --valid-data=synthetic has no questions; give squad:FILE")


def windows_of(question, context):
    """[CLS] question [SEP] window [SEP] as docs/training.md describes them, for tokens that are bytes."""
    question, context = ([4 + byte for byte in text.encode()] for text in (question, context))
    room = LENGTH - 3 - len(question)
    for begin in range(0, len(context), room // 2):
        window = context[begin : begin + room]
        yield begin, [1, *question, 2, *window, 2], [0] * (len(question) + 2) + [1] * (len(window) + 1)
        if begin + room >= len(context):
            return


def best_answer(config, parameters, question, context):
    best = -np.inf, ""
    for begin, ids, types in windows_of(question, context):
        batch = {"input_ids": ids, "token_type_ids": types, "attention_mask": [1] * len(ids)}
        batch = {name: np.pad(value, (0, LENGTH - len(ids)))[None].astype(np.int32) for name, value in batch.items()}
        x, linear = jax_models.bert_encoder(config, parameters, batch, jax_models.Dropout(None))
        start, end = np.asarray(linear("qa_outputs", x))[0].T
        first = len(question.encode()) + 2
        for a in range(first, len(ids) - 1):
            for b in range(a, min(len(ids) - 1, a + 30)):
                text = context.encode()[begin + a - first : begin + b - first + 1].decode()
                best = max(best, (start[a] + end[b], text), key=lambda pair: pair[0])
    return best[1]


def answers_questions(folder):
    """Answers to the questions of a file, over all windows, and their scores by SQuAD's rules."""
    config = BERT | {"vocab_size": 300}
    binary = st.compile_model(folder, "m", config, "span", HYBRID, "--eval", batch=BATCH, seq=LENGTH)
    rng, words = np.random.default_rng(st.run_seed()), "a red cat and the blue dog sat on an old mat by the sea".split()
    paragraphs = []
    for i in range(6):
        context = " ".join(rng.choice(words, 4 + 4 * i))
        begins = [context.index(word) for word in rng.choice(context.split(), 2)]
        answers = [{"text": context[begin:].split()[0], "answer_start": begin} for begin in begins]
        answers.append({"text": context, "answer_start": 0})
        paragraphs.append({"context": context, "qas": [{"id": f"q{i}", "question": "who?", "answers": answers}]})
    st.write_json(folder / "squad.json", {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]})
    st.check_run([binary, "--steps=1", f"--data=squad:{folder / 'squad.json'}", f"--save={folder / 'saved'}"])
    st.check_run([binary, "--eval-only", f"--resume={folder / 'saved'}", f"--valid-data=squad:{folder / 'squad.json'}", "--eval-iters=all",
                  f"--predictions={folder / 'predictions.json'}", f"--metrics={folder / 'metrics.jsonl'}"])
    parameters = load_file(folder / "saved" / "model.safetensors")
    expected = {qa["id"]: best_answer(config, parameters, qa["question"], paragraph["context"])
                for paragraph in paragraphs for qa in paragraph["qas"]}
    found = json.loads((folder / "predictions.json").read_text())
    st.expect(found == expected, f"answers {found}, of JAX {expected}")
    scores = []
    for paragraph in paragraphs:
        for qa in paragraph["qas"]:
            text, right = expected[qa["id"]], [answer["text"] for answer in qa["answers"]]
            scores.append((max(normalize(text) == normalize(answer) for answer in right), max(f1_score(text, answer) for answer in right)))
    line, = read_lines(folder / "metrics.jsonl")
    for name, value in zip(("exact_match", "f1"), np.mean(scores, axis=0), strict=True):
        st.expect(abs(line[name] - value) <= 1e-8, f"{name} {line[name]}, expected {value}")
    return f"{line['batches']} batches, F1 {line['f1']:.3f}"


def of_each_micro_batch(folder):
    """A binary returns a function's results for each micro-batch as one tensor."""
    program, parallel, binary = folder / "f.mlir", folder / "parallel.json", folder / "f.bin"
    program.write_text("func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {\n"
                       "  %0 = stablehlo.negate %x : tensor<4x2xf32>\n  return %0 : tensor<4x2xf32>\n}\n")
    st.write_json(parallel, {"mode": "hybrid", "data": 1, "accum_degree": 2})
    st.check_run([*st.COMPILE, program, f"--parallel={parallel}", "--target=dtu-t10", "-o", binary])
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    save_file({"arg0": x}, folder / "in")
    st.check_run([binary, f"--inputs={folder / 'in'}", f"--outputs={folder / 'out'}"])
    st.expect((load_file(folder / "out")["result0"] == -x).all(), "other values")


def evaluations():
    yield "bert mlm, one device", evaluates(BERT, "mlm", None)
    yield "bert mlm, 4 stages x 2 shards", evaluates(BERT, "mlm", st.layout(4, 2, "hybrid", accum=2))
    yield "bert mlm, 2 x 2 x 2, zero 3", evaluates(BERT, "mlm", HYBRID | {"zero": 3})
    yield "bert span, 2 x 2 x 2, zero 1", evaluates(BERT, "span", HYBRID | {"zero": 1})
    yield "bert span, rows that do not divide", evaluates(BERT, "span", {"mode": "sharding", "data": 3, "accum_degree": 1})
    yield "gpt2, 2 x 2 x 2, zero 2", evaluates(GPT2, "clm", HYBRID | {"zero": 2})
    yield "gpt2, interleaved", evaluates(GPT2, "clm", HYBRID | {"schedule": "interleaved", "virtual_stages": 2})


if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(evaluations(), 2),
                     ("bert mlm, host instead of GPUs", evaluates(BERT, "mlm", HYBRID | {"zero": 1}, "--target=cuda-host")),
                     ("answers to questions", answers_questions), ("resumed", resumed), ("logged", logged), ("refused", refused),
                     ("a result of each micro-batch", of_each_micro_batch)))
