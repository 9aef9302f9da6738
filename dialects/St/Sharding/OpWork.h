// What ops of a program do, as costs take it, and how long that takes on the module's target.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/St/Sharding/Splits.h"
#include "lib/Costs/Costs.h"

namespace mlir::st {

class MeshAxes;

/// Costs on the target of the mesh's module, as its `st.speed` says; in units
/// (`DevicePeaks::unit`) where no target is known.
std::unique_ptr<::st::Costs> makeCosts(MeshOp mesh);

/// What an op computes, as part of a kernel: two operations for each product of a contraction, else
/// one an element of its results. It has no bytes: values are in no memory but a core's. `rule` is
/// the op's.
::st::proto::OpWork workInKernel(Operation *op, const ShardingRule &rule);
::st::proto::OpWork workInKernel(Operation *op);

/// The work of an op by itself, which reads its operands and writes its results. That of a kernel
/// is that of all ops in it; of one with products, of these: the rest runs beside them.
::st::proto::OpWork workOf(Operation *op, const ShardingRule &rule);
::st::proto::OpWork workOf(Operation *op);

/// The kind of a collective, as costs call it, and the devices that take part in it.
absl::string_view kindOfCollective(Operation *op);
::st::GroupPlacement groupOfCollective(Operation *op, const MeshAxes &axes);

/// What the bytes of a collective along these axes add to its start and latencies, microseconds.
double timeOfBytes(absl::string_view kind, double bytes, ArrayRef<Axis> along,
                   const MeshAxes &axes);

/// The time of a collective.
::st::OpTime timeOfCollective(Operation *op, const MeshAxes &axes);

/// What an op adds to the time of the task that it is in, microseconds: a collective all of its
/// time, any other op what it computes as part of a kernel.
double timeInTask(Operation *op, const MeshAxes &axes);

} // namespace mlir::st
