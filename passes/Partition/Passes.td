// From a global training step to what one rank of each stage does.

#ifndef ST_PASSES_PARTITION_PASSES_TD
#define ST_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyParallelConfig : Pass<"apply-parallel-config", "::mlir::ModuleOp"> {
  let summary = "Puts the user's parallel config on a training step: mesh, devices, seed shardings";
  let description = [{
    Needs `@main` with roles on its arguments. Leaves `st.mesh @mesh` with the axes
    `data` (replicas), `tensor` (shards) and `micro` (micro-batches); the module attributes `st.stages`,
    `st.devices` (one array of ids a stage, in the order of the ranks), `st.schedule`
    and `st.micro_batches`; and `st.sharding` on every argument of `@main`:

    - a parameter is cut over `tensor` in the dimension that `sharding_dim` means at
      its first use: -1 the output dimension of a product, the row of a table, the one
      dimension of a vector; 0 the contracted dimension of a product, the rows of a
      table; "megatron" the one or the other, as features come whole or in parts. A
      parameter whose cut dimension has fewer elements than there are shards stays whole,
      and one remark lists them. A rule in `parameters` whose pattern matches its name goes before that;
    - optimizer state follows its parameter; with `zero` it is split over `data` as well,
      and on level 3 so is the parameter;
    - the first dimension of batch arguments is split over `micro`, then over `data`.

    Within `@main` an `st.constrain` stands

    - with `sequence_parallel`, true or "gather_again" (which sets `st.gather_again`), behind every product of the forward pass that leaves
      partial sums over `tensor`, which splits it along the sequence;
    - before the uses of a parameter that is split over `data`, one for the forward and one
      for the backward pass, which gathers it;
    - with `zero` from 2 behind every gradient, which splits it over `data` and leaves it
      unreduced over `micro`.

    ```mlir
    func.func @main(%w: tensor<32x16xf32> {st.name = "w", st.role = "parameter"},
                    %x: tensor<8x16xf32> {st.name = "x", st.role = "batch"}) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    // after, for 4 shards, sharding_dim -1 and accum_degree 2
    module attributes {st.stages = 1, st.devices = [array<i64: 0, 1, 2, 3>],
                       st.schedule = "sequential", st.micro_batches = 2} {
    st.mesh @mesh <["tensor"=4], micro=2>
    func.func @main(%w: tensor<32x16xf32> {..., st.sharding = #st.sharding<@mesh, [{"tensor"}, {} ]>},
                    %x: tensor<8x16xf32> {..., st.sharding = #st.sharding<@mesh, [{"micro"}, {} ]>}) {
    ```

    The stages' schedule is "sequential" for mode `sharding` and without micro-batches,
    "1f1b" for `pipeline` and `hybrid` with them.
  }];
  let options = [
    Option<"config", "config", "std::string", "",
           "The parallel-config file (JSON); none: one device, numbered 0">,
    Option<"schedule", "schedule", "std::string", "",
           "sequential, gpipe or 1f1b, in place of the mode's own">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def PadDimensions : Pass<"pad-dimensions", "::mlir::ModuleOp"> {
  let summary = "Makes dimensions so large that their shardings divide them, and that products take them well";
  let description = [{
    Needs an `st.mesh` and the seeds that propagation starts from: `st.sharding` on arguments and
    results, and `st.constrain`. Leaves a program in which every seed divides the dimensions that it
    splits, and that computes the same: phases behind it know parts of equal size only.

    By the ops' factor rules dimensions are the same where an op passes elements along them. Such a
    class of dimensions becomes as large as the least multiple of what its seeds need; what is added
    stands behind the last element and is of no meaning. Where a reduction or a product would read it,
    a select puts there what the reduction passes over; indices of lookups are clamped to what was
    there; an op along whose dimension elements move (a slice, a join, a sort) gets the dimension as it
    was. Heads that do not divide become more heads, for a dimension that a reshape makes of several is
    enlarged in its most major one.

    Matrix units want rows that begin at a multiple of some bytes (16 for NVIDIA's, best 128). Where
    `st.target` names such multiples (`matrix_alignment`, `matrix_row_bytes`; the options where there is
    no target), the dimensions of a parameter that products contract or keep become a multiple of the
    larger one, else of the smaller one, on each shard: 30522 columns of a vocabulary in bf16 become
    30528, 50257 become 50304. What would enlarge a dimension by more than `most-percent` stays.

    A module whose `st.parameter_shapes` say how large another program has made parameters, by their
    names, gives its own the same shapes in the place of what products want.

    Arguments and results that become larger get `st.unpadded_type`, their type before: callers give
    and get that. A program without uneven seeds or rows stays as it is.

    ```mlir
    func.func @main(%x: tensor<6x4xf32> {st.sharding = #st.sharding<@mesh, [{"data"}, {} ]>}) -> tensor<4xf32> {
      %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0]
    // after, for 4 replicas
    func.func @main(%x: tensor<8x4xf32> {st.sharding = ..., st.unpadded_type = tensor<6x4xf32>}) -> tensor<4xf32> {
      %m = stablehlo.select %is_element, %x, %zeros       // %is_element: position along dimension 0 is below 6
      %1 = stablehlo.reduce(%m init: %0) applies stablehlo.add across dimensions = [0]
    ```
  }];
  let options = [
    Option<"rowAlignment", "row-alignment", "int64_t", "1",
           "Bytes of which rows of products' operands are a multiple, where no target says; 1: any">,
    Option<"rowBytes", "row-bytes", "int64_t", "1", "The same, preferred to row-alignment">,
    Option<"mostPercent", "most-percent", "int64_t", "6", "How much larger a dimension may become for it">
  ];
  let statistics = [
    Statistic<"insertedMasks", "inserted-masks", "Values whose padding is masked">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def UnstackState : Pass<"unstack-state", "::mlir::ModuleOp"> {
  let summary = "Makes a state of each row of a stacked one, so that stages hold the rows that they use";
  let description = [{
    A program that loops over its layers has their weights stacked, a row a layer. Where the loop is
    unrolled, each row is read by itself. Needs `@main` with roles and donated state. A parameter
    each row of which is read by a slice is replaced by an argument a row, `<name>.<row>`, and so is
    the state that is stacked like it; `st.stack` says of what tensor each is which row, so that
    checkpoints keep the whole. Rows are then state like any other, and what they are split over,
    and which stage has them, is for the passes behind to say.

    Rows of the new values are made of rows as far as ops are elementwise or join rows; what reduces
    a whole stack (a gradient's norm) reduces rows and combines these. Anything else gets the rows
    joined again.

    ```mlir
    func.func @main(%w: tensor<2x4xf32> {st.name = "w", tf.aliasing_output = 0 : i32}) -> ... {
      %0 = stablehlo.slice %w [0:1, 0:4]
    // after
    func.func @main(%w0: tensor<1x4xf32> {st.name = "w.0", st.stack = {name = "w", row = 0, rows = 2}},
                    %w1: tensor<1x4xf32> {st.name = "w.1", st.stack = {name = "w", row = 1, rows = 2}}, ...
    ```
  }];
  let statistics = [Statistic<"stacks", "stacks", "States that were replaced by their rows">];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def AssignStages : Pass<"assign-stages", "::mlir::ModuleOp"> {
  let summary = "Gives every op a stage and joins stages by st.transfer alone";
  let description = [{
    Needs shardings on all values and the module attribute `st.stages`. Leaves
    `st.stage` on every op, argument and result; an `st.transfer` stands wherever a
    value is used in another stage, one for each value and stage.

    - Forward ops, on which the loss depends, are cut into consecutive stages of about
      equal cost: between blocks (`st.block`, which a front end puts on ops) where there
      are any, else anywhere in program order; or where the module's `st.stage_starts` say, a
      name pattern for each stage but the first; or, before either, as another program's
      parameters have stages by their names (`st.parameter_stages`).
    - A backward op takes the lowest stage of the forward values and parameters it
      reads, not above those of its cotangents; without any, that of its cotangents.
    - An update follows its parameter. A parameter used on several device groups appears,
      with its state, once in each; every copy sums the gradients of all and is updated
      alike.
    - A scalar that comes from several stages' gradients is summed up in the highest of
      them and transferred to where it is used.
    - What depends on neither parameters nor state (constants, random bits, the batch)
      is computed in each stage that uses it.

    ```mlir
    %0 = stablehlo.dot_general %x, %w0 {st.block = 1, ...}
    %1 = stablehlo.dot_general %0, %w1 {st.block = 2, ...}
    // after, for 2 stages
    %0 = stablehlo.dot_general %x, %w0 {st.block = 1, st.stage = 0, ...}
    %1 = st.transfer %0 from 0 to 1 {st.stage = 1, ...}
    %2 = stablehlo.dot_general %1, %w1 {st.block = 2, st.stage = 1, ...}
    ```
  }];
  let statistics = [
    Statistic<"transfers", "transfers", "Values sent from one stage to another">,
    Statistic<"clonedOps", "cloned-ops", "Copies of ops that several stages compute">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def InsertReshards : Pass<"insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Puts st.reshard wherever a value is not sharded as its user takes it";
  let description = [{
    Needs shardings on values; what has none is replicated. Leaves every operand in
    the sharding that its op takes, by the op's factor rule, and every result of the
    function in that of its attribute. An op whose recorded sharding it cannot leave
    is computed in the cheapest way and resharded after.

    A value is resharded once for each sharding, from the nearest of those it has by
    then. What a transfer carries is reduced before it, and where several devices hold copies,
    each sends a part and the receivers gather them. A value that varies along
    `micro` can be neither gathered over it nor wait for a reduction over it that
    depends on parameters: an error that names the op.

    ```mlir
    %0 = stablehlo.dot_general %x, %w {st.sharding = #st.sharding<@mesh, [{}, {} ], unreduced = sum ["tensor"]>}
    %1 = stablehlo.tanh %0 {st.sharding = #st.sharding<@mesh, [{}, {"tensor"} ]>}
    // after
    %0 = stablehlo.dot_general %x, %w {st.sharding = #st.sharding<@mesh, [{}, {} ], unreduced = sum ["tensor"]>}
    %r = st.reshard %0 to #st.sharding<@mesh, [{}, {"tensor"} ]>
    %1 = stablehlo.tanh %r {st.sharding = #st.sharding<@mesh, [{}, {"tensor"} ]>}
    ```
  }];
  let options = [
    Option<"explain", "explain", "std::string", "",
           "File that gets a table of what each reshard moves and why (JSON where it ends in .json)">,
    Option<"leastPart", "least-part", "int64_t", "8192",
           "Fewest bytes that are sent as a part of what crosses stages, where devices hold copies">
  ];
  let statistics = [
    Statistic<"insertedReshards", "inserted-reshards", "Reshards inserted">,
    Statistic<"narrowedPlans", "narrowed-plans",
              "Plans for which not every sequence of collectives was considered">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def GlobalToLocal : Pass<"global-to-local", "::mlir::ModuleOp"> {
  let summary = "Gives every value its per-device shape and turns reshards into collectives";
  let description = [{
    Needs what `insert-reshards` leaves. Leaves the program of one rank: arguments and
    results keep `st.sharding` and get `st.global_type`, ops lose `st.sharding`. A
    reduction over `micro` is `st.accumulate`; a part of a replicated value costs
    `st.all_slice`; counters start at the shard's first position, by `st.axis_index`.

    ```mlir
    %0 = stablehlo.dot_general %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %r = st.reshard %0 to #st.sharding<@mesh, [{}, {"tensor"} ]> : tensor<8x32xf32>
    // after, for 4 shards
    %0 = stablehlo.dot_general %x, %w : (tensor<8x4xf32>, tensor<4x32xf32>) -> tensor<8x32xf32>
    %r = st.reduce_scatter %0 sum dim 1 over ["tensor"] of @mesh : tensor<8x32xf32> -> tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_PARTITION_PASSES_TD
