"""Reads the output of scripts/gpu-bundle.sh: a list of rows (bundle.json), programs, inputs and expected results.

A program is stored without the runner, which all programs share: a training binary is the runner, the program and a
footer of 40 bytes, which lib/Runtime/Program/Payload.h describes.
"""

import gzip
import hashlib
import json
import struct
import zlib

FORMAT = 1
LAYOUT_VERSION, MAGIC = 1, b"ST-TRAIN"


class Damaged(Exception):
    """A file of the bundle differs from its checksum; the message names it."""


def training_binary(runner, program):
    body = struct.pack("<QQII", len(runner), len(program), zlib.crc32(runner), zlib.crc32(program))
    tail = struct.pack("<I", LAYOUT_VERSION) + MAGIC
    return runner + program + body + struct.pack("<I", zlib.crc32(body + tail)) + tail


def write_executable(path, content):
    path.write_bytes(content)
    path.chmod(0o755)
    return path


class Bundle:
    def __init__(self, folder):
        self.folder = folder
        try:
            self.manifest = json.loads((folder / "bundle.json").read_text())
        except (OSError, ValueError) as error:
            raise Damaged("%s: %s" % (folder / "bundle.json", error))
        if self.manifest.get("format") != FORMAT:
            raise Damaged("%s: format is %r, expected %d" % (folder / "bundle.json", self.manifest.get("format"), FORMAT))
        self.rows = self.manifest["rows"]

    def read(self, name):
        """The content of a file, decompressed if its name ends with .gz."""
        path = self.folder / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise Damaged("%s: %s" % (path, error.strerror))
        if hashlib.sha256(data).hexdigest() != self.manifest["files"].get(name):
            raise Damaged("%s: its SHA-256 is not that of bundle.json" % path)
        return gzip.decompress(data) if name.endswith(".gz") else data

    def runner(self, folder):
        """The runner without a program, in a folder."""
        return write_executable(folder / "runner", self.read("runner.gz"))

    def program(self, name, chip, folder):
        """The training binary of a program for a chip. It is made in a folder if it is not there yet."""
        path = folder / ("%s-%s" % (name, chip))
        if path.exists():
            return path
        return write_executable(path, training_binary(self.read("runner.gz"), self.read("programs/%s/%s.gz" % (chip, name))))

    def tensors(self, name, folder):
        """A .safetensors file of the bundle, unpacked into a folder."""
        path = folder / (name.replace("/", "-") + ".safetensors")
        if not path.exists():
            path.write_bytes(self.read("tensors/%s.gz" % name))
        return path

    def choose_chip(self, capability):
        """The newest chip in the bundle that a GPU of a compute capability, such as 90, can run, or None."""
        chips = [chip for chip in self.manifest["chips"] if int(chip[3:]) <= capability]
        return max(chips, key=lambda chip: int(chip[3:]), default=None)
