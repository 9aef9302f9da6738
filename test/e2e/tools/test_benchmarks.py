"""Benchmarks report a peer that is missing, is killed or fails as a row and go on, and docs/performance.md shows the stored
figures."""

import json
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

sys.path.insert(0, str(st.ROOT / "benchmarks"))
import figures
import report

STEP = st.ROOT / "benchmarks/bert_large_step.py"
GOOD = """#!/bin/sh
echo '{"peer": "PyTorch", "version": "9.9", "seconds": [2.0, 3.0], "losses": [1.0, 1.0], "bytes": 1048576}'
"""


def script(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def rows_of(file):
    return {row["case"].rsplit(": ", 1)[1]: row for row in json.loads(file.read_text())["rows"]}


def failing_peers(folder):
    """JAX is killed, sharded JAX fails with it, PyTorch runs; then PyTorch is missing and JAX prints no JSON."""
    stored, good = folder / "figures.json", script(folder, "good", GOOD)
    common = [sys.executable, STEP, "--types=f32", "--dropouts=0.1", "--rounds=2", "--steps=1", f"--json={stored}"]
    killed = script(folder, "killed", "#!/bin/sh\nkill -9 $$\n")
    done = st.check_run([*common, "--peers=jax,sharded,torch", f"--jax-python={killed}", f"--torch-python={good}"])
    rows = rows_of(stored)
    st.expect(rows["JAX"].get("failed") == rows["JAX 4x8"].get("failed") == "killed by SIGKILL", f"{rows}")
    st.expect(rows["PyTorch 9.9"]["value"] == 2.5, f"{rows}")
    st.expect("| JAX, dropout 0.1 | killed by SIGKILL |" in done.stdout and "| PyTorch 9.9 | 2.50 |" in done.stdout, done.stdout)
    talks = script(folder, "talks", "#!/bin/sh\necho warming up\n")
    st.check_run([*common, "--peers=jax,torch", f"--jax-python={talks}", f"--torch-python={folder / 'none'}"])
    rows = rows_of(stored)
    st.expect(rows["JAX"]["failed"] == "expected a line of JSON, found 'warming up'", f"{rows}")
    st.expect(rows["PyTorch"]["failed"].startswith("missing: ") and "PyTorch 9.9" in rows, f"{rows}")
    return f"{len(rows)} rows"


def failing_peers_of_gpus(folder):
    """The same for the GPU benchmark: eager PyTorch fails with a message, and JAX has no module."""
    stored = folder / "figures.json"
    fails = script(folder, "fails", "#!/bin/sh\necho out of memory >&2\nexit 3\n")
    lacks = script(folder, "lacks", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'jax'\" >&2\nexit 1\n")
    done = st.check_run([sys.executable, st.ROOT / "benchmarks/gpu_step.py", "--target=cuda-host", "--peers=torch,jax",
                         "--sizes=1x384", "--rounds=1", "--steps=1", f"--json={stored}", f"--torch-python={fails}",
                         f"--jax-python={lacks}"])
    rows = rows_of(stored)
    st.expect(rows["PyTorch"]["failed"] == "exit 3: out of memory", f"{rows}")
    st.expect(rows["JAX"]["failed"] == "missing: ModuleNotFoundError: No module named 'jax'", f"{rows}")
    st.expect("| PyTorch | exit 3: out of memory |" in done.stdout, done.stdout)


def tables(folder):
    """The page agrees with the files; a changed figure or a missing key is an error."""
    command = [sys.executable, st.ROOT / "benchmarks/report.py", "--check"]
    st.check_run(command)
    changed = folder / "figures"
    changed.mkdir()
    for path in (st.ROOT / "benchmarks/figures").glob("*.json"):
        (changed / path.name).write_text(path.read_text())
    found = json.loads((changed / "schedules.json").read_text())
    found["rows"][0]["value"] *= 2
    (changed / "schedules.json").write_text(json.dumps(found))
    done = st.run([*command, f"--figures={changed}"])
    st.expect(done.returncode == 1 and "run benchmarks/report.py" in done.stderr, done.stderr)
    del found["rows"][0]["commit"]
    (changed / "schedules.json").write_text(json.dumps(found))
    done = st.run([*command, f"--figures={changed}"])
    st.expect(done.returncode == 1 and "expected the keys commit" in done.stderr, done.stderr)


def numbers(folder):
    found = [report.number(value) for value in (48.135372145, 0.000123456, 741515, 1020.2, "6 to 7", 100)]
    st.expect(found == ["48.14", "0.0001235", "741,500", "1,020", "6 to 7", "100"], f"{found}")
    row = {"case": "a | b", "failed": "killed by SIGKILL", "command": "x", "machine": "m", "commit": "c"}
    st.expect("| a \\| b | none: killed by SIGKILL |  | 1 |" in report.table([row]), report.table([row]))


def merging(folder):
    """A case that is measured again replaces its row, and other cases stay."""
    stored = folder / "figures.json"
    figures.Figures(stored, "layouts", figures.SIMULATED).add("one", 1, "ms")
    both = figures.Figures(stored, "layouts", figures.SIMULATED)
    both.add("two", 2, "ms")
    both.add("one", 3, "ms", baseline={"name": "two", "value": 2})
    rows = json.loads(stored.read_text())["rows"]
    st.expect([(row["case"], row["value"]) for row in rows] == [("one", 3), ("two", 2)], f"{rows}")


if __name__ == "__main__":
    sys.exit(st.main(
        ("failing peers", failing_peers), ("failing peers of GPUs", failing_peers_of_gpus), ("tables", tables),
        ("numbers", numbers), ("merging", merging)))
