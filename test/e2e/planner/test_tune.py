"""st-tune: trials on the simulator and of foreign commands, resuming, time limits, failures, and bad input."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from test_bad_tools import refuse

TUNE = st.BIN / "st-tune"
TINY = st.SMALL_BERT | {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
                        "vocab_size": 128, "max_position_embeddings": 16}
# The smallest compilation for the host.
TINY_GPT = st.SMALL_MEGATRON_GPT | {"hidden_size": 16, "num_layers": 1, "num_attention_heads": 1, "max_position_embeddings": 16,
                                    "vocab_size": 32, "make_vocab_size_divisible_by": 1, "hidden_dropout": 0.0, "attention_dropout": 0.0}
COMPILE = [f"--compile=--runner={st.RUNNER}"] if st.RUNNER != st.BIN / "st-runner" else []


def layout(batch=8, **degrees):
    """A candidate's layout as st-plan prints it."""
    plan = {"tp": 1, "pp": 1, "dp": 1, "context": 1, "virtual_stages": 1, "micro_batch": 1, "zero": 0, "recompute": "none",
            "schedule": "1f1b", "sequence_parallel": False, "offload_optimizer": False} | degrees
    plan["accumulation"] = batch // plan["dp"] // plan["micro_batch"]
    return plan | {"global_batch": batch, "devices": plan["tp"] * plan["pp"] * plan["dp"] * plan["context"]}


def plan_file(folder, *candidates, cluster="dtu-t10"):
    """A plan like that of st-plan --json; candidates are (predicted, bound, layout)."""
    return st.write_json(folder / "plan.json", {
        "model": "m", "cluster": cluster, "precision": "f32", "sequence": 16,
        "candidates": [{"layout": each, "fate": "slower", "predicted_ms": predicted, "bound_ms": bound}
                       for predicted, bound, each in candidates]})


def micro_batches(*sizes, batch=64, bound=0.0):
    """Candidates of four replicas that differ in their micro-batches."""
    return [(10.0 + i, bound, layout(batch, dp=4, micro_batch=size)) for i, size in enumerate(sizes)]


def tune(*arguments, timeout=120):
    return st.check_run([TUNE, *arguments], timeout)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(text, head):
    """The rows of the table that has this first column, by its value."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    start = next(i for i, cells in enumerate(lines) if cells[0] == head)
    rest = lines[start + 2:]
    end = next((i for i, cells in enumerate(rest) if cells[0] in ("experiment", "tuning_space")), len(rest))
    return {cells[0]: dict(zip(lines[start], cells, strict=True)) for cells in rest[:end]}


def simulated(folder):
    """Plans of st-plan, compiled and timed on the simulator: the output agrees with the binaries."""
    model = st.write_json(folder / "tiny" / "config.json", TINY).parent
    results, best = folder / "results.jsonl", folder / "best.json"
    # A device of 1 MiB, which the doubling fills.
    target = folder / "dtu-small.textproto"
    target.write_text((st.ROOT / "devices/dtu-t10.textproto").read_text().replace("17179869184", "4194304"))
    flags = [model, "--cluster=dgx-a100-80gb", "--profile=st", f"--target={target}", "--devices=2", "--batch=8", "--seq=16", "--mb=4",
             "--recompute=none", "--precision=f32", "--top=3", *COMPILE]
    done = tune(*flags, "--baseline=false", f"--results={results}", f"--emit={best}", f"--work={folder / 'work'}")
    found = rows(results)
    st.expect(all(row["status"] == "ok" and row["simulated"] for row in found), found)
    st.expect(all("end_to_end_samples_per_s" not in row for row in found), "a simulator's wall clock is no throughput")
    for row in found:
        step = row["in_step_ms"]
        st.expect(abs(row["layout"]["global_batch"] / step * 1e3 / row["in_step_samples_per_s"] - 1) < 1e-9, row)
    spaces = table(done.stdout, "tuning_space")
    fastest = max(found, key=lambda row: row["in_step_samples_per_s"])
    st.expect(spaces["global"]["best_exp_name"] == fastest["name"], f"{spaces['global']}, expected {fastest['name']}")
    st.expect(spaces["global"]["num_experiments"] == "3" and spaces["global"]["end_to_end_samples_per_s"] == "-", spaces["global"])
    # The same by hand, with the file that st-tune wrote.
    name, folder_of_best = fastest["name"], folder / "work" / fastest["name"]
    st.expect(json.loads(best.read_text()) == json.loads((folder_of_best / "parallel.json").read_text()), name)
    st.check_run([*st.COMPILE, "-q", model, f"--target={target}", "--batch=8", "--seq=16", f"--parallel={best}", "-o", folder / "by-hand"])
    report = folder / "by-hand.json"
    st.check_run([folder / "by-hand", "--timing-only", f"--report={report}"])
    st.expect(json.loads(report.read_text())["sim_ms"] == fastest["in_step_ms"], f"{report.read_text()}, expected {fastest}")
    # Steps that run have the simulated time of the step that is only timed: in their metrics all of it, in print four digits.
    one = plan_file(folder, (1.0, 0, fastest["layout"]))
    for number, launch in enumerate(([], ["--launch={binary} --steps={steps}"])):
        lines = folder / f"steps-{number}.jsonl"
        tune(model, f"--plan={one}", f"--target={target}", "--steps=2", "--baseline=false", f"--results={lines}", *launch, *COMPILE)
        row, = rows(lines)
        difference = abs(row["in_step_ms"] / fastest["in_step_ms"] - 1)
        st.expect(difference <= (5e-4 if launch else 0) and row["simulated"], f"{row}, expected {fastest['in_step_ms']} ms")
    # The second time only the doubling runs, which the first run left out.
    again = tune(*flags, f"--results={results}")
    st.expect(rows(results)[:3] == found, "finished trials ran again")
    added = {row["name"]: row for row in rows(results)[3:]}
    st.expect(list(added)[:2] == ["z0_gas1_tmbspg1", "z0_gas1_tmbspg2"], f"no doubling in {added}")
    last = list(added.values())[-1]
    st.expect(last["status"] == "out-of-memory" and re.search(r"device 0 needs \d+ bytes and has 1048576", last["error"]), last)
    st.expect(table(done.stdout, "experiment").items() <= table(again.stdout, "experiment").items(), again.stdout)
    st.expect(re.search(r"is [\d.]+ times as fast as z0_gas1_tmbspg4 \(8\), the best of plain", again.stdout), again.stdout)
    return f"{len(rows(results))} trials, best {name}"


def on_the_host(folder):
    """Wall clocks: in-step and end-to-end throughput are two columns, and the first step counts only in the second."""
    model = st.write_json(folder / "tiny" / "config.json", TINY_GPT).parent
    plan = plan_file(folder, (1.0, 0, layout(8, dp=2, micro_batch=4)), cluster="dgx-a100-80gb")
    results = folder / "results.jsonl"
    done = tune(model, f"--plan={plan}", "--target=cuda-host", "--steps=4", "--baseline=false", "--optimizer=sgd",
                f"--results={results}", f"--work={folder / 'work'}", *COMPILE)
    row, = rows(results)
    steps = rows(folder / "work" / row["name"] / "metrics.jsonl")
    st.expect(len(steps) == 4 and all(0 < step["data_s"] < step["host_s"] for step in steps), steps)
    expected = sum(step["host_s"] - step["data_s"] for step in steps[1:]) / 3 * 1e3
    st.expect(abs(row["in_step_ms"] / expected - 1) < 1e-6, f"{row['in_step_ms']} ms, expected {expected}")
    st.expect(abs(row["end_to_end_samples_per_s"] / (4 * 8 / row["run_s"]) - 1) < 1e-6, row)
    st.expect(row["end_to_end_samples_per_s"] < row["in_step_samples_per_s"], row)
    spaces = table(done.stdout, "tuning_space")
    st.expect(float(spaces["z0"]["in_step_samples_per_s"]) > float(spaces["z0"]["end_to_end_samples_per_s"]), spaces)
    st.expect("predictions are for dgx-a100-80gb, trials run on cuda-host" in done.stderr, done.stderr)


def foreign(folder, body):
    """A script that replaces a user's training script; $1 is the micro-batch, $2 the rest."""
    path = folder / "train.sh"
    path.write_text(body)
    return path


def foreign_command(folder):
    """A command of other software, ranked by its output; DeepSpeed's file has the trial's layout."""
    script = foreign(folder, 'echo "warming up: SamplesPerSec=1"\nprintf "50%%\\r99%%\\n"\n'
                             'grep -q \'"stage": 1\' "$2" || echo wrong stage >&2\ngrep -q autotuning "$2" && echo autotuning left >&2\n'
                             'echo "epoch 1 SamplesPerSec=$((1000 + 10 * $1 - $1 * $1))" >&2\n')
    config = st.write_json(folder / "ds.json", {"autotuning": {"enabled": True}, "zero_optimization": {"stage": 3}, "fp16": {"enabled": False}})
    plan = plan_file(folder, *[(ms, bound, each | {"zero": 1}) for ms, bound, each in micro_batches(1, 2, 4, 8)])
    done = tune(f"--plan={plan}", f"--deepspeed={config}", "--launch=sh " + str(script) + " {micro_batch} {deepspeed}; cat {deepspeed}",
                "--metric-pattern=SamplesPerSec=([0-9.]+)", "--baseline=false", f"--work={folder / 'work'}")
    # The last match in stdout counts; if there is none, the last in stderr.
    spaces = table(done.stdout, "tuning_space")
    st.expect(spaces["z1"]["best_metric_val"] == "1", f"stdout comes first: {spaces}")
    script.write_text(script.read_text().replace('echo "warming up: SamplesPerSec=1"\n', ""))
    done = tune(f"--plan={plan}", f"--deepspeed={config}", "--launch=sh " + str(script) + " {micro_batch} {deepspeed}; cat {deepspeed}",
                "--metric-pattern=SamplesPerSec=([0-9.]+)", "--baseline=false", f"--work={folder / 'work'}")
    spaces = table(done.stdout, "tuning_space")
    st.expect(spaces["z1"]["best_exp_name"] == "z1_gas4_tmbspg4" and spaces["z1"]["best_metric_val"] == "1024", spaces)
    written = json.loads((folder / "work" / "z1_gas2_tmbspg8" / "deepspeed.json").read_text())
    st.expect(written == {"fp16": {"enabled": False}, "zero_optimization": {"stage": 1}, "train_batch_size": 64,
                          "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2}, written)
    st.expect((folder / "work" / "z1_gas2_tmbspg8" / "run.err").read_text().startswith("epoch"), "the script found faults")


def units(folder):
    """Tokens per second and times per step are converted to samples per second with the layout's batch and sequence."""
    plan = plan_file(folder, *micro_batches(1))
    for unit, expected in (("samples/s", 80), ("tokens/s", 5), ("ms", 800), ("s", 0.8)):
        results = folder / f"{unit[0]}{len(unit)}.jsonl"
        tune(f"--plan={plan}", "--launch=echo t=80 e=40", "--metric-pattern=t=([0-9]+)", "--end-to-end-pattern=e=([0-9]+)",
             f"--metric-unit={unit}", "--baseline=false", f"--results={results}")
        row, = rows(results)
        st.expect(abs(row["in_step_samples_per_s"] / expected - 1) < 1e-12, f"{unit}: {row}")
        ratio = row["end_to_end_samples_per_s"] / expected
        st.expect(abs(ratio - (2 if unit in ("ms", "s") else 0.5)) < 1e-12, f"{unit}: {row}")


def doubling(folder):
    """The baseline doubles the micro-batch until it is slower, or does not fit."""
    plan = plan_file(folder, *micro_batches(1))
    common = [f"--plan={plan}", "--metric-pattern=figure ([0-9]+)"]
    done = tune(*common, "--launch=echo figure $((100 + 60 * {micro_batch} - 5 * {micro_batch} * {micro_batch}))")
    names = [name for name in table(done.stdout, "experiment") if "_gas1_" in name]
    st.expect(names == [f"z0_gas1_tmbspg{n}" for n in (1, 2, 4, 8)], names)  # 155, 200, 260, 260
    spaces = table(done.stdout, "tuning_space")
    st.expect(spaces["plain data parallel"]["best_exp_name"] == "z0_gas1_tmbspg4", spaces)
    done = tune(*common, "--launch=test {micro_batch} -lt 8 || {{ echo CUDA out of memory >&2; exit 1; }}; echo figure {micro_batch}")
    trials = table(done.stdout, "experiment")
    st.expect(trials["z0_gas1_tmbspg8"]["status"] == "out-of-memory", trials)
    st.expect("z0_gas1_tmbspg16" not in trials, trials)


def failures(folder):
    """Any failing trial is a row with its reason, and the others run."""
    model = st.write_json(folder / "tiny" / "config.json", TINY).parent
    plan = plan_file(folder, *micro_batches(1, 2, 4, 8, 16))
    results = folder / "results.jsonl"
    command = ("case {micro_batch} in 1) echo step 1 broke >&2; exit 3;; 2) kill -SEGV $$;; 4) sleep 60 & sleep 60;;"
               " 8) echo nothing;; *) echo figure 7;; esac")
    flags = [f"--plan={plan}", f"--launch={command}", "--metric-pattern=figure ([0-9]+)", "--baseline=false", f"--results={results}"]
    start = time.monotonic()
    tune(*flags, "--trial-timeout=1")
    st.expect(time.monotonic() - start < 30, "a child outlived its trial")
    found = [(row["status"], row.get("error", "")) for row in rows(results)]
    for (status, error), (expected, pattern) in zip(found, (("failed", "exit status 3: step 1 broke"), ("failed", "signal 11"),
                                                            ("timeout", "within 1 s"), ("no-figure", "--metric-pattern"), ("ok", "")), strict=True):
        st.expect(status == expected and pattern in error, f"{status}: {error}, expected {expected}: {pattern}")
    # A time limit that is not longer would not help; a longer one may, and so may --retry-failed.
    for more, count in ((["--trial-timeout=1"], 5), (["--trial-timeout=2"], 6), (["--trial-timeout=1", "--retry-failed"], 10)):
        tune(*flags, *more)
        st.expect(len(rows(results)) == count, f"{more}: {len(rows(results))} rows, expected {count}")
    # A layout that does not compile.
    wrong = plan_file(folder, (1, 0, layout(8, pp=2, micro_batch=4, virtual_stages=2)), (2, 0, layout(8, dp=2, micro_batch=4)),
                      (3, 0, layout(8, dp=2, micro_batch=4, offload_optimizer=True)), (4, 0, layout(8, context=2, micro_batch=4)))
    results = folder / "compiled.jsonl"
    tune(model, f"--plan={wrong}", "--baseline=false", f"--results={results}", *COMPILE)
    found = {row["name"]: row for row in rows(results)}
    st.expect(found["z0_gas1_tmbspg4"]["status"] == found["z0_cp2_gas2_tmbspg4"]["status"] == "ok", found)
    st.expect(found["z0_gas1_tmbspg4_offload"]["status"] == "does-not-compile", found)
    refused = found["z0_pp2_gas2_tmbspg4_vpp2"]
    st.expect(refused["status"] == "does-not-compile" and re.search(r'^st-compile: .*virtual_stages is 2; the schedule "1f1b" has 1', refused["error"]),
              refused)


def early_stop(folder):
    """Trials end after a number without improvement, and when no bound can win any more."""
    plan = plan_file(folder, *micro_batches(16, 8, 4, 2, 1))
    flags = [f"--plan={plan}", "--launch=echo figure {micro_batch}", "--metric-pattern=figure ([0-9]+)", "--baseline=false"]
    for stop, count in ((2, 3), (0, 5)):
        done = tune(*flags, f"--early-stop={stop}")
        st.expect(len(table(done.stdout, "experiment")) == count, done.stdout)
        st.expect(f"put {count * (count - 1) // 2} of {count * (count - 1) // 2} pairs" in done.stdout, done.stdout)
    # 64 sequences in at least 4,000 ms are at most 16 in a second.
    plan_file(folder, *micro_batches(16, 8, 4, bound=4000.0))
    done = tune(*flags)
    st.expect(len(table(done.stdout, "experiment")) == 1 and "lower bounds" in done.stderr, done.stdout + done.stderr)
    plan_file(folder, *micro_batches(16, 8, 4, bound=3999.0))
    st.expect(len(table(tune(*flags).stdout, "experiment")) == 3, "stopped although one might be faster")


def processes_with(command):
    """Processes whose command line begins like this."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # It has ended.
        if text.startswith(command):
            found.append(text)
    return found


def killed(folder):
    """Finished trials of a killed run count; an incomplete last line is removed; no child outlives its st-tune."""
    plan = plan_file(folder, *micro_batches(1, 2, 4, 8))
    results, log = folder / "results.jsonl", folder / "ran"
    command = f"echo {{name}} >> {log}; test {{micro_batch}} -lt 4 -o -e {folder}/go || tail -f {log}; echo figure {{micro_batch}}"
    flags = [TUNE, f"--plan={plan}", f"--launch={command}", "--metric-pattern=figure ([0-9]+)", "--baseline=false", f"--results={results}"]

    def start_and_end(how):
        log.unlink(missing_ok=True)
        process = subprocess.Popen([str(f) for f in flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(1000):
            if log.exists() and "tmbspg4" in log.read_text():
                break
            time.sleep(0.01)
        process.send_signal(how)
        process.communicate(timeout=20)
        for _ in range(500):
            if not (left := processes_with(f"tail -f {log}")):
                break
            time.sleep(0.01)
        st.expect(not left, f"children outlived st-tune: {left}")
        return process.returncode

    st.expect(start_and_end(signal.SIGKILL) == -signal.SIGKILL, "not killed")
    st.expect([row["layout"]["micro_batch"] for row in rows(results)] == [1, 2], "not the two that were finished")
    whole = results.read_text()
    results.write_text(whole + whole.splitlines()[0][:50])
    st.expect(start_and_end(signal.SIGTERM) == -signal.SIGTERM, "SIGTERM is not the end")
    st.expect(results.read_text() == whole, "the torn line is still there, or a row of a trial that was ended")
    st.expect(log.read_text().split() == ["z0_gas4_tmbspg4"], f"finished trials ran again: {log.read_text()}")
    (folder / "go").touch()
    log.unlink()
    done = st.check_run(flags)
    st.expect(log.read_text().split() == ["z0_gas4_tmbspg4", "z0_gas2_tmbspg8"], log.read_text())
    st.expect("2 of them finished before" in done.stdout and table(done.stdout, "tuning_space")["global"]["best_metric_val"] == "8", done.stdout)
    # Another command is another trial.
    st.check_run([*flags, "--steps=7"])
    st.expect(len(rows(results)) == 4, "a number of steps that the command does not use made new trials")
    st.check_run([str(f).replace("figure {micro_batch}", "figure 1{micro_batch}") for f in flags])
    st.expect(len(rows(results)) == 8, "rows of another command were taken")
    # A last line that lacks only its line end is complete.
    results.write_text(results.read_text().rstrip("\n"))
    st.check_run(flags)
    st.expect(len(rows(results)) == 8 and results.read_text().endswith("}\n"), "a whole last line was dropped")


def bad(folder):
    """One line, exit 1, and no file, for each kind of input."""
    model = st.write_json(folder / "tiny" / "config.json", TINY).parent
    plan = plan_file(folder, *micro_batches(1))

    def write(name, text):
        (folder / name).write_text(text)
        return folder / name

    def changed(name, **changes):
        return plan_with(name, layout(8) | changes)

    def plan_with(name, each):
        return write(name, json.dumps({"precision": "f32", "sequence": 16, "candidates": [{"layout": each, "fate": "best", "predicted_ms": 1}]}))

    row = {"key": "k", "name": "n", "status": "ok"}
    echo = [f"--plan={plan}", "--launch=echo figure 1", "--metric-pattern=figure ([0-9]+)"]

    def but(*flags):
        """The flags of `echo`, with some replaced."""
        given = {flag.split("=")[0] for flag in flags}
        return [flag for flag in echo if flag.split("=")[0] not in given] + list(flags)

    plan_file(folder / "more", *micro_batches(1), (1, 0, layout(8, dp=8)))
    several = (folder / "more" / "plan.json").rename(folder / "plan-2.json")
    run_report = write("run.json", '{"layout": {"tp": 1}, "predicted_ms": 3}')
    cases = [
        ([], "expected a model folder"), ([folder / "none"], "none: cannot read"), ([write("c.json", "{"), "--cluster=dtu-t10"], r"c\.json"),
        ([write("run.log", "x")], r"run\.log: expected a model folder"), ([model, "--target=cuda-host"], "expected --cluster"),
        ([model, "--target=cuda-sm_80"], "dgx-a100-40gb and dgx-a100-80gb"), ([model, "--cluster=moon"], "st-plan: --cluster: .*moon"),
        ([model, "--cluster=dgx-a100-80gb", "--tp=x"], "st-plan: .*tp"), ([model, "--task=x"], "--task=x"),
        ([model, "--cluster=dgx-a100-80gb", "--devices=7", "--batch=1", "--dp=5"], "st-plan: no layout"),
        ([model, "--optimizer=lion"], "--optimizer=lion: expected adam, adamw, lamb"), ([model, "--compile=x"], "--compile=x"),
        ([f"--plan={folder / 'no.json'}", *echo[1:]], r"no\.json: cannot read"), ([f"--plan={write('p.json', '{')}", *echo[1:]], r"p\.json: expected"),
        ([f"--plan={run_report}", *echo[1:]], r"run\.json: .*no candidates"), (but("--tp=1"), "--tp has no effect with --plan"),
        ([f"--plan={changed('a.json', tp=0)}", *echo[1:]], r"a\.json: .*at least 1"),
        ([f"--plan={changed('b.json', recompute='some')}", *echo[1:]], r"b\.json: .*\"some\""),
        ([f"--plan={changed('d.json', schedule='x')}", *echo[1:]], r"d\.json: .*\"x\""),
        ([f"--plan={changed('e.json', zero=4)}", *echo[1:]], r"e\.json: .*zero"),
        ([f"--plan={changed('f.json', zero='x')}", *echo[1:]], r"f\.json: expected the output"),
        ([f"--plan={changed('g.json', text='tp=2')}", *echo[1:]], r"g\.json: expected layout .*\"tp=2\""),
        ([f"--plan={several}", *echo[1:]], r"plan-2\.json: expected all layouts to have the same number of devices"),
        (but("--launch={moon}"), r"\{moon\}"), (but("--launch={"), "a single"), (but("--launch=}"), "a single"),
        ([echo[0], "--launch=echo 1"], "--metric-pattern"), (but("--metric-pattern=("), r"--metric-pattern=\("),
        (but("--metric-pattern=x"), "one group"), (but("--metric-pattern=(a)(b)"), "one group"),
        (but("--end-to-end-pattern=x"), "--end-to-end-pattern"), (but("--metric-unit=miles"), "--metric-unit"),
        (but("--rank-by=x"), "--rank-by=x"), (but("--rank-by=end-to-end"), "--end-to-end-pattern"), (but("--target=dtu-t10"), "--target has no effect"),
        (but("--steps=1"), "--steps=1"), (but("--top=0"), "--top=0"), (but("--trial-timeout=0"), "--trial-timeout"),
        (but(f"--deepspeed={folder / 'no.json'}"), r"no\.json"), (but(f"--deepspeed={write('ds.json', '[1]')}", "--launch=cat {deepspeed}"), r"ds\.json: expected an object"),
        (but(f"--deepspeed={write('ds2.json', '{')}", "--launch=cat {deepspeed}"), r"ds2\.json"),
        (but(f"--results={folder}"), "cannot|regular"), (but(f"--results={folder / 'no' / 'r.jsonl'}"), r"r\.jsonl: cannot create"),
        (but(f"--results={write('r1.jsonl', 'precious')}"), r"r1\.jsonl:1: expected a row"), (but(f"--results={write('r2.jsonl', chr(10))}"), r"r2\.jsonl:1"),
        (but(f"--results={write('r3.jsonl', json.dumps(row) + chr(10) + '[]' + chr(10))}"), r"r3\.jsonl:2: expected an object, found \[\]"),
        (but(f"--results={write('r4.jsonl', json.dumps(row | {'status': 'fine'}) + chr(10))}"), r"r4\.jsonl:1: expected a status.*\"fine\""),
        (but(f"--results={write('r5.jsonl', json.dumps(row | {'in_step_ms': 'x'}) + chr(10))}"), r"r5\.jsonl:1: .*in_step_ms"),
        (but(f"--results={write('r6.jsonl', json.dumps(row | {'status': 'failed'}) + chr(10))}"), r"r6\.jsonl:1: .*\"error\""),
        (but(f"--emit={folder / 'no' / 'best.json'}"), r"best\.json"), (but(f"--work={write('file', '')}"), "file"), (but("--moon"), "moon"),
    ]
    for flags, pattern in cases:
        refuse([TUNE, "-q", *flags], pattern, folder)
    st.expect((folder / "r1.jsonl").read_text() == "precious", "a file of something else was cut")
    # All trials fail: rows and tables, and an error.
    results = folder / "failed.jsonl"
    done = st.run([TUNE, "-q", *but("--launch=exit 4", f"--results={results}")])
    st.expect(done.returncode == 1 and done.stderr.splitlines() == ["st-tune: error: no trial succeeded; z0_gas16_tmbspg1: the run: exit status 4"],
              done.stderr)
    st.expect([row["status"] for row in rows(results)] == ["failed", "failed"], rows(results))
    # Two runs at once would mix their lines.
    flags = but(f"--launch=touch {folder}/started; sleep 60", f"--results={folder / 'both.jsonl'}")
    first = subprocess.Popen([TUNE, "-q", *flags], stderr=subprocess.DEVNULL)
    for _ in range(1000):
        if (folder / "started").exists():
            break
        time.sleep(0.01)
    refuse([TUNE, "-q", *flags], r"both\.jsonl: another st-tune writes to it", folder)
    first.terminate()
    first.wait(timeout=20)


CASES = [("simulated", simulated), ("on the host", on_the_host), ("a foreign command", foreign_command), ("units", units),
         ("doubling", doubling), ("failures", failures), ("early stop", early_stop), ("killed", killed), ("bad input", bad)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
