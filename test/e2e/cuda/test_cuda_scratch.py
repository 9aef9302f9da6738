"""Scratch memory of kernels for GPUs, such as the sums that blocks of attention's gradient add to in order: it counts as memory
of the device, and a run whose semaphores are wrong ends with an error.
"""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import cuda_standins as standins
import st_testing as st
import test_mutated_binary as mutated
from test_cuda_driver import h100_host

GPT2 = {key: 0.0 if "pdrop" in key else value for key, value in dict(st.SMALL_GPT2, n_layer=2).items()}
LAYOUT = {"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}


def compile_step(folder, target, **options):
    """st-compile of a small GPT-2 to an executable, as it ended."""
    model = st.write_json(folder / "model/config.json", dict(GPT2, model_type="gpt2")).parent
    layout = st.write_json(folder / "layout.json", {**LAYOUT, **options})
    return st.run([st.BIN / "st-compile", model, "--task=clm", "--batch=4", "--seq=64", "--optimizer=adamw", f"--target={target}",
                   f"--parallel={layout}", "-o", folder / "step"])


def memory_of(folder, said):
    """Bytes of the arena and of scratch memory, as the executable has them; the table of st-compile must agree."""
    text = st.check_run([st.BIN / "st-translate", "--executable-to-text", folder / "step"]).stdout
    arena, scratch = (int(re.search(pattern, text, re.M)[1]) for pattern in (r"^  arena (\d+) bytes", r"^scratch memory (\d+) bytes"))
    head, row = re.search(r"peak memory a device, MiB\n  (group .*)\n  (.*)\n", said).groups()
    table = dict(zip(head.split(), row.split()))
    st.expect(table["scratch"] == f"{scratch / 2**20:.1f}" and table["total"] == f"{(arena + scratch) / 2**20:.1f}", f"{table}")
    return arena, scratch


def target_with(folder, memory):
    text = (st.ROOT / "devices/cuda-sm_90.textproto").read_text()
    file = folder / "cuda-small.textproto"
    file.write_text(re.sub(r"(memory_bytes\s*{\s*value:\s*)[\d.e]+", rf"\g<1>{memory}", text))
    return file


def counts(folder):
    """A device that holds the arena and not the scratch memory is too small; "fit" then recomputes more."""
    sizes = {}
    for policy in ("none", "full"):
        done = compile_step(folder, "cuda-sm_90", recompute=policy)
        st.expect(done.returncode == 0, done.stderr)
        sizes[policy] = memory_of(folder, done.stderr)
    (arena, scratch), (least, of_least) = sizes["none"], sizes["full"]
    st.expect(scratch > 0 and least + of_least < arena, f"{sizes}")
    memory = arena + scratch - 1
    small = target_with(folder, memory)
    done = compile_step(folder, small, recompute="none")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    st.expect(done.returncode == 1 and len(errors) == 1 and f"device 0 needs {arena + scratch} bytes, including {scratch} bytes of kernel "
              f"scratch memory per rank, but has {memory}" in errors[0], done.stderr)
    done = compile_step(folder, small, recompute="fit")
    st.expect(done.returncode == 0, done.stderr)
    fits = sum(memory_of(folder, done.stderr))
    st.expect(fits <= memory, f"{fits} bytes, where there are {memory}")
    return f"{arena} bytes, {scratch} of scratch memory, {fits} fit into {memory}"


def with_stale_words(binary):
    """The same program, whose launches that clear semaphores begin 16 bytes late, and how many these are: launches of one
    place in scratch memory."""
    mutated.MESSAGES["Task"][4] = mutated.TASK_PROGRAMS[True]
    mutator = mutated.Mutator(binary)
    (code,) = standins.values(mutator.program, "Executable", "cuda")
    (scratch,) = standins.values(code, "CudaCode", "scratch_bytes")
    standins.change(code, "CudaCode", "scratch_bytes", scratch + 16)
    moved = 0

    def visit(message, kind):
        nonlocal moved
        inner = {number: field[1] for number, field in mutated.MESSAGES[kind].items() if field[1] in mutated.MESSAGES}
        for number, value in message:
            if inner.get(number) == "CudaLaunch":
                places = standins.values(value, "CudaLaunch", "arguments")
                if len(places) == 1 and standins.values(places[0], "CudaPlace", "scratch") == [1]:
                    (offset,) = standins.values(places[0], "CudaPlace", "offset")
                    standins.change(places[0], "CudaPlace", "offset", offset + 16)
                    moved += 1
            elif number in inner:
                visit(value, inner[number])
    visit(mutator.program, "Executable")
    mutator.write(changed := binary.with_name("changed.bin"))
    return changed, moved


def needs_semaphores(folder):
    """The second launch finds the first words as the first one left them: no block waits forever on the host, and a line says so."""
    done = compile_step(folder, h100_host(folder))
    st.expect(done.returncode == 0, done.stderr)
    st.check_run([folder / "step", "--steps=1"])
    changed, moved = with_stale_words(folder / "step")
    st.expect(moved > 0, "no launch clears semaphores")
    done = st.run([changed, "--steps=2"])
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    st.expect(done.returncode == 1 and len(errors) == 1 and re.search(
        r"error: kernel \w+ .* in task \".*\" of rank 0, micro-batch 0: a block waits forever for a semaphore: the "
        r"semaphores were not zero when the kernel started", errors[0]), f"exit {done.returncode}: {done.stderr}")
    return f"{moved} launches moved: {errors[0]}"


CASES = [("scratch memory counts", counts), ("semaphores that are not cleared", needs_semaphores)]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
