"""Work is actually split, and data is actually exchanged.

Split: the parameter bytes of all devices and the multiply-accumulates that the
simulator counts are the sharded share of what formulas for the model give, and
the shards of a stage have the same. Exchanged: losing any one link message, or
changing one shard of one weight, changes the loss or fails.
"""

import json
import pathlib
import random
import sys

from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

BATCH, LENGTH = 4, 32


def bert_macs(config):
    """Multiply-accumulates of one training step: the forward pass, and twice as many in the backward pass."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    rows = BATCH * LENGTH
    layer = rows * (4 * hidden * hidden + 2 * hidden * inner) + 2 * rows * LENGTH * hidden
    head = rows * (hidden * hidden + hidden * vocab) + BATCH * (hidden * hidden + 2 * hidden)
    return 3 * (config["num_hidden_layers"] * layer + head)


def gpt2_macs(config):
    hidden, vocab = config["n_embd"], config["vocab_size"]
    rows = BATCH * LENGTH
    layer = rows * 12 * hidden * hidden + 2 * rows * LENGTH * hidden
    return 3 * (config["n_layer"] * layer + rows * hidden * vocab)


MODELS = {"bert": (st.SMALL_BERT, "mlm", bert_macs), "gpt2": (st.SMALL_GPT2, "clm", gpt2_macs)}


def report(binary):
    path = binary.with_suffix(".report")
    st.check_run([binary, "--steps=1", f"--report={path}"])
    return json.loads(path.read_text())


def by_stage(devices, key):
    stages = {}
    for device in devices:
        stages.setdefault(device["stage"], []).append(device[key])
    return stages


def share_case(model, dim):
    def check(folder):
        config, task, macs = MODELS[model]
        binary = st.compile_model(folder, "b", config, task, st.layout(4, 8, dim=dim), batch=BATCH, seq=LENGTH)
        devices = report(binary)["devices"]
        st.expect(len(devices) == 32, f"{len(devices)} devices")
        for key in ("macs", "parameter_bytes"):
            for stage, values in by_stage(devices, key).items():
                st.expect(max(values) <= 1.02 * min(values), f"stage {stage}: {key} is uneven: {values}")
        total = sum(d["macs"] for d in devices)
        st.expect(abs(total / macs(config) - 1) <= 0.02, f"{total} MACs over all devices, expected {macs(config)}")
        st.check_run([binary, "--steps=0", f"--save={folder / 'p'}"])
        expect_parameter_share(load_file(folder / "p" / "model.safetensors"), devices, dim)
        return f"{total} MACs, {sum(d['parameter_bytes'] for d in devices)} parameter bytes"

    return f"share {model} dim {dim}", check


def expect_parameter_share(tensors, devices, dim):
    """Bytes over all devices: a split parameter counts once, a replicated one on each of 8 shards, a tied one in two
    stages."""
    least = most = 0
    for name, tensor in tensors.items():
        whole = tensor.nbytes
        cut_once = tensor.ndim == 2 or dim == -1
        least += whole if cut_once else 8 * whole
        tied = "word_embeddings" in name or "wte" in name
        most += (2 if tied else 1) * (whole if cut_once and min(tensor.shape) % 8 == 0 else 8 * whole)
    total = sum(d["parameter_bytes"] for d in devices)
    st.expect(0.98 * least <= total <= 1.02 * most,
              f"{total} parameter bytes over all devices, expected between {least} and {most}")


def lost_messages(folder):
    config, task, _ = MODELS["bert"]
    binary = st.compile_model(folder, "b", dict(config, num_hidden_layers=2), task, st.layout(2, 2))
    whole = st.losses(st.train(binary, steps=2))
    count = report(binary)["messages"]
    st.expect(count > 20, f"only {count} messages a step")
    places = sorted(random.Random(0).sample(range(count), 40)) if count > 40 else range(count)
    failed = 0
    for place in places:
        metrics = folder / "m"
        done = st.run([binary, "--steps=2", f"--drop-message={place}", f"--metrics={metrics}"], timeout=60)
        if done.returncode == 0:
            now = st.losses([json.loads(line) for line in metrics.read_text().splitlines()])
            st.expect(now != whole, f"message {place} of {count} was lost and nothing changed")
        else:
            st.expect("error" in done.stderr, f"message {place}: exit {done.returncode} without an error")
            failed += 1
    return f"{len(places)} of {count} messages lost one at a time: {failed} runs failed, the others changed the loss"


def changed_shards(folder):
    config, task, _ = MODELS["bert"]
    binary = st.compile_model(folder, "b", dict(config, num_hidden_layers=2), task, st.layout(1, 8))
    st.check_run([binary, "--steps=0", f"--save={folder / 'c'}"])
    base = st.losses(st.train(binary, f"--resume={folder / 'c'}", steps=1))
    path = folder / "c" / "model.safetensors"
    clean = load_file(path)
    # The checksums would reject this.
    st.forget_checksums(folder / "c")
    name = "bert.encoder.layer.1.intermediate.dense.weight"
    rows = clean[name].shape[0] // 8
    for shard in range(8):
        tensors = {n: t.copy() for n, t in clean.items()}
        tensors[name][shard * rows:(shard + 1) * rows] *= 2
        save_file(tensors, path)
        now = st.losses(st.train(binary, f"--resume={folder / 'c'}", steps=1))
        st.expect(now != base, f"shard {shard} of {name} does not matter")


if __name__ == "__main__":
    sys.exit(st.main(*[share_case(m, d) for m in MODELS for d in (0, -1)],
                     ("lost messages", lost_messages), ("changed shards", changed_shards)))
