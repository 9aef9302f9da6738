"""The simulated and the measured step of the published 4 x 8 case, and the single changes that would explain the difference.

  benchmarks/published_step.py [--figures=NAME,...] [--no-recompile] [--build=build] [--json=FILE]

Published: BERT-large, 4 stages of 8 shards on 32 clusters, batch 1, sequence 384, not pipelined, `avg_step_fps` 0.247,
read as steps a second; nothing for 8 stages x 4 shards. The run's times, software and card are unknown, so nothing is
fitted: the descriptions do not change. For each figure of the device description this finds the smallest change of that
figure alone, towards slower, with which the simulated step takes the published time, without recompiling the program. Then
it compiles for the changed description, and prints both times for 8 x 4. Figures that change the program itself (sizes,
engines, cores) are halved, with recompilation, down to the last size that compiles; powers of two are taken at their worst
value.
Simulated times depend only on the compiled program, not on the load of the machine.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())
import figures
import test_mutated_binary as mutated

PUBLISHED = 0.247  # avg_step_fps, steps a second
CASES = {case: ROOT / f"examples/parallel/bert-large-dtu-{case}.json" for case in ("4x8", "8x4")}
DEVICE = ROOT / "devices/dtu-t10.textproto"
SIZES = ("l1_bytes_per_core", "l2_bytes_per_cluster", "dte_per_chip", "cores_per_cluster")
POWERS = {"l3_burst_bytes": 4096, "l1_banks": 1}  # of two, each with its worst value
NOT_TIMES = (*SIZES, "l3_bytes_per_chip", "host_bytes_per_chip", *POWERS)
MOST = 1e7  # times slower; larger factors are not tried
CLOSE = 5e-4


def description():
    """{name: value} of the description."""
    return {name: float(value)
            for name, value in re.findall(r"(?m)^(\w+)(?: { value)?: ([\d.]+)", DEVICE.read_text())}


def is_delay(name):
    return name.endswith(("_ns", "_cycles"))


def compile_case(options, folder, case, changed=None):
    """Returns a binary for a description with one changed figure, or the compiler's error."""
    device = DEVICE
    if changed:
        name, value = changed
        text, count = re.subn(rf"(?m)^({name}(?: {{ value)?: )[^\s}}]+", rf"\g<1>{value:.12g}", DEVICE.read_text())
        if count != 1:
            sys.exit(f"{DEVICE}: {count} figures {name}")
        device = folder / "device.textproto"
        device.write_text(text)
    binary = folder / f"step-{case}"
    done = subprocess.run(
        [ROOT / options.build / "bin/st-compile", "-q", ROOT / "examples/models/bert-large-uncased", "--task=span",
         "--batch=1", "--seq=384", f"--parallel={CASES[case]}", f"--target={device}", "--optimizer=adamw",
         "--lr=1e-5", "--predict=false", "-o", binary], capture_output=True, text=True)
    return (binary, None) if done.returncode == 0 else (None, done.stderr.strip().splitlines()[-1])


def seconds(binary):
    report = binary.with_suffix(".json")
    done = subprocess.run([binary, "--timing-only", f"--report={report}"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{binary}: {done.stderr.strip()}")
    return json.loads(report.read_text())["sim_ms"] / 1e3


class Program:
    """A compiled step whose description can change while its instructions stay the same."""

    def __init__(self, binary, folder):
        self.mutator = mutated.Mutator(binary)
        self.path = folder / f"{binary.name}-changed"
        numbers = {field[0]: number for number, field in mutated.MESSAGES["DtuDescription"].items()}
        program = {field[0]: number for number, field in mutated.MESSAGES["Executable"].items()}
        description = next(value for number, value in self.mutator.program if number == program["dtu"])
        self.fields = {name: next((value for n, value in description if n == number), None)
                       for name, number in numbers.items()}

    def seconds(self, name, value, **others):
        """The step with one figure changed, or several."""
        kept = {}
        for changed, number in {name: value, **others}.items():
            figure = self.fields[changed]
            kept[changed], figure[0][1] = figure[0][1], float(number)
        self.mutator.write(self.path)
        for changed, number in kept.items():
            self.fields[changed][0][1] = number
        return seconds(self.path)


def search(program, name, value, base, target):
    """Returns the factor by which a figure must be slower for the step to take `target`, and the time of that step;
    if no factor up to MOST is enough, returns None and the time at MOST."""
    def step(factor):
        return program.seconds(name, value * factor if is_delay(name) else value / factor)

    low, at_low, high, at_high = 1.0, base, None, None
    factor = 2.0
    while high is None:
        at = step(factor)
        if at >= target:
            high, at_high = factor, at
        elif factor >= MOST or (factor >= 1e3 and at <= base * (1 + 1e-9)):
            return None, at, factor
        else:
            slope = (at - at_low) / (factor - low)
            low, at_low = factor, at
            guess = factor + 1.02 * (target - at) / slope if slope > 0 else 0
            factor = min(max(2 * factor, min(guess, 50 * factor)), MOST)
    for turn in range(40):
        if (high - low) / high < 1e-5 or min(abs(at_low - target), abs(at_high - target)) < CLOSE * target:
            break
        middle = low + (high - low) * (target - at_low) / (at_high - at_low)
        if turn % 3 == 2:
            middle = (low + high) / 2
        at = step(middle)
        if at >= target:
            high, at_high = middle, at
        else:
            low, at_low = middle, at
    return (high, at_high, None) if abs(at_high - target) <= abs(at_low - target) else (low, at_low, None)


def halves(options, folder, name, value):
    """The step for a figure that is halved again and again, until the program does not compile."""
    rows = []
    while value >= 2:
        value = int(value) // 2
        binary, error = compile_case(options, folder, "4x8", (name, value))
        if not binary:
            return rows, f"{value:g}: {error}"
        other, error = compile_case(options, folder, "8x4", (name, value))
        rows.append((value, seconds(binary), seconds(other) if other else error))
    return rows, ""


def count_kernels(binary, options):
    """Kernels that a cluster runs in a step, for each device group, and the clusters of a group."""
    text = subprocess.run([ROOT / options.build / "bin/st-translate", "--executable-to-text", binary],
                          capture_output=True, text=True, check=True).stdout
    groups = []
    for part in re.split(r"(?m)^group ", text)[1:]:
        ranks = re.search(r"ranks (\d+) to (\d+)", part)
        tasks = 0
        for program in re.split(r"(?m)^program ", part)[1:]:
            tasks += len(set(re.findall(r"(?m)^    label (\d+)$", program)))
        groups.append((tasks, int(ranks[2]) - int(ranks[1]) + 1))
    return groups


def print_value(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def print_step(step):
    return step if isinstance(step, str) else f"{step * 1e3:,.1f}" if step < 1 else f"{step * 1e3:,.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", default="")
    parser.add_argument("--no-recompile", action="store_true")
    parser.add_argument("--build", default="build")
    figures.add_option(parser)
    options = parser.parse_args()
    found = figures.Figures(options.json, "simulation", figures.SIMULATED)
    every = description()
    wanted = options.figures.split(",") if options.figures else list(every)
    target = 1 / PUBLISHED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs, base = {}, {}
        for case in CASES:
            binary, error = compile_case(options, folder, case)
            if not binary:
                sys.exit(error)
            base[case] = seconds(binary)
            programs[case] = Program(binary, folder)
            print(f"{case}: simulated {base[case] * 1e3:.3f} ms, avg_step_fps {1 / base[case]:.3f}")
            groups = count_kernels(binary, options)
            chain, all_of_them = sum(kernels for kernels, _ in groups), sum(kernels * ranks for kernels, ranks in groups)
            print(f"  {chain} kernels one after the other, {all_of_them} on all clusters: (published - simulated) / that is "
                  f"{(target - base[case]) / chain * 1e6:,.0f} and {(target - base[case]) / all_of_them * 1e6:,.0f} us")
        for case, simulated in base.items():
            baseline = {"name": "published", "value": target * 1e3} if case == "4x8" else None
            found.add(f"BERT-large, {case}, T10, avg_step_fps {PUBLISHED}", simulated * 1e3, "ms a step", baseline=baseline)
        print(f"published for 4x8: avg_step_fps {PUBLISHED}, {target * 1e3:.0f} ms, "
              f"{target / base['4x8']:.1f} times the simulated step\n")
        print("| figure | is | would have to be | times slower | 4x8 then, ms | compiled for it, ms | 8x4 then, ms "
              "| compiled for it, ms |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name in wanted:
            value = every[name]
            if name in NOT_TIMES or not (is_delay(name) or name.endswith(("_second", "_ghz", "_cycle"))):
                continue
            factor, step, limit = search(programs["4x8"], name, value, base["4x8"], target)
            if factor is None:
                far = value * limit if is_delay(name) else value / limit
                print(f"| `{name}` | {print_value(value)} | cannot: at {far:.4g} the step is {print_step(step)} ms "
                      "| | | | | |", flush=True)
                continue
            needed = value * factor if is_delay(name) else value / factor
            again = {"4x8": "", "8x4": ""}
            if not options.no_recompile:
                for case in CASES:
                    binary, error = compile_case(options, folder, case, (name, needed))
                    again[case] = print_step(seconds(binary)) if binary else error
            other = programs["8x4"].seconds(name, needed)
            print(f"| `{name}` | {print_value(value)} | {print_value(needed)} | {factor:,.1f} | {print_step(step)} "
                  f"| {again['4x8']} | {print_step(other)} | {again['8x4']} |", flush=True)
        for name, worst in POWERS.items():
            if name in wanted:
                steps = [print_step(program.seconds(name, worst)) for program in programs.values()]
                print(f"| `{name}` | {print_value(every[name])} | cannot: {worst}: {steps[0]} ms (8x4 {steps[1]}) "
                      "| | | | | |", flush=True)
        for name in SIZES:
            if name not in wanted or options.no_recompile:
                continue
            rows, why = halves(options, folder, name, every[name])
            said = ", ".join(f"{value:g}: {print_step(step)} ms (8x4 {print_step(other)})" for value, step, other in rows)
            print(f"| `{name}` | {print_value(every[name])} | cannot: {said}; {why} | | | | | |", flush=True)


if __name__ == "__main__":
    main()
