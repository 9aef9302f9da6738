"""Bad input of st-compile: one clear line on stderr, exit 1, no crash, no partial file."""

import json
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT, TINY_LLAMA, compile_command, expect_error


def config_case(name, config, pattern, **options):
    def check(folder):
        command, out = compile_command(folder, config, **options)
        expect_error(command, pattern, out)
    return f"config: {name}", check


def parallel_case(name, parallel, pattern, **options):
    def check(folder):
        command, out = compile_command(folder, parallel=parallel, **options)
        expect_error(command, r"parallel\.json.*" + pattern, out)
    return f"parallel: {name}", check


def without(config, key):
    return {k: v for k, v in config.items() if k != key}


def edited(edit, stages=2, shards=2, **options):
    value = st.layout(stages, shards, **options)
    edit(value)
    return value


def config_cases():
    text = json.dumps(TINY_BERT)
    yield config_case("truncated JSON", text[: len(text) // 2], r"config\.json.*")
    yield config_case("malformed JSON", text.replace(":", "=", 1), r"config\.json")
    yield config_case("not an object", "[1, 2]", r"config\.json.*object")
    yield config_case("empty", "", r"config\.json")
    yield config_case("unknown model type", dict(TINY_BERT, model_type="t6"), r"model_type.*t6")
    yield config_case("no model type", without(TINY_LLAMA, "model_type"), r"model_type.*found nothing", task="clm")
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"):
        yield config_case(f"null {key}", dict(TINY_BERT, **{key: None}), rf"{key}.*found null")
    yield config_case("wrong type", dict(TINY_BERT, hidden_size="big"), r"hidden_size")
    yield config_case("negative", dict(TINY_BERT, num_hidden_layers=-3), r"num_hidden_layers.*-3")
    yield config_case("fraction", dict(TINY_BERT, hidden_size=16.5), r"hidden_size")
    yield config_case("heads do not divide", dict(TINY_BERT, num_attention_heads=3), r"num_attention_heads.*3")
    yield config_case("activation", dict(TINY_BERT, hidden_act="gulp"), r"hidden_act.*gulp")
    yield config_case("dropout", dict(TINY_BERT, hidden_dropout_prob=1.5), r"hidden_dropout_prob.*1\.5")
    yield config_case("positions", dict(TINY_BERT, max_position_embeddings=8), r"max_position_embeddings|seq")
    yield config_case("task", TINY_BERT, r"clm", task="clm")
    yield config_case("unknown task", TINY_BERT, r"task|chess", task="chess")
    yield config_case("relative positions", dict(TINY_BERT, position_embedding_type="relative_key"),
                      r"position_embedding_type.*relative_key")
    yield config_case("stretched positions", dict(TINY_LLAMA, rope_scaling={"rope_type": "longrope", "factor": 2.0}),
                      r"rope_scaling\.rope_type.*longrope", task="clm")
    yield config_case("decoder", dict(TINY_BERT, is_decoder=True), r"is_decoder")
    yield config_case("nested deeply", "[" * 300000, r"config\.json.*nests at most")
    yield config_case("optimizer", TINY_BERT, r"--optimizer=foo: expected adamw", extra=["--optimizer=foo"])
    yield config_case("optimizer's number", TINY_BERT, r"--beta1=abc: expected a number of at least 0 and below 1", extra=["--beta1=abc"])
    for number in ("epsilon=1e-60", "clip-norm=1e-50", "beta2=0.99999999999"):
        yield config_case(f"{number}, which f32 loses", TINY_BERT, f"--{number}: expected .* that 32 bits hold",
                          extra=[f"--{number}"])
    yield config_case("optimizer without number", TINY_BERT, r"--beta2=: expected a value", extra=["--beta2="])
    yield config_case("8 bits of adafactor", TINY_BERT, "--optimizer=adafactor-8bit: expected adamw, adam, sgd, lamb, adafactor, ",
                      extra=["--optimizer=adafactor-8bit"])
    yield config_case("size of 32 bits", TINY_BERT, "--min-8bit-size has no effect with --optimizer=lamb",
                      extra=["--optimizer=lamb", "--min-8bit-size=2"])
    yield config_case("decay without number", TINY_BERT, r"--weight-decay-groups: expected PATTERN=DECAY with a number .*, found vectors",
                      extra=["--weight-decay-groups=vectors"])
    yield config_case("decay of nothing", TINY_BERT, r"--weight-decay-groups: no parameter matches the pattern \*\.weigth",
                      extra=["--weight-decay-groups=vectors=0,*.weigth=0.1"])
    yield config_case("momentum of adamw", TINY_BERT, "--momentum has no effect with --optimizer=adamw",
                      extra=["--momentum=0.5"])
    for name in ("beta1", "beta2", "epsilon"):
        yield config_case(f"{name} of sgd", TINY_BERT, f"--{name} has no effect with --optimizer=sgd",
                          extra=[f"--{name}=0.5", "--optimizer=sgd"])
    yield config_case("huge", dict(TINY_BERT, hidden_size=1 << 60), r"hidden_size")


def vocabulary_case(name, pieces, pattern):
    def check(folder):
        command, out = compile_command(folder)
        (folder / "model" / "vocab.txt").write_text("\n".join(pieces) + "\n")
        expect_error(command, r"model/vocab\.txt: " + pattern, out)
    return f"vocabulary: {name}", check


def vocabulary_cases():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for piece in special:
        yield vocabulary_case(f"no {piece}", [p for p in special if p != piece], f"no piece {re.escape(piece)}")
    yield vocabulary_case("too large", special + [f"##{i}" for i in range(296)], "expected at most 300 pieces, the model's token ids, found 301")
    yield vocabulary_case("empty", [], "no piece")


def budget_not_met(folder):
    command, out = compile_command(folder, parallel={"mode": "hybrid", "data": 1, "recompute": {"bytes": 10}})
    expect_error(command, "recompute is {.bytes.: 10}, but a micro-batch's stash takes at least [0-9]+ bytes on a device", out)


def host_case(folder, edit, pattern, **options):
    """A description of T10 with another link to the host."""
    text = edit((st.ROOT / "devices" / "dtu-t10.textproto").read_text())
    target = folder / "other.textproto"
    target.write_text(text)
    command, out = compile_command(folder, parallel={"mode": "hybrid", "data": 1, "stage_cnt": 2, "accum_degree": 2,
                                                     "offload": True})
    command = [f"--target={target}" if str(part).startswith("--target=") else part for part in command]
    expect_error(command, pattern, out)


def offload_without_host(folder):
    host_case(folder, lambda text: re.sub(r"^host_.*\n", "", text, flags=re.M),
              r"parallel\.json:1:.*offload needs a link to the host's memory, which target dtu-t10 does not have; "
              "expected host_gbytes_per_second and host_latency_ns in its description")


def offload_beyond_host(folder):
    host_case(folder, lambda text: text + 'host_bytes_per_chip { value: 4096 source: "a: a test" }\n',
              "device 0 offloads [0-9]+ bytes, but its host memory holds 1024; a larger {.bytes.: n} of offload")


def parallel_cases():
    good = json.dumps(st.layout(2, 2))
    yield parallel_case("truncated", good[:40], "")
    yield parallel_case("not an object", "3", "object")
    yield parallel_case("nested deeply", '{"a":' * 100000, "nests at most")
    yield parallel_case("unknown mode", edited(lambda v: v.update(mode="magic")), "mode.*magic")
    yield parallel_case("unknown key", edited(lambda v: v.update(sharding_sise=2)), "sharding_sise")
    yield parallel_case("missing mode", edited(lambda v: v.pop("mode")), "mode")
    yield parallel_case("sharding_dim", edited(lambda v: v.update(sharding_dim=1)), "sharding_dim.*1")
    yield parallel_case("accum_degree", edited(lambda v: v.update(accum_degree=0)), "accum_degree.*0")
    yield parallel_case("stage hole", edited(lambda v: v["device_mapping"].update(
        stage_5=v["device_mapping"].pop("stage_1"))), "stage_1")
    yield parallel_case("shard hole", edited(lambda v: v["device_mapping"]["stage_1"].update(
        shard_3=v["device_mapping"]["stage_1"].pop("shard_1"))), "shard_1")
    yield parallel_case("ragged", edited(lambda v: v["device_mapping"]["stage_1"].pop("shard_1")), "stage_1|shard")
    yield parallel_case("stage without shards", edited(lambda v: v["device_mapping"].update(stage_1={})), "stage_1")
    yield parallel_case("no cluster", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0="/device:XLA_DTU:4")), "XLA_DTU:4")
    yield parallel_case("far id", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0="/device:XLA_DTU:99999999")), "99999999")
    yield parallel_case("negative id", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0="/device:XLA_DTU:-1")), "-1")
    yield parallel_case("device name", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0="/device:TPU:1")), "TPU")
    yield parallel_case("mixed devices", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0="GPU:0")), "shard_1")
    gpus = edited(lambda v: v["device_mapping"].update(
        {f"stage_{i}": {"shard_0": f"GPU:{2 * i}", "shard_1": f"GPU:{2 * i + 1}"} for i in range(2)}))
    yield parallel_case("GPUs on a DTU target", gpus, "GPU")
    yield parallel_case("device not a string", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0=7)), "shard_0")
    yield parallel_case("pipeline with shards", edited(lambda v: v.update(mode="pipeline")), "pipeline|hybrid")
    yield from key_cases({"mode": "hybrid", "data": 2})
    yield from schedule_cases({"mode": "hybrid", "data": 2})
    yield parallel_case("batch", st.layout(2, 2, mode="hybrid", accum=64), "accum_degree is 64, more than the batch")
    yield from spec_cases()


def key_cases(numbered):
    """Keys of a layout that works, other than the mode."""
    yield parallel_case("no replicas", numbered | {"data": 0}, "data is 0; expected an integer from 1")
    yield parallel_case("replicas not a number", numbered | {"data": "2"}, 'data is "2"; expected an integer')
    yield parallel_case("replicas without devices", edited(lambda v: v.update(data=2)), "expected a list of 2 devices")
    yield parallel_case("other replicas than named", edited(lambda v: v["device_mapping"]["stage_0"].update(
        shard_0=["/device:XLA_DTU:0", "/device:XLA_DTU:1"])), "expected a device name")
    yield parallel_case("more replicas than rows", numbered | {"data": 3}, "data is 3, more than the 2 rows")
    yield parallel_case("too many devices", numbered | {"data": 1 << 20, "sharding_size": 1 << 20},
                        "expected at most 1048576 devices")
    yield parallel_case("experts that do not divide replicas", numbered | {"expert": 3},
                        "expert is 3, which does not divide data 2")
    yield parallel_case("experts without a rule", numbered | {"expert": 2},
                        "expert is 2, but the model has no experts, and no rule in parameters splits anything over the axis")
    yield parallel_case("more of ZeRO than there is", numbered | {"zero": 4}, "zero is 4; expected 0, 1, 2 or 3")
    yield parallel_case("ZeRO not a number", numbered | {"zero": None}, "zero is null; expected 0, 1, 2 or 3")
    for bad, shown in ((-1, "-1"), (1.5, "1.5"), ("25 MiB", '"25 MiB"'), (True, "true"), (2**41, str(2**41))):
        yield parallel_case(f"bucket_bytes {shown}", numbered | {"bucket_bytes": bad},
                            f"bucket_bytes is {shown}; expected an integer from 0 to 1099511627776")
    for what, value, said in (
            ("unknown", "most", ".most."), ("no budget", {}, "{}"), ("a budget below zero", {"bytes": -1}, "{.bytes.:-1}"),
            ("a budget of half bytes", {"bytes": 0.5}, "{.bytes.:0.5}"), ("a number", 4096, "4096"),
            ("more than a budget", {"bytes": 1, "layers": 2}, "{.bytes.:1,.layers.:2}")):
        yield parallel_case(f"recompute: {what}", numbered | {"recompute": value},
                            f"recompute is {said}; expected .none., .selective., .full., .fit. or {{.bytes.: <integer from 0>}}")
    yield "recompute: a budget that cannot be met", budget_not_met
    for what, value, said in (
            ("a word", "host", ".host."), ("no budget", {}, "{}"), ("a budget below zero", {"bytes": -1}, "{.bytes.:-1}"),
            ("a budget of half bytes", {"bytes": 0.5}, "{.bytes.:0.5}"), ("a number", 1, "1"), ("nothing", None, "null"),
            ("more than a budget", {"bytes": 1, "layers": 2}, "{.bytes.:1,.layers.:2}")):
        yield parallel_case(f"offload: {what}", numbered | {"offload": value},
                            f"offload is {said}; expected true, false or {{.bytes.: <integer from 0>}}")
    yield "offload: a device without a host", offload_without_host
    yield "offload: more than the host has", offload_beyond_host


def schedule_cases(numbered):
    yield parallel_case("unknown schedule", numbered | {"schedule": "zigzag"}, "schedule is .zigzag.; expected sequential")
    for name, lists, error in (
            ("listed by name alone", "listed", "schedule is .listed.; expected sequential"),
            ("no list for a stage", ["F0", "B0"], r"schedule\[0\] is .F0.; expected a list of tasks"),
            ("unknown task", [["F0", "G0"]] * 2, r"schedule\[0\] has .G0.; expected F, B or W"),
            ("no micro-batch", [["F", "B0"]] * 2, r"schedule\[0\] has .F.; expected F, B or W"),
            ("task that is no string", [["F0", 1]] * 2, r"schedule\[0\] has 1; expected F, B or W"),
            ("list of one stage", [["F0", "F1", "B0", "B1"]], "lists the tasks of 1 stages; expected 2"),
            ("task missing", [["F0", "F1", "B0", "B1"], ["F0", "F1", "B0"]], r"schedule\[1\]: B1 is missing"),
            ("task twice", [["F0", "F1", "F0", "B0", "B1"]] * 2, r"schedule\[0\]: F0 appears twice"),
            ("backward first", [["B0", "F0", "F1", "B1"]] * 2, r"schedule\[0\]: B0 is before F0"),
            ("weights of some", [["F0", "F1", "B0", "B1", "W0"]] * 2, r"schedule\[0\]: W1 is missing"),
            ("micro-batch out of range", [["F0", "F1", "B0", "B1", "F2"]] * 2, "F2 is out of range: expected virtual stages below 1 and micro-batches below 2"),
            ("virtual stage out of range", [["F0", "F1", "B0", "B1", "F7.0"]] * 2, "F7.0 is out of range: expected virtual stages below 1"),
            ("micro-batch beyond numbers", [["F99999999999999999999"]] * 2, "expected F, B or W")):
        yield parallel_case(f"schedule, {name}", numbered | {"data": 1, "stage_cnt": 2, "accum_degree": 2,
                                                                 "schedule": lists}, error)
    yield parallel_case("schedule of no pipeline", numbered | {"mode": "sharding", "schedule": "1f1b"},
                        "schedule is .1f1b., but mode is .sharding.")


def spec_cases():
    shards = {"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron"}
    yield parallel_case("unknown cut", shards | {"sharding_dim": "columns"},
                        'sharding_dim is "columns"; expected 0, -1 or "megatron"')
    yield parallel_case("sequence_parallel not a truth value", shards | {"sequence_parallel": 1},
                        "sequence_parallel is 1; expected true, false or .gather_again.")
    yield parallel_case("sequence of fewer tokens than shards", shards | {"sequence_parallel": True},
                        "sequence_parallel is true, but 2 shards are more than the 1 tokens of a sequence", seq=1)
    yield parallel_case("gathered again, fewer tokens than shards", shards | {"sequence_parallel": "gather_again"},
                        "sequence_parallel is .gather_again., but 2 shards are more than the 1 tokens of a sequence", seq=1)
    yield parallel_case("sequence_parallel without sums", shards | {"sharding_dim": -1, "sequence_parallel": True},
                        "sequence_parallel is true, but no product .* leaves partial sums", config=TINY_LLAMA,
                        task="clm")

    def rules_case(name, rules, pattern, replicas=1):
        return parallel_case(f"rules, {name}", shards | {"data": replicas, "parameters": rules}, pattern)

    query, weight = "bert.encoder.layer.0.attention.self.query.weight", ["tensor", None]
    yield rules_case("not an object", [["*", weight]], "parameters is .*; expected an object")
    yield rules_case("sharding not a list", {"*": "tensor"}, r"parameters\.\* is \"tensor\"; expected a list")
    yield rules_case("axis not a string", {"*": [2]}, r"parameters\.\* is \[2\]; expected a list")
    yield rules_case("malformed pattern", {"*[": weight}, r"parameters\.\*\[ is .*; invalid glob pattern")
    yield rules_case("too many alternatives", {"{a,b}" * 12: weight}, "too many")
    yield rules_case("nothing matches", {"*.qeury.weight": weight},
                     r"parameters\.\*\.qeury\.weight is .*, but no parameter of the model has a name that matches")
    yield rules_case("no such axis", {query: ["expert"]},
                     "the mesh has no axis .expert. that splits parameters; expected tensor$")
    yield rules_case("no replicas", {query: ["data"]}, "the mesh has no axis .data.")
    yield rules_case("micro-batches", {query: ["micro"]}, "the mesh has no axis .micro.")
    yield rules_case("axis twice", {query: ["tensor", "tensor"]}, "which has the axis .tensor. twice")
    yield rules_case("too many dimensions", {"*.query.bias": weight},
                     "which has 2 dimensions, but bert.encoder.layer.0.attention.self.query.bias has 1")
    yield rules_case("indivisible", {"*token_type*": [["tensor", "data"]]},
                     "splits dimension 0 of .*token_type.* into 4 parts; expected no more than its size 2",
                     replicas=2)
    yield rules_case("contradiction", {"*.query.weight": weight, query: [None, "tensor"]},
                     r"query\.weight is .*but parameters\..*query\.weight, which also matches .*query.weight, is \[")


def mlir_case(name, text, pattern):
    def check(folder):
        source = folder / "in.mlir"
        source.write_text(text)
        out = folder / "out" / "a.mlir"
        out.parent.mkdir()
        expect_error([st.BIN / "st-opt", source, "-o", out], pattern, out)
    return f"mlir: {name}", check


def mlir_cases():
    yield mlir_case("malformed", "func.func @main(%a: tensor<2xf32>) { return %b }", r"in\.mlir:1")
    yield mlir_case("dynamic shape", "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                    "  %0 = stablehlo.add %a, %a : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}",
                    r"in\.mlir:2.*dynamic")
    yield mlir_case("type mismatch", "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n"
                    "  %0 = \"stablehlo.add\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>\n"
                    "  return %0 : tensor<3xf32>\n}", r"in\.mlir:2")
    yield mlir_case("unknown op", "func.func @main() {\n  stablehlo.fly\n  return\n}", r"in\.mlir:2.*fly")


def unwritable_output(folder):
    command, out = compile_command(folder)
    command[command.index(out)] = folder / "missing" / "a.bin"
    expect_error(command, r"missing/a\.bin")


def missing_input(folder):
    expect_error([*st.COMPILE, folder / "nothing", "--task=mlm", "--target=dtu-t10", "-o",
                  folder / "a.bin"], r"nothing")


def unknown_target(folder):
    command, out = compile_command(folder)
    command[command.index("--target=dtu-t10")] = "--target=abacus"
    expect_error(command, r"abacus", out)


def no_dtu_phase_of_a_gpu(folder):
    command, out = compile_command(folder, extra=["--compile-to=dtu"])
    command[command.index("--target=dtu-t10")] = "--target=cuda-sm_90"
    expect_error(command, r"--target=cuda-sm_90: GPUs have no phase dtu; expected --compile-to=planned, an earlier phase or "
                 r"none, for a binary", out)


def devices_of_another_target(folder):
    command, out = compile_command(folder, parallel=st.layout(2, 1), extra=["--compile-to=planned"])
    command[command.index("--target=dtu-t10")] = "--target=cuda-sm_80"
    expect_error(command, r"parallel\.json.*device_mapping\.stage_0\.shard_0 is a DTU \(/device:XLA_DTU:<id>\), which target "
                 r"cuda-sm_80 does not have; expected GPU:<id>", out)


def step_brings_its_update(folder):
    """The command line cannot repeat a setting that the program makes itself."""
    text = folder / "step.mlir"
    text.write_text("func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>) -> "
                    "(tensor<4xf32>, tensor<f32>) {\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                    "  %d = stablehlo.multiply %w, %x : tensor<4xf32>\n"
                    "  %l = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0] : "
                    "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n  %n = stablehlo.subtract %w, %x : tensor<4xf32>\n"
                    "  return %n, %l : tensor<4xf32>, tensor<f32>\n}\n")
    command = [*st.COMPILE, text, "-o", folder / "step.bin"]
    st.check_run(command)
    for flag in ("optimizer=sgd", "beta1=0.5", "lr=0.1", "task=clm", "batch=2", "seq=4"):
        expect_error([*command, f"--{flag}"], f"--{flag.split('=')[0]} has no effect: ")


def same_number(folder):
    """1e-4 and 0.0001 are the same learning rate, 2e-4 is another."""
    command, out = compile_command(folder, extra=["--lr=1e-4", "--compile-to=planned"])
    planned = folder / "planned.mlir"
    command[command.index(out)] = planned
    st.check_run(command)
    again = [*st.COMPILE, planned, "--compile-from=planned", "-o", folder / "a.bin"]
    st.check_run([*again, "--lr=0.0001", "--batch=2"])
    expect_error([*again, "--lr=0.0002"], "--lr=0.0002 contradicts the module")


def cases():
    yield from config_cases()
    yield from vocabulary_cases()
    yield from parallel_cases()
    yield from mlir_cases()
    yield "compile: unwritable output", unwritable_output
    yield "compile: missing input", missing_input
    yield "compile: unknown target", unknown_target
    yield "compile: no phase dtu of a GPU", no_dtu_phase_of_a_gpu
    yield "compile: devices of another target", devices_of_another_target
    yield "compile: a step with its update", step_brings_its_update
    yield "compile: the same number", same_number


if __name__ == "__main__":
    sys.exit(st.main(*cases()))
