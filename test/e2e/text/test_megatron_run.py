"""Megatron's logs become training binaries with the model, the layout and the run of the log, and with JAX's losses.
Also tests flags in files, the configuration at the start of a log, and repeated runs."""

import json
import os
import pathlib
import re
import shutil
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import megatron_runs as runs
import st_testing as st
from st_errors import expect_error

ONE, MANY = "megatron-bert-345m-1gpu.log", "megatron-bert-345m-32gpus.log"
TIMERS = ["forward-compute", "forward-recv", "backward-compute", "backward-send", "backward-send-forward-recv",
          "backward-params-all-reduce", "backward-embedding-all-reduce", "optimizer-copy-to-main-grad",
          "optimizer-unscale-and-check-inf", "optimizer-clip-main-grad", "optimizer-copy-main-to-model-params",
          "optimizer", "batch-generator"]
OF_STAGES = {"forward-recv", "backward-send", "backward-send-forward-recv"}


def check_megatron_lines(text, step_ms, steps, samples, timers):
    line = (rf" iteration +{steps}/ +{steps} \| consumed samples: +{steps * samples} \| elapsed time per iteration "
            rf"\(ms\): ([\d.]+) \| learning rate: [\d.E+-]+ \| global batch size: +{samples} \| lm loss: [\d.E+-]+ \|")
    st.expect(re.search(line, text), f"no line of iteration {steps}:\n{text}")
    last = [line for line in text.splitlines() if line.startswith("time (ms)")][-1]
    values = dict(part.split(": ") for part in last.split(" | ")[1:])
    st.expect(set(timers) == set(values), f"{last}: expected {timers}")
    st.expect(re.search(rf"^\(over {steps} iterations = {steps * samples} samples\)\n[\d.]+ ms per sample$", text, re.M),
              text)
    st.expect(re.search(r"^DTU mem: \d+MiB - \d+MiB / \d+MiB$", text, re.M), text)
    # Except for parts of `optimizer` and the host's batch-generator, the timers are the rank's step.
    total = sum(float(value) for name, value in values.items()
                if not name.startswith("optimizer-") and name != "batch-generator")
    st.expect(abs(total - step_ms) < 0.05 * step_ms, f"timers of {total} ms in a step of {step_ms} ms")


def trains(name, samples, timers, bound, **values):
    def run(folder):
        runs.write_data(folder)
        log = runs.write_log(folder, name, global_batch_size=samples, micro_batch_size=1, **values)
        binary, compiled = runs.compile_log(folder, log, f"--arguments={folder / 'arguments.json'}")
        st.expect("139 arguments: " in compiled.stderr, compiled.stderr)
        outcomes = json.loads((folder / "arguments.json").read_text())
        st.expect(len(outcomes) == 139, f"{len(outcomes)} outcomes")
        apart, done, losses = runs.apart(binary, runs.dump_of(log), folder, 20)
        st.expect(apart <= bound, f"losses {apart:.1e} from JAX's")
        st.expect(losses[-1] < losses[0], f"{losses}")
        left_out = runs.left_out_steps(folder / "metrics")
        st.expect((0 < len(left_out) < 10) == ("fp16" not in values), f"steps without an update: {left_out}")
        st.expect("validation loss at" in done.stdout and "| sop loss value: " in done.stdout, done.stdout)
        step_ms = json.loads((folder / "metrics").read_text().splitlines()[0])["sim_ms"]
        check_megatron_lines(done.stdout, step_ms, 20, samples, timers)
        return f"losses within {apart:.1e} of JAX's, {losses[0]:.4f} -> {losses[-1]:.4f}"
    return run


def programs(folder):
    """Arguments of the model, the optimizer and the layout determine the program, not only the flags of st-compile."""
    runs.write_data(folder)

    def compiled(**values):
        log = runs.write_log(folder, ONE, **{"global_batch_size": 4, "micro_batch_size": 1} | values)
        return st.check_run([*st.COMPILE, "-q", f"--megatron={log}", "--compile-to=configured"]).stdout

    base = compiled()
    st.expect(compiled() == base, "a compilation that is repeated gives another program")
    for values in ({"num_layers": 3}, {"hidden_size": 128, "kv_channels": 32}, {"ffn_hidden_size": 128},
                   {"num_attention_heads": 2, "kv_channels": 32}, {"seq_length": 16, "encoder_seq_length": 16},
                   {"max_position_embeddings": 64}, {"attention_dropout": 0.2}, {"hidden_dropout": 0.2},
                   {"layernorm_epsilon": 1e-4}, {"bias_gelu_fusion": False}, {"bert_binary_head": False},
                   {"apply_query_key_layer_scaling": False}, {"init_method_std": 0.01}, {"vocab_extra_ids": 200},
                   {"make_vocab_size_divisible_by": 512}, runs.F32, {"loss_scale": 1024.0}, {"optimizer": "sgd"},
                   {"accumulate_allreduce_grads_in_fp32": True}, {"adam_beta1": 0.8}, {"adam_beta2": 0.99},
                   {"adam_eps": 1e-6}, {"weight_decay": 0.1}, {"clip_grad": 0.5}, {"global_batch_size": 8},
                   {"micro_batch_size": 2}, {"tensor_model_parallel_size": 2, "world_size": 2},
                   {"pipeline_model_parallel_size": 2, "world_size": 2}, {"data_parallel_size": 2, "world_size": 2},
                   {"checkpoint_activations": False}, {"lr": 0.01}, {"tokenizer_type": "BertWordPieceCase"}):
        st.expect(compiled(**values) != base, f"{values} change nothing")


def block(text):
    found = re.search(r"^-+ run configuration -+\n(.*)^-+ end of run configuration -+$", text, re.M | re.S)
    st.expect(found, f"no configuration:\n{text}")
    return found[1]


def value_of(text, name):
    found = re.search(rf"^--{name}=(\S+) +# (.*)$", block(text), re.M)
    return found.groups() if found else None


def configuration(folder):
    """Values come from the binary, then a file, then the command line; a log repeats its run."""
    runs.write_data(folder)
    log = runs.write_log(folder, ONE, global_batch_size=2, micro_batch_size=1, num_layers=1, **runs.F32)
    binary, _ = runs.compile_log(folder, log)
    (folder / "flags").write_text("# as Megatron-LM writes them\n--lr 0.002 \\\n --log_interval=2\n--min-lr '1e-4'\n")
    done = st.check_run([binary, f"@{folder / 'flags'}", "--train_iters=3", f"--metrics={folder / 'm1'}"])
    for name, expected in {"lr": ("0.002", f"{folder / 'flags'}:2"), "log-interval": ("2", f"{folder / 'flags'}:3"),
                           "train-steps": ("3", "command line"), "seed": ("1234", "binary"),
                           "lr-decay-style": ("linear", "binary"), "watchdog": ("60", "default")}.items():
        st.expect(value_of(done.stderr, name) == expected, f"{name}: {value_of(done.stderr, name)}, not {expected}")
    for fact in (r"version \d", r"binary \w{8}, program \w{8}", r"device dtu-t10 \w{8}", r"data \d+ bytes, \w{8}: "):
        st.expect(re.search(f"^# {fact}", block(done.stderr), re.M), f"{fact}:\n{block(done.stderr)}")

    (folder / "log").write_text(done.stderr)
    st.check_run([binary, f"--replay={folder / 'log'}", f"--metrics={folder / 'm2'}"])
    st.expect(runs.losses_of(folder / "m1") == runs.losses_of(folder / "m2"), "a replayed run has other losses")
    # The data may be in another place, but must be the same.
    for ending in ("bin", "idx"):
        shutil.copy(folder / f"data.{ending}", folder / f"copy.{ending}")
    st.check_run([binary, f"--replay={folder / 'log'}", f"--data_path={folder / 'copy'}"])
    done = st.check_run([binary, "--steps=1", "--train-data-path", folder / "copy", f"--valid_data_path={folder / 'copy'}"])
    st.expect(value_of(done.stderr, "data")[0] == value_of(done.stderr, "valid-data")[0] == f"megatron:{folder / 'copy'}", done.stderr)
    data = bytearray((folder / "data.bin").read_bytes())
    data[0] ^= 1
    (folder / "data.bin").write_bytes(data)
    expect_error([binary, f"--replay={folder / 'log'}"], r"--replay=.*log: expected data \d+ bytes, \w{8}, found data")
    other, _ = runs.compile_log(folder, log, "--weight-decay=0.02")
    expect_error([other, f"--replay={folder / 'log'}"], r"--replay=.*log: expected binary \w{8}, program \w{8}, found")
    expect_error([other, f"--replay={folder / 'm1'}"], r"has no run configuration")


def bad_flags(folder):
    runs.write_data(folder)
    binary, _ = runs.compile_log(folder, runs.write_log(folder, ONE, global_batch_size=2, micro_batch_size=1, num_layers=1))
    flags = folder / "flags"

    def expect(pattern, text, *others):
        flags.write_text(text)
        expect_error([binary, f"--flags={flags}", *others], pattern)

    expect(r"flags:2: unknown flag --learn", "--lr=1\n--learn=2")
    expect(r"flags:1: --lr=x: expected a number", "--lr x")
    expect(r"flags:1: a quote is not closed", "--data='text:")
    expect(r"flags:1: --flags belongs on the command line", "--flags=other")
    expect(r"flags:1: unexpected argument \"lr=1\"", "lr=1")
    expect(r"flags:1: --lr needs a value", "--lr")
    expect(r"--steps and --train-steps: give one of them", "--steps=1 --train-steps=2")
    expect_error([binary, f"--flags={folder / 'none'}"], r"none: cannot read")
    expect_error([binary, "--finetune"], r"--finetune has no effect without --load")
    expect_error([*st.COMPILE, f"--megatron={folder / 'none'}", "-o", folder / "x"], r"none")
    expect_error([*st.COMPILE, "--vocab-file=x", "-o", folder / "x"], r"--vocab-file has no effect without --megatron")
    log = runs.write_log(folder, ONE, rampup_batch_size="['4', '4', '100']")
    expect_error([*st.COMPILE, f"--megatron={log}", "-o", folder / "x"],
                 r"run\.log:\d+: argument 'rampup_batch_size': expected None, or train_samples .* found '4 4 100'")


def ramps_up(folder):
    """--rampup-batch-size of the log, with its length in samples."""
    runs.write_data(folder)
    log = runs.write_log(folder, ONE, global_batch_size=4, micro_batch_size=1, num_layers=1, rampup_batch_size="['2', '2', '6']",
                         log_interval=1, train_iters=None, train_samples=15, lr_decay_iters=None, lr_warmup_fraction=None, **runs.F32)
    binary, _ = runs.compile_log(folder, log)
    done = st.check_run([binary])
    sizes = re.findall(r"consumed samples: +(\d+) .* global batch size: +(\d+) ", done.stdout)
    st.expect(sizes == [("2", "2"), ("4", "2"), ("6", "2"), ("10", "4"), ("14", "4")], done.stdout)


def loads(folder):
    """--load of the log, and the checkpoint's schedule against that of the flags."""
    runs.write_data(folder)
    saved = folder / "a/b/saved"
    log = runs.write_log(folder, ONE, global_batch_size=2, micro_batch_size=1, num_layers=1, save=saved, load=saved,
                         save_interval=2, train_iters=4, **runs.F32)
    binary, _ = runs.compile_log(folder, log)
    metrics = folder / "metrics"
    done = st.check_run([binary, f"--metrics={metrics}", "--exit-interval=2"])
    st.expect("holds no checkpoint: a new run starts" in done.stderr, done.stderr)
    done = st.check_run([binary, f"--metrics={metrics}"])
    st.expect("continuing after step 2" in done.stderr and len(runs.losses_of(metrics)) == 4, done.stderr)
    st.expect(re.search(r"^# resumed .*step-0000002$", block(done.stderr), re.M), block(done.stderr))
    whole = runs.losses_of(metrics)
    # The log of a resumed run repeats that part: steps 3 and 4.
    (folder / "log").write_text(done.stderr)
    st.check_run([binary, f"--replay={folder / 'log'}", f"--metrics={folder / 'again'}"])
    st.expect(runs.losses_of(folder / "again") == whole[2:], "the replayed half differs")

    other, _ = runs.compile_log(folder, runs.write_log(
        folder, ONE, global_batch_size=2, micro_batch_size=1, num_layers=1, load=saved, lr=0.005, train_iters=6, **runs.F32))
    expect_error([other], r"the checkpoint's learning rate is linear from 0\.001 .* this binary's is linear from 0\.005")
    rate = lambda *flags: re.search(r"^# learning rate linear from (\S+)",
                                    block(st.check_run([other, *flags]).stderr), re.M)[1]
    st.expect(rate("--use-checkpoint-lr-scheduler") == "0.001", "not the checkpoint's rate")
    st.expect(rate("--override-lr-scheduler") == "0.005", "not the flags' rate")
    st.expect(rate("--lr=0.003") == "0.003", "not the command line's rate")
    first = lambda *flags: (st.check_run([other, "--override-lr-scheduler", f"--metrics={folder / 'part'}", *flags]),
                            json.loads((folder / "part").read_text().splitlines()[0]))
    st.expect(first()[1]["step"] == 5, "the run does not go on")
    st.expect(first("--no-load-optim")[1]["step"] == 5, "without the optimizer the step is lost")
    done, step = first("--finetune")
    st.expect(step["step"] == 1 and step["loss"] < whole[0], f"{step}")
    tuned = runs.losses_of(folder / "part")
    (folder / "log").write_text(done.stderr)
    st.check_run([other, f"--replay={folder / 'log'}", f"--metrics={folder / 'again'}"])
    st.expect(runs.losses_of(folder / "again") == tuned, "a replayed run starts from other parameters")


if __name__ == "__main__":
    sys.exit(st.main(
        ("the log of one device", trains(ONE, 4, [t for t in TIMERS if t not in OF_STAGES], 1e-4)),
        ("the log of 32 devices", trains(MANY, 16, TIMERS, 1e-4)),
        *([("the log of 32 devices in f32", trains(MANY, 16, TIMERS, 1e-5, **runs.F32))] if "ST_ALL" in os.environ else []),
        ("programs", programs), ("configuration", configuration), ("bad flags", bad_flags), ("ramps up", ramps_up),
        ("loads", loads)))
