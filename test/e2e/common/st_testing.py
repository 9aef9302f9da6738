"""Shared parts of the end-to-end tests: small models, layouts, and functions that run the tools.

Binaries come from $ST_BUILD/bin (default: build/bin); $ST_RUNNER names another st-runner to embed in training binaries.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"
RUNNER = pathlib.Path(os.environ.get("ST_RUNNER", BIN / "st-runner"))
COMPILE = [BIN / "st-compile", *([f"--runner={RUNNER}"] if "ST_RUNNER" in os.environ else [])]

SMALL_BERT = {
    "architectures": ["BertForPreTraining"], "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 8,
    "num_attention_heads": 8, "intermediate_size": 256, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
    "max_position_embeddings": 64, "type_vocab_size": 2, "vocab_size": 512, "pad_token_id": 0,
}
SMALL_GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 64, "n_layer": 8, "n_head": 8,
    "n_positions": 64, "vocab_size": 512, "activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1,
    "resid_pdrop": 0.1, "initializer_range": 0.02, "layer_norm_epsilon": 1e-5,
}
SMALL_MEGATRON_BERT = SMALL_BERT | {
    "architectures": ["MegatronBertForPreTraining"], "model_type": "megatron-bert", "vocab_size": 500,
    "make_vocab_size_divisible_by": 128,
}
SMALL_MEGATRON_GPT = {
    "model_type": "megatron-gpt", "hidden_size": 64, "num_layers": 8, "num_attention_heads": 8,
    "max_position_embeddings": 64, "vocab_size": 500, "make_vocab_size_divisible_by": 128, "hidden_dropout": 0.1,
    "attention_dropout": 0.1, "init_method_std": 0.02, "layernorm_epsilon": 1e-5,
}


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def run(command, timeout=600, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **options)


def check_run(command, timeout=600, **options):
    done = run(command, timeout, **options)
    expect(done.returncode == 0, f"exit {done.returncode}: {' '.join(map(str, command))}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done


def write_json(path, value):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def forget_checksums(checkpoint, keys=("crc32", "files")):
    """Removes checksums, so that a changed file of a checkpoint is read."""
    path = pathlib.Path(checkpoint) / "trainer_state.json"
    write_json(path, {k: v for k, v in json.loads(path.read_text()).items() if k not in (*keys, "self_crc32")})


def dtu_id(index):
    """Device id of the index-th cluster: chip k owns ids 5k .. 5k+3."""
    return index // 4 * 5 + index % 4


def layout(stages, shards, mode="sharding", dim=-1, accum=1):
    names = iter(range(stages * shards))
    return {
        "mode": mode, "sharding_size": shards, "sharding_dim": dim, "stage_cnt": stages, "accum_degree": accum,
        "device_mapping": {
            f"stage_{i}": {f"shard_{j}": f"/device:XLA_DTU:{dtu_id(next(names))}" for j in range(shards)}
            for i in range(stages)},
    }


def compile_model(folder, name, config, task, parallel, *flags, batch=4, seq=32):
    """Compiles a training binary into `folder` and returns its path; its step is timed only on request."""
    folder = pathlib.Path(folder)
    model = write_json(folder / name / "config.json", config).parent
    command = [*COMPILE, model, f"--task={task}", f"--batch={batch}", f"--seq={seq}",
               "--target=dtu-t10", "-o", folder / f"{name}.bin", "--predict=false", *flags]
    if parallel is not None:
        command.append(f"--parallel={write_json(folder / name / 'parallel.json', parallel)}")
    check_run(command)
    return folder / f"{name}.bin"


def train(binary, *flags, steps=10, timeout=600):
    """Runs a training binary and returns its metrics, one dictionary per step."""
    metrics = binary.with_suffix(".metrics")
    check_run([binary, f"--steps={steps}", f"--metrics={metrics}", *flags], timeout)
    return [json.loads(line) for line in metrics.read_text().splitlines()]


def losses(metrics):
    return [m["loss"] for m in metrics]


def relative_difference(a, b):
    return max(abs(x - y) / abs(x) for x, y in zip(a, b, strict=True))


def run_seed():
    """The seed of what this run draws: $ST_SEED, or else the week of the commit. So one commit has one result, and
    other cases are drawn every week. Outside a git repository it is 0."""
    if given := os.environ.get("ST_SEED"):
        return int(given)
    shown = run(["git", "-C", ROOT, "log", "-1", "--format=%cd", "--date=format:%G%V"], 60)
    return int(shown.stdout) if shown.returncode == 0 else 0


def drawn_part(items, share):
    """One of `share` of the cases, drawn with `run_seed`, in their order. ST_ALL=1 takes all cases, and so does a run of
    named cases."""
    items = list(items)
    if os.environ.get("ST_ALL") or sys.argv[1:]:
        return items
    seed = run_seed()
    count = -(-len(items) // share)
    print(f"{count} of {len(items)} cases, drawn with ST_SEED={seed}", flush=True)
    return [items[i] for i in sorted(random.Random(seed).sample(range(len(items)), count))]


def main(*cases, epilogue=None):
    """Runs (name, function(folder)) cases, then `epilogue`; the last line counts them."""
    passed = failed = 0
    wanted = sys.argv[1:]
    for name, function in cases:
        if wanted and not any(w in name for w in wanted):
            continue
        with tempfile.TemporaryDirectory(prefix="st-e2e-") as folder:
            try:
                detail = function(pathlib.Path(folder))
                print(f"ok      {name}" + (f": {detail}" if detail else ""), flush=True)
                passed += 1
            except Exception as error:  # One broken case must not hide the others.
                print(f"FAILED  {name}: {error}", flush=True)
                if not isinstance(error, Failure):
                    traceback.print_exc(file=sys.stdout)
                failed += 1
    if epilogue:
        epilogue()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
