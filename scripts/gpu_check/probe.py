"""Opens one of NVIDIA's libraries and prints its version and properties as a line of JSON. This runs in a separate
process, so that the check survives a library that crashes: python3 probe.py KIND NAME...

KIND is driver, cublasLt, cudnn or nccl; the first name that the loader finds counts. Errors name the call that failed.
"""

import ctypes
import json
import sys

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


class Failed(Exception):
    def __init__(self, call, why):
        super().__init__(why)
        self.call = call


def load(names):
    errors = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            errors.append((name, str(error)))
    # A library that exists but lacks another library explains more than a missing one.
    name, why = next((pair for pair in errors if not pair[1].startswith(pair[0] + ": cannot open shared object")), errors[0])
    raise Failed("dlopen(%s)" % name, why)


def path_of(stem):
    """The path at which the loader found a library."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if stem in line.rsplit("/", 1)[-1]:
                return line[line.index("/"):].strip()
    return "unknown"


def function(library, name):
    try:
        return getattr(library, name)
    except AttributeError:
        raise Failed("dlsym(%s)" % name, "the library has no such function: it is too old")


class Driver:
    def __init__(self, library):
        self.library = library

    def call(self, name, *arguments):
        result = function(self.library, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(result, ctypes.byref(text))
            raise Failed(name, "%s (%d)" % ((text.value or b"unknown error").decode(), result))

    def number(self, name, *arguments):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def gpu(self, number):
        device = self.number("cuDeviceGet", number)
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, device)
        attribute = lambda which: self.number("cuDeviceGetAttribute", which, device)
        return {"name": text.value.decode(), "capability": 10 * attribute(MAJOR) + attribute(MINOR), "device": device}

    def describe(self):
        self.call("cuInit", 0)
        count = self.number("cuDeviceGetCount")
        found = {"version": self.number("cuDriverGetVersion"), "gpus": [self.gpu(i) for i in range(count)]}
        for gpu in found["gpus"]:
            total = ctypes.c_size_t()
            self.call("cuDeviceTotalMem_v2", ctypes.byref(total), gpu["device"])
            gpu["bytes"] = total.value
        return found


def describe(kind, names):
    library = load(names)
    if kind == "driver":
        found = Driver(library).describe()
    elif kind == "nccl":
        version = ctypes.c_int()
        function(library, "ncclGetVersion")(ctypes.byref(version))
        found = {"version": version.value}
    else:
        get = function(library, {"cublasLt": "cublasLtGetVersion", "cudnn": "cudnnGetVersion"}[kind])
        get.restype = ctypes.c_size_t
        found = {"version": get()}
    return dict(found, path=path_of({"driver": "libcuda.so", "cublasLt": "libcublasLt", "cudnn": "libcudnn.so",
                                     "nccl": "libnccl"}[kind]))


if __name__ == "__main__":
    try:
        print(json.dumps(describe(sys.argv[1], sys.argv[2:])))
    except Failed as failure:
        print(json.dumps({"call": failure.call, "error": str(failure)}))
        sys.exit(1)
