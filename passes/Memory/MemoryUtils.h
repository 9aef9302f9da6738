// What values of a task are in memory.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// On a program: where states lie that another program of the same arena has put there, by their
/// names, and what it has put there in all. Everything else goes behind.
constexpr llvm::StringLiteral kResidentAttr = "st.resident", kResidentEndAttr = "st.resident_end";

constexpr llvm::StringLiteral kAddressesAttr = "st.addresses";
constexpr llvm::StringLiteral kArenaBytesAttr = "st.arena_bytes";
/// Bytes of a program's second arena, in the host's memory; absent: it has none.
constexpr llvm::StringLiteral kHostArenaBytesAttr = "st.host_arena_bytes";
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

/// Of a kernel that does nothing but join its inputs, in order, along the first dimension that
/// counts, so that each is one run of bytes: where each lies in the result. Empty of any other.
SmallVector<int64_t> getJoinedOffsets(KernelOp kernel);

/// The earliest user of what `op` makes, by `place`, seen through aliases and joins; `none`
/// without.
int64_t findFirstUse(Operation *op, llvm::function_ref<int64_t(Operation *)> place, int64_t none);

/// Whether an op's code runs on the links, beside that of the ops behind it that do not need it.
bool movesOverLinks(Operation *op);

/// Of copies to or from the host that follow each other, of so many bytes each: the first behind
/// `index` that is not under way together with it. A quarter of all bytes may be, and one more copy
/// always: with less the link idles while a task computes, more takes memory.
size_t getLastUnderWay(ArrayRef<int64_t> bytes, size_t index);

/// Whether an op, a kernel or a sum over devices, reads an operand's elements only where it writes
/// the same elements of a result: the two may then lie in the same place.
bool readsInPlace(Operation *op, Value operand, OpResult result);

} // namespace mlir::st
