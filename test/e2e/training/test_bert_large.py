"""BERT-large under the layout of examples/parallel/bert-large-dtu-4x8.json trains as on one device.

Three steps of the span task, f32, dropout on: losses agree to 1e-4 relative. The one device has the
memory of devices/dtu-t10-large.textproto.
"""

import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

MODEL = st.ROOT / "examples/models/bert-large-uncased"
LAYOUT = st.ROOT / "examples/parallel/bert-large-dtu-4x8.json"


def train(folder, name, *flags):
    binary = folder / name
    st.check_run([*st.COMPILE, MODEL, "--task=span", "--batch=1", "--seq=384", "--lr=1e-5", "--predict=false",
                  "-o", binary, *flags])
    result = st.losses(st.train(binary, steps=3))
    binary.unlink()
    return result


def agrees(folder):
    one = train(folder, "one", "--target=dtu-t10-large")
    split = train(folder, "split", "--target=dtu-t10", f"--parallel={LAYOUT}")
    st.expect(one[-1] != one[0], "the loss does not move")
    difference = st.relative_difference(one, split)
    st.expect(difference <= 1e-4, f"losses differ by {difference:.3g}:\n{one}\n{split}")
    return f"losses agree to {difference:.1e}: {one}"


if __name__ == "__main__":
    sys.exit(st.main(("BERT-large 4x8 against 1x1", agrees)))
