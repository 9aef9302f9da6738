"""Compares the pipeline schedules of emitted programs with the formulas of the papers that describe them.

Every task takes one unit of time; a backward task that also makes gradients of weights takes two. The bubble is the
longest time that a group idles between its first and its last task, without the update. The stash is the number of
micro-batches that a group holds at once, in units of the activations of one micro-batch on one group.
"""

import pathlib
import random
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from pipeline_programs import chain
from st_testing import BIN, check_run, expect, main

GROUPS = range(2, 17)

# For p groups, v virtual stages each, and m micro-batches: the bubble in tasks of one virtual stage, the peak stash,
# and the values of m for which the source claims them. F = B = W = 1.
FORMULAS = {
    # One group works at a time: the work of the others on a micro-batch is idle time.
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


def rows_of(text):
    """The columns of each group's line in a table of --timeline."""
    return [line.split() for line in text.splitlines() if re.match(r"group\d+ +[\d,]+ +[\d.]+ ", line)]


def timelines(folder, programs, backward):
    """(bubble, peak stash) of the worst group of each program; one process for all of them."""
    (folder / "steps.mlir").write_text("\n// -----\n".join(programs))
    check_run([BIN / "st-opt", "--split-input-file", "--split-tasks", "--schedule-pipeline", folder / "steps.mlir",
               "-o", folder / "scheduled.mlir"])
    done = check_run([BIN / "st-translate", "--split-input-file", "--timeline", f"--task-times=backward={backward}",
                      folder / "scheduled.mlir"])
    found = []
    for part in re.split(r"^group +stages.*$", done.stdout, flags=re.M)[1:]:
        rows = rows_of(part)
        found.append((max(float(r[5]) for r in rows), max(float(r[7]) for r in rows)))
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


def layout(kind, groups, virtual=0, micro=4):
    more = {"schedule": kind} | ({"virtual_stages": virtual} if virtual else {})
    return st.layout(groups, 2, "hybrid", accum=micro) | more


def barrier_is_reported(folder):
    """The norm of all gradients makes every update wait for the last group. zb-h2 does not avoid this bubble by
    validation."""
    def barriers(*flags):
        config = st.write_json(folder / "gpt2" / "config.json", st.SMALL_GPT2).parent
        parallel = st.write_json(folder / "layout.json", layout("zb-h2", 4, micro=8))
        check_run([BIN / "st-compile", config, "--task=clm", "--batch=8", "--seq=16", f"--parallel={parallel}", *flags,
                   "--compile-to=scheduled", "-o", folder / "scheduled.mlir"])
        table = rows_of(check_run([BIN / "st-translate", "--timeline", folder / "scheduled.mlir"]).stdout)
        expect(all(float(row[5]) == 0 for row in table), f"idle within the pipeline: {table}")
        return [float(row[6]) for row in table]
    # Tied embeddings exchange their gradients: group 0 waits for the last one with and without a norm.
    expect(barriers() == [3, 0, 0, 0], f"without a norm: {barriers()}")
    found = barriers("--clip-norm=1")
    expect(found == [3, 2, 1, 0], f"with a norm: {found}")
    return f"waits of {found} forward times"


def random_order(groups, micro, virtual, draw):
    """A list for each group, from a random valid order of all tasks, so it has no deadlock."""
    ready = {(kind, stage, m): None for kind in "FBW" for stage in range(groups * virtual) for m in range(micro)}
    last = groups * virtual - 1
    def needs(kind, stage, m):
        # Micro-batches pass a stage in order.
        before = [(kind, stage, m - 1)] if m else []
        if kind == "F":
            return before + ([("F", stage - 1, m)] if stage else [])
        if kind == "B":
            return before + [("F", stage, m)] + ([("B", stage + 1, m)] if stage < last else [])
        return before + [("B", stage, m)]
    lists, done = [[] for _ in range(groups)], set()
    while len(done) < len(ready):
        task = draw.choice([t for t in ready if t not in done and all(n in done for n in needs(*t))])
        done.add(task)
        kind, stage, m = task
        lists[stage % groups].append(f"{kind}{stage // groups}.{m}" if stage // groups else f"{kind}{m}")
    return lists


def without_weights(lists):
    return [[task for task in order if task[0] != "W"] for order in lists]


def listed_layouts():
    draw = random.Random(5)
    for groups, virtual in ((2, 1), (4, 1), (2, 2)):
        for keep in (lambda lists: lists, without_weights):
            yield layout(keep(random_order(groups, 4, virtual, draw)), groups, virtual)


def listed_is_pattern(folder):
    """A list equal to a pattern gives the same schedule."""
    lists = [["F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"], ["F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3"]]
    found = []
    for schedule in (lists, "1f1b"):
        config = st.write_json(folder / "gpt2" / "config.json", st.SMALL_GPT2).parent
        parallel = st.write_json(folder / "layout.json", layout(schedule, 2))
        check_run([BIN / "st-compile", config, "--task=clm", "--batch=8", "--seq=16", f"--parallel={parallel}",
                   "--compile-to=scheduled", "-o", folder / "scheduled.mlir"])
        found.append(re.findall(r'st\.schedule "\w+" (.*)', (folder / "scheduled.mlir").read_text()))
    expect(len(found[0]) == 2 and found[0] == found[1], f"{found}")
    return f"{len(found[0])} groups"


def listed_deadlock(folder):
    """Each group waits for a later task of the other: an error names them."""
    lists = [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]]
    config = st.write_json(folder / "gpt2" / "config.json", st.SMALL_GPT2).parent
    parallel = st.write_json(folder / "layout.json", layout(lists, 2, micro=2))
    done = st.run([BIN / "st-compile", config, "--task=clm", "--batch=8", "--seq=16", f"--parallel={parallel}",
                   "-o", folder / "out"])
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    expect(done.returncode == 1 and len(errors) == 1 and "waits forever" in errors[0], done.stderr[-800:])
    return errors[0][-120:]


def trains_alike(config, task, layouts):
    """Losses of a pipeline equal those of one device, with dropout."""
    def check(folder):
        def losses(name, parallel):
            return st.losses(st.train(st.compile_model(folder, name, config, task, parallel, "--clip-norm=1", batch=8),
                                      steps=4))
        alone = losses("alone", None)
        expect(alone[0] != alone[-1], "the loss does not move")
        worst = 0.0
        for i, parallel in enumerate(layouts):
            found = losses(f"layout{i}", parallel)
            worst = max(worst, st.relative_difference(alone, found))
            expect(worst <= 1e-5, f"{parallel['schedule']}: {found}, on one device {alone}")
        return f"{len(layouts)} layouts, losses within {worst:.1e}"
    return check


# GPT-2's embeddings are tied: under zb-v both ends of the model share a group and the parameter.
TRAINING = [
    ("gpt2", st.SMALL_GPT2, "clm", [layout("zb-h1", 2), layout("zb-h2", 4), layout("zb-v", 2), layout("zb-v", 4),
                                    layout("interleaved", 2, 2), layout("interleaved", 2, 4)]),
    ("bert", st.SMALL_BERT, "mlm", [layout("zb-h1", 4), layout("zb-v", 2), layout("interleaved", 4, 2),
                                    layout("zb-h1", 2, micro=1)]),
]

CASES = [(f"{kind}, {virtual} virtual stages", follows(kind, virtual))
         for kind in FORMULAS for virtual in VIRTUAL.get(kind, (1,))]
CASES += [("the barrier of a norm", barrier_is_reported), ("a list is its pattern", listed_is_pattern),
          ("a list that deadlocks", listed_deadlock)]
TRAINING += [("gpt2, listed", st.SMALL_GPT2, "clm", list(listed_layouts()))]
CASES += [(f"{name} trains alike", trains_alike(config, task, layouts)) for name, config, task, layouts in TRAINING]

if __name__ == "__main__":
    sys.exit(main(*st.drawn_part(CASES, 2)))
