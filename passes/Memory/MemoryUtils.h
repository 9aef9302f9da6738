// Memory of a task's values.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/Shapes.h"

namespace mlir::st {

/// On a program: the addresses, by name, of states that another program of the same arena has
/// placed, and the end of that program's data. Everything else is placed after it.
constexpr llvm::StringLiteral kResidentAttr = "st.resident", kResidentEndAttr = "st.resident_end";

constexpr llvm::StringLiteral kAddressesAttr = "st.addresses";
constexpr llvm::StringLiteral kArenaBytesAttr = "st.arena_bytes";
/// Bytes of a program's second arena, in the host's memory; absent if it has none.
constexpr llvm::StringLiteral kHostArenaBytesAttr = "st.host_arena_bytes";
constexpr llvm::StringLiteral kMemoryAttr = "st.memory";
/// On a forward task, by recomputation policy: the bytes of a micro-batch's stash that the policy
/// would save, and the maximum that a block takes while it is recomputed.
constexpr llvm::StringLiteral kRecomputeSavesAttr = "st.recompute_saves";

/// The value whose memory an alias shares; for other values, the value itself.
Value getRoot(Value value);

/// The ops that use a result of `op`, looking through aliases.
SmallVector<Operation *> getUsersOfRoots(Operation *op);

/// For a kernel that only concatenates its inputs along the first dimension larger than 1, so that
/// each input is contiguous: the byte offset of each in the result. Empty for any other kernel.
SmallVector<int64_t> getJoinedOffsets(KernelOp kernel);

/// The earliest user of the results of `op`, by `place`, looking through aliases and
/// concatenations; `none` if there is none.
int64_t findFirstUse(Operation *op, llvm::function_ref<int64_t(Operation *)> place, int64_t none);

/// Returns true if an op's code runs on the links, at the same time as later ops that do not need
/// it.
bool movesOverLinks(Operation *op);

/// For consecutive copies of these sizes to or from the host: the index of the first copy after
/// `index` that may not be in transit at the same time. A quarter of all bytes may be in transit,
/// and one more copy. With fewer bytes the link idles while a task computes; more bytes take
/// memory.
size_t getFirstNotInTransit(ArrayRef<int64_t> bytes, size_t index);

/// Returns true if an op may share memory between an operand and a result: a kernel or a sum over
/// devices that reads each element of the operand only to write the same element of the result.
bool readsInPlace(Operation *op, Value operand, OpResult result);

} // namespace mlir::st
