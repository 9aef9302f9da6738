"""The memory of optimizers in the memory table, in the checkpoint and in st-plan; and training in 8 bits as in 32."""

import json
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import load_file

GPT2 = st.SMALL_GPT2 | {"n_embd": 256, "n_head": 4, "n_layer": 2, "vocab_size": 1024, "n_positions": 64}
LAYOUT = {"mode": "hybrid", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "stage_cnt": 1, "accum_degree": 1}
MOST = {"adamw": 8.01, "adamw-8bit": 2.1, "sgd": 4.01, "sgd-8bit": 1.05, "adafactor": 0.08, "lamb": 8.01}
STEPS = 60


def train(folder, optimizer, layout=None, steps=STEPS):
    """Losses, and the bytes of state per parameter in the file and in the devices' table."""
    binary = st.compile_model(folder, optimizer, GPT2, "clm", layout, f"--optimizer={optimizer}", "--lr=1e-3", batch=4, seq=32)
    metrics, report = folder / "metrics", folder / "report"
    run = st.check_run([binary, f"--steps={steps}", f"--metrics={metrics}", f"--report={report}", f"--save={folder / optimizer / 'out'}"])
    model, states = (load_file(folder / optimizer / "out" / f"{name}.safetensors") for name in ("model", "optimizer"))
    count = sum(value.size for value in model.values())
    table = re.search(r"peak memory of each device in MiB\n(.*)\n((?:[\d,-]+  .*\n)+)", run.stdout)
    names = re.split(r"  +", table.group(1).strip())
    rows = [dict(zip(names[1:], map(float, row.split()[1:]))) for row in table.group(2).splitlines()]
    # The table has one decimal digit of a MiB; the report has its figures in bytes.
    exact = [device["memory_bytes"] for device in json.loads(report.read_text())["devices"]]
    for kind in ("optimizer", "parameters"):
        st.expect(all(min(abs(one[kind] / 2**20 - row[kind]) for row in rows) <= 0.0501 for one in exact), f"{kind}: {rows}, {exact}")
    ratio = sum(one["optimizer"] for one in exact) / sum(one["parameters"] for one in exact)
    losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    return losses, sum(value.nbytes for value in states.values()) / count, 4 * ratio, states


def bytes_of(optimizer):
    def check(folder):
        _, in_file, in_table, _ = train(folder, optimizer, LAYOUT, steps=1)
        st.expect(in_file <= MOST[optimizer], f"{in_file:.3f} bytes a parameter in the file")
        # Vectors that no shard splits count once per device: biases, and half of Adafactor's numbers.
        most = 2 * in_file if optimizer == "adafactor" else min(in_file + 0.02, MOST[optimizer])
        st.expect(in_file - 0.02 <= in_table <= most, f"{in_table:.4f} bytes a parameter in the table, {in_file:.4f} in the file")
        return f"{in_file:.4f} bytes a parameter in the file, {in_table:.4f} in the table"
    return check


def eight_bits_train(folder):
    """The final loss is within 0.5 % of that of 32 bits."""
    final = {}
    for optimizer in ("adamw", "adamw-8bit"):
        losses, _, _, states = train(folder, optimizer)
        st.expect(losses[-1] < 0.8 * losses[0], f"it does not learn: {losses}")
        final[optimizer] = np.mean(losses[-5:])
    st.expect(any(value.dtype == np.uint8 for value in states.values()), "nothing is kept in 8 bits")
    difference = abs(final["adamw-8bit"] / final["adamw"] - 1)
    st.expect(0 < difference <= 5e-3, f"final losses {final}")
    return f"{final['adamw']:.4f} and {final['adamw-8bit']:.4f}"


CASES = [(f"bytes of {optimizer}", bytes_of(optimizer)) for optimizer in MOST] + [("8 bits train", eight_bits_train)]

if __name__ == "__main__":
    sys.exit(st.main(*st.drawn_part(CASES, 2)))
