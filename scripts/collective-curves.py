#!/usr/bin/env python3
"""Turns measured times of all-reduces into the curves of a cluster's description.

    scripts/collective-curves.py CSV A100 2-8 "v: where it was measured"
    scripts/collective-curves.py CSV V100 3:2,4:3 "d: 2 ranks at the rate of 3"

The table has columns gpu, gpus, bytes and time_us. `3:2` uses the measurements of 3 ranks for a curve of 2 ranks with
the same bus bandwidth, 2(n-1)/n * bytes / time.
"""

import argparse
import csv

POINTS_A_LINE = 3


def bus_share(ranks):
    return 2 * (ranks - 1) / ranks


def parse_ranks(text):
    """"2-4,8:6" as pairs of measured and described ranks."""
    pairs = []
    for part in text.split(","):
        if ":" in part:
            measured, described = map(int, part.split(":"))
            pairs.append((measured, described))
        else:
            first, last = (map(int, part.split("-")) if "-" in part else (int(part), int(part)))
            pairs += [(ranks, ranks) for ranks in range(first, last + 1)]
    return pairs


def curve_text(rows, measured, described, source):
    factor = bus_share(described) / bus_share(measured)
    points = [f"points {{ bytes: {size} us: {time * factor:.6g} }}" for size, time in sorted(rows)]
    lines = [f'curves {{', f'  kind: "all_reduce" ranks: {described}', f'  source: "{source}"']
    lines += ["  " + " ".join(points[i:i + POINTS_A_LINE]) for i in range(0, len(points), POINTS_A_LINE)]
    return "\n".join(lines + ["}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("gpu")
    parser.add_argument("ranks", type=parse_ranks)
    parser.add_argument("source")
    args = parser.parse_args()
    rows = {}
    with open(args.csv, newline="") as file:
        for row in csv.DictReader(file):
            if row["gpu"] == args.gpu:
                rows.setdefault(int(row["gpus"]), []).append((int(row["bytes"]), float(row["time_us"])))
    for measured, described in args.ranks:
        if measured not in rows:
            parser.exit(1, f"{args.csv}: no rows of {measured} ranks of {args.gpu}\n")
        print(curve_text(rows[measured], measured, described, args.source))


if __name__ == "__main__":
    main()
