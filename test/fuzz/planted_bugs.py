"""Shows that differential fuzzing can fail: plants bugs one at a time and counts cases until one of them fails.

  planted_bugs.py [--count=N] [--seed=N] [--only=NAME ...]

A bug is a change of one source file. A changed copy of the file is compiled, with the command that the build has for it,
and linked in front of the libraries into a separate st-differential, or into the tool that runs the changed code: the
tree and the build stay as they are. Bugs with `attention` are hunted with --attention. A bug whose text does not appear
exactly once in its file is an error, so the list must follow the sources. Tests check only that (test_planted_bugs.py);
the hunt takes half an hour.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("ST_BUILD", ROOT / "build"))


@dataclasses.dataclass
class Bug:
    name: str
    file: str
    old: str
    new: str
    tool: str = "st-differential"
    attention: bool = False


RULES, PIECES = "dialects/StableHLO/Sharding/ShardingReductions.cpp", "dialects/StableHLO/Sharding/ShardingPieces.cpp"
WINDOWS = "dialects/StableHLO/Sharding/ShardingWindows.cpp"
SHAPE, INDEXING = "dialects/StableHLO/Sharding/ShardingShape.cpp", "dialects/StableHLO/Sharding/ShardingIndexing.cpp"
ELEMENTWISE = "dialects/StableHLO/Sharding/ShardingElementwise.cpp"
EMITTER, MOVES = "passes/Partition/Reshard/ReshardEmitter.cpp", "dialects/St/Sharding/ReshardMoves.cpp"
ASSIGN = "passes/Partition/Stages/AssignStages.cpp"
PADDING = "passes/Partition/PadDimensions.cpp"
LOOPS, SOLVERS = "dialects/StableHLO/Sharding/ShardingLoops.cpp", "dialects/StableHLO/Sharding/ShardingLinearAlgebra.cpp"
SIMPLIFY = "passes/Collectives/SimplifyCollectives.cpp"
TASKS, PROGRAMS = "passes/Pipeline/TaskAnalysis.cpp", "passes/Pipeline/ProgramEmitter.cpp"
AGAIN = "passes/Memory/Recompute/RecomputeEmitter.cpp"
CUDA = "backends/cuda/codegen/"
HALVES = f"{CUDA}passes/SplitReductions.cpp"
CROSSING = f"{CUDA}attention/CrossingProduct.cpp"
PRODUCTS, GRAPH = "passes/Memory/OverlapProducts.cpp", "passes/Memory/TaskGraph.cpp"
BUGS = [
    # Factor rules.
    Bug("contraction-is-parallel", RULES, "isNumber ? FactorKind::Reduction : FactorKind::NeedReplication);",
        "isNumber ? FactorKind::Parallel : FactorKind::NeedReplication);"),
    Bug("maximum-is-summed", RULES, "rule.addFactor(size, FactorKind::Reduction, *kind)",
        "rule.addFactor(size, FactorKind::Reduction, ReductionKind::Sum)"),
    Bug("start-counts-on-each-shard", RULES, "rule.countedOnce = {1};", ""),
    Bug("sorted-dimension-is-parallel", RULES, "dim == sorted ? FactorKind::NeedReplication",
        "dim == sorted ? FactorKind::Parallel"),
    Bug("statistics-of-a-shard", RULES, "constexpr bool makesStatistics = !std::is_same_v<OpTy, BatchNormInferenceOp>;",
        "constexpr bool makesStatistics = false;"),
    Bug("product-of-partial-sums", RULES, "rule.setLinear(Linearity::Separately, {0, 1});",
        "rule.setLinear(Linearity::Jointly, {0, 1});"),
    Bug("every-shard-counts-from-zero", SHAPE, "positions = context.toGlobal(factors[0], positions);", ""),
    Bug("reversed-dimension-is-parallel", SHAPE, "rule.factors[factor].kind = FactorKind::Permutation;",
        "rule.factors[factor].kind = FactorKind::Parallel;"),
    Bug("maximum-of-partial-sums", ELEMENTWISE, ".Case<AddOp, SubtractOp>(", ".Case<AddOp, SubtractOp, MaxOp>("),
    Bug("sum-of-one-partial-operand", ELEMENTWISE, "rule.setLinear(Linearity::Jointly, {0, 1});",
        "rule.setLinear(Linearity::Separately, {0, 1});"),
    Bug("divisor-may-be-partial", ELEMENTWISE, "          rule.setLinear(Linearity::Separately, {0});\n      })\n      .Case<NegOp",
        "          rule.setLinear(Linearity::Separately, {0, 1});\n      })\n      .Case<NegOp"),
    Bug("row-of-the-whole-table-in-a-shard", INDEXING, "context.toLocal(factors[0], widenIndices(context.builder, "
        "scatter.getScatterIndices()))", "widenIndices(context.builder, scatter.getScatterIndices())"),
    Bug("row-of-another-shard", INDEXING, "splatLike(builder, indices, size / shards), ComparisonDirection::LT",
        "splatLike(builder, indices, size), ComparisonDirection::LT"),
    Bug("index-outside-of-the-table", INDEXING, "splatLike(builder, indices, size - 1));", "splatLike(builder, indices, size));"),
    Bug("scattered-table-on-each-shard", INDEXING, "rule.countedOnce = {0};", ""),
    Bug("row-short-of-the-next-part", WINDOWS, "reach.behind = end >= 0 ? end / window.baseDilation + 1 : 0;",
        "reach.behind = end >= 0 ? end / window.baseDilation : 0;"),
    Bug("zeros-before-the-first-window", EMITTER, "isAt(loc, splits, /*last=*/!before)", "isAt(loc, splits, /*last=*/before)"),
    Bug("next-part-from-the-part-before", EMITTER, "std::initializer_list<int64_t>{part + 1, part}",
        "std::initializer_list<int64_t>{part, part + 1}"),
    Bug("slice-is-parallel", PIECES, "addPieceFactor(rule, op, dim, isFull);", "addPieceFactor(rule, op, dim, true);"),
    Bug("first-block-is-used", PIECES, "starts[dim] /= shards;\n        limits[dim] /= shards;",
        "limits[dim] = (limits[dim] - (shards > 1 ? starts[dim] : 0)) / shards;\n"
        "        starts[dim] = shards > 1 ? 0 : starts[dim];"),
    Bug("padded-on-the-other-side", PIECES, "low[dim] /= shards;\n",
        "if (shards > 1)\n        std::swap(low[dim], high[dim]);\n      low[dim] /= shards;\n"),
    Bug("blocks-are-split", PIECES, "rule.addFactor(count, FactorKind::Permutation)",
        "rule.addFactor(count, FactorKind::Parallel)"),
    Bug("transposed-back", SHAPE, "attach(rule.results[0], dim, factors[from]);", "attach(rule.results[0], dim, factors[dim]);"),
    Bug("interleaved-dimensions-are-parallel", SHAPE,
        "side.take(side.left, rule.addFactor(side.left, FactorKind::NeedReplication));",
        "side.take(side.left, rule.addFactor(side.left));"),
    Bug("narrow-elements-of-a-wide-one-are-parallel", SHAPE,
        "tensor.back() = {rule.addFactor(shapeOf(value).back(), FactorKind::NeedReplication)};",
        "tensor.back() = {rule.addFactor(shapeOf(value).back())};"),
    Bug("joined-dimension-is-parallel", PIECES, "dim == joined ? FactorKind::Permutation", "dim == joined ? FactorKind::Parallel"),
    Bug("updated-dimension-is-parallel", PIECES, "addPieceFactor(rule, op, dim, isUntouched);\n      if (updateShape",
        "addPieceFactor(rule, op, dim, true);\n      if (updateShape"),
    Bug("solved-dimension-is-parallel", SOLVERS, "rule.addFactor(shape[solved], FactorKind::NeedReplication);",
        "rule.addFactor(shape[solved]);"),
    Bug("rows-to-factorise-are-parallel", SOLVERS, "dim + 2 < rank ?", "dim + 1 < rank ?"),
    Bug("start-of-a-loop-counts-on-each-shard", LOOPS, "rule.countedOnce.push_back(i);", ";"),
    # Reshard planning.
    Bug("sliced-in-the-wrong-part", MOVES,
        "step.outer = localOuter(now.dims[dim], site.outer);\n    TensorSharding next = now;",
        "step.outer = site.outer;\n    TensorSharding next = now;"),
    Bug("scattered-to-the-wrong-part", MOVES,
        "step.outer = localOuter(now.dims[dim], site.outer);\n        TensorSharding next = reduced;",
        "step.outer = site.outer;\n        TensorSharding next = reduced;"),
    Bug("exchanged-to-the-wrong-part", MOVES,
        "step.outer = localOuter(now.dims[dim], site.outer);\n          step.fromDim = fromDim;",
        "step.outer = site.outer;\n          step.fromDim = fromDim;"),
    Bug("position-after-a-split-part", EMITTER, "stride *= all[i].size;",
        "stride *= all[i].axis == kUnsplit ? all[i].size : 1;"),
    Bug("here-by-the-last-digit", EMITTER, "isHere = isHere ? Value(AndOp::create(builder, loc, isHere, matches)) : matches;",
        "isHere = matches;"),
    Bug("sum-over-other-axes-is-scattered", SIMPLIFY, "sum && sum.getAxes() == slice.getAxes() && sum.getMesh() == slice.getMesh())",
        "sum)"),
    Bug("gathered-from-the-wrong-part", MOVES, "step.outer = localOuter(now.dims[dim], run.outer);", "step.outer = 1;"),
    Bug("exchanged-from-the-wrong-part", MOVES, "step.fromOuter = localOuter(now.dims[fromDim], run.outer);",
        "step.fromOuter = 1;"),
    Bug("moved-across-a-part", MOVES, "return gone % end != 0 && begin % goneEnd != 0;", "return begin < goneEnd && gone < end;"),
    Bug("permuted-backwards", MOVES, "pairs.append({sources[position], position});", "pairs.append({position, sources[position]});"),
    Bug("mask-of-any-axis", EMITTER, "isFirst ? AndOp::create(builder, loc, isFirst, atZero) : atZero;", "atZero;"),
    Bug("first-micro-batch-for-all", EMITTER, "splat(loc, scalar, sizes[step.dim]));", "splat(loc, scalar, 0));"),
    Bug("sums-of-maxima", EMITTER, "AllReduceOp::create(builder, loc, type, value, kind, names, axes.meshName())",
        "AllReduceOp::create(builder, loc, type, value, ReduceKind::Sum, names, axes.meshName())"),
    # Stage assignment.
    Bug("transfers-not-shared", ASSIGN, "instances[{value, stage}] = transfer;\n", ""),
    # Accumulation.
    Bug("last-micro-batch-wins", PROGRAMS, "bool once = analysis.getMicroBatches() == 1;", "bool once = true;"),
    Bug("stash-of-one-micro-batch", PROGRAMS, "add(value, stash ? \"stash\" : \"step\", stash ? stashes++ : steps++, stash);",
        "add(value, stash ? \"stash\" : \"step\", stash ? stashes++ : steps++, false);"),
    Bug("count-of-one-micro-batch", TASKS, "(mine.feedsLoop ? mine.afterStatistics : mine.afterAccumulation) = true;",
        "mine.afterAccumulation = true;"),
    Bug("buckets-need-each-other-in-a-circle", "passes/Collectives/Buckets.cpp", "close(needed).test(it->second.bucket)",
        "false"),
    Bug("result-of-a-bucket-is-not-waited-for", "passes/Collectives/CombineCollectives.cpp", "between.needing.push_back(op);", ""),
    Bug("reduced-over-devices-not-micro", EMITTER, "return AccumulateOp::create(builder, loc, type, value, kind);",
        "return AllReduceOp::create(builder, loc, type, value, kind, names, axes.meshName()).getResult(0);"),
    # Recomputation.
    Bug("computed-again-from-one-operand", AGAIN, "mapping.map(operand, get(operand, block, consumer));",
        "mapping.map(operand, get(op->getOperand(0), block, consumer));"),
    Bug("weight-task-reads-undefined-value", AGAIN, "    passToWeightTask(number);", "    ;"),
    # Overlap.
    Bug("all-parts-are-the-first", PRODUCTS, "start[dim] = index * part.getDimSize(dim);", "start[dim] = 0;"),
    Bug("products-of-one-gathered-part", PRODUCTS, "full, gathered[i])", "full, gathered[0])"),
    Bug("overwritten-before-it-is-read", GRAPH, "      add(numbers.lookup(user), number);\n", ""),
    Bug("parts-overlap", "passes/Memory/MemoryUtils.cpp", "    offset += getNumBytes(input.getType());\n", ""),
    # Padding.
    Bug("padding-is-summed", PADDING, "  if (reduced.any())\n", "  if (false)\n"),
    Bug("maximum-masked-by-zeros", PADDING, "      kind = factor.reduction;\n", ""),
    Bug("lookup-past-the-last-row", PADDING, "    clampIndices(gather);", "    (void)gather;"),
    Bug("state-keeps-padding-values", PADDING, "  cleanState();\n  shareMasked();", "  shareMasked();"),
    Bug("padding-of-any-dimension-is-clean", PADDING, "    if (from == typeBefore(result))\n      clean.insert(pad);",
        "    clean.insert(pad);"),
    Bug("groups-are-padded", "dialects/StableHLO/Sharding/ShardingWindows.cpp", "      rule.factors[group].isCounted = true;", "      ;"),
    # Kernels of the CUDA backend.
    Bug("parts-count-from-zero", HALVES, "return hlo::AddOp::create(builder, loc, first, along(place + 1));",
        "return along(place + 1);"),
    Bug("vector-along-the-wrong-part", HALVES, "dims.push_back(place + 1);\n  }\n  return hlo::BroadcastInDimOp",
        "dims.back() = place + 1, dims.push_back(place);\n  }\n  return hlo::BroadcastInDimOp"),
    # Kernels of attention and of the optimizer.
    Bug("one-input-for-all-of-its-type", f"{CUDA}attention/JoinedGradient.cpp", "input.getType() == other.getType() && definitions.of(input) == definitions.of(other);",
        "input.getType() == other.getType();", "st-compile", True),
    Bug("sums-of-blocks-before-are-lost", CROSSING, "added.push_back(number + sums[i + j]);", "added.push_back(sums[i + j]);",
        "st-cuda-host-run", True),
    Bug("gradients-of-the-other-sum", f"{CUDA}passes/JoinReductions.cpp",
        "first->replaceAllUsesWith(both->getResults().take_front(first->getNumResults()));",
        "first->replaceAllUsesWith(both->getResults().take_back(first->getNumResults()));", "st-compile", True),
    Bug("weights-of-the-step-before", f"{CUDA}passes/ConvertInUpdate.cpp", "mapping.map(body.getArgument(0), yielded[number]);",
        "for (Value old : after.getBody().front().getArguments())\n    if (old.getType() == yielded[number].getType())\n"
        "      mapping.map(body.getArgument(0), old);", "st-compile", True),
    Bug("numbers-of-every-other-block", f"{CUDA}passes/ExpandSemaphores.cpp", "makeWord(builder, loc, 1),", "makeWord(builder, loc, 2),",
        "st-cuda-host-run", True),
    Bug("buffers-at-one-place", f"{CUDA}passes/UseDynamicSharedMemory.cpp", "builder, loc, offset);", "builder, loc, 0 * offset);",
        "st-cuda-host-run", True),
]


def with_bug(bug):
    """The text of its file with the bug in it."""
    text = (ROOT / bug.file).read_text()
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: {bug.file}: expected its text once, found it {text.count(bug.old)} times")
    return text.replace(bug.old, bug.new)


def commands(target):
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.strip()]


def compile_command(bug):
    """The build's own command for a source file."""
    return next(line for line in commands(bug.tool) if line.endswith(f"-c {ROOT / bug.file}"))


def link_command(tool):
    return commands(tool)[-1]


def build(bug, folder):
    """The bug's tool with the bug in it, in folder/bin, with the other tools."""
    source, part = folder / pathlib.Path(bug.file).name, folder / "changed.o"
    source.write_text(with_bug(bug))
    command = compile_command(bug).replace(f"-c {ROOT / bug.file}", f"-c {source}")
    command = re.sub(r" -MD -MT \S+ -MF \S+", "", command)
    command = re.sub(r" -o \S+", f" -o {part}", command)
    subprocess.run(shlex.split(command), cwd=BUILD, check=True, capture_output=True)
    (folder / "bin").mkdir()
    for tool in ("st-compile", "st-cuda-host-run", "st-differential", "st-translate"):
        if tool != bug.tool:
            (folder / "bin" / tool).symlink_to(BUILD / "bin" / tool)
    link = link_command(bug.tool).replace(f"-o bin/{bug.tool}", f"{part} -o {folder}/bin/{bug.tool}")
    subprocess.run(link, cwd=BUILD, check=True, shell=True, capture_output=True)


def hunt(bug, seed, count):
    """The first seed that fails, and why, or None if all agree."""
    with tempfile.TemporaryDirectory(prefix="st-planted-") as temporary:
        folder = pathlib.Path(temporary)
        build(bug, folder)
        # Runs on devices find the same bugs as the interpreter, but later, except in code that the interpreter does not
        # run.
        flags = ["--attention"] if bug.attention else []
        flags += ["--no-device"] if bug.tool == "st-differential" else []
        most = 250 if bug.tool == "st-differential" else 4
        for first in range(seed, seed + count, most):
            done = subprocess.run([sys.executable, ROOT / "test/fuzz/test_partition.py", f"--seed={first}", f"--count={most}",
                                   "--no-reduce", *flags], env={**os.environ, "ST_BUILD": str(folder)},
                                  capture_output=True, text=True)
            if failed := re.search(r"^FAILED --seed=(\d+) --count=1.*?: (.*)$", done.stdout, re.MULTILINE):
                return int(failed.group(1)), failed.group(2)
            if done.returncode:
                raise SystemExit(f"{bug.name}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000, help="cases at most for a bug")
    parser.add_argument("--only", nargs="*", help="names of bugs")
    options = parser.parse_args()
    found = 0
    bugs = [bug for bug in BUGS if not options.only or bug.name in options.only]
    for bug in bugs:
        result = hunt(bug, options.seed, options.count)
        found += result is not None
        print(f"{bug.name}: " + (f"found by --seed={result[0]}: {result[1][:120]}" if result else "NOT FOUND"), flush=True)
    print(f"{found} of {len(bugs)} found")
    return 0 if found == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
