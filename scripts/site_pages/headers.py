"""Writes a document about each public header, from its comments and the declarations below them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def public_headers():
    return sorted((ROOT / "include").rglob("*.h"))


def document(path):
    """Markdown of a header: its first comment, then each documented declaration."""
    lines = path.read_text().splitlines()
    name = path.relative_to(ROOT / "include")
    parts = [f"# {name}", introduction(lines)]
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith("/// "):
            at += 1
            continue
        start = at
        while at < len(lines) and lines[at].lstrip().startswith("///"):
            at += 1
        comment = " ".join(line.lstrip().removeprefix("///").strip() for line in lines[start:at])
        code, at = declaration(lines, at)
        parts += ["```c++\n" + code + "\n```", comment]
    return "\n\n".join(parts)


def introduction(lines):
    """The comment at the start of the file, without LLVM's banner."""
    text = []
    for line in lines:
        if not line.startswith("//"):
            break
        line = re.sub(r"^//===-* ?|^// ?|-*\*- C\+\+ -\*-*===//$|-*===//$", "", line)
        text.append(re.sub(r"^\S+\.h - ", "", line).strip())
    return "\n".join(text).strip()


def declaration(lines, at):
    """A declaration up to the end of the statement; for a class or struct only its head."""
    code = []
    while at < len(lines) and lines[at].strip():
        code.append(lines[at])
        at += 1
        stripped = re.sub(r"//.*", "", code[-1]).rstrip()
        if stripped.endswith((";", "{", "}")):
            break
    indent = min((len(line) - len(line.lstrip()) for line in code), default=0)
    return "\n".join(line[indent:] for line in code), at
