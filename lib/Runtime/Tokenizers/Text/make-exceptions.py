#!/usr/bin/env python3
"""Prints UnicodeExceptions.inc: the code points that Hugging Face's tokenizers treat differently from utf8proc and
PCRE2.

The libraries implement different versions of Unicode. Compares PyPI's `tokenizers` on every code point with Debian's
libutf8proc and libpcre2-8 (through ctypes). This takes about two minutes. Run it again when one of these versions changes.
"""
import ctypes
import sys

from tokenizers import Regex, normalizers, pre_tokenizers

UTF8PROC = ctypes.CDLL("libutf8proc.so.2")
PCRE2 = ctypes.CDLL("libpcre2-8.so.0")
PCRE2.pcre2_compile_8.restype = ctypes.c_void_p
PCRE2.pcre2_match_data_create_8.restype = ctypes.c_void_p
CODES = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
# utf8proc's numbers of the general categories.
MN, MC, ME, ND, NL, NO, PC, PO, CC, CF, CO = 6, 7, 8, 9, 10, 11, 12, 18, 26, 27, 29


def in_pcre2(characters):
    """Returns a function that is True if PCRE2 puts a code point in a class."""
    pattern = f"[{characters}]".encode()
    error, place = ctypes.c_int(), ctypes.c_size_t()
    code = PCRE2.pcre2_compile_8(pattern, ctypes.c_size_t(len(pattern)), 0x00080000 | 0x00020000, ctypes.byref(error),
                                 ctypes.byref(place), None)
    assert code, error
    match = PCRE2.pcre2_match_data_create_8(1, None)

    def holds(point):
        text = chr(point).encode()
        return PCRE2.pcre2_match_8(ctypes.c_void_p(code), text, ctypes.c_size_t(len(text)), ctypes.c_size_t(0), 0,
                                   ctypes.c_void_p(match), None) > 0

    return holds


def ranges(points):
    found = []
    for code in points:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table(name, comment, points):
    print(f"// {comment}\nconstexpr CodeRange {name}[] = {{")
    line = "   "
    for first, last in ranges(points):
        entry = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(entry) > 100:
            print(line)
            line = "   "
        line += entry
    print(f"{line}\n}};")


def main():
    category = {c: UTF8PROC.utf8proc_category(c) for c in CODES}
    bert = lambda **on: normalizers.BertNormalizer(**{"clean_text": False, "handle_chinese_chars": False,
                                                      "strip_accents": False, "lowercase": False, **on})
    vanishes = lambda normalizer: lambda c: normalizer.normalize_str(chr(c)) == ""
    divides = lambda step, around: lambda c: len(step.pre_tokenize_str(f"{around}{chr(c)}{around}")) == 3
    split = lambda pattern, around: divides(pre_tokenizers.Split(Regex(pattern), "isolated"), around)
    differ = lambda theirs, ours: [c for c in CODES if theirs(c) != ours(c)]
    more = lambda theirs, ours: [c for c in CODES if theirs(c) and not ours(c)]
    print("// Made by make-exceptions.py.")
    table("kControlExceptions", "Control characters for one of the two.",
          differ(vanishes(bert(clean_text=True)), lambda c: c in (0, 0xFFFD) or category[c] in (CC, CF, CO) and c not in (9, 10, 13)))
    # A character that decomposes may vanish only in part, so its category is looked up directly.
    table("kNonspacingExceptions", "Nonspacing marks for one of the two.",
          differ(vanishes(bert(strip_accents=True)), lambda c: category[c] == MN))
    table("kMarkExceptions", "Marks for one of the two.",
          differ(vanishes(normalizers.StripAccents()), lambda c: MN <= category[c] <= ME))
    table("kPunctuationExceptions", "Punctuation for one of the two.",
          [c for c in differ(divides(pre_tokenizers.Punctuation(), "a"), lambda c: PC <= category[c] <= PO) if c >= 0x80])
    table("kNumberExceptions", "Numbers for one of the two.",
          differ(divides(pre_tokenizers.Digits(individual_digits=True), "a"), lambda c: ND <= category[c] <= NO))
    forms = {form: normalizers.__dict__[form]() for form in ("NFD", "NFKD")}
    kept = [c for c in CODES if c >= 0x80 and forms["NFKD"].normalize_str(chr(c)) == chr(c)]
    table("kUndecomposed", "Characters that decompose for utf8proc alone.", [c for c in kept if decomposes(c)])
    whole = pre_tokenizers.Whitespace()
    table("kMoreLetters", "Letters that PCRE2 does not know.", more(split(r"\p{L}", "1"), in_pcre2(r"\p{L}")))
    table("kMoreNumbers", "Numbers that PCRE2 does not know.", more(split(r"\p{N}", "a"), in_pcre2(r"\p{N}")))
    table("kMoreWordChars", "Characters of words that PCRE2 does not know.",
          more(lambda c: len(whole.pre_tokenize_str(f"a{chr(c)}a")) == 1, in_pcre2(WORD)))
    lower = normalizers.Lowercase()
    print("// Capitals that utf8proc does not know.\nconstexpr std::pair<char32_t, char32_t> kMoreCapitals[] = {")
    for c in CODES:
        small = lower.normalize_str(chr(c))
        if c >= 0x80 and len(small) == 1 and ord(small) != UTF8PROC.utf8proc_tolower(c):
            print(f"    {{0x{c:X}, 0x{ord(small):X}}},")
    print("};")


def decomposes(code):
    buffer = (ctypes.c_int32 * 32)()
    boundary = ctypes.c_int(0)
    options = (1 << 1) | (1 << 4) | (1 << 2)  # UTF8PROC_STABLE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT
    count = UTF8PROC.utf8proc_decompose_char(code, buffer, 32, options, ctypes.byref(boundary))
    return list(buffer[:count]) != [code]


if __name__ == "__main__":
    main()
