"""Shardings that split parts of a dimension: `[{2, "x"}]` is two blocks, each of them split over "x"."""

import math
import re

# The sharding of an argument or result follows its type, that of a constraint precedes it.
SHARDING = r"<@mesh, \[(?P<dims>[^\]]*)\]>"
ARGUMENT = re.compile(r"tensor<(?P<type>[0-9x]+)x[a-z]+[0-9]+> \{[^{}]*(?:\{[^{}]*\}[^{}]*)*?st\.sharding = #st\.sharding" + SHARDING)
CONSTRAINT = re.compile(r"st\.constrain %\S+ to " + SHARDING + r"[^:]*(?:\{[^{}]*\} )?: tensor<(?P<type>[0-9x]+)x[a-z]+[0-9]+>")


def with_blocks(text, rng, share):
    """The program with an unsplit part before an axis in a fraction of its shardings, if sizes divide."""
    axes = {"micro": int(re.search(r"micro=(\d+)", text)[1])} if "st.mesh" in text else {}
    axes |= {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', text)}

    def rewrite(match):
        if rng.random() >= share:
            return match[0]
        dims = re.findall(r"\{([^}]*)\}", match["dims"])
        for d, size in enumerate(int(size) for size in match["type"].split("x")):
            parts = re.findall(r'"(\w+)"', dims[d])
            count = math.prod(axes[part] for part in parts)
            blocks = [n for n in (2, 3, 4) if size % (count * n) == 0]
            places = [i for i, part in enumerate(parts) if part != "micro"]
            if blocks and places:
                parts.insert(rng.choice(places), rng.choice(blocks))
            dims[d] = ", ".join(str(part) if isinstance(part, int) else f'"{part}"' for part in parts)
        start, end = match.span("dims")
        inside = ", ".join("{" + dim + "}" for dim in dims)
        return match[0][:start - match.start()] + inside + match[0][end - match.start():]

    return CONSTRAINT.sub(rewrite, ARGUMENT.sub(rewrite, text))
