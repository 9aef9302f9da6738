// The work of a program's ops (OpWork) and its time on the module's target.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/St/Sharding/Splits.h"
#include "lib/Costs/Costs.h"

namespace mlir::st {

class MeshAxes;

/// Costs on the target of the mesh's module, by its `st.speed`; in units (`DevicePeaks::unit`) if
/// no target is known.
std::unique_ptr<::st::Costs> makeCosts(MeshOp mesh);

/// The work of an op as part of a kernel: two operations for each product of a contraction, else
/// one per element of its results. It has no bytes, because values exist only in a core's memory.
/// `rule` is the op's.
::st::proto::OpWork workInKernel(Operation *op, const ShardingRule &rule);
::st::proto::OpWork workInKernel(Operation *op);

/// The work of an op that is not part of a kernel: it reads its operands and writes its results.
/// The work of a kernel is that of all its ops, or only that of its products if it has any, because
/// the rest overlaps with them.
::st::proto::OpWork workOf(Operation *op, const ShardingRule &rule);
::st::proto::OpWork workOf(Operation *op);

/// The kind of a collective in the costs' terms, and its devices.
absl::string_view kindOfCollective(Operation *op);
::st::GroupPlacement groupOfCollective(Operation *op, const MeshAxes &axes);

/// The time of a collective's bytes along these axes beyond its start and latencies, microseconds.
double timeOfBytes(absl::string_view kind, double bytes, ArrayRef<Axis> along,
                   const MeshAxes &axes);

/// The time of a collective.
::st::OpTime timeOfCollective(Operation *op, const MeshAxes &axes);

/// The time that an op adds to its task, microseconds: for a collective all of its time, for any
/// other op its work as part of a kernel.
double timeInTask(Operation *op, const MeshAxes &axes);

} // namespace mlir::st
