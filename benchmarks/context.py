"""A step of a Llama's layers with long sequences on predicted GPUs or simulated DTUs, whose sequences several of them share.

  benchmarks/context.py [--target=cuda-sm_90] [--layers=24] [--seq=32768] [--batch=4] [--build=build] [--json=FILE]
                        [--million [--attention=keys] | --clusters]

The layers are those of Llama 3 8B, with a vocabulary of 32000, a sequence per micro-batch, bf16, AdamW and ZeRO-1. The
efficiency is relative to one device, whose time is extrapolated from models of a few layers, which fit it. With --million
256 devices share one sequence of 1,048,576 tokens instead: 32 parts of the sequence by 8 tensor shards, with ZeRO-3 and
full recomputation; on DTUs (--target=dtu-t20) 64 parts by 4 shards of the narrow layers of --clusters. With --clusters the
devices are clusters of a DTU (--target=dtu-t20), and the layers a quarter as wide: 1024 features, 16 heads, full
recomputation. The efficiency is then relative to the same step with links that take no time. Predicted and simulated times
depend only on the compiled program, not on the load of the machine.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 1048576,
         "rope_theta": 500000.0}
NARROW = MODEL | {"hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 2816}


def measure(options, folder, layers, context, exchange=None, zero=1, model=MODEL, target=None, **more):
    """Milliseconds per step and MiB of a device, or the reason why there is no step. `more` goes into the parallel file."""
    target = target or options.target
    layout = {"mode": "sharding", "data": 1, "context": context, "zero": zero if context > 1 else 0,
              "accum_degree": options.batch, "precision": {"compute": "bf16"}, **({"context_attention": exchange} if exchange else {}), **more}
    (folder / "layout.json").write_text(json.dumps(layout))
    (folder / "config.json").write_text(json.dumps(model | {"num_hidden_layers": layers}))
    done = subprocess.run([ROOT / options.build / "bin/st-compile", folder, "--task=clm", f"--batch={options.batch}", f"--seq={options.seq}",
                           "--optimizer=adamw", f"--parallel={folder / 'layout.json'}", f"--target={target}",
                           "-o", folder / "step"], capture_output=True, text=True)
    if done.returncode:
        needed = re.search(r"needs (\d+) bytes and has (\d+)", done.stderr)
        if not needed:
            raise SystemExit(done.stderr)
        return None, int(needed[1]) / 2 ** 20
    step = float(re.search(r"a step takes ([\d.]+) ms", done.stderr)[1])
    return step, float(re.search(r"^  group0 .* ([\d.]+)$", done.stderr, re.M)[1])


def time_million(options, folder, found):
    options.batch, options.seq = 1, 1 << 20
    on_clusters = options.target.startswith("dtu")
    layers, context, shards, model = (options.layers, 64, 4, NARROW) if on_clusters else (32, 32, 8, MODEL)
    layout = {"zero": 3, "model": model, "recompute": "full", "sharding_size": shards, "sharding_dim": "megatron"}
    step, peak = measure(options, folder, layers, context, options.attention, **layout)
    case = f"{'narrow ' if on_clusters else ''}Llama of {layers} layers, {options.seq} tokens, {options.target}, "
    case += f"context {context} x {shards} shards" + (", ring" if options.attention == "ring" else "")
    if step is None:
        found.failed(case, f"{peak:.0f} MiB do not fit the device")
        print(f"{case}: {peak:.0f} MiB do not fit the device")
        return
    peer, compared = None, ""
    if on_clusters:
        free, _ = measure(options, folder, layers, context, options.attention, target=without_links(options.target, folder), **layout)
        peer = {"name": "links that take no time", "value": round(free, 1)}
        compared = f", {free / 1000:.2f} s if links took no time"
    found.add(case, round(step, 1), "ms a step", {"peak": [round(peak), "MiB"]}, peer)
    print(f"{case}: {step / 1000:.2f} s a step{compared}, {peak:.0f} MiB a device")


def without_links(target, folder):
    """The device with links that take no time."""
    text = (ROOT / f"devices/{target}.textproto").read_text()
    for key, value in ("gbytes_per_second", 1e6), ("latency_ns", 1e-3):
        text, count = re.subn(rf"(?m)^((?:onchip|chip|group)_{key} {{ value: )[\d.]+", rf"\g<1>{value:g}", text)
        if count != 3:
            raise SystemExit(f"devices/{target}.textproto: expected 3 keys that end in {key}, found {count}")
    path = folder / "without-links.textproto"
    path.write_text(text)
    return path


def time_clusters(options, folder, found):
    options.batch = 1
    target = options.target if options.target.startswith("dtu") else "dtu-t20"
    narrow = {"zero": 0, "model": NARROW, "recompute": "full"}
    print(f"{'devices':>7} {'attention':10} {'ms a step':>10} {'without links':>13} {'MiB a device':>13} {'efficiency':>10}")
    for context, exchange in ((1, None), (8, "heads"), (8, "keys"), (8, "ring")):
        case = f"narrow Llama of {options.layers} layers, {options.seq} tokens, {target}, context {context}"
        case += f", {exchange}" if exchange else ""
        step, peak = measure(options, folder, options.layers, context, exchange, target=target, **narrow)
        if step is None:
            found.failed(case, f"{peak:.0f} MiB do not fit the device")
            print(f"{context:7} {exchange or '-':10} {'does not fit':>10} {peak:25.0f}", flush=True)
            continue
        free, _ = measure(options, folder, options.layers, context, exchange, target=without_links(target, folder), **narrow)
        found.add(case, round(step, 1), "ms a step", {"peak": [round(peak), "MiB"]},
                  {"name": "links that take no time", "value": round(free, 1)})
        print(f"{context:7} {exchange or '-':10} {step:10.1f} {free:13.1f} {peak:13.0f} {free / step:10.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="cuda-sm_90")
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--seq", type=int, default=32768)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--build", default="build")
    parser.add_argument("--million", action="store_true", help="one sequence of 1,048,576 tokens on 256 devices instead")
    parser.add_argument("--attention", default="keys", choices=["keys", "ring"], help="what devices send with --million")
    parser.add_argument("--clusters", action="store_true", help="8 clusters of a DTU, with and without their links' time, instead")
    figures.add_option(parser)
    options = parser.parse_args()
    found = figures.Figures(options.json, "layouts", figures.SIMULATED if options.clusters or options.target.startswith("dtu") else "predicted")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.million:
            return time_million(options, folder, found)
        if options.clusters:
            return time_clusters(options, folder, found)
        # The time of a layer on one device: the difference of two stacks that fit.
        few = [measure(options, folder, layers, 1)[0] for layers in (2, 6)]
        alone = few[0] + (options.layers - 2) * (few[1] - few[0]) / 4
        print(f"{'devices':>7} {'attention':10} {'ms a step':>10} {'MiB a device':>13} {'efficiency':>10}")
        for context, exchange in ((1, None), (2, "heads"), (4, "heads"), (8, "heads"), (8, "keys"), (8, "ring")):
            step, peak = measure(options, folder, options.layers, context, exchange)
            text = "does not fit" if step is None else f"{step:.1f}"
            case = f"Llama of {options.layers} layers, {options.batch} x {options.seq}, {options.target}, context {context}"
            case += f", {exchange}" if exchange else ""
            if step is None:
                found.failed(case, f"{peak:.0f} MiB do not fit the device")
                print(f"{context:7} {exchange or '-':10} {text:>10} {peak:13.0f}", flush=True)
                continue
            found.add(case, round(step, 1), "ms a step", {"peak": [round(peak), "MiB"]},
                      {"name": f"1/{context} of one device", "value": round(alone / context, 1)})
            print(f"{context:7} {exchange or '-':10} {text:>10} {peak:13.0f} {alone / context / step:10.1%}", flush=True)


if __name__ == "__main__":
    main()
