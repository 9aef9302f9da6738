"""Tokens a second of St's tokenizers and of Hugging Face's `tokenizers`, on one thread, on the same texts, alternately. Theirs
run `encode_batch_fast`, which gives no positions of tokens; ours gives them.

    .venv/bin/python benchmarks/tokenizers.py [--json=FILE]

Prints a table: the best of three passes of each. Both have encoded the texts once before, so their caches of words are warm.
`tokenizers` also trains the vocabularies, so without it there is one row that says so.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = pathlib.Path(__file__).resolve().parent.parent
import figures

sys.path[:0] = map(str, (ROOT / "test/e2e").iterdir())
sys.path.remove(str(ROOT / "benchmarks"))   # where this file would hide the library of the same name

try:
    import tokenizer_kinds as kinds  # noqa: E402
    MISSING = None
except ModuleNotFoundError as error:
    MISSING = f"missing: {error}"

PASSES = 3


def seconds_of_ours(folder, texts):
    done = subprocess.run([kinds.CHECK, folder, str(PASSES + 1)], input=kinds.packed(texts), capture_output=True, check=True)
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    return min(float(row[0]) for row in rows[1:]), int(rows[0][1])


def seconds_of_theirs(tokenizer, texts):
    best = float("inf")
    for _ in range(PASSES + 1):
        start = time.perf_counter()
        tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    figures.add_option(parser)
    found = figures.Figures(parser.parse_args().json, "peers", figures.host())
    if MISSING:
        print(f"| tokenizers | {MISSING} |")
        found.failed("tokenizer", MISSING)
        return
    texts = [line for text in kinds.plain_text() for line in text.split("\n") if line.strip()] * 3
    texts += kinds.training_lines()[-400:]
    size = sum(len(text.encode()) for text in texts)
    print(f"{len(texts)} lines, {size / 1e6:.2f} MB\n\n| tokenizer | tokens | St, million/s | tokenizers, million/s | times |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, make in kinds.kinds(folder).items():
            tokenizer = make()
            tokenizer.no_truncation()
            tokenizer.no_padding()
            (folder / "one").mkdir(exist_ok=True)
            tokenizer.save(str(folder / "one/tokenizer.json"))
            ours, count = seconds_of_ours(folder / "one", texts)
            theirs = seconds_of_theirs(tokenizer, texts)
            print(f"| {kind} | {count} | {count / ours / 1e6:.2f} | {count / theirs / 1e6:.2f} | {theirs / ours:.1f} |")
            found.add(f"Tokenizer {kind}", count / ours / 1e6, "million tokens/s",
                      baseline={"name": "`tokenizers`", "value": count / theirs / 1e6})


if __name__ == "__main__":
    main()
