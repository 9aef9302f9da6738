"""Compares the simulator's time of a step with scripts/retime.py, which implements the rules of docs/dtu-isa.md
independently.

The compiler and the simulator share one timing model, so neither can detect that it deviates from the document.
"""

import json
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import dtu_programs
import jax
import jax.numpy as jnp
import numpy as np
import st_testing as st

sys.path.insert(0, str(st.ROOT / "scripts"))
import retime

GPT2 = st.SMALL_GPT2 | {"n_layer": 1}
BERT = st.SMALL_BERT | {"num_hidden_layers": 1}
TINY = {"n_embd": 16, "n_head": 2, "n_positions": 16, "vocab_size": 32}
LLAMA = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 97, "max_position_embeddings": 24}
VIT = {"model_type": "vit", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
       "intermediate_size": 48, "image_size": 16, "patch_size": 4, "num_channels": 3, "num_labels": 7}
ONE = st.layout(1, 1)
TWO = st.layout(1, 1, accum=2)
# Rates that divide no number of bytes, chosen so that each memory and engine is the bottleneck
# once.
ODD = {"clock_ghz": 1.37, "l3_gbytes_per_second": 97.3, "l2_gbytes_per_second": 301.7, "l1_gbytes_per_second": 33.7,
       "dte_gbytes_per_second": 71.3, "dte_latency_ns": 133.3337, "sync_ns": 17.0005, "transcendental_cycles": 7.3,
       "task_launch_ns": 4321.1234, "matrix_start_cycles": 29.5, "vector_start_cycles": 11.25,
       "fp32_macs_per_core_cycle": 120, "bf16_macs_per_core_cycle": 300, "vector_bytes_per_cycle": 96,
       "host_gbytes_per_second": 7.7, "host_latency_ns": 777.7777, "l3_burst_bytes": 128, "l1_banks": 16}
# Many events fall on one instant, and instructions wait for memories.
FLAT = {"sync_ns": 1e-6, "dte_latency_ns": 1e-6, "task_launch_ns": 1, "clock_ghz": 1, "l3_gbytes_per_second": 1,
        "l2_gbytes_per_second": 1, "l1_gbytes_per_second": 1, "dte_gbytes_per_second": 2, "matrix_start_cycles": 1,
        "vector_start_cycles": 1}
SLOW = ODD | {"l3_gbytes_per_second": 3.3, "l2_gbytes_per_second": 1.17, "l1_gbytes_per_second": 0.7,
              "dte_gbytes_per_second": 1.9, "dte_latency_ns": 3.3337, "sync_ns": 1.0005, "host_gbytes_per_second": 0.31,
              "host_latency_ns": 4.5677}

used = set()  # Mnemonics of the programs that agreed, and other features that affect time.


def described(folder, changes):
    """A device description like that of T10 with some figures changed."""
    text = (st.ROOT / "devices" / "dtu-t10.textproto").read_text()
    for name, value in changes.items():
        text, count = re.subn(rf"(?m)^{name} {{ value: \S+", f"{name} {{ value: {value}", text)
        st.expect(count == 1, f"the description has {count} figures {name}")
    path = folder / "device.textproto"
    path.write_text(text)
    return path


def text_of(binary):
    return st.check_run([st.BIN / "st-translate", "--executable-to-text", binary]).stdout


def compare(binary, device=None):
    report = binary.with_suffix(".json")
    st.check_run([binary, "--timing-only", f"--report={report}"])
    reported = json.loads(report.read_text())
    simulated = {name: round(reported[key] * 1e9)
                 for name, key in (("step", "sim_ms"), ("roofline", "roofline_ms"), ("serial", "serial_ms"))}
    simulated["l3_burst_bytes"] = reported["devices"][0]["l3_burst_bytes"]
    st.expect(simulated["roofline"] <= simulated["step"] <= simulated["serial"], f"out of bounds: {simulated}")
    text = text_of(binary)
    timed = retime.retime(text, device)
    st.expect(timed == simulated, f"the simulator says {simulated}, the document {timed}")
    used.update(re.findall(r"^ +([a-z]+)\b", text, re.M), re.findall(r"multicast|src=host|dst=host|min\(", text))
    return f"{timed['step']} ps"


def model(config, task, parallel, *flags, batch=4, seq=32, device=None):
    def run(folder):
        path = described(folder, device) if device else None
        targets = [f"--target={path}"] if path else []
        flagged = [*flags, *targets]
        return compare(st.compile_model(folder, "m", config, task, parallel, *flagged, batch=batch, seq=seq), path)
    return run


def compile_jax(folder, function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    program, binary = folder / "program.mlir", folder / "program.bin"
    program.write_text(jax.jit(function).lower(*arguments).as_text())
    st.check_run([*st.COMPILE, program, "--target=dtu-t10", "-o", binary])
    return binary


def jax_program(function, *shapes):
    return lambda folder: compare(compile_jax(folder, function, *shapes))


def programs(figures, written):
    """Programs of streams that no compiler emits."""
    def run(folder):
        device, source, binary = described(folder, figures), folder / "input.mlir", folder / "m.bin"
        source.write_text(dtu_programs.INPUT)
        ir = st.check_run([*st.COMPILE, source, f"--target={device}", "--compile-to=dtu"]).stdout
        for number, text in enumerate(written):
            (folder / "streams.mlir").write_text(dtu_programs.replace_program(ir, text))
            st.check_run([*st.COMPILE, folder / "streams.mlir", "--compile-from=dtu", "-o", binary])
            try:
                compare(binary, device)
            except st.Failure as failure:
                raise st.Failure(f"program {number}: {failure}") from None
        return f"{len(written)} programs"
    return run


def refused(what, compiled):
    def run(folder):
        try:
            retime.retime(text_of(compiled(folder)))
        except retime.Refused as error:
            st.expect(what in str(error), f"refused for another reason: {error}")
            return str(error)
        raise st.Failure("a time without what it depends on")
    return run


def all_is_used(folder):
    """Runs last: the programs above have used every feature that affects time."""
    wanted = {"loop", "end", "leave", "index", "table", "wait", "signal", "barrier", "copy", "fill", "gather",
              "scatter", "matmul", "vector", "multicast", "src=host", "dst=host", "min("}
    st.expect(wanted <= used, f"no program has {sorted(wanted - used)}")


def scanned(x, w):
    return jax.lax.scan(lambda carry, row: (jnp.tanh(carry @ row), carry.sum()), x, w)


F32, I32 = np.float32, np.int32
CASES = [
    ("gpt2, tiny", model(GPT2 | TINY, "clm", ONE, batch=1, seq=16)),
    ("gpt2", model(GPT2, "clm", ONE)),
    ("gpt2, 4 layers", model(GPT2 | {"n_layer": 4}, "clm", ONE)),
    ("gpt2, sgd, clipping", model(GPT2, "clm", ONE, "--optimizer=sgd", "--clip-norm=1")),
    ("gpt2, bf16, 2 micro-batches", model(GPT2, "clm", TWO | {"precision": "bf16"})),
    ("gpt2, computed again", model(GPT2, "clm", TWO | {"recompute": "full"})),
    ("gpt2, stashes on the host", model(GPT2 | {"n_layer": 2}, "clm", TWO | {"offload": True})),
    ("gpt2, wide", model(GPT2 | {"n_embd": 768, "n_head": 12, "n_positions": 128}, "clm", ONE, batch=2, seq=128)),
    ("gpt2 on t20", model(GPT2, "clm", ONE, "--target=dtu-t20")),
    ("gpt2 on i20", model(GPT2, "clm", ONE, "--target=dtu-i20")),
    ("gpt2, odd figures, bf16, host", model(
        GPT2 | {"n_layer": 2}, "clm", TWO | {"precision": "bf16", "offload": True}, device=ODD)),
    ("gpt2, no latencies", model(GPT2, "clm", ONE, device=FLAT)),
    ("bert mlm", model(BERT, "mlm", ONE)),
    ("bert span, odd sizes", model(BERT | {"hidden_size": 72}, "span", ONE, batch=3, seq=29)),
    ("bert mlm, f16, 2 micro-batches", model(BERT, "mlm", TWO | {"precision": "f16"})),
    ("bert mlm, odd figures", model(BERT, "mlm", ONE, device=ODD)),
    ("bert encode", model(BERT, "encode", ONE, batch=3, seq=21)),
    ("llama", model(LLAMA, "clm", ONE, seq=16)),
    ("vit", model(VIT, "classify", ONE, seq=17)),
    ("jax, scan", jax_program(scanned, ((24, 40), F32), ((3, 40, 40), F32))),
    ("jax, convolution", jax_program(
        lambda x, w: jax.lax.conv(x, w, (2, 1), "SAME"), ((2, 5, 17, 19), F32), ((6, 5, 3, 3), F32))),
    ("jax, sort", jax_program(lambda x: jnp.sort(x, axis=0), ((33, 5), F32))),
    ("jax, rows by index", jax_program(
        lambda x, i: x.at[i].add(2 * x[i + 1]), ((50, 7), F32), ((13,), I32))),
    ("turns", programs(FLAT, [dtu_programs.turns(between) for between in (
        [], [dtu_programs.SATISFIED], [dtu_programs.EMPTY], [dtu_programs.EMPTY, dtu_programs.SATISFIED])])),
    ("random streams", programs({}, [dtu_programs.random_program(seed) for seed in range(10)])),
    ("random streams, much at one instant", programs(
        FLAT, [dtu_programs.random_program(seed) for seed in range(100, 130)])),
    ("random streams, odd figures", programs(SLOW, [dtu_programs.random_program(seed) for seed in range(200, 220)])),
    ("two ranks", refused("one rank", lambda folder: st.compile_model(
        folder, "m", GPT2 | TINY, "clm", st.layout(1, 2), batch=2, seq=16))),
    ("trips that depend on data", refused("loads", lambda folder: compile_jax(
        folder, lambda x: jax.lax.while_loop(lambda v: v.sum() < 9, lambda v: 2 * v, x), ((8,), F32)))),
    ("all of it is used", all_is_used),
]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
