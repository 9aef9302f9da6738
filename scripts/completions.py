"""Writes completions of the tools' command lines for bash and zsh, from what each tool's --help lists.

  scripts/completions.py [--bin=build/bin] [--output=build/completions] [tool ...]

Writes st.bash, which a shell sources or bash-completion loads, and _st, for a folder of zsh's fpath.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ["st-compare", "st-compile", "st-fit", "st-lsp-server", "st-opt", "st-plan", "st-reduce", "st-runner", "st-translate", "st-tune"]
# "  --flag=<value>   - text", by LLVM. Passes are indented deeper; their options (8 spaces) belong in a pipeline.
LLVM_FLAG = re.compile(r"^(?: {2}| {4}| {6})(--?[\w-]+?)(?:[= ]<([^>]*)>|=<(.*)>|\[=<.*>\])? *- +(.*)$")
LLVM_CHOICE = re.compile(r"^ {4}=(\S+) +- ")
# "  --flag  text (default value)", by Abseil; a long name has one space after it.
ABSEIL_FLAG = re.compile(r"^ {2}(--[\w-]+) +(.*)$")
FILES = {"file", "folder", "file,...", "folder or file", "filename", "path"}


class Flag:
    """A flag, whether it takes a value, and its values: a list of words, or FILE."""

    FILE = "@file"

    def __init__(self, name, help_text, takes_value=False, values=()):
        self.name, self.help, self.takes_value, self.values = name, help_text, takes_value, values


def stems(folder):
    return sorted(p.name.removesuffix(".textproto") for p in (ROOT / "devices" / folder).glob("*.textproto"))


def known_values(name, placeholder, help_text):
    """The values that a flag is known to take: described devices, phases, the placeholder's own list, files."""
    listed = {"target": ".", "cluster": "clusters", "profile": "profiles"}
    if name.lstrip("-") in listed:
        return stems(listed[name.lstrip("-")])
    if placeholder == "phase" and (match := re.search(r"(?::|one of) ((?:[\w-]+, )+[\w-]+)", help_text)):
        return match[1].split(", ")
    if re.fullmatch(r"[\w-]+(\|[\w-]+)+(,\.\.\.)?", placeholder) and "file" not in placeholder:
        return placeholder.removesuffix(",...").split("|")
    return Flag.FILE if placeholder in FILES or "file" in placeholder else ()


def parse_llvm(text):
    flags = []
    for line in text.splitlines():
        if match := LLVM_FLAG.match(line):
            placeholder = match[2] if match[2] is not None else match[3]
            values = known_values(match[1], placeholder, match[4]) if placeholder is not None else ()
            flags.append(Flag(match[1], match[4].strip(), placeholder is not None, values))
        elif (match := LLVM_CHOICE.match(line)) and flags and flags[-1].takes_value:
            if flags[-1].values == Flag.FILE:
                flags[-1].values = ()
            flags[-1].values = [*flags[-1].values, match[1]]
    # --compile-from takes the phases that the help of --compile-to lists.
    phases = next((f.values for f in flags if f.name == "--compile-to"), ())
    for flag in flags:
        if flag.name == "--compile-from":
            flag.values = phases
    return flags


def parse_abseil(text):
    """Parses Abseil's help. It does not mark boolean flags, but their defaults show it."""
    flags = []
    for line in text.splitlines():
        if match := ABSEIL_FLAG.match(line):
            boolean = re.search(r"\(default (true|false)\)$", match[2])
            listed = re.search(r"(?:^|: )((?:[\w-]+, )+[\w-]+ or [\w-]+)(?![\w-])", match[2])
            values = re.split(r", | or ", listed[1]) if listed else Flag.FILE
            flags.append(Flag(match[1], match[2], not boolean, () if boolean else values))
    return flags


def flags_of(binary):
    done = subprocess.run([binary, "--help"], capture_output=True, text=True)
    flags = parse_llvm(done.stdout) if "OVERVIEW:" in done.stdout else parse_abseil(done.stdout)
    if not flags:
        raise SystemExit(f"completions: error: {binary} --help: expected flags, found none")
    return sorted({flag.name: flag for flag in flags}.values(), key=lambda flag: flag.name)


BASH_HEAD = """# Completion of St's command lines for bash; scripts/completions.py writes it.

# The flags of the tool whose name is $1: "--flag=" takes a value; the table has the known values, or @file.
_st_complete() {
  local tool=${1##*/} line=${COMP_LINE:0:COMP_POINT} word flag value prefix=""
  local -n table=_st_flags_${tool//-/_}
  word=${line##*[[:space:]]}
  COMPREPLY=()
  if [[ $word == -*=* ]]; then
    flag=${word%%=*}= value=${word#*=}
    # Readline replaces the text behind the last word break.
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=$flag
    if [[ ${table[$flag]:-} == @file ]]; then
      mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$value")
      compopt -o filenames 2>/dev/null
    else
      mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "${table[$flag]:-}" -- "$value")
    fi
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${!table[*]}" -- "$word")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames 2>/dev/null
  fi
  return 0
}
"""


def bash_script(tools):
    parts = [BASH_HEAD]
    for tool, flags in tools.items():
        rows = [f"  [{flag.name}{'=' if flag.takes_value and flag.name.startswith('--') else ''}]="
                f"\"{flag.values if flag.values == Flag.FILE else ' '.join(flag.values)}\"" for flag in flags]
        parts.append(f"declare -gA _st_flags_{tool.replace('-', '_')}=(\n" + "\n".join(rows) + "\n)\n")
    return "\n".join(parts) + f"\ncomplete -F _st_complete {' '.join(tools)}\n"


def zsh_spec(flag):
    text = re.sub(r"([\[\]:\\])", r"\\\1", flag.help).replace("'", "'\\''")
    if not flag.takes_value:
        return f"'{flag.name}[{text}]'"
    action = "_files" if flag.values == Flag.FILE else f"({' '.join(flag.values)})"
    separator = "=-" if flag.name.startswith("--") else ""
    return f"'{flag.name}{separator}[{text}]:value:{action}'"


def zsh_script(tools):
    lines = [f"#compdef {' '.join(tools)}", "# Completion of St's command lines for zsh; scripts/completions.py writes it.", "",
             "case $service in"]
    for tool, flags in tools.items():
        lines += [f"{tool})", "  _arguments \\"] + [f"    {zsh_spec(flag)} \\" for flag in flags] + ["    '*:file:_files'", "  ;;"]
    return "\n".join([*lines, "esac", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/completions")
    parser.add_argument("tools", nargs="*", default=TOOLS)
    options = parser.parse_args()
    tools = {tool: flags_of(options.bin / tool) for tool in options.tools}
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "st.bash").write_text(bash_script(tools))
    (options.output / "_st").write_text(zsh_script(tools))
    return 0


if __name__ == "__main__":
    sys.exit(main())
