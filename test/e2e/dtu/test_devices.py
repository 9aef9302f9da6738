"""A small model trains on each described DTU, with the losses of the reference interpreter and the predicted time. It
is compiled up to its plan for each described GPU, with the figures of that GPU and its links."""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import numpy as np
import st_testing as st
from safetensors.numpy import save_file
from st_programs import import_model, interpret, random_batch, random_parameters, signature, transform

DTUS, GPUS = (sorted(path.stem for path in (st.ROOT / "devices").glob(f"{kind}-*.textproto"))
              for kind in ("dtu", "cuda"))
CONFIG = st.SMALL_GPT2 | {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_positions": 16, "vocab_size": 97,
                          "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
BATCH, SEQ, STEPS, RATE = 2, 16, 3, 0.05
FLAGS = ("--optimizer=sgd", "--momentum=0.9", f"--lr={RATE}", "--weight-decay=0", "--clip-norm=0")


def interpreted(folder):
    """Random parameters and batches, and the losses of training on them in the interpreter."""
    program = import_model(folder / "own", CONFIG, "clm", BATCH, SEQ)
    parameters = random_parameters(program, 7)
    batches = [random_batch(program, seed) for seed in range(STEPS - 1)]
    batches.append(batches[0])
    step = transform(program, "--inline-calls", "--differentiate",
                     "--add-optimizer=kind=sgd momentum=0.9 weight-decay=0 clip-norm=0")
    arguments = signature(step)[0]
    state = parameters | {a.name: np.zeros(a.shape, a.dtype) for a in arguments if a.role == "optimizer_state"}
    losses = []
    for number, batch in enumerate(batches):
        given = state | batch | {"rng_key": np.array([0, number], np.uint32), "learning_rate": np.float32(RATE),
                                 "step": np.float32(number + 1)}
        found = interpret(step, {a.name: given[a.name] for a in arguments})
        losses.append(float(found["loss"]))
        state = {name: found[name] for name in state}
    return parameters, batches, losses


def trains_on(device):
    def run(folder):
        parameters, batches, expected = interpreted(folder)
        model = folder / "weights"
        model.mkdir()
        save_file(parameters, model / "model.safetensors")
        save_file({name: np.stack([batch[name] for batch in batches]) for name in batches[0]}, folder / "b.safetensors")
        # Two shards are on one chip of any device.
        flags = (f"--target={device}", "--predict", *FLAGS)
        binary = st.compile_model(folder, "m", CONFIG, "clm", st.layout(1, 2), *flags, batch=BATCH, seq=SEQ)
        metrics = binary.with_suffix(".metrics")
        done = st.check_run([binary, f"--steps={STEPS}", f"--init={model}", f"--data={folder / 'b.safetensors'}",
                             f"--metrics={metrics}"])
        st.expect(len(re.findall(r"^as predicted: ", done.stdout, re.M)) == 1, done.stdout)
        found = [float(loss) for loss in re.findall(r'"loss": ?([-\d.e+]+)', metrics.read_text())]
        difference = st.relative_difference(expected, found)
        st.expect(difference <= 1e-5, f"losses {found}, interpreted {expected}")
        st.expect(found[-1] < found[0] - 1e-3, f"the loss of the repeated batch did not fall: {found}")
        return f"losses off by {difference:.0e}"
    return run


def figure(device, name):
    text = (st.ROOT / "devices" / f"{device}.textproto").read_text()
    return float(re.search(rf"^{name} {{ value: (\S+)", text, re.M)[1])


def plans_for(device):
    """Two replicas of two shards each, in two nodes: the links between nodes are slower."""
    def run(folder):
        model = st.write_json(folder / "config.json", CONFIG).parent
        mapping = {"shard_0": ["GPU:0", "GPU:8"], "shard_1": ["GPU:1", "GPU:9"]}
        command = [*st.COMPILE, "-q", model, "--task=clm", "--batch=4", f"--seq={SEQ}", f"--target={device}",
                   "--compile-to=planned", "-o", folder / "planned.mlir"]

        def layout(mapping):
            value = {"mode": "sharding", "sharding_size": 2, "stage_cnt": 1, "data": 2,
                     "device_mapping": {"stage_0": mapping}}
            return f"--parallel={st.write_json(folder / 'parallel.json', value)}"
        st.check_run([*command, layout(mapping)])
        text = (folder / "planned.mlir").read_text()
        found = re.search(r"st\.target = (#st\.target<[^>]*>)", text)[1]
        wanted = (f'#st.target<backend = "cuda", device = "{device}", alignment = 128, '
                  f'scratch_bytes = {figure(device, "block_shared_bytes"):.0f}, '
                  f'memory_bytes = {figure(device, "memory_bytes"):.0f}, '
                  f'matrix_alignment = {figure(device, "matrix_alignment_bytes"):.0f}, '
                  f'matrix_row_bytes = {figure(device, "matrix_row_bytes"):.0f}>')
        st.expect(found == wanted, f"{found}, expected {wanted}")
        network, node = (figure(device, f"{link}_gbytes_per_second") for link in ("network", "node"))
        speed = re.search(r"#st\.speed<([^>]*)>", text)[1]
        st.expect(f"link_bytes_per_us = [{1000 * network:.0f}, {1000 * node:.0f}]" in speed, speed)
        st.expect(f"vector_bytes_per_ns = {int(2000 * figure(device, 'f32_tflops'))}," in speed, speed)
        far = st.run([*command, layout(mapping | {"shard_1": ["GPU:1", "GPU:4096"]})])
        st.expect(far.returncode == 1 and f"device id 4096 is not one of the 4096 GPUs of {device}" in far.stderr,
                  far.stderr)
    return run


if __name__ == "__main__":
    sys.exit(st.main(*((device, trains_on(device)) for device in DTUS),
                     *((device, plans_for(device)) for device in GPUS)))
