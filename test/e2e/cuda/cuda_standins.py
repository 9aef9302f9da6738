"""Runs GPU programs on machines without a GPU, through the GPU runtime and stand-ins for NVIDIA's libraries.

test/standins has libraries with the names of NVIDIA's, in which a GPU is memory and threads of the host. A program
compiled for `cuda-host` becomes one for sm_90 whose kernels those libraries can run. Everything else is as on a GPU:
streams, events, products of cuBLASLt, messages of NCCL.
"""

import os
import pathlib

import st_testing as st
import test_mutated_binary as mutated

LIBRARIES = st.BIN.parent / "standins"
HOST, CUBIN, PTX = 3, 2, 1  # Kinds of images.


def numbers(message):
    return {field[0]: number for number, field in mutated.MESSAGES[message].items()}


def values(fields, message, name):
    number = numbers(message)[name]
    return [value for key, value in fields if key == number]


def change(fields, message, name, value):
    number = numbers(message)[name]
    fields[:] = [[key, value if key == number else old] for key, old in fields]


def for_gpu(binary, gpus=8, nccl=True, cudnn=True, ptx=False):
    """Makes a binary for sm_90 from one for cuda-host, and its environment: the number of GPUs, with or without NCCL and
    cuDNN. Its kernels are a cubin, and with `ptx` they are also stored as PTX for the driver to compile."""
    mutated.MESSAGES["Task"][4] = mutated.TASK_PROGRAMS[False]
    mutator = mutated.Mutator(binary)
    (code,) = values(mutator.program, "Executable", "cuda")
    (gpu,) = values(code, "CudaCode", "gpu")
    change(gpu, "GpuDescription", "chip", b"sm_90")
    for image in values(code, "CudaCode", "images"):
        st.expect(values(image, "CudaImage", "kind") == [HOST], "kernels for the host are expected")
        change(image, "CudaImage", "kind", CUBIN)
        change(image, "CudaImage", "chip", b"sm_90")
        if ptx:
            code.append([numbers("CudaCode")["images"], [list(field) for field in image]])
            change(code[-1][1], "CudaImage", "kind", PTX)
    lines = []
    for kernel in values(code, "CudaCode", "kernels"):
        ((name,), (blocks,), (threads,)) = (values(kernel, "CudaKernel", key) for key in ("name", "blocks", "threads"))
        arguments = zip(*(values(kernel, "CudaKernel", key) for key in ("argument_bytes", "argument_alignments")), strict=True)
        shared = sum(values(kernel, "CudaKernel", "shared_bytes"))  # One; none if it is 0.
        lines.append(" ".join([name.decode(), str(blocks), str(threads), str(shared), *(f"{size}:{align}" for size, align in arguments)]) + "\n")
    changed = pathlib.Path(f"{binary}-gpu")
    mutator.write(changed)
    table = pathlib.Path(f"{binary}-kernels")
    table.write_text("".join(lines))
    libraries = LIBRARIES
    if not (nccl and cudnn):
        libraries = binary.parent / "libraries"
        libraries.mkdir()
        for name, is_there in (("libcuda.so.1", True), ("libcublasLt.so", True), ("libnccl.so.2", nccl), ("libcudnn.so.9", cudnn)):
            if is_there:
                (libraries / name).symlink_to(LIBRARIES / name)
            else:
                (libraries / name).write_text("")  # Used instead of a library that the machine may have.
    return changed, {**os.environ, "LD_LIBRARY_PATH": str(libraries), "ST_STANDIN_KERNELS": str(table), "ST_STANDIN_GPUS": str(gpus),
                     "ST_CACHE_DIR": str(binary.parent / "cache")}
