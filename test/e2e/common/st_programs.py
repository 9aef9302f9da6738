"""Building, transforming and interpreting programs with St's tools, one step at a time."""

import dataclasses
import pathlib
import re

import numpy as np
from safetensors.numpy import load_file, save_file

from st_testing import BIN, check_run, write_json

DTYPES = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32, "ui8": np.uint8, "i1": np.bool_}


@dataclasses.dataclass
class Argument:
    """One argument or result of @main."""
    name: str
    role: str
    shape: tuple
    dtype: type
    attributes: str

    @property
    def limit(self):
        return int(re.search(r"st\.limit = (\d+)", self.attributes).group(1))

    @property
    def is_frozen(self):
        return "st.frozen" in self.attributes

    @property
    def init(self):
        return re.search(r'kind = "(\w+)"', self.attributes).group(1)


def _values(text):
    """The tensors of an argument or result list, with their attributes."""
    for match in re.finditer(r"tensor<([^>]*)>(?:\s*\{((?:[^{}]|\{[^{}]*\})*)\})?", text):
        *dims, element = match.group(1).split("x")
        attributes = match.group(2) or ""
        text_of = {key: value for key, value in re.findall(r'st\.(name|role) = "([^"]*)"', attributes)}
        yield Argument(text_of.get("name", ""), text_of.get("role", ""), tuple(map(int, dims)),
                       DTYPES[element], attributes)


def signature(program):
    """The arguments and results of @main in the text of a program."""
    line = re.search(r"func\.func (?:public )?@main\((.*)\n", pathlib.Path(program).read_text()).group(1)
    arguments, results = line.split(") -> ", 1)
    return list(_values(arguments)), list(_values(results))


def import_model(folder, config, task, batch, seq, *flags):
    """The forward loss of a configuration; returns the path of the program."""
    path = write_json(pathlib.Path(folder) / "config.json", config)
    program = path.with_name(f"{task}.mlir")
    sequence = [] if config["model_type"] == "vit" else [f"--seq={seq}"]
    check_run([BIN / "st-translate", "--import-hf-config", f"--task={task}", f"--batch={batch}", *sequence,
               *flags, path, "-o", program])
    return program


def transform(program, *passes):
    """Runs passes of st-opt; returns the path of the new program."""
    output = program.with_name(f"{program.stem}.{len(passes)}.out.mlir")
    check_run([BIN / "st-opt", *passes, program, "-o", output])
    return output


def interpret(program, inputs):
    """Runs @main on a dictionary of arrays and returns its results by name."""
    given, found = program.with_suffix(".inputs"), program.with_suffix(".outputs")
    save_file({name: np.asarray(value, order="C") for name, value in inputs.items()}, given)
    check_run([BIN / "st-translate", "--interpret", program, f"--inputs={given}", f"--outputs={found}"])
    return load_file(found)


def random_parameters(program, seed):
    """Values for every parameter, far enough from the initial ones that no term is zero."""
    rng = np.random.default_rng(seed)
    values = {}
    for argument in signature(program)[0]:
        if argument.role == "parameter":
            noise = rng.normal(scale=0.1, size=argument.shape)
            values[argument.name] = (noise + (argument.init == "ones")).astype(np.float32)
    return values


def random_batch(program, seed):
    """A batch with padding, positions without a label and, where there are several sequences, an answer outside of the
    window. The last image has no label."""
    rng = np.random.default_rng(seed)
    values = {}
    for argument in signature(program)[0]:
        if argument.role != "batch":
            continue
        if argument.dtype == np.float32:
            values[argument.name] = rng.normal(size=argument.shape).astype(np.float32)
            continue
        value = rng.integers(0, argument.limit, argument.shape)
        if argument.name == "input_ids":
            value[0, 1] = 0  # the default padding token
        elif argument.name == "attention_mask":
            lengths = rng.integers(argument.shape[1] // 2, argument.shape[1] + 1, (argument.shape[0], 1))
            value = np.arange(argument.shape[1])[None] < lengths
        elif argument.name == "labels" and len(argument.shape) == 1:
            value[-1] = -100
        elif argument.name == "labels":
            value = np.where(rng.random(argument.shape) < 0.3, value, -100)
        elif argument.name == "start_positions" and argument.shape[0] > 1:
            value[-1] = argument.limit + 5
        values[argument.name] = value.astype(argument.dtype)
    return values
