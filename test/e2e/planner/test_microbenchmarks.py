"""Microbenchmarks reproduce the description of the device that they run on (benchmarks/microbenchmarks.py).

All times are simulated, so they do not depend on the host or its load.
"""

import pathlib
import re
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[1].iterdir())

import st_testing as st

sys.path.insert(0, str(st.ROOT / "benchmarks"))
import microbenchmarks as micro

# Primes, also to the sizes of copies, so that values from the built-in description would be noticed.
ODD = {"clock_ghz": 1.37, "l3_gbytes_per_second": 397.3, "l2_gbytes_per_second": 501.7, "l1_gbytes_per_second": 133.7,
       "dte_gbytes_per_second": 71.3, "dte_latency_ns": 133.3, "sync_ns": 17, "transcendental_cycles": 7,
       "task_launch_ns": 4321, "matrix_start_cycles": 29, "vector_start_cycles": 11, "vector_bytes_per_cycle": 64,
       "onchip_gbytes_per_second": 61.3, "onchip_latency_ns": 771, "chip_gbytes_per_second": 11.9,
       "chip_latency_ns": 1234, "group_gbytes_per_second": 7.1, "group_latency_ns": 2345,
       "host_gbytes_per_second": 3.7, "host_latency_ns": 777, "fp32_macs_per_core_cycle": 128,
       "bf16_macs_per_core_cycle": 256, "l3_burst_bytes": 64, "l1_banks": 64}


def close(rows):
    off = [f"{name}: {described:g}, measured {measured:g}" for name, described, measured in rows
           if abs(measured / described - 1) > 0.005]
    st.expect(not off, "\n".join(off))
    return f"{len(rows)} figures"


def machine(device):
    def run(folder):
        bench = micro.Bench(device, folder, st.BIN.parent)
        rows = micro.machine_table(bench)
        names = {name for name, _, _ in rows}
        wanted = {"task_launch_ns", "sync_ns", "dte_latency_ns", "dte_gbytes_per_second", "l3_gbytes_per_second",
                  "l2_gbytes_per_second", "l1_gbytes_per_second", "fp32_macs_per_core_cycle", "bf16_macs_per_core_cycle",
                  "host_latency_ns", "onchip_latency_ns", "matrix_start_cycles", "l3_burst_bytes", "l1_banks"}
        if bench.figures["max_chips"] > 1:
            wanted |= {"onchip_gbytes_per_second", "chip_gbytes_per_second", "chip_latency_ns", "group_latency_ns"}
        st.expect(wanted <= names, f"not measured: {sorted(wanted - names)}")
        return close(rows)
    return run


def other_machine(folder):
    """The measured figures are those of the description, not those of T10."""
    text = (st.ROOT / "devices/dtu-t10.textproto").read_text()
    for name, value in ODD.items():
        text, count = re.subn(rf"(?m)^{name} {{ value: \S+", f"{name} {{ value: {value}", text)
        st.expect(count == 1, f"the description has {count} figures {name}")
    (folder / "odd.textproto").write_text(text)
    bench = micro.Bench(folder / "odd.textproto", folder, st.BIN.parent)
    st.expect(bench.figures["l3_gbytes_per_second"] == 397.3, "the description was not read")
    rows = micro.machine_table(bench)
    st.expect(set(ODD) - {"clock_ghz", "host_gbytes_per_second"} <= {row[0] for row in rows}, f"{rows}")
    return close(rows)


def products(device, least):
    """Compiled products of a size that tiles divide: the least share of the peak, by type."""
    def run(folder):
        bench = micro.Bench(device, folder, st.BIN.parent)
        shares = {kind: share for kind, _, _, share in micro.product_table(bench, sizes=(6144,))}
        st.expect(all(least[kind] <= share < 1 for kind, share in shares.items()), f"{shares}, expected at least {least}")
        return ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in shares.items())
    return run


def rings(device):
    """All-reduces match their formula. Large ones between chips fill the links, and small ones of many ranks take few
    steps."""
    def run(folder):
        bench = micro.Bench(device, folder, st.BIN.parent)
        rows = micro.ring_table(bench, sizes=(64 * 1024, 4 << 20),
                                rings={"onchip": (2, 4), "chip": (2, 3), "group": (8,), "all": (16,)})
        for kind, ranks, size, within, took, formula, share in rows:
            # If rings share a link, the first ones continue before the last has its turn.
            least = 0.95 if kind == "all" else 0.97
            st.expect(least <= took / formula <= 1.03,
                      f"{kind}, {ranks} ranks, {size} bytes: {took:.0f} ns, by the formula {formula:.0f}")
            st.expect(kind == "all" or share < 1, f"{kind}, {ranks} ranks, {size} bytes: {share} of the link")
            st.expect(size < 1 << 20 or kind not in ("chip", "group") or share > 0.95, f"{share} of a {kind} link")
            if kind == "group" and size < 1 << 20:
                alpha, _ = micro.hop(bench, micro.pairs(bench.figures)[kind])
                st.expect(took < 2 * (ranks - 1) * alpha, f"{took} ns, no less than the latencies of one ring")
        return f"{len(rows)} all-reduces"
    return run


if __name__ == "__main__":
    sys.exit(st.main(
        ("T10", machine("dtu-t10")), ("T20", machine("dtu-t20")), ("i20", machine("dtu-i20")),
        ("T10 with large memory", machine("dtu-t10-large")), ("other figures", other_machine),
        ("products on T10", products("dtu-t10", {"f32": 0.97, "bf16": 0.945})),
        ("products on T20", products("dtu-t20", {"f32": 0.97, "bf16": 0.97})),
        ("products on i20", products("dtu-i20", {"f32": 0.97, "bf16": 0.96})),
        ("rings on T10", rings("dtu-t10")), ("rings on T20", rings("dtu-t20")), ("rings on i20", rings("dtu-i20"))))
