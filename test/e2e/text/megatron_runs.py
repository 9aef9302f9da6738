"""Small copies of the two Megatron logs, and their model in plain JAX, written from Megatron-LM's model: layer
normalisation before each block, fused tanh GELU inside and the exact one in the head, products of queries and keys
divided by the layer's number, initial values of residual layers divided by the root of twice the layers, decay of weights
alone, a clipped norm and the learning rate of the arguments."""

import hashlib
import json
import math
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

import st_testing as st
from jax_models import Dropout, cross_entropy, layer_norm
from test_megatron_data import PIECES, sentences, write_dataset

LOGS = st.ROOT / "test/Inputs/Megatron"
SMALL = {"num_layers": 2, "hidden_size": 64, "ffn_hidden_size": 256, "num_attention_heads": 4, "kv_channels": 16,
         "seq_length": 32, "encoder_seq_length": 32, "max_position_embeddings": 32, "lr": 0.001, "min_lr": 0.0001,
         "lr_decay_iters": 15, "lr_warmup_fraction": 0.2, "train_iters": 20, "save": None, "load": None,
         "save_interval": None,
         # Only a few of the 20 steps overflow.
         "initial_loss_scale": 2 ** 22}
F32 = {"fp16": False, "params_dtype": "torch.float32"}


def change(text, values):
    """A log whose dump has other values."""
    for name, value in values.items():
        text, count = re.subn(rf"^(  {name} \.+) .*$", lambda match: f"{match[1]} {value}", text, flags=re.M)
        st.expect(count == 1, f"{name} is {count} times in the log")
    return text


def write_data(folder):
    """A vocabulary, and sentences of its tokens as Megatron-LM's preprocessing writes them."""
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    index = {piece: i for i, piece in enumerate(PIECES)}
    tokens = [[index["." if c == "." else c] for c in line if c != " "] for line in sentences(400)]
    write_dataset(folder / "data", tokens, documents=range(0, len(tokens) + 1, 10))


def write_log(folder, name, **values):
    """The log with the sizes of SMALL and these values; its vocabulary and data exist."""
    values = SMALL | {"vocab_file": folder / "vocab.txt", "data_path": f"['{folder / 'data'}']"} | values
    path = folder / "run.log"
    path.write_text(change((LOGS / name).read_text(), values))
    return path


def compile_log(folder, log, *flags):
    binary = folder / "run"
    return binary, st.check_run([*st.COMPILE, f"--megatron={log}", *flags, "-o", binary])


def steps_of(metrics):
    return [line for line in map(json.loads, pathlib.Path(metrics).read_text().splitlines()) if "evaluation" not in line]


def losses_of(metrics):
    return [step["loss"] for step in steps_of(metrics)]


def left_out_steps(metrics):
    counts = [0, *(int(step.get("skipped_steps", 0)) for step in steps_of(metrics))]
    return {step for step in range(1, len(counts)) if counts[step] > counts[step - 1]}


def dump_of(log):
    values = dict(re.findall(r"^  (\w+) \.+ (.*)$", pathlib.Path(log).read_text(), flags=re.M))
    return {name: float(value) if re.fullmatch(r"[-+.e\d]+", value) else value for name, value in values.items()}


def bert_loss(arguments, parameters, batch, key):
    drop = Dropout(key)
    heads, size = int(arguments["num_attention_heads"]), int(arguments["kv_channels"])
    norm = lambda name, x: layer_norm(parameters, name, x, arguments["layernorm_epsilon"])
    linear = lambda name, x: x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]
    split = lambda x: x.reshape(*x.shape[:2], heads, size)
    hidden = lambda x: drop(x, arguments["hidden_dropout"])

    table = {name: parameters[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
    x = hidden(table["word"][batch["input_ids"]] + table["token_type"][batch["token_type_ids"]]
               + table["position"][:batch["input_ids"].shape[1]])
    seen = batch["attention_mask"][:, None, None, :] == 1
    for i in range(int(arguments["num_layers"])):
        layer = f"bert.encoder.layer.{i}"
        y = norm(f"{layer}.attention.ln", x)
        q, k, v = (split(linear(f"{layer}.attention.self.{name}", y)) for name in ("query", "key", "value"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (math.sqrt(size) * (i + 1)) * (i + 1)
        shares = drop(jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), -1), arguments["attention_dropout"])
        context = jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(x.shape)
        x = x + hidden(linear(f"{layer}.attention.output.dense", context))
        y = jax.nn.gelu(linear(f"{layer}.intermediate.dense", norm(f"{layer}.ln", x)), approximate=True)
        x = x + hidden(linear(f"{layer}.output.dense", y))
    x = norm("bert.encoder.ln", x)
    y = jax.nn.gelu(linear("cls.predictions.transform.dense", x), approximate=False)
    logits = norm("cls.predictions.transform.LayerNorm", y) @ table["word"].T + parameters["cls.predictions.bias"]
    pooled = jnp.tanh(linear("bert.pooler.dense", x[:, 0]))
    return (cross_entropy(logits, batch["labels"], -100)
            + cross_entropy(linear("cls.seq_relationship", pooled), batch["next_sentence_label"], -100))


def learning_rate(arguments, step):
    peak, least, length = arguments["lr"], arguments["min_lr"], arguments["lr_decay_iters"]
    warmup = arguments["lr_warmup_fraction"] * length
    if step <= warmup:
        return peak * step / warmup
    return least if step > length else least + (peak - least) * (length - step) / (length - warmup)


def jax_losses(arguments, loss_of, rate_of, parameters, batches, steps, left_out):
    """`left_out`: the steps whose gradients overflow in 16 bits; they are skipped."""
    decays = {name: arguments["weight_decay"] if name.endswith(".weight") and ".ln" not in name
              and "norm" not in name.lower() else 0.0 for name in parameters}
    b1, b2, epsilon = arguments["adam_beta1"], arguments["adam_beta2"], arguments["adam_eps"]

    @jax.jit
    def update(p, m, v, batch, key, step, rate):
        loss, g = jax.value_and_grad(lambda p: loss_of(arguments, p, batch, key))(p)
        length = jnp.sqrt(sum((x ** 2).sum() for x in g.values()))
        g = {name: x * jnp.minimum(1, arguments["clip_grad"] / (length + 1e-6)) for name, x in g.items()}
        m = {name: b1 * m[name] + (1 - b1) * g[name] for name in p}
        v = {name: b2 * v[name] + (1 - b2) * g[name] ** 2 for name in p}
        p = {name: p[name] * (1 - rate * decays[name]) - rate * m[name] / (1 - b1 ** step)
             / (jnp.sqrt(v[name] / (1 - b2 ** step)) + epsilon) for name in p}
        return p, m, v, loss

    m, v = ({name: jnp.zeros_like(x) for name, x in parameters.items()} for _ in range(2))
    losses, done = [], 0
    for step in range(1, steps + 1):
        batch = {name: x[step - 1] for name, x in batches.items()}
        key = np.array([int(arguments["seed"]), step], np.uint32)
        *updated, loss = update(parameters, m, v, batch, key, float(done + 1), rate_of(arguments, done + 1))
        losses.append(float(loss))
        if step not in left_out:
            parameters, m, v = updated
            done += 1
    return losses


KNOWN_LOSSES = {}


def known_losses(arguments, loss_of, rate_of, parameters, batches, steps, left_out):
    """`jax_losses`, computed once for equal arguments, parameters and batches: layouts of a model share them."""
    digest = hashlib.sha256(json.dumps([arguments, steps, sorted(left_out)], sort_keys=True).encode())
    for tensors in (parameters, batches):
        for name in sorted(tensors):
            digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode() + tensors[name].tobytes())
    key = loss_of, rate_of, digest.digest()
    if key not in KNOWN_LOSSES:
        KNOWN_LOSSES[key] = jax_losses(arguments, loss_of, rate_of, parameters, batches, steps, left_out)
    return KNOWN_LOSSES[key]


def apart(binary, arguments, folder, steps, *flags, loss_of=bert_loss, rate_of=learning_rate):
    """Trains, and compares every loss with JAX's. Returns the largest relative distance and the finished run."""
    st.check_run([binary, "--defaults=false", f"--seed={int(arguments['seed'])}", "--steps=0", f"--save={folder / 'first'}", *flags])
    done = st.check_run([binary, f"--steps={steps}", f"--metrics={folder / 'metrics'}",
                         f"--record-batches={folder / 'batches.safetensors'}", *flags], timeout=36000)
    expected = known_losses(arguments, loss_of, rate_of, load_file(folder / "first/model.safetensors"),
                            load_file(folder / "batches.safetensors"), steps, left_out_steps(folder / "metrics"))
    found = losses_of(folder / "metrics")
    st.expect(len(found) == steps, f"{len(found)} losses")
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected)), done, found
