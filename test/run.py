"""Runs every test and ends with one line: N passed, N failed.

  test/run.py [--only=unit|lit|e2e|fuzz|install] [-v]

Each suite is a separate program. This script runs them, adds up their counts and exits 1 if anything failed or a suite
did not run.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT_FOLDERS = ["e2e", "fuzz", "install"]
BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []  # a line each

    def add(self, passed, failed, skipped=0, failures=()):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.failures += failures


def run_measured(command, **options):
    """Runs a command; returns its exit code, what it printed if that is piped, and the seconds of processors that it and
    its processes took. Those, unlike the seconds that passed, hardly depend on what else the machine does."""
    with subprocess.Popen([str(c) for c in command], text=True, **options) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_utime + usage.ru_stime


def processor_seconds():
    """The sum over all programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_junit(command, xml):
    """Runs a suite that writes a JUnit-style XML report; returns its exit code."""
    xml.unlink(missing_ok=True)
    code, _, processor = run_measured(command)
    print(f"{pathlib.Path(command[0]).name}: {processor:.0f} s of processors", flush=True)
    return code


def read_junit(name, code, xml, counts):
    if not xml.exists():
        print(f"{name}: wrote no report (exit {code})")
        counts.add(0, 1, failures=[f"{name}: wrote no report (exit {code})"])
        return
    root = xml_root(xml)
    suites = root.findall("testsuite") if root.tag == "testsuites" else [root]
    total = failed = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    if total == 0 or (code != 0 and failed == 0):
        failed += 1
    failures = [f"{name}: {case.get('classname')}.{case.get('name')}" for case in root.iter("testcase")
                if case.find("failure") is not None or case.find("error") is not None]
    if failed and not failures:
        failures = [f"{name}: exit {code}, {total} tests"]
    counts.add(max(total - failed - skipped, 0), failed, skipped, failures)


def xml_root(path):
    return xml.etree.ElementTree.parse(path).getroot()


def run_lit(counts, verbose):
    report = BUILD / "lit.xml"
    lit = subprocess.run(["llvm-config-22", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    command = [sys.executable, f"{lit}/lit", "-v" if verbose else "-sv", "--xunit-xml-output", str(report),
               str(BUILD / "test")]
    read_junit("lit", run_junit(command, report), report, counts)


def run_unit(counts, verbose):
    binaries = sorted((BUILD / "bin").glob("st-*unit-tests"))
    if not binaries:
        print("unit: no test binary was built")
        counts.add(0, 1, failures=["unit: no test binary was built"])
    reports = [BUILD / f"{binary.name}.xml" for binary in binaries]
    commands = [[str(binary), f"--gtest_output=xml:{report}"] + ([] if verbose else ["--gtest_brief=1"])
                for binary, report in zip(binaries, reports, strict=True)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(run_junit, commands, reports))
    for binary, code, report in zip(binaries, codes, reports, strict=True):
        read_junit(binary.name, code, report, counts)


def run_script(script):
    """Returns the exit code, the output, the seconds that passed and those of processors."""
    start = time.time()
    code, output, processor = run_measured([sys.executable, script], stdout=subprocess.PIPE)
    return code, output, time.time() - start, processor


# The slowest scripts start first, so that no processor is idle while the last one runs.
LONG = ["test_partition.py", "test_cuda_driver.py", "test_processes.py", "test_exact_sums.py", "test_large_plans.py",
        "test_specs.py", "test_phases.py", "test_jax_plugin.py", "test_import_large.py", "test_bert_large.py",
        "test_cuda_models.py", "test_minilm.py", "test_mutated_binary.py", "test_jax_training.py", "test_jax_specs.py",
        "test_cuda_conformance.py", "test_report.py", "test_gradients.py", "test_jax_hlo.py", "test_cuda_ptx.py",
        "test_family_layouts.py", "test_cuda_libraries.py", "test_batch_rampup.py", "test_cuda_training.py",
        "test_jax_attention.py", "test_jax_binaries.py", "test_jax_plugin_devices.py", "test_megatron_llama.py"]


def run_scripts(folders, counts, verbose):
    """Runs test_*.py scripts, one per processor at a time; each ends with 'N passed, N failed'."""
    scripts = [script for folder in folders for script in sorted((ROOT / "test" / folder).rglob("test_*.py"))]
    scripts.sort(key=lambda script: LONG.index(script.name) if script.name in LONG else len(LONG))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for script, (code, output, seconds, processor) in zip(scripts, pool.map(run_script, scripts), strict=True):
            last = output.strip().splitlines()[-1] if output.strip() else ""
            match = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
            passed, failed = (int(match[1]), int(match[2])) if match else (0, 1)
            if code != 0 and failed == 0:
                failed = 1
            name = f"{script.parent.name}/{script.name}"
            print(f"{name}: {passed} passed, {failed} failed ({seconds:.0f} s, {processor:.0f} s of processors)", flush=True)
            if failed or verbose:
                print(output)
            failures = [f"{name}: {line}" for line in output.splitlines() if line.startswith("FAILED")]
            if failed and not failures:
                failures = [f"{name}: exit {code}, last line \"{last}\""]
            counts.add(passed, failed, failures=failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["unit", "lit", *SCRIPT_FOLDERS])
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    counts = Counts()
    suites = {
        "unit": lambda: run_unit(counts, options.verbose),
        "lit": lambda: run_lit(counts, options.verbose),
        "scripts": lambda: run_scripts([options.only] if options.only else SCRIPT_FOLDERS, counts, options.verbose),
    }
    wanted = "scripts" if options.only in SCRIPT_FOLDERS else options.only
    for name, suite in suites.items():
        if wanted in (None, name):
            start, before = time.time(), processor_seconds()
            suite()
            print(f"-- {name}: {time.time() - start:.0f} s, {processor_seconds() - before:.0f} s of processors", flush=True)
    # Again at the end, where a reader of a long log finds them.
    for failure in counts.failures:
        print(f"failed: {failure[:400]}")
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    print(f"{counts.passed} passed, {counts.failed} failed{skipped}")
    return 1 if counts.failed or counts.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
