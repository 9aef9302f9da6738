"""Mixtures of experts: expert parallelism, its all-to-alls, refusals, and checkpoints with a tensor for each expert."""

import json
import pathlib
import re
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from families import BLOCKS

STEPS, BATCH, SEQ, HIDDEN, EXPERTS, CHOSEN = 4, 8, 12, BLOCKS["hidden_size"], 8, 2
MIXTRAL = {"model_type": "mixtral", **BLOCKS, "num_key_value_heads": 2, "num_local_experts": EXPERTS, "num_experts_per_tok": CHOSEN}
QWEN = {"model_type": "qwen2_moe", **BLOCKS, "num_key_value_heads": 2, "num_experts": EXPERTS, "num_experts_per_tok": CHOSEN,
        "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20, "decoder_sparse_step": 2}
LOSE_SOME = 0.75


def with_capacity(config, factor=LOSE_SOME):
    return config | {"expert_capacity_factor": factor}


def spec(data=1, expert=1, tensor=1, stages=1, micro=1, **others):
    value = {"mode": "hybrid" if stages > 1 and micro > 1 else "sharding", "data": data, "expert": expert, "stage_cnt": stages,
             "accum_degree": micro, "sharding_size": tensor, **others}
    return value | ({"sharding_dim": others.get("sharding_dim", "megatron")} if tensor > 1 else {})


LAYOUTS = {
    "expert 2": (MIXTRAL, spec(data=2, expert=2)),
    "expert 4, zero 1": (MIXTRAL, spec(data=4, expert=4, zero=1)),
    "expert 8": (with_capacity(MIXTRAL), spec(data=8, expert=8)),
    "expert 2 of 4 replicas, zero 2": (with_capacity(MIXTRAL), spec(data=4, expert=2, micro=2, zero=2)),
    "expert 2 of 4 replicas, zero 3": (with_capacity(QWEN), spec(data=4, expert=2, zero=3)),
    "expert 2 x 2 shards": (with_capacity(MIXTRAL), spec(data=2, expert=2, tensor=2)),
    "2 replicas x 2 shards": (with_capacity(QWEN), spec(data=2, tensor=2)),
    "2 shards of the contracted dimension": (with_capacity(MIXTRAL), spec(tensor=2, sharding_dim=0)),
    "expert 2 x 2 stages x 2 shards": (with_capacity(QWEN), spec(data=2, expert=2, tensor=2, stages=2, micro=2)),
    "2 stages x 2 shards": (MIXTRAL, spec(tensor=2, stages=2, micro=2)),
    "sequences split": (with_capacity(MIXTRAL), spec(tensor=2, sequence_parallel=True)),
    "unequal numbers of experts": (with_capacity(MIXTRAL), spec(data=3, expert=3)),
}


def losses(binary):
    return st.losses(st.train(binary, "--lr=1e-2", steps=STEPS))


def compile_experts(folder, name, config, parallel, *flags):
    return st.compile_model(folder, name, config, "clm", parallel, *flags, batch=BATCH, seq=SEQ)


def trains_alike(name):
    def run(folder):
        config, parallel = LAYOUTS[name]
        expected = losses(compile_experts(folder, "one", config, None))
        st.expect(min(expected[1:]) < expected[0], f"does not learn: {expected}")
        found = losses(compile_experts(folder, "many", config, parallel))
        difference = st.relative_difference(expected, found)
        st.expect(difference <= 1e-5, f"{found}, one device gives {expected}")
        return f"{difference:.0e}"
    return run


def exchanges_tokens(folder):
    """Each layer sends the buffer of slots [rows, experts, capacity, hidden] by an all-to-all to the experts and back, in both
    passes, and nothing of its size besides; weights of experts stay in place."""
    expert = 4

    def sent_bytes(factor, *flags):
        binary = compile_experts(folder, "expert", with_capacity(MIXTRAL, factor), spec(data=expert, expert=expert), *flags)
        st.train(binary, f"--report={folder / 'report.json'}", steps=1)
        return [device["sent_bytes"] for device in json.loads((folder / "report.json").read_text())["devices"]]

    once = sent_bytes(1.0, f"--dump-phases-to={folder / 'phases'}")
    local = next((folder / "phases").glob("*-local.mlir")).read_text()
    found = re.findall(r"st\.all_to_all .*?: (?:\()?tensor<([\dx]+)xf32>", local)
    elements = [int(np.prod([int(size) for size in shape.split("x")])) for shape in found]
    capacity = -(-SEQ * CHOSEN // EXPERTS)
    expected = [BATCH // expert * EXPERTS * capacity * HIDDEN] * (4 * BLOCKS["num_hidden_layers"])
    st.expect(elements == expected, f"all-to-alls of {elements} elements, expected {expected}")
    gathered = [line for line in re.findall(r"st\.all_gather .*", local) if "x24x16x" in line or "x16x24x" in line]
    st.expect(not gathered, f"gathers weights: {gathered[:1]}")
    # Links carry as much more as the formula says with twice the capacity: a device keeps one part of each buffer.
    sent = sum(elements) * 4 * (expert - 1) // expert
    more = [double - single for single, double in zip(once, sent_bytes(2.0), strict=True)]
    st.expect(more == [sent] * expert, f"twice the capacity sends {more} bytes more, expected {sent}")
    return f"{len(elements)} all-to-alls, {sent} of {once[0]} bytes sent by a device in a step"


def sends_as_the_formula(folder):
    """8 experts on 8 devices. Without a capacity devices send their parts of two reductions of all parameters in a step: weights of
    experts are gathered once, and their gradients are reduced and scattered once. With one, tokens are sent instead of
    experts."""
    expert = 8

    def sent_bytes(name, config):
        binary = compile_experts(folder, name, config, spec(data=expert, expert=expert))
        st.train(binary, f"--report={folder / 'report.json'}", f"--save={folder / name}", steps=1)
        return [device["sent_bytes"] for device in json.loads((folder / "report.json").read_text())["devices"]]

    free, limited = sent_bytes("free", MIXTRAL), sent_bytes("limited", with_capacity(MIXTRAL, 1.0))
    sizes = {name: value.size for name, value in load_file(folder / "free" / "model.safetensors").items()}
    experts = sum(size for name, size in sizes.items() if ".experts." in name)
    others = sum(sizes.values()) - experts
    buffers = 4 * BLOCKS["num_hidden_layers"] * BATCH // expert * EXPERTS * -(-SEQ * CHOSEN // EXPERTS) * HIDDEN
    for found, elements in ((free, 2 * (experts + others)), (limited, buffers + 2 * others)):
        formula = elements * 4 * (expert - 1) // expert
        # The sums of the loss and of the labels are a few bytes. Small reductions are not equal on all devices.
        mean = sum(found) / expert
        st.expect(0 <= mean - formula <= 64, f"devices send {found} bytes, a mean of {mean}, expected {formula}")
    return f"{sum(free)} bytes of all devices, {sum(limited)} with a capacity"


def drops_nothing(folder):
    """A capacity for all tokens is no capacity."""
    free = losses(compile_experts(folder, "free", MIXTRAL, None))
    whole = losses(compile_experts(folder, "whole", MIXTRAL, None, f"--expert-capacity-factor={EXPERTS / CHOSEN}"))
    some = losses(compile_experts(folder, "some", MIXTRAL, None, f"--expert-capacity-factor={LOSE_SOME}"))
    st.expect(st.relative_difference(free, whole) <= 1e-5, f"{whole}, without a capacity {free}")
    st.expect(st.relative_difference(free[:1], some[:1]) > 1e-6, f"{LOSE_SOME} drops no token: {some}")


def keeps_checkpoints(folder):
    """Starts from a folder as transformers writes it, under another layout than that of the run that saved it."""
    one = compile_experts(folder, "one", with_capacity(QWEN), None)
    st.check_run([one, "--steps=2", "--lr=1e-2", f"--save={folder / 'saved'}"])
    saved, moments = (load_file(folder / "saved" / f"{kind}.safetensors") for kind in ("model", "optimizer"))
    prefix = "model.layers.1.mlp.experts"
    names = {f"{prefix}.{i}.{part}_proj.weight" for i in range(EXPERTS) for part in ("gate", "up", "down")}
    st.expect({name for name in saved if prefix in name} == names, f"experts: {sorted(n for n in saved if prefix in n)[:3]}")
    st.expect(saved[f"{prefix}.0.down_proj.weight"].shape == (HIDDEN, 12), "an expert has another shape")
    st.expect(f"{prefix}.7.up_proj.weight.exp_avg" in moments, f"moments: {sorted(n for n in moments if prefix in n)[:3]}")
    kept = json.loads((folder / "saved" / "config.json").read_text())
    st.expect(kept["architectures"] == ["Qwen2MoeForCausalLM"] and kept["expert_capacity_factor"] == LOSE_SOME, f"{kept}")
    further = st.losses(st.train(one, f"--resume={folder / 'saved'}", "--lr=1e-2", steps=4))
    many = compile_experts(folder, "many", with_capacity(QWEN), spec(data=4, expert=4, zero=1))
    found = st.losses(st.train(many, f"--resume={folder / 'saved'}", "--lr=1e-2", steps=4))
    st.expect(st.relative_difference(further, found) <= 1e-5, f"{found}, one device continues with {further}")
    # Loads and saves the same values. A capacity belongs to a run, not to weights.
    st.write_json(folder / "hf" / "config.json", QWEN)
    rng = np.random.default_rng(3)
    given = {name: rng.normal(size=value.shape).astype(np.float32) for name, value in sorted(saved.items())}
    save_file(given, folder / "hf" / "model.safetensors")
    st.check_run([many, "--steps=0", f"--init={folder / 'hf'}", f"--save={folder / 'again'}"])
    again = load_file(folder / "again" / "model.safetensors")
    st.expect(again.keys() == given.keys() and all((again[name] == given[name]).all() for name in given), "other values")
    del given[f"{prefix}.3.up_proj.weight"]
    save_file(given, folder / "hf" / "model.safetensors")
    refused = st.run([many, "--steps=0", f"--init={folder / 'hf'}"])
    st.expect(refused.returncode == 1 and f'tensor "{prefix}.3.up_proj.weight" is missing' in refused.stderr, refused.stderr)
    return f"{len(saved)} tensors"


def refuses(folder):
    """One line for each setting that contradicts another."""
    def refused(config, parallel, *flags):
        model = st.write_json(folder / "model" / "config.json", config)
        parallel = st.write_json(folder / "parallel.json", parallel)
        done = st.run([*st.COMPILE, model.parent, "--task=clm", f"--batch={BATCH}", f"--seq={SEQ}", f"--parallel={parallel}", *flags,
                       "-o", folder / "refused.bin"])
        st.expect(done.returncode == 1 and done.stderr.count("error: ") == 1, f"{done.returncode}: {done.stderr}")
        return done.stderr
    dense = {"model_type": "llama", **BLOCKS}
    for text, config, parallel, *flags in (
            ("expert is 8, more than the 5 experts of a layer", MIXTRAL | {"num_local_experts": 5}, spec(data=8, expert=8)),
            ("expert is 2, but the model has no experts, and no rule in parameters", dense, spec(data=2, expert=2)),
            ("--expert-capacity-factor has no effect: a llama has no experts", dense, spec(), "--expert-capacity-factor=1"),
            ("--expert-capacity-factor=0: expected a number above 0", MIXTRAL, spec(), "--expert-capacity-factor=0"),
            ("micro", MIXTRAL | {"output_router_logits": True}, spec(micro=2))):
        found = refused(config, parallel, *flags)
        st.expect(text in found, f"expected {text}, found {found}")


CASES = [("a capacity for all tokens drops none", drops_nothing), ("all-to-alls", exchanges_tokens),
         ("bytes on links", sends_as_the_formula),
         ("checkpoints", keeps_checkpoints), ("refusals", refuses),
         *st.drawn_part([(name, trains_alike(name)) for name in LAYOUTS], 3)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
