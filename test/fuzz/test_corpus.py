"""Runs the fuzz targets on their corpus, and on the files of the examples and tests: no crash, no trap.

scripts/fuzz.sh looks for more with libFuzzer under AddressSanitizer and UBSan.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from inputs import ROOT, from_tree, kept, write

BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"


def replay(target):
    with tempfile.TemporaryDirectory() as folder:
        files = write([*kept(target), *from_tree(target)], pathlib.Path(folder))
        if not files:
            return "no inputs"
        done = subprocess.run([BIN / f"st-fuzz-{target}", *files], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return f"exit {done.returncode}\n{done.stderr[-2000:]}"
    return None if f"{len(files)} inputs" in done.stdout else f"printed {done.stdout!r}"


def main():
    passed = failed = 0
    for binary in sorted(BIN.glob("st-fuzz-*")):
        problem = replay(binary.name.removeprefix("st-fuzz-"))
        print(f"{'FAILED ' if problem else 'ok     '} {binary.name}" + (f": {problem}" if problem else ""))
        failed, passed = failed + bool(problem), passed + (not problem)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
