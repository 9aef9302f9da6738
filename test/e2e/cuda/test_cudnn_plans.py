"""NVIDIA's cuDNN has engines for our attention on an A100 and an H100; the test needs neither GPU.

cuDNN makes plans, including kernels, from a description of a GPU's properties, and a stand-in of the driver loads the code.
Without cuDNN on the library path, in a CUDA installation or in the folder of this Python, the check is skipped.
"""

import os
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

PLACES = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64",
          *(f"{path}/nvidia/cudnn/lib" for path in sys.path), "/usr/lib/x86_64-linux-gnu"]


def have_engines(folder):
    found = [place for place in PLACES if place and (pathlib.Path(place) / "libcudnn.so.9").exists()]
    if not found:
        return "skipped: no libcudnn.so.9"
    path = f"{st.BIN.parent}/standins/no-gpu:{found[0]}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    done = st.run([st.BIN / "st-runtime-unit-tests", "--gtest_filter=*CudnnPlans*"],
                  env={**os.environ, "LD_LIBRARY_PATH": path, "ST_CUDNN_PLANS": "1"})
    st.expect(done.returncode == 0 and re.search(r"PASSED *\] 2 tests", done.stdout), done.stdout[-3000:] + done.stderr[-3000:])
    return f"of {found[0]}"


if __name__ == "__main__":
    sys.exit(st.main(("plans for GPUs that are not there", have_engines)))
