"""st-plan and st-fit: predictions of measured rows, plans, questions, and bad input."""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from test_bad_tools import refuse

sys.path.insert(0, str(st.ROOT / "benchmarks"))
import planned_steps

PLAN = [st.BIN / "st-plan", "-q"]
GPT = st.ROOT / "examples/models/megatron-gpt-345m"
ROWS = st.ROOT / "test/Inputs/Megatron/measured-steps.csv"
LOG = st.ROOT / "test/Inputs/Megatron/megatron-bert-345m-32gpus.log"


def plan(*flags, timeout=120):
    return st.check_run([*PLAN, *flags], timeout).stdout


def plan_json(*flags):
    return json.loads(plan(*flags, "--json"))


def rows(folder):
    """The built-in constants predict measured steps."""
    lines = [json.loads(line) for line in plan(f"--rows={ROWS}", "--profile=megatron-deepspeed", "--json").splitlines()]
    st.expect(len(lines) == 6, f"{len(lines)} rows")
    errors = [abs(line["predicted_ms"] / line["measured_ms"] - 1) for line in lines]
    st.expect(max(errors) < 0.2 and sum(errors) / len(errors) < 0.1, f"errors {errors}")
    st.expect(all(line["fits"] and line["memory_mib"] > 1000 for line in lines), "a run that ran does not fit")
    return f"mean error {sum(errors) / len(errors):.1%}"


def rows_of_experts(folder):
    """Rows split sequences and share experts."""
    model = st.write_json(folder / "mixtral" / "config.json", planned_steps.MIXTRAL | {"intermediate_size": 4096}).parent
    table = folder / "experts.csv"
    table.write_text("tp,pp,dp,expert,context,micro_batch,global_batch\n1,1,4,1,1,1,8\n1,1,4,2,1,1,8\n1,1,2,2,2,1,8\n")
    whole, shared, split = map(json.loads, plan(model, f"--rows={table}", "--expert-capacity-factor=1.5", "--json").splitlines())
    st.expect(whole["memory_mib"] > shared["memory_mib"] > 0, f"experts of two devices: {whole}, {shared}")
    st.expect(split["predicted_ms"] > 0 and split["fits"], f"experts and sequences: {split}")


def todays_models(folder):
    """Megatron-LM's command lines for Llama 3 8B and Mixtral 8x7B: published sizes, and states of 20 bytes a parameter."""
    inputs = st.ROOT / "test/Inputs/Megatron"
    padding = 2 * (128512 - 128256) * 4096  # to a multiple of 128 x 4 tokens, in two tables
    for name, parameters, layout in (("llama3-8b", 8030261248 + padding, "tp=4 pp=1 dp=2 mb=1 accum=64 recompute=full zero=1 sp"),
                                     ("mixtral-8x7b", 46702792704, "tp=1 pp=1 dp=8 expert=8 mb=1 accum=32 recompute=none zero=1")):
        text = plan(inputs / f"{name}.sh", "--cluster=dgx-h100-80gb")
        st.expect(re.search(rf"^parameters +{parameters}$", text, re.M), text)
        st.expect(re.search(rf"^layout +{layout}$", text, re.M), text)
        st.expect(re.search(r"^state +20 bytes a parameter \(weights 2, .* optimizer 8\)", text, re.M), text)
        share = float(re.search(r"([\d.]+) % of peak", text)[1])
        st.expect(20 < share < 60, text)
        st.expect("0 contradictions" in plan(f"--lint-log={inputs / name}.sh", "--cluster=dgx-h100-80gb"), "a contradiction")
    st.expect("fits" in plan(inputs / "llama3-8b.sh", "--cluster=dgx-h100-80gb"), "Llama does not fit")


def experts_without_capacity(folder):
    """Megatron-LM sends tokens to the devices of their experts, whose even share of tokens takes as long with one device as
    with four. St gathers the weights of experts instead. Each device has a quarter of the experts, with their optimizer state."""
    model = st.write_json(folder / "mixtral" / "config.json", planned_steps.MIXTRAL | {"intermediate_size": 4096}).parent
    layout = [model, "--devices=4", "--batch=16", "--seq=128", "--tp=1", "--pp=1", "--mb=2", "--zero=0", "--recompute=none"]
    whole, shared = (plan_json(*layout, f"--expert={count}")["best"] for count in (1, 4))
    limited = plan_json(*layout, "--expert=4", "--expert-capacity-factor=1")["best"]
    st.expect(shared["predicted_ms"] == limited["predicted_ms"], "an even share is not a capacity factor of 1")
    st.expect(shared["parameters"] == whole["parameters"], "parameters")
    for kind in ("parameters", "gradients", "optimizer"):
        part, all = (next(each["mib"] for each in best["memory"] if each["name"] == kind) for best in (shared, whole))
        st.expect(0.25 < part / all < 0.5, f"{kind}: {part} of {all} MiB")
    gathered = plan_json(*layout, "--expert=4", "--profile=st")["best"]
    timers = {timer["name"] for timer in gathered["timers"]}
    st.expect("params-all-gather" in timers, f"weights of experts are not gathered: {timers}")
    sent = plan_json(*layout, "--expert=4", "--profile=st", "--expert-capacity-factor=1")["best"]
    st.expect("params-all-gather" not in {timer["name"] for timer in sent["timers"]}, "gathered with a capacity")
    st.expect(gathered["memory_mib"] > sent["memory_mib"], "gathered weights take no memory")


def layers_that_differ(folder):
    """Layers with experts among others, and frozen ones: the programs of a few layers tell the parameters and the time."""
    flags = ["--devices=4", "--batch=16", "--seq=128", "--mb=2"]
    qwen = planned_steps.LLAMA | {"model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 2,
                                  "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "norm_topk_prob": True}
    model = st.write_json(folder / "qwen" / "config.json", qwen).parent
    report = plan_json(model, *flags)["best"]
    hidden, inner, heads = 256, 704, 2 * 256 * 256 + 2 * 256 * 128 + 256 + 2 * 128
    sparse = 4 * 3 * hidden * 512 + 4 * hidden + 3 * hidden * 512 + hidden
    expected = 4 * (sparse + 3 * hidden * inner) + 8 * (heads + 2 * hidden) + 2 * 2048 * hidden + hidden
    st.expect(report["parameters"] == expected, f"{report['parameters']} parameters instead of {expected}")
    llama = st.write_json(folder / "llama" / "config.json", planned_steps.LLAMA | {"num_hidden_layers": 16}).parent
    one = [llama, *flags, "--tp=1", "--pp=1", "--zero=0", "--recompute=none"]
    times, memory = [], []
    for frozen in ("[0-3]", "[0-7]", "[0-9]", "1[0-5]"):
        best = plan_json(*one, f"--freeze=*.layers.{frozen}.*,*embed_tokens*")["best"]
        times.append(best["predicted_ms"])
        memory.append(best["memory_mib"])
    st.expect(times[0] > times[1] > times[2], f"more frozen layers take longer: {times}")
    st.expect(memory[0] > memory[1] > memory[2], f"more frozen layers take more memory: {memory}")
    # The gradients of trained layers pass through the frozen layers after them.
    st.expect(times[3] > times[1], f"frozen last layers have backward passes: {times}")


def contradicted(folder):
    """A row that took longer than another for the same work is reported, and left out of a fit."""
    path = folder / "timers.csv"
    same = "1024,16,2,512,1,2"
    path.write_text("hidden,heads,layers,sequence,tp,pp,dp,micro_batch,global_batch,iteration_ms,forward_ms,backward_ms\n"
                    f"{same},1,2,8,60,20,35\n{same},2,2,16,61,20,36\n{same},4,2,32,95,41,50\n")
    lines = [json.loads(line) for line in plan(f"--rows={path}", "--json").splitlines()]
    st.expect(not any("contradicts" in line for line in lines[:2]), lines)
    st.expect([each["line"] for each in lines[2]["contradicts"]] == [2, 3], lines[2])
    st.expect("contradicts the row of line 2: forward 41 ms, 20 ms for the same work" in plan(f"--rows={path}"), "the table")
    out = folder / "fit.textproto"
    done = st.check_run([st.BIN / "st-fit", path, "--fit=launch_us", "--leave-one-out=false", "-o", out], 100)
    st.expect("timers.csv:4 contradicts" in done.stderr and "it is left out" in done.stderr, done.stderr)
    st.expect('rows { file: "timers.csv" lines: 2 }' in out.read_text(), out.read_text())


def best(folder):
    """The best layout is a file that st-compile accepts, and its devices process the whole batch."""
    emitted = folder / "parallel.json"
    report = plan_json(GPT, "--devices=8", "--batch=64", f"--emit={emitted}")
    layout = report["best"]["layout"]
    st.expect(layout["devices"] == 8 and layout["global_batch"] == 64, layout)
    st.expect(layout == report["front"][0]["layout"], "the best is not the first of the front")
    times = [step["predicted_ms"] for step in report["front"]]
    st.expect(times == sorted(times), f"the front is not in order: {times}")
    st.expect(json.loads(emitted.read_text()), "an empty parallel file")


def predicted_log(folder):
    """A Megatron log is a run: predicted with the log's settings, and compared with its timers."""
    text = plan(LOG)
    for timer in ("forward-compute", "backward-compute", "backward-params-all-reduce", "optimizer"):
        st.expect(timer in text, f"no {timer} in\n{text[-2000:]}")
    text = plan(f"--lint-log={LOG}")
    st.expect("timer of the last rank" in text, text[-2000:])
    # This cluster's collectives over all ranks were slow. A phase is off by a quarter and by 2 % of a step (128 samples).
    lint = plan_json(f"--lint-log={LOG}", "--cluster=dgx-a100-40gb")
    st.expect({finding["id"] for finding in lint["findings"]} == {"cased-vocabulary", "decay-length", "sample-count"}, lint["findings"])
    phases = {phase["name"]: phase for phase in lint["phases"]}
    st.expect(phases["backward-params-all-reduce"]["is_off"], phases["backward-params-all-reduce"])
    step = 128 * phases["a sample"]["log"]
    for name, phase in phases.items():
        low, high = sorted((phase["log"], phase["predicted"]))
        is_far = high > 1.25 * low and high - low > 0.02 * step
        st.expect(phase["is_off"] == (is_far and name not in ("optimizer", "a sample", "memory of the fullest device (MiB)")), phase)


def parameters(folder):
    """Counted exactly, whatever program the profile describes: 24 layers, the padded vocabulary, positions, a norm."""
    hidden = 1024
    layer = 12 * hidden * hidden + 13 * hidden
    expected = 24 * layer + 50304 * hidden + 1024 * hidden + 2 * hidden
    for profile in ("megatron-lm", "megatron-deepspeed", "deepspeed", "st"):
        found = plan_json(GPT, "--devices=1", "--batch=4", "--mb=4", f"--profile={profile}")["parameters"]
        st.expect(found == expected, f"{profile}: {found} parameters, expected {expected}")
    # A rank holds only part of the positions.
    split = plan_json(GPT, "--devices=4", "--batch=4", "--tp=4", "--sequence-parallel=true", "--recompute=full")["parameters"]
    st.expect(split == expected, f"{split} parameters with sequence parallelism")


FEW = ["--mb=1", "--recompute=full", "--schedule=1f1b", "--sequence-parallel=false"]  # layouts, so that a search is quick


def questions(folder):
    """Each capacity question has an answer in words."""
    for flags, expected in ((["--largest-model"], "layers of hidden size 1024, 8 devices"),
                            (["--fewest-devices", "--days-for=300e9"], "1 node of dgx-a100-80gb"),
                            (["--days-for=300e9", "--assumed-tflops=100"], "times as long"),
                            (["--scale=1,2"], "the batch grows with the nodes"),
                            (["--what-if=network:x2,memory:40GB"], "as it is"),
                            (["--why-not=tp=1,pp=8"], "why not tp=1,pp=8")):
        text = plan(GPT, *FEW, *flags)
        st.expect(expected in text, f"{flags}: no {expected!r} in\n{text[-1500:]}")
    text = plan(LOG, "--shrink-to=1", "--cluster=dgx-a100-40gb")
    st.expect("8 devices instead of 32" in text, text[:500])


def largest(folder):
    """The largest model fits and the next does not; half the memory holds less; a file of sizes is searched."""
    def parameters(layers, hidden):
        return 12 * layers * hidden * hidden + 13 * layers * hidden + 50304 * hidden + 1024 * hidden + 2 * hidden

    flags = [GPT, *FEW, "--largest-model", "--devices=2", "--batch=8"]
    found = []
    for memory in ("x1", "x0.5"):
        for scale in plan_json(*flags, f"--what-if=memory:{memory}")["scales"]:
            best, after = scale["largest"], scale["next"]
            st.expect(best["fits"] and best["plan"]["fits"] and not after["fits"] and after["reason"], f"{best} {after}")
            st.expect(best["parameters"] == parameters(best["layers"], best["hidden"]), best)
            st.expect(after["parameters"] > best["parameters"], f"{after['parameters']} after {best['parameters']}")
            found.append(best["parameters"])
    st.expect(found[2] < found[0] and found[3] < found[1], f"as much with half the memory: {found}")
    sizes = folder / "sizes.csv"
    sizes.write_text("name,layers,hidden,heads\nhuge,96,12288,96\nsmall,12,768,12\nmiddle,24,2048,16\n")
    scale, = plan_json(*flags, f"--sizes={sizes}")["scales"]
    st.expect(scale["largest"]["name"] == "middle" and scale["next"]["name"] == "huge", scale)


def scaled(folder):
    """Weak and strong scaling with days; a faster network is not slower; JSON of a changed cluster."""
    flags = [GPT, *FEW, "--scale=2,1", "--batch=32", "--days-for=1e9"]
    rows, faster = plan_json(*flags)["rows"], plan_json(*flags, "--what-if=network:x4")["rows"]
    st.expect([(row["scaling"], row["nodes"]) for row in rows] == [("weak", 1), ("weak", 2), ("strong", 1), ("strong", 2)], rows)
    st.expect(rows[1]["plan"]["layout"]["global_batch"] == 64 and rows[3]["plan"]["layout"]["global_batch"] == 32, rows)
    for row, other in zip(rows, faster):
        rate, days = row["plan"]["tokens_per_second"], row["training"]["days"]
        st.expect(abs(1e9 / rate / 86400 / days - 1) < 1e-6, row["training"])
        st.expect(other["plan"]["predicted_ms"] <= row["plan"]["predicted_ms"] * (1 + 1e-9), "slower with a faster network")
    changed = plan_json(GPT, *FEW, "--what-if=memory:x0.01")
    st.expect(changed["fits_before"] and not changed["fits_after"], changed["changes"])


def page(folder):
    """A page is XML with every section, a mark per layout of the front and only data of the JSON."""
    path = folder / "plan.html"
    report = plan_json(GPT, *FEW, "--devices=8", "--batch=64", f"--page={path}")
    tree = xml.etree.ElementTree.parse(path)
    ids = {element.get("id") for element in tree.iter("section")}
    st.expect(ids == {"front", "timeline", "time", "memory", "layouts"}, ids)
    front = [section for section in tree.iter("section") if section.get("id") == "front"][0]
    st.expect(len(list(front.iter("circle"))) <= len(report["front"]) == len(list(front.iter("tr"))) - 1, "front")
    script = json.loads([s.text for s in tree.iter("script")][0])
    st.expect(script["layout"] == {k: v for k, v in report["best"]["layout"].items() if v}, script["layout"])
    for group in report["best"]["timeline"]:
        st.expect(abs(sum(part["ms"] for part in group["parts"]) / report["best"]["predicted_ms"] - 1) < 1e-6, group["parts"])
    run = plan_json(LOG, "--cluster=dgx-a100-40gb", f"--page={path}", "--days-for=1e9")
    st.expect(abs(run["training"]["days"] * 86400 * run["tokens_per_second"] / 1e9 - 1) < 1e-6, run["training"])
    text = path.read_text()
    xml.etree.ElementTree.fromstring(text)
    st.expect("group 1" in text and "does not fit" not in text, "the page of a run")


def configurations(folder):
    """Every key of a configuration is either used or reported."""
    config = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": True},
              "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 1000}}
    report = plan_json(GPT, f"--deepspeed={st.write_json(folder / 'open.json', config)}", "--recompute=none")
    keys = {key["name"]: key["fate"] for key in report["keys"]}
    st.expect(keys["zero_optimization.stage"] == "honoured" and len(keys) == 9, keys)
    st.expect(keys["zero_optimization.reduce_bucket_size"] == "no effect on the plan", keys)
    for candidate in report["candidates"]:
        layout = candidate["layout"]
        st.expect((layout["tp"], layout["pp"], layout["dp"], layout["zero"]) == (1, 1, 8, 2), layout)
        st.expect(layout["offload_optimizer"] and layout["global_batch"] == 64, layout)
    fixed = dict(config, train_micro_batch_size_per_gpu=4, activation_checkpointing={"number_checkpoints": 24})
    layout = plan_json(GPT, f"--deepspeed={st.write_json(folder / 'fixed.json', fixed)}")["layout"]
    st.expect((layout["micro_batch"], layout["accumulation"], layout["recompute"]) == (4, 2, "full"), layout)
    text = plan(LOG, "--cluster=dgx-a100-40gb")
    st.expect(re.search(r"\d+ keys honoured, \d+ with no effect on the plan:", text) and "tensorboard_dir" in text, text[-800:])
    # Unfused kernels and reductions in f32 take longer.
    slow = folder / "slow.log"
    slow.write_text(re.sub(r"(masked_softmax_fusion|bias_gelu_fusion|accumulate_allreduce_grads_in_fp32)(\s*\.+\s*)(\w+)",
                           lambda m: m[1] + m[2] + ("True" if m[1].startswith("acc") else "False"), LOG.read_text()))
    times = [plan_json(path, "--cluster=dgx-a100-40gb")["predicted_ms"] for path in (LOG, slow)]
    st.expect(times[1] > 1.02 * times[0], f"{times}")


def large(folder):
    """A trillion parameters on 3,072 devices, tensor shards within a node."""
    config = {"model_type": "megatron-gpt", "num_layers": 128, "hidden_size": 25600, "num_attention_heads": 160,
              "max_position_embeddings": 2048, "vocab_size": 51200}
    path = st.write_json(folder / "gpt" / "config.json", config)
    report = plan_json(path.parent, "--devices=3072", "--batch=3072", "--top=1")
    st.expect(report["front"], "no layout")


def searched(folder):
    """Ranges, limits and orders of ranks are searched; each rejected layout has its reason."""
    report = plan_json(GPT, "--devices=4:16", "--batch=32:64", "--mb=2,4", "--tp=1,2", "--recompute=none", "--zero=0", "--memory=40GB",
                       "--sequence-parallel=false")
    steps = [step["layout"] for step in report["front"]]
    st.expect(all(4 <= layout["devices"] <= 16 and 32 <= layout["global_batch"] <= 64 for layout in steps), steps)
    st.expect(len({layout["devices"] for layout in steps}) > 1, f"one number of devices on the front: {steps}")
    st.expect(all(step["memory_mib"] < 40e9 / 2**20 for step in report["front"]), "more memory than the limit")
    st.expect(report["gap"] < 1e-6 and report["composed"] < report["layouts"], report["gap"])
    emitted = folder / "parallel.json"
    flags = [GPT, "--devices=16", "--batch=32", "--tp=2", "--pp=2", "--mb=1", "--recompute=none", "--zero=0,1", "--sequence-parallel=false"]
    layout = plan_json(*flags, "--placement=data-tensor-pipeline", f"--emit={emitted}")["best"]["layout"]
    st.expect(layout["placement"] == "data-tensor-pipeline" and "placement=" in layout["text"], layout)
    mapping = json.loads(emitted.read_text())["device_mapping"]
    st.expect(mapping["stage_0"]["shard_1"] == [f"GPU:{id}" for id in range(4, 8)], mapping)
    text = plan(*flags, "--replica-nodes=1", "--why-not=zero=0,placement=cluster", "--why-not=schedule=gpipe")
    st.expect("why not zero=0,placement=cluster: 0 layouts" not in text, text[-1500:])
    st.expect("no layout of the space has schedule=gpipe, only 1f1b, interleaved" in text, text[-1500:])


def bad(folder):
    """One line, exit 1, for each kind of file and flag."""
    def write(name, text):
        path = folder / name
        path.write_text(text)
        return path

    constants = 'constants { name: "a" value: 1 }'
    offload = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}
    header = "gpus,global_batch,micro_batch,tp,dp,hidden,heads,layers,sequence,pp,iteration_ms" + chr(10)
    sizes = "layers,hidden,heads" + chr(10)
    cases = [
        ([folder / "none"], "none"), ([], "expected a model folder"),
        ([GPT, "--cluster=moon"], "--cluster: .*moon"), ([GPT, "--profile=moon"], "--profile: .*moon"),
        ([GPT, f"--cluster={write('c.textproto', 'name: 3')}"], r"c\.textproto"),
        ([GPT, f"--profile={write('p.textproto', 'regions {')}"], r"p\.textproto"),
        ([GPT, f"--constants={write('f.textproto', constants)}"], r"no cost has a constant"),
        ([GPT, f"--deepspeed={write('d.json', '{')}"], r"d\.json"),
        ([f"--rows={write('r.csv', 'gpus,hidden' + chr(10) + '1,x')}"], r"r\.csv"),
        ([f"--rows={write('e.csv', '')}"], r"e\.csv"), ([f"--rows={folder / 'no.csv'}"], r"no\.csv: cannot read"),
        ([f"--lint-log={write('l.log', 'nothing here')}"], r"l\.log"), ([write("m.log", "\0\1")], r"m\.log"),
        ([GPT, "--devices=8", "--nodes=1"], "exclude"), ([GPT, "--tp=0"], "--tp=0"), ([GPT, "--zero=4"], "--zero=4"),
        ([GPT, "--recompute=some"], "--recompute=some"), ([GPT, "--schedule=x"], "--schedule=x"),
        ([GPT, *FEW, "--tp=1", "--why-not=x"], "--why-not=x"), ([GPT, "--why-not=sp=2"], "sp: expected true or false"),
        ([GPT, "--devices=9:8"], "--devices=9:8: expected"), ([GPT, "--batch=many"], "--batch=many: expected"),
        ([GPT, "--devices=8:16", "--largest-model"], "--devices=8:16: a range"), ([GPT, "--memory=2TB"], "--memory=2TB"),
        ([GPT, "--placement=tp"], "--placement=tp"),
        ([GPT, "--devices=8:4096", "--batch=1:1000000"], "more than 1000000 layouts"),
        ([GPT, "--what-if=moon:x2"], "moon"), ([GPT, "--days-for=-1"], "--days-for"),
        ([GPT, "--optimizer=x"], "--optimizer=x"), ([GPT, "--precision=f8"], "--precision=f8"),
        ([GPT, "--devices=7", "--batch=1", "--dp=5"], "no layout"),
        # Models, and files that are not models.
        ([write("h.json", '{"model_type": "gpt2", "n_embd": 0}')], r"h\.json:1.*n_embd"), ([write("j.json", "[1")], r"j\.json"),
        ([write("ds.json", '{"train_batch_size": 8}')], "found a DeepSpeed configuration"),
        ([write("par.json", '{"mode": "sharding", "sharding_size": 2}')], "found a parallel file"),
        ([write("cmd.sh", "python pretrain_gpt.py --num-layers x")], r"cmd\.sh:1"),
        ([write("cmd2.sh", "python pretrain_gpt.py --numb-layers 3")], r"cmd2\.sh:1"),
        ([GPT, f"--deepspeed={write('w.json', json.dumps({'train_batch_size': 'x'}))}"], r"w\.json:1: key 'train_batch_size'"),
        ([GPT, f"--deepspeed={write('u.json', json.dumps({'zero': 1}))}"], r"u\.json:1: unknown key 'zero'"),
        ([GPT, f"--deepspeed={write('o.json', json.dumps(offload))}"], r"o\.json: parameters in the memory of the host"),
        ([GPT, f"--deepspeed={folder / 'none.json'}"], r"none\.json: cannot read"), ([GPT, f"--constants={folder / 'none'}"], "none"),
        # Rows and sizes.
        ([f"--rows={write('b.csv', header + '2,3,1,1,2,1024,16,24,1024,1,1' + chr(10))}"], r"b\.csv:2"),
        ([GPT, "--lora=4:all-linear", f"--rows={write('l.csv', header + '1,8,1,1,1,1024,16,24,1024,1,1' + chr(10))}"],
         "--lora has no effect on .*whose columns describe the model"),
        ([f"--rows={write('t.csv', 'tp,tp' + chr(10) + '1,1')}"], r"t\.csv:1: column tp appears twice"),
        ([GPT, "--largest-model", f"--sizes={write('s.csv', 'layers,hidden' + chr(10) + '1,64')}"], r"s\.csv:\d: expected a column heads"),
        ([GPT, "--largest-model", f"--sizes={write('z.csv', sizes + '1,64,3')}"], r"z\.csv:2: column heads: expected a divisor"),
        ([GPT, "--largest-model", f"--sizes={write('y.csv', sizes + '0,64,4')}"], r"y\.csv:2: column layers: expected an integer from 1"),
        ([GPT, "--largest-model", f"--sizes={folder / 'no.csv'}"], r"no\.csv: cannot read"),
        # Outputs that cannot be written are reported before the search.
        ([GPT, f"--page={folder / 'no' / 'p.html'}"], r"p\.html: cannot write"), ([GPT, f"--page={folder}"], "cannot write: Is a directory"),
        ([GPT, f"--emit={folder / 'no' / 'p.json'}"], r"p\.json: cannot write"), ([GPT, *FEW, "--tp=1", "--page=/dev/full"], "/dev/full: cannot write"),
        # Flags that require or exclude each other.
        ([GPT, "--scale=1", "--largest-model"], "exclude each other"), ([GPT, "--scale=1", "--page=x"], "--page has no effect with --scale"),
        ([GPT, "--sizes=x"], "--sizes has no effect without --largest-model"), ([GPT, "--assumed-tflops=1"], "without --days-for"),
        ([GPT, "--shrink-to=1"], "--shrink-to: expected a run"), ([LOG, "--seq=8"], "--seq has no effect"),
        ([f"--lint-log={LOG}", "--tp=2"], "--tp has no effect with --lint-log"), ([GPT, "--what-if=network:3GB"], "--what-if=network:3GB"),
        ([GPT, "--cluster=v100-16", "--what-if=network:x2"], "has no network to change"), ([GPT, "--what-if=memory:x0"], "memory:x0"),
        ([GPT, "--cluster=v100-16", "--fewest-devices", "--batch=1", "--what-if=memory:1GB"], "does not fit on the 1 nodes"),
    ]
    for flags, pattern in cases:
        refuse([*PLAN, *flags], pattern, folder)
    for flags, pattern in (([ROWS, "--fit=gravity"], "gravity"), ([folder / "no.csv", "--fit=launch_us"], r"no\.csv"), ([], "expected"),
                           ([folder / "r.csv", "--fit=launch_us"], r"r\.csv")):
        refuse([st.BIN / "st-fit", *flags, "-o", folder / "fit.textproto"], pattern, folder)


def fit(folder):
    """A fit recovers the constants from rows that were predicted with them."""
    out = folder / "fit.textproto"
    done = st.check_run([st.BIN / "st-fit", ROWS, "--profile=megatron-deepspeed", "--fit=launch_us,memory_efficiency", "-o", out], 300)
    st.expect("leave one out" in done.stderr + done.stdout and "null model" in done.stderr + done.stdout, done.stderr)
    text = out.read_text()
    st.expect("hash:" in text and "measured-steps.csv" in text, text)
    plan(f"--rows={ROWS}", "--profile=megatron-deepspeed", f"--constants={out}")


CASES = [("measured rows", rows), ("rows of experts", rows_of_experts), ("today's models", todays_models), ("experts without a capacity", experts_without_capacity),
         ("layers that differ", layers_that_differ),
         ("contradictory rows", contradicted), ("best layout", best), ("a log", predicted_log), ("exact parameters", parameters), ("questions", questions),
         ("largest models", largest), ("scaling", scaled), ("page", page), ("configurations", configurations),
         ("searched", searched),
         ("a trillion parameters", large), ("bad input", bad), ("fit", fit)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
