"""Reads tensors of .safetensors files and compares them, without NumPy.

16-bit floats are widened to 32 bits. A bound is a list:
  ["largest", x]           no element differs by more than x times the largest magnitude that is expected in the tensor
  ["scaled", n, scale]     by more than n units in the last place of a number of size `scale`
  ["ulps", n]              by more than n floats of its type
Integers are equal, and infinities and NaN are where they are expected.
"""

import array
import json
import math
import struct

EPSILONS = {"F64": 2.0**-52, "F32": 2.0**-23, "F16": 2.0**-10, "BF16": 2.0**-7}
INTEGER_CODES = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I", "U16": "H", "U8": "B", "BOOL": "B"}
BIT_CODES = {"F64": "q", "F32": "i", "F16": "h", "BF16": "h"}


class Tensor:
    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data

    def numbers(self, code):
        values = array.array(code)
        values.frombytes(self.data)
        return values

    def values(self):
        if self.kind in INTEGER_CODES:
            return self.numbers(INTEGER_CODES[self.kind])
        if self.kind == "BF16":
            bits = array.array("I", (bits << 16 for bits in self.numbers("H")))
            return array.array("f", bits.tobytes())
        if self.kind == "F16":
            return array.array("f", struct.unpack("<%de" % (len(self.data) // 2), self.data))
        return self.numbers({"F32": "f", "F64": "d"}[self.kind])

    def places(self):
        """The positions of floats in the order of their type; both zeros have the same position."""
        lowest = -(1 << (8 * struct.calcsize(BIT_CODES[self.kind]) - 1))
        return [lowest - bits if bits < 0 else bits for bits in self.numbers(BIT_CODES[self.kind])]


def read(path):
    """{name: Tensor} of a file; raises ValueError if it is not valid."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise ValueError("%s: expected a .safetensors file, found %d bytes that are none" % (path, len(data)))
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = Tensor(entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])
    return tensors


def is_same_special(found, wanted):
    return math.isnan(found) if math.isnan(wanted) else found == wanted


def distances(found, wanted, bound):
    """The distance of each finite element, in the bound's units; infinity if infinities or NaN are not as expected."""
    exact, other = wanted.values(), found.values()
    if bound[0] == "ulps":
        steps = [abs(a - b) for a, b in zip(found.places(), wanted.places())]
    else:
        largest = max((abs(x) for x in exact if math.isfinite(x)), default=0.0)
        unit = max(largest if bound[0] == "largest" else EPSILONS[wanted.kind] * bound[2], 5e-324)
        steps = [abs(a - b) / unit for a, b in zip(other, exact)]
    for i, (a, b) in enumerate(zip(other, exact)):
        if not math.isfinite(b):
            steps[i] = 0 if is_same_special(a, b) else math.inf
        elif not math.isfinite(a) or (bound == ["ulps", 0] and b == 0 and math.copysign(1, a) != math.copysign(1, b)):
            steps[i] = math.inf  # Zeros need the correct sign where the bound is zero.
    return steps


def compare(found, wanted, bound):
    """(the largest distance in the bound's units, what is wrong or None)."""
    if (found.kind, found.shape) != (wanted.kind, wanted.shape):
        return math.inf, "is %s%s, expected %s%s" % (found.kind, found.shape, wanted.kind, wanted.shape)
    if wanted.kind in INTEGER_CODES:
        steps, most = [abs(a - b) for a, b in zip(found.values(), wanted.values())], 0
    else:
        steps, most = distances(found, wanted, bound), bound[1]
    worst = max(range(len(steps)), key=steps.__getitem__, default=None)
    if worst is None or steps[worst] <= most:
        return (steps[worst] if steps else 0), None
    wrong = sum(step > most for step in steps)
    return steps[worst], "%d of %d elements differ: element %d is %r, expected %r (%.2g units of at most %g)" % (
        wrong, len(steps), worst, found.values()[worst], wanted.values()[worst], steps[worst], most)
