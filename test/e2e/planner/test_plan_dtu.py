"""Plans for simulated clusters: composed steps are compared with the simulator, and emitted layouts with st-compile.

Each run draws some of the checks that benchmarks/planned_steps.py makes for all of its searches."""

import json
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from test_bad_tools import refuse

sys.path.insert(0, str(st.ROOT / "benchmarks"))
import planned_steps

PLAN = [st.BIN / "st-plan", "-q"]
# Searches that are smaller than the benchmark's: one or two layouts are found and compiled completely.
SPACES = [("bert on a chip", "--tp=1 --pp=2 --schedule=1f1b --zero=0"), ("bert on 8", "--tp=1 --pp=4"),
          ("gpt2 on 16", "--pp=1 --sequence-parallel=true"), ("gpt2 in f32", "--tp=2 --pp=2 --recompute=none --zero=0"),
          ("llama on a chip", "--tp=2 --schedule=zb-h1"), ("llama on 8, ZeRO", "--tp=1 --pp=2 --zero=3"),
          ("uneven stages", ""), ("gpt2 on a chip", "--pp=2 --tp=2 --recompute=none --optimizer=adafactor"),
          ("bert on a chip", "--pp=1 --tp=4 --optimizer=lamb-8bit")]
# One of each kind: sequences and experts that devices share, adapters, layers that differ, an encoder and a decoder.
SPECIAL = [("llama, context", "--tp=1 --pp=2 --context=2 --zero=0"),
           ("llama, context", "--tp=1 --pp=2 --context=2 --context-attention=ring --recompute=selective --zero=0"), ("llama, context", "--tp=2 --pp=1 --context=4 --zero=1"),
           ("mixtral, experts", "--tp=1 --pp=1 --dp=4 --expert=2 --devices=4 --expert-capacity-factor=1.5"),
           ("llama, adapters", "--tp=1 --pp=2"), ("llama, half trained", "--tp=1 --pp=2"), ("t5", "--tp=1 --pp=2"),
           ("t5", "--tp=2 --pp=1")]
# The number of shards determines the layers of a stage: four and two with one shard, three and three with four.
planned_steps.SEARCHES["uneven stages"] = (
    planned_steps.BERT | {"hidden_size": 128, "num_hidden_layers": 6, "intermediate_size": 512, "vocab_size": 3072}, "mlm", "dtu-t20",
    "--devices=8 --batch=16 --tp=4 --pp=2 --mb=2 --recompute=selective --schedule=1f1b --zero=0 --sequence-parallel=false "
    "--precision=f32")


def space(name, more):
    def case(folder):
        config, task, cluster, flags = planned_steps.SEARCHES[name]
        given = {flag.split("=")[0] for flag in more.split()}
        kept = [flag for flag in flags.split() if flag.split("=")[0] not in given]
        planned_steps.SEARCHES["drawn"] = (config, task, cluster, " ".join([*kept, more]))
        report, model, parallel = planned_steps.search(st.BIN, folder, "drawn", plans=2)
        plans = report["simulated"]
        st.expect(plans and len(plans) <= 2, f"{len(plans)} plans were simulated")
        st.expect(report["best"]["predicted_ms"] == min(plan["simulated_ms"] for plan in plans), "the best is another one")
        _, problems = planned_steps.check_plans(name, plans)
        problems += planned_steps.compare_with_binary(st.BIN, folder, "drawn", report, model, parallel)
        st.expect(not problems, "; ".join(problems))
        return ", ".join(f"{plan['layout']['text']} {plan['difference']:+.2%}" for plan in plans)
    return case


def table(folder):
    """The terminal's table agrees with the JSON."""
    config, task, cluster, _ = planned_steps.SEARCHES["gpt2 on a chip"]
    model = st.write_json(folder / "model" / "config.json", config | {"n_layer": 2}).parent
    text = st.check_run([*PLAN, model, f"--task={task}", f"--cluster={cluster}", "--seq=64", "--devices=1", "--batch=2", "--mb=1",
                         "--recompute=none"]).stdout
    st.expect("compiled in full and simulated" in text and "tp=1 pp=1 dp=1 mb=1 accum=2" in text, text)


def bad(folder):
    model = st.write_json(folder / "model" / "config.json", planned_steps.GPT2).parent
    dtu = [*PLAN, model, "--cluster=dtu-t10"]
    for flags, pattern in ((["--profile=megatron-lm"], "--profile=megatron-lm: expected st"), (["--constants=x"], "--constants=x"),
                           (["--what-if=network:x2"], "--what-if"), (["--offload"], "--offload"),
                           (["--placement=pipeline-tensor-data"], "--placement"),
                           (["--optimizer=adafactor-8bit"], "--optimizer=adafactor-8bit"), ([f"--rows={folder}/x.csv"], "--rows"),
                           ([f"--lint-log={folder}/x.log"], "--lint-log")):
        refuse([*dtu, *flags], pattern, folder)
    for flags, pattern in ((["--context=3"], "no layout fills the devices"), (["--context=0"], "--context=0: expected integers from 1"),
                           (["--context-attention=key"], "--context-attention=key: expected heads, keys or ring"),
                           (["--expert=2", "--dp=4"], "expert=2: the model has no experts"), (["--lora=8"], "--lora=8: expected RANK:"),
                           (["--lora=8:nothing"], "no parameter nothing.weight"), (["--freeze=nothing"], "matches 'nothing'"),
                           (["--task=seq2seq"], "--task=seq2seq does not fit"), (["--label-seq=8"], "has no separate target"),
                           (["--expert-capacity-factor=x"], "--expert-capacity-factor=x: expected a number above 0")):
        refuse([*dtu, "--devices=4", "--batch=8", *flags], pattern, folder)
    refuse([*PLAN, model, "--simulate=2"], "--simulate has no effect", folder)


if __name__ == "__main__":
    sys.exit(st.main(*((name, space(name, more)) for name, more in st.drawn_part(SPACES, 3)),
                     *((f"{name} {more}", space(name, more)) for name, more in st.drawn_part(SPECIAL, 2)), ("table", table), ("bad input", bad)))
