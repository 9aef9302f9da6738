"""Changes each field of a training binary's program and repairs the checksums: the run works, or gives one clear line.

The schema is read from lib/Proto/executable.proto, so that a new field is tested as soon as it is there.
"""

import pathlib
import re
import resource
import struct
import subprocess
import sys
import zlib

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st
from st_errors import TINY_BERT

SCHEMA = [st.ROOT / f"lib/Proto/{name}.proto" for name in ("executable", "device", "types", "cuda")]
VARINT, FIXED64, LENGTH = 0, 1, 2
FOOTER = 40
INTEGERS = [0, 1, 2, 3, 7, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -1, -(1 << 63)]
DOUBLES = [0.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), 0.5, 3.0]


def read_schema():
    """{message: {number: (name, type, is repeated)}}; enums are integers, maps are left out."""
    messages, enums = {}, set()
    for file in SCHEMA:
        stack = []
        for line in re.sub(r"//.*", "", file.read_text()).replace("{", "{\n").replace(";", ";\n").splitlines():
            if opened := re.match(r"\s*(message|enum|oneof) (\w+) {", line):
                stack.append(stack[-1] if opened[1] == "oneof" else opened[2])
                if opened[1] == "oneof":
                    continue
                (messages.setdefault(opened[2], {}) if opened[1] == "message" else enums.add(opened[2]))
            elif "}" in line:
                stack.pop()
            elif field := re.match(r"\s*(repeated |optional )?([\w.]+) (\w+) = (\d+);", line):
                if stack and stack[-1] in messages:
                    messages[stack[-1]][int(field[4])] = (field[3], field[2], field[1] == "repeated ")
    return messages, enums


MESSAGES, ENUMS = read_schema()
# The GPU work of a task is stored as bytes in the task; in such a binary it is mutated like any other message.
TASK_PROGRAMS = {False: MESSAGES["Task"][4], True: ("program", "CudaProgram", False)}


def put_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def get_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), at


def is_integer(kind):
    return kind in ENUMS or re.match(r"u?int|bool", kind) is not None


def decode(data, message):
    """A message as a list of [number, value]; packed integers are separated."""
    fields, at = [], 0
    while at < len(data):
        key, at = get_varint(data, at)
        number, wire = key >> 3, key & 7
        kind = MESSAGES[message].get(number, ("", "bytes", False))[1]
        if wire == VARINT:
            value, at = get_varint(data, at)
            fields.append([number, value])
        elif wire == FIXED64:
            fields.append([number, struct.unpack_from("<d", data, at)[0]])
            at += 8
        else:
            size, at = get_varint(data, at)
            part, at = data[at : at + size], at + size
            if kind in MESSAGES:
                fields.append([number, decode(part, kind)])
            elif is_integer(kind):
                inner = 0
                while inner < len(part):
                    value, inner = get_varint(part, inner)
                    fields.append([number, value])
            else:
                fields.append([number, part])
    return fields


def encode(fields):
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += put_varint(number << 3 | VARINT) + put_varint(value)
        elif isinstance(value, float):
            out += put_varint(number << 3 | FIXED64) + struct.pack("<d", value)
        else:
            part = encode(value) if isinstance(value, list) else value
            out += put_varint(number << 3 | LENGTH) + put_varint(len(part)) + part
    return bytes(out)


def other_values(value, kind):
    if isinstance(value, int):
        return [v for v in dict.fromkeys([value + 1, value - 1, *INTEGERS]) if v != value]
    if isinstance(value, float):
        return DOUBLES
    if kind == "bytes" and len(value) > 400:  # Programs: their own fuzz test damages them bit by bit.
        return [b"", value[:-1], value + b"\0"]
    return [b"", b"x", value + b"x", value[:-1], b"a\nb", b"\xff\xfe"]


def mutations(fields, message, path=""):
    """(what, change, restore) for each change of each field; of a repeated field only the first, second and last."""
    counts = {}
    for number, _ in fields:
        counts[number] = counts.get(number, 0) + 1
    seen = {}
    for index, (number, value) in enumerate(list(fields)):
        seen[number] = nth = seen.get(number, 0) + 1
        name, kind, _ = MESSAGES[message].get(number, (str(number), "bytes", False))
        if nth > 2 and nth < counts[number]:
            continue
        where = f"{path}{name}" + (f"[{nth - 1}]" if counts[number] > 1 else "")
        if isinstance(value, list):
            yield from mutations(value, kind, where + ".")
        else:
            for other in other_values(value, kind):
                yield f"{where} = {other!r:.40}", fields, fields[:index] + [[number, other]] + fields[index + 1 :]
        yield f"no {where}", fields, fields[:index] + fields[index + 1 :]
        yield f"{where} twice", fields, fields[:index] + [[number, value]] + fields[index:]
    for number, (name, kind, _) in MESSAGES[message].items():
        if number not in counts and is_integer(kind):
            for other in (1, -1, (1 << 63) - 1):
                yield f"{path}{name} = {other}", fields, fields + [[number, other]]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Mutator:
    def __init__(self, binary):
        data = binary.read_bytes()
        runner, payload = struct.unpack_from("<QQ", data, len(data) - FOOTER)
        self.runner = data[:runner]
        self.program = decode(data[runner : runner + payload], "Executable")
        st.expect(decode(encode(self.program), "Executable") == self.program, "the program does not encode to itself")

    def write(self, path):
        payload = encode(self.program)
        body = struct.pack("<QQII", len(self.runner), len(payload), zlib.crc32(self.runner), zlib.crc32(payload))
        tail = struct.pack("<I", 1) + b"ST-TRAIN"
        footer = body + struct.pack("<I", zlib.crc32(body + tail)) + tail
        path.write_bytes(self.runner + payload + footer)
        path.chmod(0o755)


def verdict(command):
    """Returns the error in the way the command ends, or None."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return "it hangs"
    errors = [line for line in done.stderr.split(b"\n") if b"error" in line]
    if done.returncode not in (0, 1) or len(errors) != done.returncode:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    return None


def survives(every, config, task, layout, *flags):
    """Runs each `every`-th mutation."""
    def run(folder):
        MESSAGES["Task"][4] = TASK_PROGRAMS["--target=cuda-host" in flags]
        mutator = Mutator(st.compile_model(folder, "m", config, task, layout, *flags, batch=2, seq=16))
        broken = folder / "broken"
        bad, count = [], 0
        for index, (what, fields, changed) in enumerate(mutations(mutator.program, "Executable")):
            if index % every:
                continue
            whole = fields[:]
            fields[:] = changed
            mutator.write(broken)
            fields[:] = whole
            count += 1
            for command in ([broken, "--steps=1", f"--save={folder / 'save'}"], [broken, "--timing-only"]):
                if problem := verdict([str(c) for c in command]):
                    bad.append(f"{what}: {problem}")
        st.expect(not bad, f"{len(bad)} of {count}:\n" + "\n".join(bad[:40]))
        return f"{count} mutations"
    return run


ONE_LAYER = dict(TINY_BERT, num_hidden_layers=1)
EVERY = int(sys.argv.pop(1).removeprefix("--every=")) if len(sys.argv) > 1 and sys.argv[1].startswith("--every=") else 7

CASES = [("mlm on 1x2", survives(EVERY, ONE_LAYER, "mlm", st.layout(1, 2))),
         ("mlm on 2x1, two micro-batches", survives(5 * EVERY, TINY_BERT, "mlm", st.layout(2, 1, mode="hybrid", accum=2),
                                                    "--optimizer=sgd")),
         # With all optional inputs and outputs of a product.
         ("commands for two GPUs", survives(20 * EVERY, dict(ONE_LAYER, hidden_act="gelu_new"), "mlm",
                                            {"mode": "sharding", "data": 2}, "--target=cuda-host")),
         ("attention", survives(20 * EVERY, {key: 0.0 if "drop" in key else value for key, value in ONE_LAYER.items()}, "mlm",
                                {"mode": "sharding", "data": 1, "precision": {"compute": "bf16"}}, "--target=cuda-host"))]

if __name__ == "__main__":
    sys.exit(st.main(*CASES))
