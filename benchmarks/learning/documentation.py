"""Real text for learning.py: the documentation strings of the Python installation that runs it.

The sources are Python's standard library and the packages numpy, scipy, jax, flax and optax, as far as they are installed. The
text depends on their versions, so it is generated for each run and not stored. Every 20th document is for validation.
"""

import ast
import importlib.util
import json
import pathlib
import re
import sysconfig

PACKAGES = ["numpy", "scipy", "jax", "flax", "optax"]
SKIPPED = {"__pycache__", "dist-packages", "idlelib", "lib2to3", "site-packages", "test", "tests"}
VALIDATION = 20
PARAMETER = re.compile(r"^(\*{0,2}\w+) ?: ?\S.*\n((?:[ \t]+\S.*\n?|\n)+)", re.M)


def folders():
    """(name, folder) of the standard library and of each installed package."""
    found = [("python", pathlib.Path(sysconfig.get_paths()["stdlib"]))]
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            found.append((name, pathlib.Path(spec.origin).parent))
    return found


def documents(folder):
    """(name, documentation string) of the modules, classes and functions below a folder, in the order of their files."""
    for path in sorted(folder.rglob("*.py")):
        if SKIPPED & set(path.relative_to(folder).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node)
                if text and len(text) >= 80:
                    yield getattr(node, "name", path.stem), text


def split(items):
    """Items for training and for validation."""
    return ([item for i, item in enumerate(items) if i % VALIDATION != VALIDATION - 1],
            [item for i, item in enumerate(items) if i % VALIDATION == VALIDATION - 1])


def write_text(folder, limit):
    """Writes train.jsonl and valid.jsonl, a document per line, of at most `limit` characters in all. Returns the texts for
    training and a description of the sources."""
    texts, sources, known, total = [], [], set(), 0
    for name, root in folders():
        before = total
        for _, text in documents(root):
            if text in known or total + len(text) > limit:
                continue
            known.add(text)
            texts.append(text)
            total += len(text)
        if total > before:
            sources.append(f"{name} {(total - before) / 1e6:.2f} MB")
    train, valid = split(texts)
    for name, part in (("train", train), ("valid", valid)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
    return train, f"{total / 1e6:.2f} MB, {len(texts)} documents: {', '.join(sources)}"


def questions_of(name, text):
    """A paragraph of SQuAD 1.1: the parameters of a function as numpy and scipy document them. A question asks for a
    parameter, and the answer is the first sentence about it. None if the text has no such section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.M | re.S)
    if not section:
        return None
    context, found = "", []
    for parameter in PARAMETER.finditer(section[1] + "\n"):
        sentences = " ".join(parameter[2].split())
        answer = re.match(r"(.{10,120}?)(?:\.(?= |$)|$)", sentences)
        entry = " ".join(parameter[0].split())
        if not answer or len(context) + len(entry) > 450:
            continue
        context += entry + " "
        found.append((parameter[1].strip("*"), answer[1], len(context) - 1 - len(sentences)))
    questions = [{"id": f"{name}.{parameter}", "question": f"What is {parameter} of {name}?",
                  "answers": [{"text": answer, "answer_start": start}]} for parameter, answer, start in found]
    return {"context": context.strip(), "qas": questions} if len(questions) > 1 else None


def write_questions(folder):
    """Writes train.json and valid.json in the format of SQuAD 1.1. Returns a description of the sources."""
    paragraphs, known = [], set()
    for package, root in folders():
        if package in ("numpy", "scipy"):
            for name, text in documents(root):
                paragraph = questions_of(name, text)
                if paragraph and paragraph["context"] not in known:
                    known.add(paragraph["context"])
                    paragraphs.append(paragraph)
    counts = []
    for name, part in zip(("train", "valid"), split(paragraphs), strict=True):
        data = [{"title": "parameters", "paragraphs": part}]
        (folder / f"{name}.json").write_text(json.dumps({"version": "1.1", "data": data}))
        counts.append(sum(len(paragraph["qas"]) for paragraph in part))
    return f"{counts[0]} questions for training and {counts[1]} for validation about parameters in numpy and scipy"
