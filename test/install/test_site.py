"""Builds the site of documents: pages are well-formed, links are valid, and passes.md agrees with st-opt --help."""

import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build")) / "bin"
VOID = {"meta", "link", "img", "br", "hr"}


class PageReader(html.parser.HTMLParser):
    """The anchors and links of a page, and its tags that are not closed correctly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.anchors, self.links = [], [], set(), []
        self.feed(text)
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found["id"]} if "id" in found else set()
        self.links += [found[key] for key in ("href", "src") if key in found]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def check_pages(site):
    readers = {path: PageReader(path.read_text()) for path in site.rglob("*.html")}
    if len(readers) < 20:
        yield f"{site}: expected at least 20 pages, found {len(readers)}"
    for path, reader in readers.items():
        yield from (f"{path.name}: {fault}" for fault in reader.faults[:1])
        for link in reader.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            other = (path.parent / target).resolve() if target else path
            if not other.exists() or (anchor and anchor not in readers[other].anchors):
                yield f"{path.name}: a link leads to {link}, which does not exist"


def documented_passes(text):
    """Name -> (summary, options) of passes.md."""
    passes = {}
    for name, body in re.findall(r"^### `-([\w-]+)`\n(.*?)(?=^#{2,3} |\Z)", text, re.M | re.S):
        summary = re.search(r"^_(.*)_$", body, re.M)[1]
        options = re.search(r"^#### Options\n+```\n(.*?)```", body, re.M | re.S)
        passes[name] = (summary, dict(re.findall(r"^-([\w-]+) +: (.*)$", options[1], re.M)) if options else {})
    return passes


def listed_passes(tool):
    """The same from --help. LLVM does not wrap lines; a description may have several."""
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    text = re.search(r"^    Passes:\n(.*?)(?=^    \w|^  -)", text, re.M | re.S)[1]
    passes, options = {}, None
    for line in text.splitlines():
        if match := re.match(r"^ {6}--([\w-]+?) *- +(.*)$", line):
            options = {}
            passes[match[1]] = (match[2], options)
        elif match := re.match(r"^ {8}--([\w-]+)(?:=<.*?>)? +- (.*)$", line):
            options[match[1]] = match[2].strip()
    return passes


def check_passes(site):
    """The passes that mlir-opt lacks are ours."""
    bindir = subprocess.run(["llvm-config-22", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    upstream = listed_passes(f"{bindir}/mlir-opt")
    listed = {name: what for name, what in listed_passes(BIN / "st-opt").items() if name not in upstream}
    documented = documented_passes((site / "passes.md").read_text())
    for name in sorted({*listed, *documented}):
        if listed.get(name) != documented.get(name):
            yield f"{name}: st-opt --help has {listed.get(name)}, passes.md has {documented.get(name)}"
    if len(listed) < 40:
        yield f"st-opt --help: expected at least 40 passes of St, found {len(listed)}"


def check_ops(site):
    """Every dialect that st-opt has and mlir-opt lacks has a page with each of its ops exactly once."""
    for name in ("chlo", "cuda", "dtu", "sdy", "st", "stablehlo"):
        path = site / f"dialects/{name}.md"
        ops = re.findall(rf"^### `({name}\.[\w.]+)`", path.read_text(), re.M) if path.exists() else []
        if not ops or len(ops) != len(set(ops)):
            yield f"{path.name}: expected each op of {name} once, found {len(ops)} headings of {len(set(ops))} ops"


def check_glossary():
    """Every term of the glossary appears elsewhere in the documents."""
    texts = [p.read_text() for folder in ("docs", "lib", "dialects", "passes", "backends", "include", "test/standins", "tools")
             for p in (ROOT / folder).rglob("*") if p.suffix in (".md", ".h", ".td") and p.name != "glossary.md"]
    text = re.sub(r"\s+", " ", " ".join(texts)).lower()
    terms = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text(), re.M)[2:]
    for term in {part.strip(" `").lower() for row in terms for part in row.split(",")}:
        if not re.search(rf"\b{re.escape(term)}", text):
            yield f"glossary.md: {term} is used nowhere"
    if len(terms) < 10:
        yield f"glossary.md: expected at least 10 terms, found {len(terms)}"


def check_dead_link():
    """A broken link is refused, in one line."""
    program = (f"import sys; sys.path.insert(0, '{ROOT}/scripts'); import importlib; b = importlib.import_module('build-site'); "
               "import pathlib; b.Site([b.Page('a', 'Guide', '# A\\n[b](b.md)', 'docs/a.md')], pathlib.Path('/nonexistent/x')).write_all()")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.stderr.strip() != "build-site: error: docs/a.md: a link leads to b.md, which does not exist":
        yield f"a dead link: expected a refusal, found {done.stderr}"


def main():
    with tempfile.TemporaryDirectory() as name:
        site = pathlib.Path(name) / "site"
        done = subprocess.run([sys.executable, ROOT / "scripts/build-site.py", f"--output={site}"], capture_output=True, text=True)
        results = [[done.stderr]] if done.returncode else [list(check(site)) for check in (check_pages, check_passes, check_ops)]
    results += [list(check_dead_link()), list(check_glossary())]
    for errors in results:
        for error in errors:
            print(error)
    failed = sum(1 for errors in results if errors)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
