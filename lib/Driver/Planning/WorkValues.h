// Kinds of ops and sizes of values for costs, independent of the framework.
#ifndef ST_DRIVER_PLANNING_WORKVALUES_H
#define ST_DRIVER_PLANNING_WORKVALUES_H

#include "lib/Proto/types.pb.h"
#include "mlir/IR/Operation.h"

namespace mlir::st {

/// Smaller values do not matter for memory traffic and do not connect ops: scalars, counters of
/// random bits.
constexpr int64_t kFewElements = 8;

/// The number of elements of a tensor; 0 for other values.
int64_t elementsOf(Value value);

/// Returns true for an op that only changes the shape or type of its operand.
bool isOperandView(Operation *op);

/// Returns true for an op that costs nothing in any framework.
bool isFree(Operation *op);

bool isCollective(Operation *op);

/// Returns true for an op that is a separate kernel in any framework.
bool isIndependent(Operation *op);

/// Looks through views to the original value.
Value throughViews(Value value);

/// The type in which costs count elements of `type`: all integers as i32.
::st::proto::ElementType protoType(Type type);

/// Bytes of an element; 0 for types other than integers and floats.
int64_t widthOf(Type type);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_WORKVALUES_H
