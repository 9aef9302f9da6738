"""Parallel specs: small models trained under every row of a matrix, compared with one device.

Five steps in f32; losses agree to 1e-5 relative at each. The matrix has 210 rows: every product of data, tensor, stages and
micro-batches for each model, combined with one other key at a time; sequences shared by devices; each level of ZeRO alone;
recomputation and offload under shards, ZeRO and each schedule; collectives without buckets, and with small ones; sizes that no
axis divides. 48 more rows are in bf16 and f16, compared with one device in the same type: there sums over shards are rounded
more often. A run draws two ninths of the rows, and eight specs that are not rows; ST_SEED repeats a draw, ST_ALL=1 takes all
rows. The examples of the documentation are checked against the schema and compiled.
"""

import itertools
import json
import os
import pathlib
import random
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

MODELS = {
    "bert": ("mlm", {
        "architectures": ["BertForPreTraining"], "model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 16, "vocab_size": 96}),
    "gpt2": ("clm", {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4,
        "n_positions": 16, "vocab_size": 96}),
    "llama": ("clm", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 96,
        "max_position_embeddings": 16}),
}
# For the examples of the documentation that shard experts.
EXPERTS = ("clm", {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 32, "num_hidden_layers": 2,
                   "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4, "intermediate_size": 32,
                   "vocab_size": 96, "max_position_embeddings": 16, "expert_capacity_factor": 1.0})
# Sizes that the axes of the rows below do not divide, including heads, rows and tokens.
ODD = {
    "bert": dict(hidden_size=30, num_attention_heads=3, intermediate_size=50, vocab_size=97),
    "gpt2": dict(n_embd=30, n_head=5, vocab_size=97),
    "llama": dict(hidden_size=36, num_attention_heads=6, num_key_value_heads=3, intermediate_size=50, vocab_size=97),
}
OPTIMIZERS = {
    "adamw": ["--optimizer=adamw", "--lr=1e-3"],
    "sgd": ["--optimizer=sgd", "--momentum=0.9", "--lr=0.1", "--clip-norm=0.5"],
}
# Names that rules split, in each model: a product's output, and its successor's contracted input.
RULES = {
    "bert": {"*.intermediate.dense.*": ["tensor"], "*.layer.*.output.dense.weight": [None, "tensor"],
             "*word_embeddings*": ["tensor"]},
    "gpt2": {"*.mlp.c_fc.weight": [None, "tensor"], "*.mlp.c_fc.bias": ["tensor"], "*.mlp.c_proj.weight": ["tensor"]},
    "llama": {"*.{gate,up}_proj.weight": ["tensor", None], "*.down_proj.weight": [None, "tensor"]},
}
# In addition to 1F1B, the default of a pipeline.
SCHEDULES = ("gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v")
# Relative difference of losses, by type of the computation; measured are at most 1.4e-4 in bf16, 1.5e-5 in f16.
BOUNDS = {"f32": 1e-5, "bf16": 1e-3, "f16": 1e-4}
# A number is a budget, in activations of a micro-batch: 15 recomputes some of the layers, 6 most of them.
RECOMPUTE = ("selective", "full", 15, 6)  # and "fit", in recompute_fits
DOCS = st.ROOT / "docs"


def spec(model, data=1, tensor=1, stages=1, micro=1, dim="megatron", zero=0, sequence=False, rules=False,
         schedule=None, bucket=None, precision=None, recompute=None, offload=None, context=1, exchange=None):
    """A parallel file without the keys that have no meaning for these sizes."""
    value = {"mode": "hybrid" if stages > 1 and micro > 1 else "sharding", "data": data, "stage_cnt": stages,
             "accum_degree": micro, "sharding_size": tensor, "zero": zero if data * context > 1 else 0}
    if context > 1:
        value["context"] = context
        if exchange:
            value["context_attention"] = exchange
    if tensor > 1:
        value["sharding_dim"] = dim
        value["sequence_parallel"] = sequence if dim != -1 else False
        if rules:
            value["parameters"] = RULES[model]
    if schedule:
        value["schedule"] = schedule
    if bucket is not None:
        value["bucket_bytes"] = bucket
    if precision:
        value["precision"] = precision
    if recompute:
        activation = 8 * 16 * 32 * 4 // (data * micro)
        value["recompute"] = {"bytes": recompute * activation} if isinstance(recompute, int) else recompute
    if offload:
        value["offload"] = offload
    return value


def named(model, optimizer="adamw", **sizes):
    value = spec(model, **sizes)
    text = " ".join(f"{key}={setting}" for key, setting in sizes.items() if setting is not False and setting is not None)
    return f"{model} {optimizer} {text}", model, optimizer, value


def matrix():
    dims = itertools.cycle(["megatron", 0, -1])
    levels = itertools.cycle(range(4))
    switches = itertools.cycle([dict(sequence=True), {}, dict(rules=True), dict(sequence=True, rules=True)])
    optimizers = itertools.cycle(OPTIMIZERS)
    schedules = itertools.cycle(SCHEDULES)
    for model in MODELS:
        for data, tensor, stages, micro in itertools.product((1, 2), repeat=4):
            if data * tensor * stages * micro == 1:
                continue
            sizes = dict(data=data, tensor=tensor, stages=stages, micro=micro)
            if data > 1:
                sizes["zero"] = next(levels)
            if tensor > 1:
                sizes |= {"dim": next(dims), **next(switches)}
            yield named(model, next(optimizers), **sizes)
        for zero in range(4):
            yield named(model, next(optimizers), data=4, micro=2, zero=zero)
        for zero in (0, 2, 3):
            yield named(model, next(optimizers), data=2, tensor=2, stages=2, micro=2, zero=zero, sequence=True)
        for policy in RECOMPUTE:
            yield named(model, next(optimizers), data=2, tensor=2, stages=2, micro=2, zero=next(levels), sequence=True,
                        recompute=policy)
            yield named(model, next(optimizers), data=2, zero=3, recompute=policy)
            yield named(model, next(optimizers), stages=2, micro=4, schedule=next(schedules), recompute=policy)
        yield named(model, next(optimizers), stages=2, micro=4, schedule=next(schedules), offload=True)
        yield named(model, next(optimizers), stages=2, micro=4, schedule=next(schedules), offload={"bytes": 40000})
        yield named(model, next(optimizers), data=2, tensor=2, stages=2, micro=2, zero=next(levels), sequence=True,
                    offload=True, recompute="full")
        yield named(model, next(optimizers), data=2, zero=3, offload=True)
        again = dict(tensor=2, sequence="gather_again")
        yield named(model, next(optimizers), **again)
        yield named(model, next(optimizers), **again, data=2, stages=2, micro=2, zero=next(levels), recompute="selective")
        yield named(model, next(optimizers), **again, micro=2, recompute=15)
        yield named(model, next(optimizers), **again, stages=2, micro=4, schedule="zb-h1", recompute="full")
        yield named(model, next(optimizers), tensor=4, data=2, zero=next(levels), sequence="gather_again")
        yield named(model, next(optimizers), context=2)
        yield named(model, next(optimizers), context=4, exchange="keys", micro=2, recompute="selective")
        yield named(model, next(optimizers), context=2, data=2, zero=next(levels), recompute=15)
        yield named(model, next(optimizers), context=2, exchange="keys", tensor=2, sequence=True, zero=next(levels))
        yield named(model, next(optimizers), context=2, exchange="heads", tensor=2, sequence="gather_again", micro=2)
        yield named(model, next(optimizers), context=2, tensor=2, dim=0, stages=2, micro=2, schedule=next(schedules),
                    recompute="full")
        for schedule in SCHEDULES:
            yield named(model, next(optimizers), data=2, tensor=2, stages=2, micro=4, zero=next(levels), schedule=schedule)
        for zero, bucket in enumerate((0, 4096, 0, 4096)):
            yield named(model, next(optimizers), data=4, tensor=2, micro=2, zero=zero, sequence=True, bucket=bucket)


def odd_rows():
    """A batch of 7 and sequences of 15."""
    optimizers = itertools.cycle(OPTIMIZERS)
    layouts = (dict(data=4), dict(micro=3), dict(tensor=4), dict(tensor=2, dim=-1), dict(tensor=4, dim=0),
               dict(data=2, micro=2, zero=1), dict(data=3, zero=2), dict(data=2, tensor=2, zero=3, sequence=True),
               dict(data=2, stages=2, micro=2), dict(context=3), dict(context=5, tensor=2, zero=1), dict(tensor=4, stages=2, micro=3, schedule="zb-h1", rules=True))
    for model in MODELS:
        for sizes in layouts:
            name, *row = named(model, next(optimizers), **sizes)
            yield "odd " + name, *row


def in_16_bits():
    """The layouts that treat values differently, in both types; half of the rows send gradients in 16 bits."""
    optimizers = itertools.cycle(OPTIMIZERS)
    levels = itertools.cycle(range(4))
    schedules = itertools.cycle(SCHEDULES)
    reduces = itertools.cycle([False, True, True, False])
    for model, compute in itertools.product(MODELS, ("bf16", "f16")):
        rows = [dict(data=2, zero=next(levels)), dict(data=2, micro=2, zero=next(levels)), dict(tensor=2, sequence=True),
                dict(tensor=2, dim=0, micro=2), dict(stages=2, micro=2), dict(context=4),
                dict(data=2, tensor=2, stages=2, micro=4, zero=next(levels), schedule=next(schedules)),
                dict(data=2, tensor=2, stages=2, micro=2, zero=next(levels), sequence=True)]
        for sizes in rows:
            precision = {"compute": compute, "reduce": compute} if next(reduces) else compute
            yield named(model, next(optimizers), **sizes, precision=precision)


def drawn(seed, count=8):
    draw = random.Random(seed)
    for _ in range(count):
        model = draw.choice(list(MODELS))
        stages, micro = draw.choice((1, 2)), draw.choice((1, 2))
        yield named(model, draw.choice(list(OPTIMIZERS)), data=draw.choice((1, 2, 4)), tensor=draw.choice((1, 2)),
                    stages=stages, micro=micro, dim=draw.choice(("megatron", 0, -1)),
                    zero=draw.randrange(4), sequence=draw.random() < 0.5, rules=draw.random() < 0.5,
                    schedule=draw.choice(SCHEDULES) if stages * micro == 4 else None,
                    bucket=draw.choice((None, 0, 1000, 20000)), recompute=draw.choice((None, *RECOMPUTE)),
                    offload=draw.choice((None, None, True, {"bytes": 40000})), context=draw.choice((1, 1, 2, 4)),
                    exchange=draw.choice((None, "keys")))


def losses_of(folder, name, model, optimizer, parallel, odd):
    task, config = MODELS[model]
    sizes = dict(batch=7, seq=15) if odd else dict(batch=8, seq=16)
    binary = st.compile_model(folder, name, config | (ODD[model] if odd else {}), task, parallel,
                              *OPTIMIZERS[optimizer], **sizes)
    return st.losses(st.train(binary, steps=5))


class Reference:
    """Losses of one device, once per model, optimizer and type."""

    cache = {}

    @classmethod
    def get(cls, folder, *which):
        model, optimizer, compute, odd = which
        if which not in cls.cache:
            losses = losses_of(folder, "reference", model, optimizer, spec(model, precision=compute), odd)
            st.expect(losses[-1] != losses[0], "the loss does not move")
            cls.cache[which] = losses
        return cls.cache[which]


def training_case(name, model, optimizer, parallel):
    def check(folder):
        odd = name.startswith("odd")
        precision = parallel.get("precision", "f32")
        compute = precision if isinstance(precision, str) else precision["compute"]
        expected = Reference.get(folder, model, optimizer, compute, odd)
        actual = losses_of(folder, "split", model, optimizer, parallel, odd)
        difference = st.relative_difference(expected, actual)
        st.expect(difference <= BOUNDS[compute],
                  f"losses differ by {difference:.3g}:\n{expected}\n{actual}\n{json.dumps(parallel)}")
        return f"losses agree to {difference:.1e}"

    return name, check


def memory_of(binary):
    """Bytes of the first group's arena, by class."""
    text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
    classes = re.search(r"^  arena \d+ bytes, (.*)$", text, re.M).group(1)
    return {name: int(count) for name, count in (entry.split() for entry in classes.split(", "))}


def recompute_memory(folder):
    """Recomputation lowers the peak: one layer at a time comes back as workspace. In attention, as Korthikanti et al.
    count it, the results of softmax and dropout and a mask are not kept: here 4 + 4 + 1 bytes per element."""
    task, config = MODELS["bert"]
    layers, in_flight = 8, 2
    layout = {"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 4}
    sizes = {}
    for policy in ("none", "selective", "full"):
        binary = st.compile_model(folder, policy, config | {"num_hidden_layers": layers}, task,
                                  layout | {"recompute": policy}, batch=8, seq=16)
        sizes[policy] = memory_of(binary)
    arenas = [sum(sizes[policy].values()) for policy in ("none", "selective", "full")]
    st.expect(arenas[0] > arenas[1] > arenas[2], f"arenas of {arenas} bytes")
    saved = sizes["none"]["activations"] - sizes["full"]["activations"]
    of_layer = saved / (layers / 2 * in_flight)
    grown = sizes["full"]["workspace"] - sizes["none"]["workspace"]
    st.expect(grown < 2 * of_layer, f"{grown} bytes more workspace, where a layer's stash is {of_layer}")
    rows, heads, length = 2, config["num_attention_heads"], 16
    # Only a layer's input is kept; the embeddings, which are computed once, keep less than two such tensors.
    of_tensors = sizes["full"]["activations"] / (rows * length * config["hidden_size"] * 4 * in_flight)
    st.expect(layers / 2 <= of_tensors < layers / 2 + 2, f"{of_tensors} layers' inputs are kept of {layers / 2}")
    of_attention = (sizes["none"]["activations"] - sizes["selective"]["activations"]) / (layers / 2 * in_flight)
    expected = rows * heads * length * (9 * length - 4)  # The maximum and sum of each row are kept instead.
    st.expect(expected <= of_attention <= 1.02 * expected, f"a layer's attention took {of_attention} bytes, not {expected}")
    return f"arenas of {arenas} bytes"


def offload_memory(folder):
    """Offloaded activations are on the host, and at most the budget stays on the device. Losses are the same to the
    bit."""
    task, config = MODELS["bert"]
    layout = {"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 4}
    found = []
    for offload in (False, {"bytes": 300000}, True):
        binary = st.compile_model(folder, "offload", config | {"num_hidden_layers": 8}, task, layout | {"offload": offload},
                                  batch=8, seq=16)
        text = st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout
        on_host = re.search(r"^  on the host (\d+) bytes$", text, re.M)
        found.append((memory_of(binary), int(on_host.group(1)) if on_host else 0, st.losses(st.train(binary, steps=2))))
    (all_stay, none, losses), (some, of_some, _), (no, of_all, _) = found
    st.expect(none == 0 and all(sizes["activations"] + host == all_stay["activations"] for sizes, host, _ in found), f"{found}")
    st.expect(0 < of_some < of_all and some["activations"] - no["activations"] <= 300000, f"{found}")
    arenas = [sum(sizes.values()) for sizes, _, _ in found]
    st.expect(arenas[0] > arenas[1] > arenas[2], f"arenas of {arenas} bytes")
    st.expect(all(other == losses for _, _, other in found), f"{found}")
    return f"arenas of {arenas} bytes, on the host {of_some} and {of_all}"


def offload_by_workers(folder):
    """In a cluster with one transfer engine per core none is unused, so the kernels' engines copy to the host."""
    task, config = MODELS["gpt2"]
    few = folder / "few.textproto"
    text = (st.ROOT / "devices" / "dtu-t10.textproto").read_text()
    few.write_text(text.replace("dte_per_chip { value: 40", "dte_per_chip { value: 32"))
    layout = {"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 4}
    binaries = [st.compile_model(folder, "few", config, task, layout | {"offload": offload}, f"--target={few}", batch=8, seq=16)
                for offload in (False, True)]
    losses = [st.losses(st.train(binary, steps=2)) for binary in binaries]
    st.expect(losses[0] == losses[1], f"{losses}")


def recompute_fits(folder):
    """On devices that are too small for the plan, "fit" recomputes only as much as necessary, in the groups that need it."""
    task, config = MODELS["gpt2"]
    layout = {"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 4, "schedule": "gpipe"}

    def compiled(name, policy, *flags):
        return st.compile_model(folder, name, config | {"n_layer": 8}, task, layout | {"recompute": policy}, *flags, batch=8, seq=16)

    sizes = {policy: sum(memory_of(compiled(policy, policy)).values()) for policy in ("none", "full")}
    memory = (sizes["none"] + 2 * sizes["full"]) // 3
    description = (st.ROOT / "devices" / "dtu-t10.textproto").read_text()
    small = folder / "small.textproto"
    small.write_text(re.sub(r"(l3_bytes_per_chip\s*{\s*value:\s*)\d+", rf"\g<1>{4 * memory}", description))
    model = st.write_json(folder / "none" / "config.json", config | {"n_layer": 8}).parent
    refused = st.run([st.BIN / "st-compile", "-q", model, f"--task={task}", "--batch=8", "--seq=16", f"--target={small}",
                      f"--parallel={folder / 'none' / 'parallel.json'}", "-o", folder / "none.bin"])
    said = f"needs {sizes['none']} bytes and has {memory} .*"
    st.expect(refused.returncode == 1 and re.search(said, refused.stderr), refused.stderr)
    binary = compiled("fit", "fit", f"--target={small}")
    found = sum(memory_of(binary).values())
    st.expect(sizes["full"] < found <= memory, f"{found} bytes, where full takes {sizes['full']} and there are {memory}")
    one = st.compile_model(folder, "one", config | {"n_layer": 8}, task, None, batch=8, seq=16)
    difference = st.relative_difference(st.losses(st.train(one, steps=5)), st.losses(st.train(binary, steps=5)))
    st.expect(difference <= 1e-5, f"losses differ by {difference:.3g}")
    return f"{found} of {memory} bytes; without recomputation {sizes['none']}"


# ---- the schema and the documentation ----------------------------------------------------------


def violations(value, schema, where="$"):
    """The violations of a schema in a value, for the keywords of JSON Schema that our schemas use."""
    known = {"$schema", "$id", "title", "description", "type", "enum", "minimum", "maximum", "exclusiveMinimum", "minItems", "items",
             "properties", "patternProperties", "additionalProperties", "required", "anyOf", "default", "minProperties"}
    st.expect(set(schema) <= known, f"the schema uses {set(schema) - known}, which this test does not know")
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
             "number": (int, float)}
    if "anyOf" in schema and all(list(violations(value, option, where)) for option in schema["anyOf"]):
        yield f"{where}: {value!r} is none of the alternatives"
    if "type" in schema:
        is_truth = schema["type"] in ("integer", "number") and isinstance(value, bool)
        fits = isinstance(value, types[schema["type"]]) and not is_truth
        if not fits:
            yield f"{where}: {value!r} is no {schema['type']}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        yield f"{where}: {value!r} is out of range"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{where}: {value!r} is out of range"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: too few"
        for i, entry in enumerate(value):
            yield from violations(entry, schema.get("items", {}), f"{where}[{i}]")
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: {key} is missing"
        if len(value) < schema.get("minProperties", 0):
            yield f"{where}: too few"
        for key, entry in value.items():
            rules = [s for p, s in schema.get("patternProperties", {}).items() if re.search(p, key)]
            rules += [schema["properties"][key]] if key in schema.get("properties", {}) else []
            if not rules and schema.get("additionalProperties", True) is False:
                yield f"{where}: unknown key {key}"
            if not rules and isinstance(schema.get("additionalProperties"), dict):
                rules = [schema["additionalProperties"]]
            for rule in rules:
                yield from violations(entry, rule, f"{where}.{key}")


def examples():
    """The parallel files of the documentation, each with the key that it documents, and those of examples/."""
    key = "?"
    for line in re.findall(r"^## `(\w+)`|^```json\n(.*?)^```", (DOCS / "parallel-spec.md").read_text(), re.M | re.S):
        if line[0]:
            key = line[0]
        else:
            yield key, json.loads(line[1])
    for file in sorted((st.ROOT / "examples" / "parallel").glob("*.json")):
        yield file.name, json.loads(file.read_text())


def schema_case(folder):
    schema = json.loads((DOCS / "parallel-spec.schema.json").read_text())
    count = 0
    for name, value in examples():
        found = list(violations(value, schema))
        st.expect(not found, f"{name}: {found}")
        count += 1
    for bad in ({}, {"mode": "magic"}, {"mode": "sharding", "zero": 4}, {"mode": "sharding", "data": 0},
                {"mode": "sharding", "parameters": {"*": "tensor"}}, {"mode": "sharding", "sharding_dim": 1},
                {"mode": "sharding", "sharding_sise": 2}, {"mode": "sharding", "precision": "fp16"},
                {"mode": "sharding", "precision": {"products": "tf16"}},
                {"mode": "sharding", "precision": {"compute": "f16", "loss_scale": 0}},
                {"mode": "sharding", "precision": {"type": "bf16"}}, {"mode": "sharding", "recompute": "most"},
                {"mode": "sharding", "recompute": {"bytes": -1}}, {"mode": "sharding", "recompute": {}},
                {"mode": "sharding", "sequence_parallel": 1}, {"mode": "sharding", "sequence_parallel": "again"}):
        st.expect(list(violations(bad, schema)), f"the schema allows {bad}")
    documented = re.findall(r"^## `(\w+)`", (DOCS / "parallel-spec.md").read_text(), re.M)
    st.expect(sorted(documented) == sorted(schema["properties"]), f"documented are {documented}")
    return f"{count} examples"


def compiled_examples(folder):
    """Every example of the documentation compiles, for the tiny BERT or a tiny Mixtral."""
    count = 0
    for name, value in examples():
        if name.endswith(".json") or "device_mapping" in value and "GPU" in json.dumps(value):
            continue
        task, config = EXPERTS if "expert" in value else MODELS["bert"]
        st.compile_model(folder, f"example{count}", config, task, value, batch=8, seq=16)
        count += 1
    return f"{count} examples"


def cases():
    yield "schema: examples fit, mistakes do not", schema_case
    yield "examples of the documentation compile", compiled_examples
    yield "recompute lowers the peak", recompute_memory
    yield "offload lowers the peak", offload_memory
    yield "offload by the queues of kernels", offload_by_workers
    yield "recompute fits the memory", recompute_fits
    seed = st.run_seed()
    print(f"drawn with ST_SEED={seed}", flush=True)
    rows = [*matrix(), *odd_rows(), *in_16_bits()]
    if not os.environ.get("ST_ALL"):
        kept = set(random.Random(seed).sample(range(len(rows)), 2 * len(rows) // 9))
        rows = [row for i, row in enumerate(rows) if i in kept]
    for row in (*rows, *drawn(seed)):
        yield training_case(*row)


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
