"""The inputs of the fuzz targets: the corpus that fuzzing kept (corpus/), and files of the examples and tests. For the
target `simulation` they are the compiled programs of simulation/.

    inputs.py TARGET FOLDER      writes TARGET's inputs from the tree into FOLDER
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "test/fuzz/corpus"
BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"

# Files of the tree that are directly inputs of a target.
FILES = {
    "deep-speed-config": ["test/Inputs/DeepSpeed/*.json", "examples/**/*.json"],
    "hlo": ["test/Hlo/*.hlo"],
    "import": ["test/Import/*.mlir", "test/Sdy/*.mlir", "test/StableHLO/**/*.mlir"],
    "json": ["examples/**/*.json"],
    "megatron-log": ["test/Inputs/Megatron/*.log", "scripts/*.sh"],
    "model-config": ["examples/models/*/config.json", "examples/parallel/*.json"],
    "parallel-config": ["examples/**/*.json"],
    "program-text": ["test/**/*.mlir"],
    "vhlo": ["test/VHLO/Inputs/*"],
}


def kept(target):
    """The corpus that fuzzing kept: names and bytes."""
    for path in sorted((CORPUS / target).glob("*")):
        yield path.name, path.read_bytes()


def from_tree(target):
    """Names and bytes; a file with several programs, in lit's split format, is several inputs."""
    if target == "simulation":
        yield from executables()
    for pattern in FILES.get(target, []):
        for path in sorted(ROOT.glob(pattern)):
            parts = re.split(rb"^// -----$", path.read_bytes(), flags=re.MULTILINE)
            for i, part in enumerate(parts):
                yield f"{path.relative_to(ROOT).as_posix().replace('/', '-')}-{i}", part


def executables():
    """Names and payloads of the programs in simulation/: the bytes between the runner and the footer of 40 bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in sorted((ROOT / "test/fuzz/simulation").glob("*.mlir")):
            found = re.search(r"num_partitions = (\d+)", path.read_text())
            devices = int(found[1]) if found else 1
            shards = {f"shard_{i}": f"/device:XLA_DTU:{i}" for i in range(devices)}
            (folder / "parallel.json").write_text(json.dumps({
                "mode": "hybrid", "sharding_size": devices, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 1,
                "device_mapping": {"stage_0": shards}}))
            subprocess.run([BIN / "st-compile", path, f"--parallel={folder / 'parallel.json'}", "--predict=false",
                            "-o", folder / "binary"], check=True, capture_output=True)
            binary = (folder / "binary").read_bytes()
            runner, payload = struct.unpack("<QQ", binary[-40:-24])
            yield path.stem, binary[runner:runner + payload]


def write(inputs, folder):
    """Paths of the inputs, written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in inputs:
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: inputs.py TARGET FOLDER")
    write(from_tree(sys.argv[1]), pathlib.Path(sys.argv[2]))
