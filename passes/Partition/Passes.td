// From a global training step to the program of one rank of each stage.

#ifndef ST_PASSES_PARTITION_PASSES_TD
#define ST_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyParallelConfig : Pass<"apply-parallel-config", "::mlir::ModuleOp"> {
  let summary = "Applies the user's parallel config to a training step: mesh, devices, seed shardings";
  let description = [{
    Needs `@main` with roles on its arguments. Leaves `st.mesh @mesh` with the axes
    `data` (replicas), `context` (parts of a sequence, if the file has them), `tensor` (shards) and
    `micro` (micro-batches); the module attributes `st.stages`,
    `st.devices` (one array of ids a stage, in the order of the ranks), `st.schedule`
    and `st.micro_batches`; and `st.sharding` on every argument of `@main`:

    - A parameter is sharded over `tensor` in the dimension that `sharding_dim` selects at its first
      use: -1 is the output dimension of a product, the row of a table, the one dimension of a
      vector; 0 is the contraction dimension of a product, the rows of a table; "megatron" is
      either, depending on whether the features are replicated or sharded. A parameter whose sharded
      dimension has fewer elements than there are shards is replicated, and one remark lists these.
      A rule in `parameters` whose pattern matches its name takes precedence.
    - Optimizer state follows its parameter. With `zero` it is sharded over `data` too, and on level
      3 so is the parameter.
    - The first dimension of batch arguments is split over `micro`, then over `data`, and the second
      over `context`. A matrix of floats is split only by rows if the batch has matrices of integers
      with another number of columns.

    The pass inserts an `st.constrain` into `@main`

    - with `sequence_parallel`, true or "gather_again" (which sets `st.gather_again`), after every
      product of the forward pass that leaves partial sums over `tensor`: it shards the result along
      the sequence;
    - with `context`, before and after products of positions with positions (attention): it moves
      the axis from the positions of both operands to their heads and that of the result back, or
      gathers keys and values;
    - before the uses of a parameter that is sharded over `data`, one for the forward and one for
      the backward pass: it gathers the parameter;
    - with `zero` of 2 or more, after every gradient: it shards the gradient over `data` and leaves
      it unreduced over `micro`.

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
           "sequential, gpipe or 1f1b, instead of the mode's default">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def PadDimensions : Pass<"pad-dimensions", "::mlir::ModuleOp"> {
  let summary = "Pads dimensions so that shardings divide them and products are aligned";
  let description = [{
    Needs an `st.mesh` and the seeds that propagation starts from: `st.sharding` on arguments and
    results, and `st.constrain`. Leaves an equivalent program in which every seed divides the
    dimensions that it splits, so later phases have shards of equal size only.

    By the ops' factor rules, dimensions belong to one class if an op passes elements along them.
    The pass enlarges each class to the smallest multiple that its seeds need. The padding follows
    the last element and has no meaning. Where a reduction or a product would read it, a select
    replaces it by the identity of the reduction. Indices of lookups are clamped to the original
    rows. An op that moves elements along the dimension (a slice, a concatenation, a sort) gets the
    original dimension. If heads do not divide, heads are added: a dimension that a reshape forms
    from several is enlarged in its most major one.

    Matrix units need rows aligned to a multiple of some bytes (16 for NVIDIA's, ideally 128). If
    `st.target` gives such multiples (`matrix_alignment`, `matrix_row_bytes`; without a target the
    options do), the contracted and kept dimensions of a parameter become a multiple of the larger
    one, or otherwise of the smaller one, on each shard: 30522 columns of a vocabulary in bf16
    become 30528, 50257 become 50304. A dimension that would grow by more than `max-percent` stays.

    The module's `st.parameter_shapes` gives the padded shapes of another program's parameters by
    name. The pass then uses the same shapes instead of those that products need.

    Arguments and results that grow get `st.unpadded_type`, their original type, which callers use.
    A program without uneven seeds or rows does not change.

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
           "Required alignment of operand rows of products in bytes, without a target; 1: any">,
    Option<"rowBytes", "row-bytes", "int64_t", "1", "Preferred alignment of operand rows of products in bytes, without a target; 1: no preference">,
    Option<"maxPercent", "max-percent", "int64_t", "6", "Largest growth of a dimension for this alignment, in percent">
  ];
  let statistics = [
    Statistic<"insertedMasks", "inserted-masks", "Values whose padding is masked">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def UnstackState : Pass<"unstack-state", "::mlir::ModuleOp"> {
  let summary = "Makes each row of a stacked state a separate state, so stages hold only the rows they use";
  let description = [{
    A program that loops over its layers stacks their weights, one row per layer. After the loop is
    unrolled, each row is read separately. Needs `@main` with roles and donated state. If slices
    read each row of a parameter, the pass replaces the parameter by one argument per row,
    `<name>.<row>`. It does the same with state that is stacked like it. `st.stack` records the
    tensor and the row of each argument, so checkpoints keep the stacked tensor. Later passes treat
    rows like any other state: they choose their shardings and stages.

    New values are computed row by row, as long as ops are elementwise or join rows. A reduction of
    a whole stack (a gradient's norm) reduces rows and combines the results. Any other op gets the
    rows joined again.

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
  let summary = "Gives every op a stage and connects stages only by st.transfer";
  let description = [{
    Needs shardings on all values and the module attribute `st.stages`. Leaves `st.stage` on every
    op, argument and result. If another stage uses a value, there is an `st.transfer`, one per value
    and stage.

    - Forward ops, on which the loss depends, are split into consecutive stages of about equal cost.
      The boundaries are between blocks (`st.block`, which a front end sets) if there are blocks,
      otherwise anywhere in program order. `st.stage_starts` of the module overrides them with a
      name pattern for each stage but the first. `st.parameter_stages` overrides both with the
      stages of another program's parameters, by name.
    - A backward op takes the lowest stage of the forward values and parameters that it reads, but
      no higher stage than its cotangents. Without such values it takes the stage of its cotangents.
    - An update follows its parameter. A parameter used on several device groups occurs, with its
      state, once in each group. Every copy sums the gradients of all and gets the same update.
    - A scalar that depends on several stages' gradients is summed in the highest of these stages
      and transferred to its users.
    - A value that depends on neither parameters nor state (constants, random bits, the batch) is
      computed in each stage that uses it.

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
  let summary = "Inserts st.reshard where a value's sharding differs from its user's";
  let description = [{
    Needs shardings on values; a value without one is replicated. Leaves every operand in the
    sharding that its op needs, by the op's factor rule, and every result of the function in the
    sharding of its attribute. If an op cannot produce its recorded sharding, it is computed in the
    cheapest way and its result is resharded.

    A value is resharded once per sharding, from the nearest sharding that it already has. A
    transferred value is reduced before the transfer. If several devices hold copies of it, each
    sends a part and the receivers gather them. A value that varies along `micro` can neither be
    gathered over it nor wait for a reduction over it that depends on parameters: this is an error
    that names the op.

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
           "Output file for a table of each reshard's traffic and reason (JSON for .json)">,
    Option<"minPartBytes", "min-part-bytes", "int64_t", "8192",
           "Minimum bytes of a part that one of several copies sends to the next stage">
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
    Needs the result of `insert-reshards`. Leaves the program of one rank: arguments and results
    keep `st.sharding` and get `st.global_type`, and ops lose `st.sharding`. A reduction over
    `micro` becomes `st.accumulate`. A part of a replicated value is an `st.all_slice`. Counters
    start at the shard's first element, by `st.axis_index`.

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
