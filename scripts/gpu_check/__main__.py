"""Runs a bundle of scripts/gpu-bundle.sh on this machine, stage by stage, and writes a table.

  ./gpu-check.sh [--bundle=DIR] [--results=DIR] [--stages=NAME,...] [--seconds=480] [--list]

Needs bash, Python 3.8 or newer, and NVIDIA's driver. It does not need St, and installs nothing. Each stage has a time
limit, 480 s in all, and a log in the folder of the results, with table.txt and table.jsonl. The first failure is run
again with --sync, and each failed row names the call that failed and the next thing to try. The exit code is 1 if a row
failed.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

import diagnosis
import libraries
import outside
import programs
from bundle import Bundle, Damaged
from running import Log
from table import FAILED, Table

HERE = pathlib.Path(__file__).resolve().parent


class Stage:
    def __init__(self, name, limit, run, what):
        self.name, self.limit, self.run, self.what = name, limit, run, what


# Limits in seconds, which leave time to diagnose the first failure.
STAGES = [
    Stage("libraries", 30, libraries.run_stage, "NVIDIA's libraries and their versions, and the GPUs"),
    Stage("loop", 10, programs.run_stage, "one generated kernel"),
    Stage("product", 15, programs.run_stage, "one product of cuBLASLt"),
    Stage("epilogues", 35, programs.run_stage, "each epilogue of cuBLASLt alone"),
    Stage("gpt2-f32", 20, programs.run_stage, "a small GPT-2: one step, then recorded, then replayed"),
    Stage("gpt2-bf16", 15, programs.run_stage, "the same in bf16, dropout on"),
    Stage("attention", 20, programs.run_stage, "without dropout: attention by cuDNN and by generated kernels"),
    Stage("sanitizer", 45, outside.sanitize, "compute-sanitizer on these"),
    Stage("conformance", 45, programs.run_stage, "ops and types against the reference interpreter"),
    Stage("ranks", 30, programs.run_stage, "several ranks, and several processes, on the GPUs that there are"),
    Stage("bert-large", 110, programs.run_stage, "BERT-large in bf16: losses, and timed steps with traces"),
    Stage("pytorch", 60, outside.time_torch, "PyTorch's own step, where there is a python3 with it"),
]
WHOLE_SECONDS = 480


class Check:
    """The state that stages share: the bundle, the table, the results so far, and the folders."""

    def __init__(self, bundle, results, work, seconds):
        self.bundle, self.results, self.work = bundle, results, work
        self.table = Table(results)
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.has = {}  # kind of library -> whether it is usable
        self.gpus, self.chip = [], None
        self.flags = set()  # of training binaries
        self.environment = {"ST_CACHE_DIR": str(results / "cache")}
        for key, value in bundle.manifest.get("environment", {}).items():
            self.environment[key] = value.replace("{bundle}", str(bundle.folder))
        self.is_diagnosed, self.diagnosis_seconds = False, 0


def run_stages(check, names):
    """Later stages may use the time that a stage leaves, and the last stage has all the rest."""
    stages = [stage for stage in STAGES if not names or stage.name in names or stage.name == "libraries"]
    end = time.monotonic()
    for stage in stages:
        log = Log(check.results / ("%02d-%s.log" % (STAGES.index(stage), stage.name)))
        end += stage.limit
        last = check.deadline if stage is STAGES[-1] else min(end + check.diagnosis_seconds, check.deadline)
        if last - time.monotonic() < 1:
            check.table.add(stage.name, "all", FAILED, 0, "not run: the %g seconds of the check are over" % check.seconds,
                            diagnosis.Diagnosis("none", "run this stage alone: --stages=%s" % stage.name), log.path)
            continue
        stage.run(check, stage, log, last)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="gpu-check.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=pathlib.Path, default=HERE.parent, help="default: the folder of this script")
    parser.add_argument("--results", type=pathlib.Path, help="default: gpu-results-DATE-TIME in the current folder")
    parser.add_argument("--stages", default="", help="comma-separated; default: all. The libraries are always looked for")
    parser.add_argument("--seconds", type=float, default=WHOLE_SECONDS)
    parser.add_argument("--list", action="store_true", help="lists the stages and their limits")
    options = parser.parse_args()
    options.stages = [name for name in options.stages.split(",") if name]
    unknown = set(options.stages) - {stage.name for stage in STAGES}
    if unknown:
        parser.error("--stages has no %s; expected some of %s" % (
            ", ".join(sorted(unknown)), ", ".join(stage.name for stage in STAGES)))
    return options


def main():
    options = parse_arguments()
    if options.list:
        for stage in STAGES:
            print("%-12s %4d s  %s" % (stage.name, stage.limit, stage.what))
        return 0
    begin = time.monotonic()
    try:
        bundle = Bundle(options.bundle.resolve())
    except Damaged as error:
        print("gpu-check: error: %s; call: reading the bundle; next: make one by scripts/gpu-bundle.sh, or copy it whole" % error,
              file=sys.stderr)
        return 1
    results = (options.results or pathlib.Path("gpu-results-" + time.strftime("%Y%m%d-%H%M%S"))).resolve()
    results.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="programs-", dir=results))
    try:
        check = Check(bundle, results, work, options.seconds)
        check.table.say("bundle %s of %s, results in %s" % (bundle.folder, bundle.manifest["made_of"], results))
        run_stages(check, options.stages)
        return 0 if check.table.finish(time.monotonic() - begin) else 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
