"""The inputs of the fuzz targets: what fuzzing kept (corpus/), and files of the examples and tests.

    inputs.py TARGET FOLDER      writes the files of the tree that are TARGET's input into FOLDER
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "test/fuzz/corpus"

# Files of the tree that are input of a target as they are.
FILES = {
    "hlo": ["test/Hlo/*.hlo"],
    "import": ["test/Import/*.mlir", "test/Sdy/*.mlir", "test/StableHLO/**/*.mlir"],
    "json": ["examples/**/*.json"],
    "model-config": ["examples/models/*/config.json", "examples/parallel/*.json"],
    "parallel-config": ["examples/**/*.json"],
    "program-text": ["test/**/*.mlir"],
}


def kept(target):
    """What fuzzing kept: names and bytes."""
    for path in sorted((CORPUS / target).glob("*")):
        yield path.name, path.read_bytes()


def from_tree(target):
    """Names and bytes; a file of several programs, split as lit tests split them, is several inputs."""
    for pattern in FILES.get(target, []):
        for path in sorted(ROOT.glob(pattern)):
            parts = re.split(rb"^// -----$", path.read_bytes(), flags=re.MULTILINE)
            for i, part in enumerate(parts):
                yield f"{path.relative_to(ROOT).as_posix().replace('/', '-')}-{i}", part


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
