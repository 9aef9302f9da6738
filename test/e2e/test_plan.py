"""st-plan and st-fit: predictions of measured rows, plans, questions, and bad input."""

import json
import sys

import st_testing as st
from test_bad_tools import refuse

PLAN = [st.BIN / "st-plan", "-q"]
GPT = st.ROOT / "examples/models/megatron-gpt-345m"
ROWS = st.ROOT / "test/Inputs/Megatron/measured-steps.csv"
LOG = st.ROOT / "test/Inputs/Megatron/megatron-bert-345m-32gpus.log"


def plan(*flags, timeout=120):
    return st.check_run([*PLAN, *flags], timeout).stdout


def plan_json(*flags):
    return json.loads(plan(*flags, "--json"))


def rows(folder):
    """The constants that ship predict steps that were measured."""
    lines = [json.loads(line) for line in plan(f"--rows={ROWS}", "--profile=megatron-deepspeed", "--json").splitlines()]
    st.expect(len(lines) == 6, f"{len(lines)} rows")
    errors = [abs(line["predicted_ms"] / line["measured_ms"] - 1) for line in lines]
    st.expect(max(errors) < 0.2 and sum(errors) / len(errors) < 0.1, f"errors {errors}")
    st.expect(all(line["fits"] and line["memory_mib"] > 1000 for line in lines), "a run that ran does not fit")
    return f"mean error {sum(errors) / len(errors):.1%}"


def best(folder):
    """The best layout is a file that st-compile takes, and the devices' work is the batch."""
    emitted = folder / "parallel.json"
    report = plan_json(GPT, "--devices=8", "--batch=64", f"--emit={emitted}")
    layout = report["best"]["layout"]
    st.expect(layout["devices"] == 8 and layout["global_batch"] == 64, layout)
    st.expect(layout == report["front"][0]["layout"], "the best is not the first of the front")
    times = [step["predicted_ms"] for step in report["front"]]
    st.expect(times == sorted(times), f"the front is not in order: {times}")
    st.expect(json.loads(emitted.read_text()), "an empty parallel file")


def predicted_log(folder):
    """A log of Megatron is a run: predicted as it ran, and compared with its timers."""
    text = plan(LOG)
    for timer in ("forward-compute", "backward-compute", "backward-params-all-reduce", "optimizer"):
        st.expect(timer in text, f"no {timer} in\n{text[-2000:]}")
    text = plan(f"--lint-log={LOG}")
    st.expect("timer of the last rank" in text, text[-2000:])


def parameters(folder):
    """Counted exactly, whatever the profile makes of the program: 24 layers, the padded vocabulary, positions, a norm."""
    hidden = 1024
    layer = 12 * hidden * hidden + 13 * hidden
    expected = 24 * layer + 50304 * hidden + 1024 * hidden + 2 * hidden
    for profile in ("megatron-lm", "megatron-deepspeed", "deepspeed", "st"):
        found = plan_json(GPT, "--devices=1", "--batch=4", "--mb=4", f"--profile={profile}")["parameters"]
        st.expect(found == expected, f"{profile}: {found} parameters, expected {expected}")


def questions(folder):
    """Each capacity question has an answer."""
    for flags, expected in ((["--largest-model"], "layers of hidden size 1024 fit on 8 devices"),
                            (["--fewest-devices"], "1 nodes of dgx-a100-80gb"),
                            (["--days-for=300e9"], "device-hours"),
                            (["--scale=1,2"], "the batch grows with the nodes"),
                            (["--what-if=network:x2,memory:40GB"], "as it is"),
                            (["--why-not=tp=1,pp=8"], "why not tp=1,pp=8")):
        text = plan(GPT, *flags)
        st.expect(expected in text, f"{flags}: no {expected!r} in\n{text[-1500:]}")


def large(folder):
    """A trillion parameters on 3,072 devices, tensor shards within a node."""
    config = {"model_type": "megatron-gpt", "num_layers": 128, "hidden_size": 25600, "num_attention_heads": 160,
              "max_position_embeddings": 2048, "vocab_size": 51200}
    path = st.write_json(folder / "gpt" / "config.json", config)
    report = plan_json(path.parent, "--devices=3072", "--batch=3072", "--top=1")
    st.expect(report["front"], "no layout")


def bad(folder):
    """One line, exit 1, for each kind of file and flag."""
    def write(name, text):
        path = folder / name
        path.write_text(text)
        return path

    constants = 'constants { name: "a" value: 1 }'
    cases = [
        ([folder / "none"], "none"), ([], "expected a model folder"),
        ([GPT, "--cluster=moon"], "--cluster: .*moon"), ([GPT, "--profile=moon"], "--profile: .*moon"),
        ([GPT, "--cluster=dtu-t10"], "expected a cluster of GPUs"),
        ([GPT, f"--cluster={write('c.textproto', 'name: 3')}"], r"c\.textproto"),
        ([GPT, f"--profile={write('p.textproto', 'regions {')}"], r"p\.textproto"),
        ([GPT, f"--constants={write('f.textproto', constants)}"], r"no cost has a constant"),
        ([GPT, f"--deepspeed={write('d.json', '{')}"], r"d\.json"),
        ([f"--rows={write('r.csv', 'gpus,hidden' + chr(10) + '1,x')}"], r"r\.csv"),
        ([f"--rows={write('e.csv', '')}"], r"e\.csv"), ([f"--rows={folder / 'no.csv'}"], r"no\.csv: cannot read"),
        ([f"--lint-log={write('l.log', 'nothing here')}"], r"l\.log"), ([write("m.log", "\0\1")], r"m\.log"),
        ([GPT, "--devices=8", "--nodes=1"], "exclude"), ([GPT, "--tp=0"], "--tp=0"), ([GPT, "--zero=4"], "--zero=4"),
        ([GPT, "--recompute=some"], "--recompute=some"), ([GPT, "--schedule=x"], "--schedule=x"),
        ([GPT, "--why-not=x"], "--why-not=x"), ([GPT, "--what-if=moon:x2"], "moon"), ([GPT, "--days-for=-1"], "--days-for"),
        ([GPT, "--optimizer=x"], "--optimizer=x"), ([GPT, "--precision=f8"], "--precision=f8"),
        ([GPT, "--devices=7", "--batch=1", "--dp=5"], "no layout"),
    ]
    for flags, pattern in cases:
        refuse([*PLAN, *flags], pattern, folder)
    for flags, pattern in (([ROWS, "--fit=gravity"], "gravity"), ([folder / "no.csv", "--fit=launch_us"], r"no\.csv"), ([], "expected"),
                           ([folder / "r.csv", "--fit=launch_us"], r"r\.csv")):
        refuse([st.BIN / "st-fit", *flags, "-o", folder / "fit.textproto"], pattern, folder)


def fit(folder):
    """Constants come back from rows that were predicted with them."""
    out = folder / "fit.textproto"
    done = st.check_run([st.BIN / "st-fit", ROWS, "--profile=megatron-deepspeed", "--fit=launch_us,memory_efficiency", "-o", out], 300)
    st.expect("leave one out" in done.stderr + done.stdout and "null model" in done.stderr + done.stdout, done.stderr)
    text = out.read_text()
    st.expect("hash:" in text and "measured-steps.csv" in text, text)
    plan(f"--rows={ROWS}", "--profile=megatron-deepspeed", f"--constants={out}")


CASES = [("measured rows", rows), ("best layout", best), ("a log", predicted_log), ("exact parameters", parameters), ("questions", questions),
         ("a trillion parameters", large), ("bad input", bad), ("fit", fit)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
