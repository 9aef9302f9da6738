"""Runs programs of the package st_torch, and compares their numbers with PyTorch's. Needs no PyTorch."""

import base64
import json
import lzma
import pathlib
import sys
import zlib

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "plugins" / "torch"))

import st_torch
from families import parameter
from safetensors.numpy import load_file, save_file
from st_testing import BIN, check_run, expect

REFERENCES = pathlib.Path(__file__).resolve().parent / "references"
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
         "i8": np.int8, "ui8": np.uint8, "i1": np.bool_}


def evaluate(graph, inputs, folder):
    """The results of a graph, and the gradients of its parameters, from the reference interpreter; by name.

    Two results may have the names of nodes, so results are renamed result0, …; gradients are named gradient.NAME.
    """
    names = {o.label: f"result{i}" for i, o in enumerate(o for o in graph.outputs if o.role == "metric")}
    types = {i.label: NUMPY[i.type.dtype] for i in graph.inputs}
    given = {name: np.asarray(value, types[name], order="C") for name, value in inputs.items()}
    save_file(given, folder / "in.safetensors")
    (folder / "op.mlir").write_text(st_torch.print_program(graph))
    check_run([BIN / "st-opt", "--differentiate", folder / "op.mlir", "-o", folder / "gradient.mlir"])
    check_run([BIN / "st-translate", "--interpret", folder / "gradient.mlir", f"--inputs={folder / 'in.safetensors'}",
               f"--outputs={folder / 'out.safetensors'}"])
    found = load_file(folder / "out.safetensors")
    parameters = [i.label for i in graph.inputs if i.role == "parameter"]
    return ({names.get(k, k): v for k, v in found.items() if k not in parameters}
            | {f"gradient.{name}": found[name] for name in parameters})


def compare(found, expected, bound=2e-5):
    """Fails if an array differs by more than `bound` of its largest element; returns the largest difference."""
    worst = 0.0
    for name, value in expected.items():
        expect(name in found, f"{name} is missing")
        expect(found[name].shape == value.shape, f"{name} has the shape {found[name].shape}, PyTorch's has {value.shape}")
        a, b = np.asarray(found[name], np.float64), np.asarray(value, np.float64)
        expect(np.array_equal(np.isfinite(a), np.isfinite(b)) and np.array_equal(a[~np.isfinite(b)], b[~np.isfinite(b)], equal_nan=True),
               f"{name}: {a.ravel()[:8]}, PyTorch's is {b.ravel()[:8]}")
        finite = np.isfinite(b)
        difference = np.abs(a - b)[finite].max(initial=0.0) / max(np.abs(b)[finite].max(initial=0.0), 0.1)
        expect(difference <= bound, f"{name} differs by {difference:.1e}: {a.ravel()[:8]}, PyTorch's is {b.ravel()[:8]}")
        worst = max(worst, difference)
    return worst


# Models: their values are functions of names, and a long array is recorded as its digest.

# An epsilon above the rounding of gradients: Adam divides by their size, and rounds errors up to steps where they are zero in exact
# arithmetic, such as those of the biases of keys.
STEPS, RATE, EPSILON = 5, 1e-3, 1e-6


def make_values(graph):
    """The initial parameters and states, by name."""
    values = {}
    for i in graph.inputs:
        if i.role in ("parameter", "frozen", "state"):
            value = parameter(i.label, i.type.shape)
            value = 1 + np.abs(value) if i.label.endswith("running_var") else value
            values[i.label] = np.asarray(value, NUMPY[i.type.dtype]) if i.type.dtype != "i64" else np.zeros(i.type.shape, np.int64)
    return values


def make_batches(graph, limits):
    """STEPS batches, by the names of the inputs."""
    rng, batches = np.random.default_rng(11), {}
    for i in graph.inputs:
        if i.role != "batch":
            continue
        shape = (STEPS, *i.type.shape)
        if i.label == "attention_mask":  # padding on the right
            batches[i.label] = (np.arange(shape[-1]) < rng.integers(shape[-1] // 2, shape[-1] + 1, (*shape[:-1], 1))).astype(np.int64)
        elif limits[i.label] is None:
            batches[i.label] = rng.normal(size=shape).astype(np.float32)
        else:
            # No token is the padding.
            batches[i.label] = rng.integers(3 if len(shape) == 3 else 0, limits[i.label], shape)
    return batches


def digest(name, value):
    """The norm of an array, and its products with three random ones of its shape, divided by their expected norm."""
    value = np.asarray(value, np.float64).ravel()
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [float(np.linalg.norm(value)), *(float(value @ rng.normal(size=value.size)) for _ in range(3))]


def differences(found, expected):
    """The difference of each digest, relative to the norm of the array, or to 1e-4 of all arrays' norm if that is larger."""
    total = float(np.sqrt(sum(value[0]**2 for value in expected.values())))
    return {name: float(np.abs(np.subtract(found[name], value)).max() / max(value[0], 1e-4 * total, 1e-30)) for name, value in expected.items()}


# References: JSON, compressed. Arrays are [element type, shape, base64].


def _plain(value):
    if isinstance(value, st_torch.Graph):
        return {"graph": json.loads(st_torch.to_json(value))}
    if isinstance(value, np.ndarray):
        return {"array": [str(value.dtype), list(value.shape), base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()]}
    if isinstance(value, dict):
        return {"dict": {key: _plain(v) for key, v in value.items()}}
    return value


def _full(value):
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "graph":
        return st_torch.from_json(json.dumps(content))
    if kind == "array":
        dtype, shape, data = content
        return np.frombuffer(base64.b64decode(data), dtype).reshape(shape)
    return {key: _full(v) for key, v in content.items()}


def write_reference(name, value):
    """Writes a dictionary of graphs, arrays and numbers; returns the number of bytes."""
    text = json.dumps(_plain(value), separators=(",", ":")).encode()
    return (REFERENCES / f"{name}.json.xz").write_bytes(lzma.compress(text, preset=9))


def read_reference(name):
    return _full(json.loads(lzma.decompress((REFERENCES / f"{name}.json.xz").read_bytes())))
