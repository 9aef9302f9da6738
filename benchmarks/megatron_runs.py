#!/usr/bin/env python3
"""The two Megatron logs at full size: compiled as they are, trained for some steps from token files, every loss against JAX's.

    benchmarks/megatron_runs.py [--steps=20] [--layers=24] [1gpu] [32gpus]

The data are sentences of random tokens over the log's full vocabulary. The log says fp16, and JAX computes in f32: the
largest relative distance is printed for both precisions. A step of the second log computes 128 rows of 512 tokens of BERT-large, forward
twice and backward, on this machine's processors: some minutes each. `--layers` makes the model smaller.
"""

import argparse
import pathlib
import sys
import tempfile
import time

sys.path[:0] = map(str, (pathlib.Path(__file__).resolve().parent.parent / "test/e2e").iterdir())
import megatron_runs as runs
import numpy as np
import st_testing as st
from test_megatron_data import write_dataset

TOKENS = 28996  # of bert-large-cased-vocab.txt


def write_inputs(folder):
    """Writes a vocabulary with every token, and documents of ten sentences of mostly a few frequent tokens, as in natural text."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"token{i}" for i in range(5, TOKENS))]
    (folder / "vocab.txt").write_text("\n".join(names) + "\n")
    rng = np.random.default_rng(7)
    sentences = [5 + rng.zipf(1.3, rng.integers(8, 40)) % (TOKENS - 5) for _ in range(4000)]
    write_dataset(folder / "data", sentences, documents=range(0, len(sentences) + 1, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", default=["1gpu", "32gpus"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=24)
    options = parser.parse_args()
    for name in options.logs:
        for precision, values in (("f32", runs.F32), ("fp16", {})):
            with tempfile.TemporaryDirectory() as path:
                folder = pathlib.Path(path)
                write_inputs(folder)
                log = folder / "run.log"
                log.write_text(runs.change((runs.LOGS / f"megatron-bert-345m-{name}.log").read_text(), {
                    "num_layers": options.layers, "save": None, "load": None, "save_interval": None,
                    "vocab_file": folder / "vocab.txt", "data_path": f"['{folder / 'data'}']", **values}))
                start = time.time()
                # The model and its optimizer do not fit into the 4 GiB of one cluster of a dtu-t10.
                target = ["--target=dtu-t10-large"] if name == "1gpu" else []
                binary, _ = runs.compile_log(folder, log, *target)
                compiled = time.time() - start
                apart, done, losses = runs.apart(binary, runs.dump_of(log), folder, options.steps)
                print(f"{name} {precision}: compiled in {compiled:.0f} s; {len(losses)} losses, {losses[0]:.6f} to {losses[-1]:.6f}, "
                      f"at most {apart:.1e} from JAX's", flush=True)
                print("\n".join(line for line in done.stdout.splitlines()
                                if line.startswith(("time (ms)", "(over", "DTU mem")) or "ms per sample" in line), flush=True)


if __name__ == "__main__":
    main()
