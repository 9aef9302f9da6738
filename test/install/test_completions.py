"""Completes command lines in bash, and in zsh where that is installed, with the files that scripts/completions.py writes."""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"
TOOLS = ["st-compare", "st-compile", "st-fit", "st-lsp-server", "st-opt", "st-plan", "st-reduce", "st-runner", "st-translate", "st-tune"]

# The typed text, and the expected candidates; the last: whether other candidates are errors.
CASES = [
    ("st-compile --par", ["--parallel="], True),
    ("st-compile --target=dtu-t1", ["dtu-t10", "dtu-t10-large"], True),
    ("st-compile --compile-to=sch", ["scheduled"], True),
    ("st-compile --compile-from=sch", ["scheduled"], True),
    ("st-compile --task=cl", ["clm", "classify", "classify-tokens"], True),
    ("st-compile model --parallel=fi", ["first.json"], True),
    ("st-compile fi", ["first.json"], True),
    ("st-opt --form-k", ["--form-kernels"], True),
    ("st-plan model --cluster=dgx-h", ["dgx-h100-80gb"], True),
    ("st-plan --precision=b", ["bf16"], True),
    ("st-runner --host-isa=avx512-", ["avx512-bf16"], True),
    ("st-runner --eval-o", ["--eval-only"], True),
    ("st-translate --interp", ["--interpret"], True),
    ("st-tune --rank-by=", ["in-step", "end-to-end"], True),
]


def complete_in_bash(script, line, folder):
    """Sets the variables that readline sets, and prints the function's candidates."""
    program = (f"source {script}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; "
               f"_st_complete {line.split()[0]}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "--norc", "-c", program], cwd=folder, capture_output=True, text=True)
    return done.stdout.split(), done.stderr


class Zsh:
    """An interactive zsh on a pseudo-terminal."""

    SETUP = ("PROMPT=''; fpath=({scripts} $fpath); autoload -U compinit; compinit -u -d {folder}/.zdump; setopt no_always_last_prompt; "
             "stty columns 200; zle-line-init() {{ print -n edit''ing }}; zle -N zle-line-init; cd {folder}\n")

    def __init__(self, scripts, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})
        self.write(self.SETUP.format(scripts=scripts, folder=folder))
        if not self.wait_for(["editing"])[0]:
            raise SystemExit("test_completions: zsh shows no prompt")

    def write(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, words, seconds=20.0):
        """Reads until all the words have appeared on the terminal. Returns whether they have, and the text."""
        shown, end = "", time.monotonic() + seconds
        while not all(word in shown for word in words) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 65536).decode(errors="replace")
        return all(word in shown for word in words), shown

    def complete(self, line, wanted):
        """Types the line and a tab. Returns whether the candidates appear, in a list or in the completed line, and the
        text."""
        self.write(f"\x15\n{line}\t\t")
        return self.wait_for(wanted)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def check_bash(script, folder):
    for line, wanted, only in CASES:
        found, errors = complete_in_bash(script, line, folder)
        if errors or not set(wanted) <= set(found) or (only and set(found) != set(wanted)):
            yield f"bash: {line}: expected {wanted}, found {found} {errors}"


def check_all_flags(script, folder):
    """No flag of --help is missing, apart from options of passes, which belong in a pipeline."""
    for tool in TOOLS:
        text = subprocess.run([BIN / tool, "--help"], capture_output=True, text=True).stdout
        listed = set(re.findall(r"^(?: {2}| {4}| {6})(--[\w-]+?)(?=[=\[ ]|- )", text, re.M))
        found = {word.rstrip("=") for word in complete_in_bash(script, f"{tool} --", folder)[0]}
        if not listed or listed - found:
            yield f"bash: {tool}: {len(listed)} flags, not completed: {sorted(listed - found)}"


def check_zsh(scripts, folder):
    zsh = Zsh(scripts, folder)
    for line, wanted, _ in CASES:
        done, shown = zsh.complete(line, wanted)
        if not done:
            yield f"zsh: {line}: expected {wanted}, found {shown!r}"
    zsh.close()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "first.json").write_text("{}")
        subprocess.run([sys.executable, ROOT / "scripts/completions.py", f"--bin={BIN}", f"--output={folder / 'out'}"], check=True)
        checks = [check_bash(folder / "out/st.bash", folder), check_all_flags(folder / "out/st.bash", folder)]
        if shutil.which("zsh"):
            checks.append(check_zsh(folder / "out", folder))
        else:
            print("zsh is not installed: its completions were not tried")
        results = [list(check) for check in checks]
    for errors in results:
        for error in errors:
            print(error)
    failed = sum(1 for errors in results if errors)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
