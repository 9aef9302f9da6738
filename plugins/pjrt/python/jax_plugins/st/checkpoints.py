"""Checkpoints of printed training steps: from JAX's arrays to the files that a training binary reads, and back.

A step is a function that JAX lowers and st-compile compiles to a binary. Its state is the arguments that it donates.
"""

import json
import os
import pathlib

# Element types: St's name, and the name in a safetensors file.
_TYPES = {"bool": ("i1", "BOOL"), "int8": ("i8", "I8"), "int16": ("i16", "I16"), "int32": ("i32", "I32"),
          "int64": ("i64", "I64"), "uint8": ("ui8", "U8"), "uint16": ("ui16", "U16"), "uint32": ("ui32", "U32"),
          "uint64": ("ui64", "U64"), "float16": ("f16", "F16"), "bfloat16": ("bf16", "BF16"),
          "float32": ("f32", "F32"), "float64": ("f64", "F64")}
_DTYPES = {name: dtype for dtype, (name, _) in _TYPES.items()}
_FILES = {"parameter": "model.safetensors", "optimizer_state": "optimizer.safetensors"}
_PROGRESS = "trainer_state.json"


def save_state(folder, lowered, state, roles=None, step=0):
    """Writes a checkpoint from which the binary of a printed step starts: `--resume=FOLDER` or `--init=FOLDER`.

    `lowered` is what `jax.jit(step, donate_argnums=...).lower(...)` returns. `state` has the arrays of the donated
    arguments, in their order; of a single one, it is that argument. The names of tensors are those that st-compile gives
    the text `lowered.as_text(debug_info=True)`. If the binary is of another text, or has `--roles`, `roles` is the path
    of the file that st-compile writes with `--roles-out`. `step` is the number of steps done.
    """
    import jax

    leaves = _leaves_by_argument(lowered, state)
    files = {name: {} for name in _FILES.values()}
    for port in _state_ports(lowered, roles):
        number = port["argument"]
        if number not in leaves:
            raise ValueError(f"argument {number} of the program, \"{port['name']}\", is state, but the step does not "
                             "donate it")
        path, leaf = leaves[number]
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        files[_FILES[port["role"]]][port["name"]] = _as_stored(path, leaf, port)
    progress = {"format": 1, "step": step, "examples": 0, "seed": 0}
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # The last ".next" file makes the others valid, as in the checkpoints of binaries.
    (folder / f"{_PROGRESS}.next").unlink(missing_ok=True)
    for name, tensors in files.items():
        _write_safetensors(folder / f"{name}.next", tensors)
    (folder / f"{_PROGRESS}.next").write_text(json.dumps(progress) + "\n")
    for name in (*files, _PROGRESS):
        os.replace(folder / f"{name}.next", folder / name)
    for name in files:
        (folder / f"{name}.index.json").unlink(missing_ok=True)


def load_state(folder, lowered, state, roles=None):
    """Returns `state` with the arrays of a checkpoint that the step's binary saved, as numpy arrays.

    The arguments are those of `save_state`. Leaves that the program does not read keep their values.
    """
    import jax

    leaves = _leaves_by_argument(lowered, state)
    stored = {}
    for name in _FILES.values():
        stored |= _read_tensors(pathlib.Path(folder), name)
    found = {}
    for port in _state_ports(lowered, roles):
        path, leaf = leaves[port["argument"]]
        if port["name"] not in stored:
            raise ValueError(f"{folder}: tensor \"{port['name']}\" is missing")
        found[path] = _as_held(path, leaf, stored[port["name"]])
    return jax.tree_util.tree_map_with_path(lambda path, leaf: found.get(jax.tree_util.keystr(path), leaf), state)


def _state_ports(lowered, roles):
    """The descriptions of the program's arguments that are state."""
    import ctypes

    from jax_plugins import st

    if roles is None:
        text = lowered.as_text(debug_info=True).encode()
        table = st._ask("st_program_roles", ctypes.c_char_p, text)
    else:
        table = json.loads(pathlib.Path(roles).read_text())
    ports = [port for port in table["arguments"] if port["role"] in _FILES]
    if not ports:
        raise ValueError("the program has no state; expected a step that donates its parameters (donate_argnums)")
    return ports


def _leaves_by_argument(lowered, state):
    """The path and the value of each leaf of the state, by the number of its argument in the program."""
    import jax

    keystr, flatten = jax.tree_util.keystr, jax.tree_util.tree_flatten_with_path
    arguments = flatten(lowered.args_info)[0]
    # A path in (args, kwargs) begins with 0 or 1 and the argument's number or name.
    donated = [i for i, (_, info) in enumerate(arguments) if info.donated]
    expected = [keystr(arguments[i][0][2:]) for i in donated]
    given = flatten(state)[0]
    names = [keystr(path[1:]) for path, _ in given]
    if len({arguments[i][0][:2] for i in donated}) == 1 and names != expected:
        names = [keystr(path) for path, _ in given]
    for i, (name, wanted) in enumerate(zip(names, expected)):
        if name != wanted:
            raise ValueError(f"leaf {i} of the state is \"{keystr(given[i][0])}\"; expected the donated "
                             f"\"{keystr(arguments[donated[i]][0])}\" of (args, kwargs)")
    if len(given) != len(donated):
        raise ValueError(f"the state has {len(given)} leaves; the step donates {len(donated)}")
    # JAX removes unused arguments from the program.
    kept = sorted(lowered._lowering.compile_args["kept_var_idx"])
    number = {argument: i for i, argument in enumerate(kept)}
    return {number[i]: (keystr(path), leaf) for i, (path, leaf) in zip(donated, given) if i in number}


def _as_stored(path, leaf, port):
    """The array in the element type and shape of the program's argument."""
    import numpy as np

    value = np.asarray(leaf)
    if value.dtype.kind == "c":
        value = np.stack([value.real, value.imag], axis=-1)
    if list(value.shape) != port["shape"]:
        raise ValueError(f"state{path} has the shape {list(value.shape)}; the step's has {port['shape']}")
    if port["type"] not in _DTYPES:
        raise ValueError(f"state{path} is of type {port['type']}, which checkpoints do not hold")
    return value.astype(_dtype(_DTYPES[port["type"]]))


def _as_held(path, leaf, value):
    """The stored array in the element type and shape of the state's leaf."""
    import jax
    import numpy as np

    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(value, impl=jax.random.key_impl(leaf))
    leaf = np.asarray(leaf)
    if leaf.dtype.kind == "c":
        value = value[..., 0] + 1j * value[..., 1]
    if value.shape != leaf.shape:
        raise ValueError(f"state{path} has the shape {list(leaf.shape)}; the checkpoint's has {list(value.shape)}")
    return value.astype(leaf.dtype)


def _dtype(name):
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, name, name))


def _write_safetensors(path, tensors):
    """The format: the header's length, the header as JSON, the data (https://github.com/huggingface/safetensors)."""
    import numpy as np

    header, end = {}, 0
    for name, value in tensors.items():
        begin, end = end, end + value.nbytes
        header[name] = {"dtype": _TYPES[value.dtype.name][1], "shape": value.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def _read_tensors(folder, name):
    """The tensors of one file, or of the files that an index lists."""
    import numpy as np

    index = folder / f"{name}.index.json"
    if not (folder / name).exists() and index.exists():
        parts = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    else:
        parts = [name]
    dtypes = {stored: dtype for dtype, (_, stored) in _TYPES.items()}
    tensors = {}
    for part in parts:
        data = (folder / part).read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        for tensor, entry in json.loads(data[8:start]).items():
            if tensor == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[start + begin:start + end], _dtype(dtypes[entry["dtype"]]))
            tensors[tensor] = values.reshape(entry["shape"])
    return tensors
