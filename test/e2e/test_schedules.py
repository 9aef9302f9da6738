"""Pipeline schedules against the formulas of the papers that describe them, on the programs that are emitted.

Every task takes one unit of time; a backward task that also makes gradients of weights takes two. The bubble is the
longest time that a group idles between its first and its last task, the update left out; the stash is how many
micro-batches a group holds at once, in units of the activations of one micro-batch on one group.
"""

import re
import sys

from pipeline_programs import chain
from st_testing import BIN, check_run, expect, main

GROUPS = range(2, 17)

# Of p groups, v virtual stages each, and m micro-batches: the bubble in tasks of one virtual stage, the peak stash, and
# the m for which the source claims them. F = B = W = 1.
FORMULAS = {
    # One group works at a time: what the others do to a micro-batch is idle time.
    "sequential": (lambda p, v, m: 3 * (p - 1) * m, lambda p, v, m: 1, lambda p, m: True),
    # Huang et al., "GPipe", NeurIPS 2019: (p-1)(F+B+W); all micro-batches are held.
    "gpipe": (lambda p, v, m: 3 * (p - 1), lambda p, v, m: m, lambda p, m: True),
    # Narayanan et al., SC 2021, 2.2.1: the same bubble with at most p micro-batches.
    "1f1b": (lambda p, v, m: 3 * (p - 1), lambda p, v, m: min(p, m), lambda p, m: True),
    # Narayanan et al., SC 2021, 2.2.2: 1/v of it; p(1 + (p-1)/(pv)) micro-batches (Korthikanti et al., MLSys 2023, 4.2.3).
    "interleaved": (lambda p, v, m: 3 * (p - 1), lambda p, v, m: min(p + (p - 1) / v, m), lambda p, m: m % p == 0),
    # Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, table 2 and section 6.
    "zb-h1": (lambda p, v, m: p - 1, lambda p, v, m: p, lambda p, m: True),
    "zb-h2": (lambda p, v, m: 0, lambda p, v, m: 2 * p - 1, lambda p, m: m >= 2 * p - 1),
    "zb-v": (lambda p, v, m: 0, lambda p, v, m: p, lambda p, m: m >= 2 * p - 1),
}
VIRTUAL = {"interleaved": (2, 3, 4), "zb-v": (2,)}


def timelines(folder, programs, backward):
    """(bubble, peak stash) of the worst group of each program; one process for all of them."""
    (folder / "steps.mlir").write_text("\n// -----\n".join(programs))
    check_run([BIN / "st-opt", "--split-input-file", "--split-tasks", "--schedule-pipeline", folder / "steps.mlir",
               "-o", folder / "scheduled.mlir"])
    done = check_run([BIN / "st-translate", "--split-input-file", "--timeline", f"--task-times=backward={backward}",
                      folder / "scheduled.mlir"])
    found = []
    for part in re.split(r"^group +stages.*$", done.stdout, flags=re.M)[1:]:
        rows = [line.split() for line in part.splitlines() if re.match(r"group\d+ +[\d,]+ +[\d.]+ ", line)]
        found.append((max(float(r[5]) for r in rows), max(float(r[6]) for r in rows)))
    expect(len(found) == len(programs), f"{len(found)} timelines of {len(programs)} programs")
    return found


def follows(kind, virtual):
    bubble, stash, claimed = FORMULAS[kind]

    def check(folder):
        cases = [(p, m) for p in GROUPS for m in range(p, 4 * p + 1) if claimed(p, m)]
        found = timelines(folder, [chain(p, m, kind, virtual) for p, m in cases],
                          backward=1 if kind.startswith("zb") else 2)
        for (p, m), (idle, held) in zip(cases, found, strict=True):
            expect(idle == bubble(p, virtual, m), f"p={p}, m={m}: bubble {idle}, formula {bubble(p, virtual, m)}")
            expect(abs(held - stash(p, virtual, m)) < 2e-3, f"p={p}, m={m}: stash {held}, formula {stash(p, virtual, m)}")
        return f"{len(cases)} pairs of p in 2..16 and m in p..4p"
    return check


CASES = [(f"{kind}, {virtual} virtual stages", follows(kind, virtual))
         for kind in FORMULAS for virtual in VIRTUAL.get(kind, (1,))]

if __name__ == "__main__":
    sys.exit(main(*CASES))
