#!/usr/bin/env python3
"""Prints the Unicode tables of the BERT tokenizer as C++, from Python's unicodedata.

Ranges of code points by class, and for each code point that lowercasing and
accent stripping change, what becomes of it: its canonical decomposition without
nonspacing marks, each character lowercased. Hangul syllables are left out, they
decompose by arithmetic.
"""
import sys
import unicodedata

HANGUL = range(0xAC00, 0xD7A4)
SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [c for c in range(sys.maxunicode + 1) if c not in SURROGATES]


def ranges(name, belongs):
    """A sorted array of the inclusive ranges of code points for which belongs() holds."""
    found = []
    for code in CODE_POINTS:
        if not belongs(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    print(f"constexpr CodeRange {name}[] = {{")
    for first, last in found:
        print(f"    {{0x{first:X}, 0x{last:X}}},")
    print("};")


def fold(char):
    stripped = (c for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in stripped)


def folds():
    pool, entries = [], []
    for code in CODE_POINTS:
        if code in HANGUL or fold(chr(code)) == chr(code):
            continue
        folded = [ord(c) for c in fold(chr(code))]
        entries.append((code, len(pool), len(folded)))
        pool.extend(folded)
    print("constexpr char32_t kFoldPool[] = {")
    for begin in range(0, len(pool), 12):
        print("    " + " ".join(f"0x{c:X}," for c in pool[begin : begin + 12]))
    print("};")
    print("constexpr Fold kFolds[] = {")
    for code, begin, length in entries:
        print(f"    {{0x{code:X}, {begin}, {length}}},")
    print("};")


def main():
    category = unicodedata.category
    print(f"// Generated from Unicode {unicodedata.unidata_version}.")
    ranges("kSpaces", lambda c: category(c).startswith("Z"))
    ranges("kControls", lambda c: category(c) in ("Cc", "Cf", "Co"))
    ranges("kPunctuation", lambda c: category(c).startswith("P"))
    folds()


if __name__ == "__main__":
    main()
