"""Writes docs/ as a static site: the documents, the passes and ops as mlir-tblgen documents them, and the public headers.

  scripts/build-site.py [--output=build/site]

passes.md and dialects/*.md are written next to their pages. A broken link is an error.
"""

import argparse
import html
import pathlib
import posixpath
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from site_pages import headers, markdown, tablegen

ROOT = pathlib.Path(__file__).resolve().parent.parent
STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: flex; }
nav { flex: 0 0 15rem; padding: 1rem; height: 100vh; overflow-y: auto; position: sticky; top: 0; box-sizing: border-box; font-size: 14px; }
nav h2 { font-size: 14px; margin: 1rem 0 0.2rem; } nav a { display: block; }
main { max-width: 54rem; padding: 1rem 2rem; min-width: 0; }
pre { overflow-x: auto; padding: 0.7rem; background: #8882; border-radius: 4px; } code { font: 14px/1.4 ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; } th, td { border: 1px solid #8886; padding: 0.2rem 0.5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
"""


class Page:
    """A document: its output path (without suffix), its section in the index, and its text."""

    def __init__(self, path, section, text, source=None):
        self.path, self.section, self.text, self.source = path, section, text, source
        title = re.search(r"^# +(.*)$", text, re.M)
        self.title = title[1].replace("`", "") if title else path


def gather():
    """All pages. `source` is the document's path in the repository, if it has one."""
    pages = [Page("index", "Guide", (ROOT / "README.md").read_text(), "README.md")]
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        section = "Guide" if "/" not in name else name.split("/")[0].capitalize()
        pages.append(Page(name, section, path.read_text(), f"docs/{name}.md"))
    pages.append(Page("passes", "Reference", tablegen.passes()))
    for name, text in tablegen.dialects():
        pages.append(Page(f"dialects/{name}", "Reference", text))
    pages.append(Page("dialects/interfaces", "Reference", tablegen.interfaces()))
    for path in headers.public_headers():
        name = path.relative_to(ROOT / "include").as_posix()
        pages.append(Page(f"headers/{name}", "Headers", headers.document(path)))
    return pages


class Site:
    def __init__(self, pages, output):
        self.pages, self.output = pages, output
        self.by_source = {page.source: page for page in pages if page.source}
        self.links, self.anchors = [], {}

    def relative(self, page, target):
        return posixpath.relpath(target, posixpath.dirname(page.path) or ".")

    def link(self, page, target):
        """Maps a link of a document to the site. A file of the repository that is not a document has no page."""
        if re.match(r"[a-z]+:", target):
            return target
        path, _, anchor = target.partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.source or ""), path)) if path else page.source
        if path and source not in self.by_source:
            if not (ROOT / source).exists():
                raise SystemExit(f"build-site: error: {page.source}: a link leads to {target}, which does not exist")
            image = source.startswith("docs/") and (ROOT / source).is_file()
            return self.relative(page, source.removeprefix("docs/")) if image else None
        other = self.by_source[source] if source else page
        if anchor:
            self.links.append((page, other, anchor))
        return (self.relative(page, other.path + ".html") if path else "") + (f"#{anchor}" if anchor else "")

    def navigation(self, page):
        parts, section = [], None
        for other in self.pages:
            if other.section != section:
                section = other.section
                parts.append(f"<h2>{section}</h2>")
            parts.append(f'<a href="{self.relative(page, other.path + ".html")}">{html.escape(other.title)}</a>')
        return "\n".join(parts)

    def write(self, page):
        converter = markdown.Converter(lambda target: self.link(page, target))
        body = converter.convert(page.text)
        self.anchors[page] = {anchor for _, _, anchor in converter.headings}
        listed = [f'<li><a href="#{anchor}">{markdown.inline(text, lambda target: None)}</a></li>'
                  for level, text, anchor in converter.headings if level == 3]
        body = body.replace("<p>[TOC]</p>", "<ul>" + "".join(listed) + "</ul>", 1).replace("<p>[TOC]</p>", "")
        path = self.output / f"{page.path}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{html.escape(page.title)} - St</title>'
                        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" '
                        f'href="{self.relative(page, "style.css")}"></head>\n<body><nav>{self.navigation(page)}</nav>\n'
                        f"<main>{body}</main></body>\n</html>\n")
        if page.source is None and page.section == "Reference":
            path.with_suffix(".md").write_text(page.text)

    def write_all(self):
        shutil.rmtree(self.output, ignore_errors=True)
        for page in self.pages:
            self.write(page)
        (self.output / "style.css").write_text(STYLE)
        for path in (ROOT / "docs").rglob("*"):
            if path.is_file() and path.suffix != ".md":
                to = self.output / path.relative_to(ROOT / "docs")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        for page, other, anchor in self.links:
            if anchor not in self.anchors[other]:
                raise SystemExit(f"build-site: error: {page.source}: a link leads to #{anchor} of {other.path}, which has no such heading")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    options = parser.parse_args()
    pages = gather()
    Site(pages, options.output).write_all()
    print(f"{len(pages)} pages in {options.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
