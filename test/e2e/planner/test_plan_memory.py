"""st-plan on memory: runs whose memory was measured, what ZeRO and smaller devices do, and DeepSpeed's table."""

import json
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from test_bad_tools import refuse

PLAN = [st.BIN / "st-plan", "-q"]
MEASURED = st.ROOT / "test/Inputs/Megatron/measured-memory.csv"
BERT = st.ROOT / "examples/models/bert-base-cased"
TUNED = st.ROOT / "test/Inputs/DeepSpeed/bert-base.json"
PROFILES = {"dgx-a100-40gb": "megatron-lm", "v100-4x32gb": "megatron-deepspeed"}
MIB_OF_GB = 1024


def lines_of(*flags):
    return [json.loads(line) for line in st.check_run([*PLAN, *flags, "--json"], 120).stdout.splitlines()]


def measured_memory(folder):
    """Predictions are within 1.5 GB of the fullest device, and no run that succeeded is called impossible."""
    header, *rows = [line.split(",") for line in MEASURED.read_text().split()]
    errors = []
    for cluster, profile in PROFILES.items():
        own = [row[1:] for row in rows if row[0] == cluster]
        path = folder / f"{cluster}.csv"
        path.write_text("\n".join(",".join(row) for row in [header[1:], *own]) + "\n")
        found = lines_of(f"--rows={path}", f"--cluster={cluster}", f"--profile={profile}")
        st.expect(len(found) == len(own), f"{len(found)} rows of {len(own)}")
        for line, row in zip(found, own):
            error = line["memory_mib"] - float(row[-1].split("-")[-1])
            st.expect(line["fits"] and abs(error) < 1.5 * MIB_OF_GB, f"{row}: {line}")
            errors.append(abs(error))
    return f"worst {max(errors):.0f} MiB"


def too_large(folder):
    """The same model does not fit if its state alone exceeds the devices' memory, regardless of the allocator."""
    path = folder / "large.csv"
    path.write_text("tp,pp,dp,micro_batch,global_batch,hidden,heads,layers,zero,optimizer\n"
                    "4,16,2,1,2048,11600,80,64,1,adam-8bit\n4,8,4,1,2048,11600,80,64,1,adam\n4,32,4,1,2048,11600,80,64,1,adam\n")
    large = lines_of(f"--rows={path}", "--cluster=v100-4x32gb", "--profile=megatron-deepspeed")
    small = lines_of(f"--rows={path}", "--cluster=v100-4x16gb", "--profile=megatron-deepspeed")
    st.expect([line["fits"] for line in large] == [True, False, True], large)
    st.expect([line["fits"] for line in small] == [False, False, True], small)


def zero_table(folder):
    """Levels of ZeRO are in order; the tuned micro-batch and both clocks of the tuned run are shown."""
    flags = [BERT, f"--deepspeed={TUNED}", "--cluster=v100-16", "--profile=deepspeed"]
    table = json.loads(st.check_run([*PLAN, *flags, "--json"], 120).stdout)
    spaces = table["spaces"]
    st.expect([space["tuning_space"] for space in spaces] == ["z0", "z1", "z2", "z3"], spaces)
    for key in ("best_metric_val", "end_to_end_samples_per_second"):
        rates = [space[key] for space in spaces]
        st.expect(rates == sorted(rates, reverse=True), f"{key}: {rates}")
    best = spaces[0]["step"]["layout"]
    st.expect(table["best"] == f"z0_gas1_tmbspg{best['micro_batch']}", table["best"])
    st.expect(abs(best["micro_batch"] / 220 - 1) < 0.1, f"micro-batch {best['micro_batch']}")
    measured = 2682.849
    st.expect(abs(spaces[0]["end_to_end_samples_per_second"] / measured - 1) < 0.05, spaces[0])
    st.expect(abs(spaces[0]["best_metric_val"] / (1.07 * measured) - 1) < 0.05, spaces[0])
    text = st.check_run([*PLAN, *flags, "--zero=2"], 120).stdout
    st.expect("tuning_space | num_experiments" in text and "z2_gas1_tmbspg" in text and "z0 " not in text, text)
    return table["best"]


def bad(folder):
    """One line, exit 1, for profiles with unknown names, and for contradictory rows."""
    profile = folder / "p.textproto"
    profile.write_text('name: "p" extends: "st" memory { communicators: "moon" }')
    refuse([*PLAN, BERT, f"--profile={profile}"], r"memory\.communicators: expected .*found .moon", folder)
    rows = folder / "r.csv"
    rows.write_text("mbs,optimizer\n4,lion\n")
    refuse([*PLAN, BERT, f"--rows={rows}"], r"r\.csv:2: column optimizer: expected adam", folder)
    rows.write_text("optimizer\nadam\n")
    refuse([*PLAN, BERT, f"--rows={rows}"], r"r\.csv:1: expected a column micro_batch", folder)


CASES = [("measured memory", measured_memory), ("too large", too_large), ("table of ZeRO levels", zero_table),
         ("bad input", bad)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
