"""Every op of the dialects with every element type it may have, on the simulated DTU and in the reference interpreter.

There is a small program for each op and type (conformance_cases.py) with special values among its inputs: NaN,
infinities, -0, the ends of ranges. The programs of one type are compiled as one. The ops come from the dialects'
definitions: an op without a case fails.
"""

import collections
import functools
import pathlib
import re
import sys
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import conformance_blocks  # noqa: F401: it adds to the cases
from conformance_bounds import bound_of, describe_difference, largest
from conformance_cases import CASES
from conformance_collectives import COLLECTIVES
from conformance_program import COMPLEX, TYPES, Function, Shard
from st_testing import BIN, ROOT, expect, layout, main, run, write_json

ALL = CASES | COLLECTIVES
# Ops that do not compute tensors by themselves, with the reason.
NO_CASE = {
    "stablehlo.custom_call": "means what its target means",
    "stablehlo.return": "ends the regions of others",
    "stablehlo.tuple": "the interpreter has no tuples",
    "stablehlo.get_tuple_element": "the interpreter has no tuples",
    "stablehlo.replica_id": "programs have one replica; printed programs ask for partition_id",
}
# The interpreter does not define these, so they have no reference.
UNDEFINED = {("stablehlo.remainder", t): "there is no remainder of complex numbers" for t in COMPLEX}


def label(key):
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


def defined_ops():
    """The names of all ops, as the dialects define them."""
    names = set()
    for source in (ROOT / "dialects/StableHLO").glob("*Ops.td"):
        prefix = "chlo" if source.name.startswith("Chlo") else "stablehlo"
        names |= {f"{prefix}.{name}" for name in re.findall(r"^def \w+\s*:\s*\w+<\"(\w+)\"", source.read_text(), re.M)}
    return names


def write(keys, element):
    """One function with the ops of some cases, and the case of each result."""
    function, owners = (Shard if keys[0] in COLLECTIVES else Function)(element), []
    for key in keys:
        ALL[key](function)
        owners += [key] * (len(function.results) - len(owners))
    return function, owners


# ---- which types there are ----------------------------------------------------------------------


@functools.cache
def verdicts():
    """The dialect's verdict on each case with each type: an error, or None."""
    keys = [(key, element) for key in ALL for element in TYPES]
    chunks = [write([key], element)[0].text() for key, element in keys]
    starts = np.cumsum([0] + [chunk.count("\n") + 2 for chunk in chunks])
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "all.mlir")
        program.write_text("\n// -----\n".join(chunks))
        done = run([BIN / "st-opt", "--split-input-file", program, "-o", "/dev/null"])
    found = dict.fromkeys(keys)
    for line, message in re.findall(r"^\S+:(\d+):\d+: error: (.*)", done.stderr, re.M):
        key = keys[int(np.searchsorted(starts, int(line), "right")) - 1]
        found[key] = found[key] or message
    return found


def allows(key, element):
    return verdicts()[key, element] is None


def check_types(folder):
    """If the dialect refuses a case, its type is the reason; and each case has a type."""
    about = re.compile(r"must be .*tensor of|of elements of type|expects (complex|real) numbers|invalid element type|"
                       r"cannot compare elements of type|expects EQ or NE")
    for (key, element), message in verdicts().items():
        expect(message is None or about.search(message), f"{label(key)}, {element}: {message}")
    for key in ALL:
        expect(any(allows(key, element) for element in TYPES), f"{label(key)} is of no type")
    return f"{sum(m is None for m in verdicts().values())} pairs of {len(ALL)} cases and {len(TYPES)} types"


def check_ops(folder):
    defined, tested = defined_ops(), {op for op, _ in ALL}
    expect(len(defined) > 100, f"found {len(defined)} definitions of ops only")
    missing, stale = sorted(defined - tested - set(NO_CASE)), sorted(tested - defined | set(NO_CASE) & tested)
    expect(not missing, f"without a case: {', '.join(missing)}")
    expect(not stale, f"no ops, or with a case and excluded: {', '.join(stale)}")
    return f"{len(tested)} of {len(defined)} ops in {len(ALL)} cases"


# ---- running ------------------------------------------------------------------------------------

marks = {}  # (case, element type) -> "ok", "x"


def compile_(folder, program, keys):
    flags = []
    if keys[0] in COLLECTIVES:
        flags = [f"--parallel={write_json(folder / 'parallel.json', layout(1, Shard.DEVICES))}"]
    return run([BIN / "st-compile", program, "--target=dtu-t10", "--predict=false", "-o", folder / "program.bin",
                *flags])


def errors_of(done):
    return [line.split("error: ", 1)[-1] for line in done.stderr.splitlines() if "error: " in line]


def explain_refusal(folder, keys, element):
    """The cases of a refused program that do not compile."""
    program, refused = folder / "single.mlir", []
    for key in keys:
        program.write_text(write([key], element)[0].text())
        done = compile_(folder, program, [key])
        if done.returncode:
            marks[key, element] = "x"
            refused.append(f"{label(key)}: {(errors_of(done) or [done.stderr[-300:]])[0]}")
    return refused or ["only all together"]


def interpret(program, given, wanted):
    done = run([BIN / "st-translate", "--interpret", program, f"--inputs={given}", f"--outputs={wanted}"])
    expect(done.returncode == 0, f"the interpreter: {done.stderr[-500:]}")


def compare(keys, owners, element, actual, expected):
    """Compares a target's results with the interpreter's, case by case."""
    wrong = collections.defaultdict(list)
    scales = {key: largest([expected[f"result{i}"] for i, k in enumerate(owners) if k == key]) for key in keys}
    for i, key in enumerate(owners):
        difference = describe_difference(actual[f"result{i}"], expected[f"result{i}"], bound_of(label(key), element),
                                         scales[key])
        if difference:
            wrong[key].append(f"{label(key)}, result {i - owners.index(key)}: {difference}")
    marks.update({(key, element): "x" if key in wrong else "ok" for key in keys})
    expect(not wrong, "wrong results:\n  " + "\n  ".join(line for lines in wrong.values() for line in lines))


def check_element(folder, cases, element):
    """All cases of one type."""
    keys = [key for key in cases if allows(key, element) and (key[0], element) not in UNDEFINED]
    function, owners = write(keys, element)
    program, given, wanted, found = (folder / f"program.{kind}" for kind in ("mlir", "in", "wanted", "found"))
    program.write_text(function.text())
    save_file({f"arg{i}": a for i, a in enumerate(function.arguments.values())}, given)
    interpret(program, given, wanted)
    done = compile_(folder, program, keys)
    expect(done.returncode == 0, "refused:\n  " + "\n  ".join(explain_refusal(folder, keys, element))
           if done.returncode else "")
    done = run([folder / "program.bin", f"--inputs={given}", f"--outputs={found}"])
    expect(done.returncode == 0, f"the binary: {done.stderr[-500:]}")
    compare(keys, owners, element, load_file(found), load_file(wanted))
    return f"{len(keys)} cases, {len(owners)} results"


# ---- what came out ------------------------------------------------------------------------------


def row_of(key):
    return [marks.get((key, element), ".") for element in TYPES]


def table():
    """A table of element types by op, or by case if the cases of an op differ."""
    print(f"{'ok: agrees; x: fails; .: no type of the op':<58}"
          + " ".join(f"{element.replace('complex<', 'c<'):>6}" for element in TYPES))
    rows = collections.defaultdict(dict)
    for op, variant in sorted(ALL):
        rows[op][variant] = row_of((op, variant))
    for op, variants in rows.items():
        alike = len({tuple(row) for row in variants.values()}) == 1
        for variant, row in list(variants.items())[: 1 if alike else None]:
            print(f"{op if alike else label((op, variant)):<58}" + " ".join(f"{mark:>6}" for mark in row))
    for name, reason in NO_CASE.items():
        print(f"{name:<58}{reason}")
    for (op, element), reason in UNDEFINED.items():
        print(f"{op:<58}{element}: {reason}")
    count = collections.Counter(marks.values())
    print(f"{count['ok']} of {len(marks)} pairs of case and type agree, {count['x']} fail")


if __name__ == "__main__":
    sys.exit(main(
        ("every op has a case", check_ops), ("types", check_types),
        *((element, lambda folder, e=element: check_element(folder, CASES, e)) for element in TYPES),
        *((f"collectives, {element}", lambda folder, e=element: check_element(folder, COLLECTIVES, e))
          for element in TYPES),
        epilogue=table))
