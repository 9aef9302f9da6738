"""A root folder with glibc, bash, coreutils and Python's interpreter and library, from this machine's own files. It has no
compiler, no shared libstdc++, no Python packages and no CUDA. Commands run there as on a machine without St.

Needs the right to change the root directory: root, or a kernel with user namespaces.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

PROGRAMS = ["bash", "env", "ls", "cat", "mkdir", "rm", "dirname", "uname", "sleep", "true", "false", "tail"]
NOT_COPIED = shutil.ignore_patterns("__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip",
                                    "lib2to3", "pydoc_data", "turtledemo", "config-*")
DEVICES = ["null", "zero", "urandom"]
# Uses separate namespaces, so that no mount and no process is left behind.
ENTER = """set -e
for device in %s; do mount --bind /dev/$device "$0/dev/$device"; done
mount -t proc proc "$0/proc" 2>/dev/null || mount --rbind /proc "$0/proc"
exec chroot "$0" "$@" """ % " ".join(DEVICES)
INSIDE = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C"}


def libraries_of(path):
    """The files that the loader opens for an executable or library."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True)
    return re.findall(r"(/\S+) \(0x", done.stdout)


def unshare():
    done = subprocess.run(["id", "-u"], capture_output=True, text=True)
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child"] + ([] if done.stdout.strip() == "0" else ["--map-root-user"])


class BareRoot:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("usr/bin", "usr/lib", "usr/lib64", "proc", "dev", "tmp", "root"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "lib", "lib64"):
            (self.folder / name).symlink_to(f"usr/{name}")
        for name in DEVICES:
            (self.folder / "dev" / name).touch()
        python = pathlib.Path(sys.executable).resolve()
        for program in [shutil.which(name) for name in PROGRAMS] + [python]:
            self.add(program)
        (self.folder / "usr/bin/python3").symlink_to(python.name)
        library = pathlib.Path(sysconfig.get_paths()["stdlib"]).resolve()
        shutil.copytree(library, self.inside(library), ignore=NOT_COPIED, symlinks=True)
        for module in library.glob("lib-dynload/*.so"):
            for needed in libraries_of(module):
                self.add_library(needed)

    def inside(self, path):
        """The path of a file of this machine in the root; /lib and /bin are links to those of /usr."""
        parts = pathlib.Path(path).parts[1:]
        return self.folder.joinpath(*(() if parts[0] == "usr" else ("usr",)), *parts)

    def add_library(self, path):
        if any(name in pathlib.Path(path).name for name in ("libstdc++", "libgcc_s")):
            return
        target = self.inside(path)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def add(self, program):
        shutil.copy(program, self.folder / "usr/bin" / pathlib.Path(program).name)
        for library in libraries_of(program):
            self.add_library(library)

    def run(self, command, environment=None, timeout=300):
        settings = [f"{key}={value}" for key, value in {**INSIDE, **(environment or {})}.items()]
        return subprocess.run([*unshare(), "sh", "-c", ENTER, str(self.folder), "/usr/bin/env", "-i", *settings,
                               *map(str, command)], capture_output=True, text=True, timeout=timeout)

    def why_not(self):
        """The reason why commands cannot run in the root, or None if they can."""
        try:
            done = self.run(["bash", "-c", "exit 7"])
        except OSError as error:
            return str(error)
        return None if done.returncode == 7 else done.stderr.strip() or f"exit {done.returncode}"
