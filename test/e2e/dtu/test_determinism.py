"""Same layout, same bits: two runs print identical losses and simulated times, with one host thread and two.

The simulated time is real: between the roofline bound of the step and the
serial sum of its instructions, and longer when a rate of the description is halved.
"""

import json
import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st


def lines(binary, *flags):
    """The loss and simulated time of each step as printed; only host time may differ."""
    out = st.check_run([binary, "--steps=4", *flags]).stdout
    found = [re.sub(r"host.*", "", line) for line in out.splitlines() if line.startswith("step")]
    st.expect(len(found) == 4, f"expected four step lines:\n{out}")
    return found


def same_bits(folder):
    binary = st.compile_model(folder, "b", st.SMALL_BERT, "mlm", st.layout(2, 4, mode="hybrid", accum=2))
    first = lines(binary, "--host-threads=1")
    for flags in (["--host-threads=1"], ["--host-threads=2"], ["--host-threads=2"]):
        st.expect(lines(binary, *flags) == first, f"another run with {flags} differs:\n{first}")
    return first[-1].strip()


def same_bits_on_every_host(folder):
    """In bf16, for each instruction set of this host: one thread and two give the same bits, near those of the other
    sets."""
    parallel = st.layout(2, 4, mode="hybrid", accum=2) | {"precision": "bf16"}
    binary = st.compile_model(folder, "b", st.SMALL_BERT, "mlm", parallel)
    auto, plain = lines(binary), st.losses(st.train(binary, "--host-isa=avx2", steps=4))
    runs = {}
    for isa in ("avx2", "avx512", "avx512-bf16", "amx"):
        probe = st.run([binary, "--steps=1", f"--host-isa={isa}"])
        if probe.returncode:
            st.expect(f"this host has no {isa}; its widest instruction set is" in probe.stderr, probe.stderr)
            continue
        runs[isa] = lines(binary, "--host-threads=1", f"--host-isa={isa}")
        st.expect(lines(binary, "--host-threads=2", f"--host-isa={isa}") == runs[isa], f"threads change bits of {isa}")
        difference = st.relative_difference(plain, st.losses(st.train(binary, f"--host-isa={isa}", steps=4)))
        st.expect(difference <= 1e-2, f"{isa} differs from avx2 by {difference:.3g}")
    st.expect(auto in runs.values(), f"auto is none of {list(runs)}")
    return f"{', '.join(runs)}; {auto[-1].strip()}"


def resumed(folder):
    """--resume continues bit for bit in the same layout, and to 1e-5 in another."""
    binary = st.compile_model(folder, "b", st.SMALL_BERT, "mlm", st.layout(2, 2))
    whole = st.losses(st.train(binary, steps=6))
    st.train(binary, f"--save={folder / 'ckpt'}", steps=3)
    rest = st.losses(st.train(binary, f"--resume={folder / 'ckpt'}", steps=3))
    st.expect(rest == whole[3:], f"continued losses differ:\n{whole[3:]}\n{rest}")
    other = st.compile_model(folder, "o", st.SMALL_BERT, "mlm", st.layout(4, 1, mode="pipeline", accum=2))
    rest = st.losses(st.train(other, f"--resume={folder / 'ckpt'}", steps=3))
    difference = st.relative_difference(whole[3:], rest)
    st.expect(difference <= 1e-5, f"another layout differs by {difference:.3g}")


def report(binary, *flags):
    path = binary.with_suffix(".report")
    st.check_run([binary, "--steps=1", f"--report={path}", *flags])
    return json.loads(path.read_text())


def time_is_real(folder):
    """The same order of ops takes longer on a slower part. (For that part the compiler might choose another.)"""
    kernels = folder / "kernels.mlir"
    model = st.write_json(folder / "m/config.json", st.SMALL_BERT).parent
    parallel = st.write_json(folder / "m/parallel.json", st.layout(2, 4))
    st.check_run([*st.COMPILE, model, "--task=mlm", "--batch=4", "--seq=32", "--target=dtu-t10", f"--parallel={parallel}",
                  "--compile-to=kernels", "-o", kernels])

    def run(name, text):
        ir = folder / f"{name}.mlir"
        ir.write_text(text)
        st.check_run([*st.COMPILE, ir, "--compile-from=kernels", "-o", folder / f"{name}.bin"])
        return report(folder / f"{name}.bin")

    text = kernels.read_text()
    base = run("base", text)
    st.expect(base["roofline_ms"] <= base["sim_ms"] <= base["serial_ms"],
              f"not roofline {base['roofline_ms']} <= {base['sim_ms']} <= serial {base['serial_ms']}")
    for field in ("chip_gbytes_per_second", "onchip_gbytes_per_second", "fp32_macs_per_core_cycle",
                  "l3_gbytes_per_second"):
        halved, count = re.subn(rf"(\b{field} {{ value: )([0-9.eE+]+)", lambda m: m[1] + str(float(m[2]) / 2), text)
        st.expect(count == 1, f"{field} occurs {count} times in the description")
        slow = run(field, halved)
        st.expect(slow["sim_ms"] > base["sim_ms"], f"half of {field} takes {slow['sim_ms']}, not more than {base['sim_ms']}")


if __name__ == "__main__":
    sys.exit(st.main(("same bits", same_bits), ("same bits on every host", same_bits_on_every_host), ("resume", resumed), ("simulated time", time_is_real)))
