"""A small program for every collective, on four devices."""

from conformance_program import tensor

COLLECTIVES = {}  # (op, variant) -> function
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids"
HALVES = "replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>"


def case(op, variant=""):
    def add(function):
        COLLECTIVES[op, variant] = function
        return function
    return add


def reductions(op):
    def make(p):
        region = p.combiner(f"stablehlo.{op}")
        for x in (p.numbers(1, 3, 5), p.numbers(2, 7)):
            p.result(p.ops("stablehlo.all_reduce", [x], [x[1]], f"{CHANNEL}, {GROUPS}", region)[0])
    return make


def scatters(op):
    def make(p):
        p.result(p.op("stablehlo.reduce_scatter", [p.numbers(3, 8, 5)], (2, 5), attributes=
                      f"{CHANNEL}, {GROUPS}, scatter_dimension = 0 : i64", region=p.combiner(f"stablehlo.{op}")))
    return make


for op in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"):
    case("stablehlo.all_reduce", op)(reductions(op))
    case("stablehlo.reduce_scatter", op)(scatters(op))


@case("stablehlo.all_reduce", "special values")
def all_reduce_specials(p):
    for op in ("maximum", "minimum"):
        x = p.specials((4, 9))[0], tensor((1, 9), p.element)
        p.result(p.op("stablehlo.all_reduce", [x], (1, 9), attributes=f"{CHANNEL}, {GROUPS}",
                      region=p.combiner(f"stablehlo.{op}")))


@case("stablehlo.all_gather")
def all_gather(p):
    p.result(p.op("stablehlo.all_gather", [p.numbers(4, 3, 5)], (3, 20),
                  attributes=f"all_gather_dim = 1 : i64, {CHANNEL}, {GROUPS}"))


@case("stablehlo.all_to_all")
def all_to_all(p):
    groups = GROUPS.replace(", use_global_device_ids", "")
    p.result(p.op("stablehlo.all_to_all", [p.numbers(5, 3, 8)], (12, 2), attributes=f"split_dimension = 1 : i64, "
                  f"concat_dimension = 0 : i64, split_count = 4 : i64, {CHANNEL}, {groups}"))


@case("stablehlo.collective_permute")
def collective_permute(p):
    for pairs in ("[[0, 1], [1, 2], [2, 3], [3, 0]]", "[[0, 2], [3, 1]]"):
        count = pairs.count("[") - 1
        x = p.numbers(6, 3, 5)
        p.result(p.ops("stablehlo.collective_permute", [x], [x[1]],
                       f"source_target_pairs = dense<{pairs}> : tensor<{count}x2xi64>, {CHANNEL}")[0])


@case("stablehlo.collective_broadcast")
def collective_broadcast(p):
    x = p.numbers(7, 3, 5)
    p.result(p.ops("stablehlo.collective_broadcast", [x], [x[1]], f"{HALVES}, {CHANNEL}")[0])


@case("stablehlo.partition_id")
def partition_id(p):
    """The ui32 result, converted to the case's type."""
    x = p.op("stablehlo.convert", p.ops("stablehlo.partition_id", [], [tensor((), "ui32")]), ())
    p.result(p.op("stablehlo.reshape", [x], (1,)))
