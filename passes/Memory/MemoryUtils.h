// What values of a task are in memory.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

constexpr llvm::StringLiteral kAddressesAttr = "st.addresses";
constexpr llvm::StringLiteral kArenaBytesAttr = "st.arena_bytes";
constexpr llvm::StringLiteral kMemoryAttr = "st.memory";
/// Of a forward task, by policy of recomputation: the bytes of a micro-batch's stash that it would
/// save, and the most that a block would take again while it is computed.
constexpr llvm::StringLiteral kRecomputeSavesAttr = "st.recompute_saves";

/// Bytes of a dense tensor; an i1 takes one.
int64_t getNumBytes(Type type);

/// The value whose memory an alias shows; the value itself if it is none.
Value getRoot(Value value);

/// The ops that use a result of `op`, seen through aliases.
SmallVector<Operation *> getUsersOfRoots(Operation *op);

/// Whether an op's code runs on the links, beside that of the ops behind it that do not need it.
bool movesOverLinks(Operation *op);

/// Whether an op, a kernel or a sum over devices, reads an operand's elements only where it writes
/// the same elements of a result: the two may then lie in the same place.
bool readsInPlace(Operation *op, Value operand, OpResult result);

} // namespace mlir::st
