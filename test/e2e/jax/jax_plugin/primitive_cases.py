"""JAX's own cases of all primitives, on one simulated device and on JAX's CPU, with equal results.

    primitive_cases.py [--every=N] [--first=N] [--only=TEXT] [--processes=N] [--log=FILE]

The cases come from the package jax (jax._src.internal_test_util.test_harnesses). Cases that the CPU cannot run do not
count. Prints the share of passing cases, and the number of failures per reason. ST_ALL=1 runs every case.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Relative tolerance, also relative to the largest element: sums may have another order.
TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-11, "complex64": 1e-5,
              "complex128": 1e-11}

# Names of cases whose result has no meaning, and why.
EXCLUDED = {r"^sort_multiple_arrays.*isstable_False": "equal keys of a sort that is not stable come in any order"}


def setup():
    os.environ["JAX_PLATFORMS"] = "st,cpu"
    os.environ.setdefault("ST_DEVICES", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def all_cases():
    from jax._src.internal_test_util import test_harnesses

    return test_harnesses.all_harnesses


def difference(np, found, wanted):
    """Describes the error of a result; empty if there is none."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"is {found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    tolerance = TOLERANCES.get(str(wanted.dtype))
    if tolerance is None:
        count = int((found != wanted).sum())
        return f"{count} of {wanted.size} elements differ" if count else ""
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    found, wanted = found.astype(wide), wanted.astype(wide)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        finite = np.isfinite(wanted)
        scale = np.abs(wanted[finite]).max(initial=0.0)
        near = np.abs(found - wanted) <= tolerance * (np.abs(wanted) + scale)
    wrong = ~(same | near)
    if not wrong.any():
        return ""
    with np.errstate(all="ignore"):
        worst = np.nanmax(np.abs(found - wanted)[wrong], initial=0.0)
    return f"{int(wrong.sum())} of {wanted.size} elements differ, by {worst:.3g} where the largest is {scale:.3g}"


def canonical(np, group, values, arguments):
    """Maps results that have several correct forms to a common form: eigenvectors have no sign."""
    values = [np.asarray(value) for value in values]
    if group == "approx_top_k":
        # Equal elements come in any order.
        return [values[0], np.take_along_axis(np.asarray(arguments[0]), values[1], axis=-1)]
    if group == "eigh" and len(values) == 2:
        vectors, numbers = values
        return [numbers, vectors * numbers[..., None, :] @ np.conj(np.swapaxes(vectors, -1, -2))]
    if group == "svd" and len(values) == 3:
        numbers, u, v = sorted(values, key=lambda value: value.ndim)
        count = numbers.shape[-1]
        identity = [np.conj(np.swapaxes(m, -1, -2)) @ m for m in (u, np.swapaxes(v, -1, -2))]
        return [numbers, u[..., :count] * numbers[..., None, :] @ v[..., :count, :], *identity]
    # Elements above the factor are unspecified.
    return [np.tril(values[0])] if group == "cholesky" else values


def reason(error):
    """An error without the parts that differ from case to case."""
    text = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
    text = re.sub(r"<unknown>|<function>:\d+:\d+: |\(.*?\)|tensor<[^>]*>+|\d+", "", text)
    return f"{type(error).__name__}: {text[:110]}"


def run_case(jax, np, case):
    """The outcome of a case and its reason: passed, failed, excluded, or skipped if the CPU cannot run it."""
    for pattern, why in EXCLUDED.items():
        if re.search(pattern, case.fullname):
            return "excluded", why
    rng = np.random.RandomState(0)
    try:
        arguments = case.dyn_args_maker(rng)
        with jax.default_device(jax.devices("cpu")[0]):
            wanted = jax.tree.map(np.asarray, jax.jit(case.dyn_fun)(*arguments))
    except Exception as error:  # noqa: BLE001 - a case that fails on the CPU does not count
        return "skipped", reason(error)
    try:
        with jax.default_device(jax.devices("st")[0]):
            found = jax.tree.map(np.asarray, jax.jit(case.dyn_fun)(*arguments))
    except Exception as error:  # noqa: BLE001 - the reasons are what this counts
        return "failed", reason(error)
    found, wanted = (canonical(np, case.group_name, jax.tree.leaves(values), arguments) for values in (found, wanted))
    faults = [difference(np, f, w) for f, w in zip(found, wanted, strict=True)]
    faults = [fault for fault in faults if fault]
    return ("failed", f"wrong result: {faults[0]}") if faults else ("passed", "")


def work(numbers, log):
    """Runs cases in this process, a line of JSON each."""
    jax = setup()
    import numpy as np

    cases = all_cases()
    with open(log, "a", encoding="utf-8") as file:
        for number in numbers:
            # If the process dies, this line tells in which case.
            file.write(json.dumps({"begin": number}) + "\n")
            file.flush()
            outcome, why = run_case(jax, np, cases[number])
            if why.startswith("wrong result"):
                why = f"wrong result of {cases[number].group_name}: {why}"
            file.write(json.dumps({"number": number, "name": cases[number].fullname, "group": cases[number].group_name,
                                   "outcome": outcome, "why": why}) + "\n")
            file.flush()
            if number % 50 == 0:
                jax.clear_caches()


def run_processes(numbers, processes, folder):
    """Runs all cases, continues in a new process if one dies, and returns their lines."""
    lists = [numbers[i::processes] for i in range(processes)]
    done = {}
    while any(lists):
        running = []
        for i, part in enumerate(lists):
            log = folder / f"{i}.log"
            log.unlink(missing_ok=True)
            text = ",".join(map(str, part))
            if part:
                running.append((i, log, subprocess.Popen(
                    [sys.executable, __file__, f"--log={log}"], stdin=subprocess.PIPE, text=True,
                    env={**os.environ, "ST_CASES": ""})))
                running[-1][2].stdin.write(text)
                running[-1][2].stdin.close()
        for i, log, process in running:
            process.wait()
            lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
            begun = [line["begin"] for line in lines if "begin" in line]
            for line in lines:
                if "number" in line:
                    done[line["number"]] = line
            if begun and begun[-1] not in done:
                done[begun[-1]] = {"number": begun[-1], "name": str(begun[-1]), "group": "?", "outcome": "failed",
                                   "why": f"the process ends with {process.returncode}"}
            if not begun:
                raise SystemExit(f"a process ends with {process.returncode} before its first case")
            lists[i] = [number for number in lists[i] if number not in done]
    return [done[number] for number in numbers]


def report(lines):
    counts = collections.Counter(line["outcome"] for line in lines)
    total = counts["passed"] + counts["failed"]
    reasons = collections.defaultdict(list)
    for line in lines:
        if line["outcome"] == "failed":
            reasons[re.sub(r"\d[\d.e+-]*", "N", line["why"])].append(line["name"])
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} {why}   ({names[0]})")
    for why, count in collections.Counter(line["why"] for line in lines if line["outcome"] == "excluded").items():
        print(f"{count:5} excluded: {why}")
    print(f"{counts['passed']} of {total} cases pass, {100 * counts['passed'] / max(total, 1):.1f} %; "
          f"{counts['skipped']} do not run on JAX's CPU")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="run every n-th case")
    parser.add_argument("--first", type=int, default=0, help="the first case")
    parser.add_argument("--only", default="", help="cases whose name contains a text")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--log", help="(of a process that runs cases) the file that gets a line for each")
    parser.add_argument("--out", help="a file that gets a line of JSON for each case")
    options = parser.parse_args()
    if options.log:
        return work([int(n) for n in sys.stdin.read().split(",") if n], options.log)
    setup()
    cases = all_cases()
    every = 1 if os.environ.get("ST_ALL") else options.every
    numbers = [i for i in range(options.first, len(cases), every) if options.only in cases[i].fullname]
    with tempfile.TemporaryDirectory() as folder:
        lines = run_processes(numbers, options.processes, pathlib.Path(folder))
    if options.out:
        pathlib.Path(options.out).write_text("".join(json.dumps(line) + "\n" for line in lines))
    counts = report(lines)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
