"""JAX (CPU) peer on 32 host devices of XLA: four stages, each jitted on a mesh of eight.

The model, batch and random bits are those of peer_jax.py, so the losses are equal. Each stage has the same number of
layers, sharded as in Megatron-LM (heads and inner columns, then rows) by NamedSharding. Its forward pass returns the
residuals of jax.vjp, its backward pass takes them, and AdamW runs in it. Stages run one after the other, as in the
published layout. Prints one JSON line: version, seconds and losses of each step. Run by bert_large_step.py.
"""

import argparse
import json
import os
import time

STAGES, SHARDS = 4, 8
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={STAGES * SHARDS}"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import peer_jax as peer

# The split of the first dimensions of weights and biases over the shards of a stage.
COLUMNS = {"w": P(None, "t"), "b": P("t")}
ROWS = {"w": P("t", None), "b": P()}
LAYER = {"qkv": {"w": P(None, None, "t"), "b": P(None, "t")}, "out": ROWS, "up": COLUMNS, "down": ROWS,
         "norm1": {"g": P(), "b": P()}, "norm2": {"g": P(), "b": P()}}
TABLES = {"words": P(None, "t"), "positions": P(None, "t"), "types": P(None, "t"), "norm": {"g": P(), "b": P()}}
HEAD = {"span": {"w": P(), "b": P()}}


def shard(params):
    """The parameters of each stage, and how they are split."""
    count = len(params["layers"]) // STAGES
    stages, specs = [], []
    for i in range(STAGES):
        own, spec = {"layers": params["layers"][i * count:(i + 1) * count]}, {"layers": [LAYER] * count}
        for extra, wanted in ((TABLES, i == 0), (HEAD, i == STAGES - 1)):
            if wanted:
                own |= {name: params[name] for name in extra}
                spec |= extra
        stages.append(own)
        specs.append(spec)
    return stages, specs


class Stage:
    def __init__(self, number, devices, params, specs, rate):
        self.number, self.rate, self.layers = number, rate, len(params["layers"])
        mesh = Mesh(np.array(devices), ("t",))
        self.everywhere = NamedSharding(mesh, P())
        shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda leaf: isinstance(leaf, P))
        self.params = jax.device_put(params, shardings)
        self.m = jax.tree.map(jnp.zeros_like, self.params)
        self.v = jax.tree.map(jnp.zeros_like, self.params)
        self.forward_jit = jax.jit(self.run)
        self.backward_jit = jax.jit(self.update, donate_argnums=(2, 3),
                                    out_shardings=(shardings, shardings, shardings, self.everywhere))

    def compute(self, params, x, batch, keys):
        ids, start, end = batch
        if self.number == 0:
            x = peer.embed(params, ids, keys[0], self.rate)
        for i, p in enumerate(params["layers"]):
            at = 1 + 3 * (self.number * self.layers + i)
            x = peer.layer(p, x, keys[at:at + 3], self.rate)
        return peer.span_loss(params, x, start, end) if self.number == STAGES - 1 else x

    def run(self, params, x, batch, keys):
        return jax.vjp(lambda p, value: self.compute(p, value, batch, keys), params, x)

    def update(self, pull, params, m, v, gradient, count):
        grads, before = pull(gradient)
        return *peer.adamw(params, m, v, grads, count), before

    def forward(self, x, batch, keys):
        x, batch, keys = jax.device_put((x, batch, keys), self.everywhere)
        result, self.pull = self.forward_jit(self.params, x, batch, keys)
        return result

    def backward(self, gradient, count):
        gradient = jax.device_put(gradient, self.everywhere)
        self.params, self.m, self.v, before = self.backward_jit(self.pull, self.params, self.m, self.v, gradient, count)
        return before


def main():
    options = peer.options_of(argparse.ArgumentParser()).parse_args()
    config = json.load(open(options.config))
    params = jax.jit(lambda key: peer.init(config, key))(jax.random.key(0))
    parts, specs = shard(params)
    stages = [Stage(i, jax.devices()[i * SHARDS:(i + 1) * SHARDS], part, spec, options.dropout)
              for i, (part, spec) in enumerate(zip(parts, specs))]
    del params, parts
    batch = peer.batch_of(config, options)
    nothing = jnp.zeros((options.batch, options.seq, config["hidden_size"]))
    times, losses = [], []
    for i in range(options.steps + 1):
        begin = time.time()
        keys = jax.random.split(jax.random.key(i), 1 + 3 * config["num_hidden_layers"])
        x = nothing
        for stage in stages:
            x = stage.forward(x, batch, keys)
        losses.append(float(x))
        gradient = jnp.ones(())
        for stage in reversed(stages):
            gradient = stage.backward(gradient, i + 1.0)
        jax.block_until_ready([stage.params for stage in stages])
        times.append(time.time() - begin)
    print(json.dumps({"peer": f"JAX {STAGES}x{SHARDS}", "version": jax.__version__, "seconds": times[1:], "losses": losses}))


if __name__ == "__main__":
    main()
