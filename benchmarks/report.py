"""Prints the tables of docs/performance.md from the figures that benchmarks store (benchmarks/figures.py).

  benchmarks/report.py [--check] [--page=docs/performance.md] [--figures=benchmarks/figures]

Each table of the page is between `<!-- table: QUESTION -->` and `<!-- end of table -->`. Its rows are those of all files
DIR/*.json with that question, in the order of their names. The sources follow the rows: command, machine and
commit. --check changes nothing and fails if a table of the page differs from the files.
"""

import argparse
import json
import pathlib
import re
import sys

from figures import number

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.S)
NEEDED = {"case", "command", "machine", "commit"}


def figure(row):
    if "failed" in row:
        return f"none: {row['failed']}"
    more = [f"{name} {number(value)} {unit}".rstrip() for name, (value, unit) in row.get("also", {}).items()]
    return "; ".join([f"{number(row['value'])} {row['unit']}", *more])


def baseline(row):
    """Returns the reference of the value, and the value as a multiple of it."""
    other = row.get("baseline") or row.get("beside")  # An earlier name of the key.
    if not other:
        return ""
    times = f"{row['value'] / other['value']:.2f}" if other["value"] else "-"
    return f"{other['name']}: {number(other['value'])} ({times} x)"


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(rows):
    """The rows, and below them the sources that their last column counts: command, machine and commit."""
    sources, lines = {}, ["| case | figure | compared with | source |", "| --- | --- | --- | ---: |"]
    for row in rows:
        source = f"`{row['command']}`; {row['machine']}; {row['commit']}"
        cells = (row["case"], figure(row), baseline(row), str(sources.setdefault(source, len(sources) + 1)))
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join([*lines, "", *(f"{count}. {source}" for source, count in sources.items())]) + "\n"


def read(folder):
    """The rows of each question."""
    questions = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            sys.exit(f"{path}: {error}")
        for row in found["rows"]:
            missing = NEEDED - row.keys() or {"value", "unit"} - row.keys() if "failed" not in row else NEEDED - row.keys()
            if missing:
                sys.exit(f"{path}: {row.get('case', 'a row')}: expected the keys {', '.join(sorted(missing))}")
        questions.setdefault(found["question"], []).extend(found["rows"])
    return questions


def written(page, questions):
    """Returns the page with new tables. Each question needs one table, and each table a question."""
    tables = [name for _, name, _ in TABLE.findall(page)]
    if sorted(tables) != sorted(questions):
        sys.exit(f"tables of the page: {', '.join(sorted(tables))}; questions of the figures: {', '.join(sorted(questions))}")
    return TABLE.sub(lambda found: found[1] + table(questions[found[2]]) + found[3], page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the page differs from the figures")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/performance.md")
    parser.add_argument("--figures", type=pathlib.Path, default=ROOT / "benchmarks/figures", metavar="DIR")
    options = parser.parse_args()
    page = options.page.read_text()
    made = written(page, read(options.figures))
    if not options.check:
        options.page.write_text(made)
    elif made != page:
        sys.exit(f"{options.page}: its tables are not what {options.figures} holds; run benchmarks/report.py")


if __name__ == "__main__":
    main()
