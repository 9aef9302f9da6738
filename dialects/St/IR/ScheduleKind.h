// The schedules of a pipeline, and their requirements on the programs that they order.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mlir::st {

/// The value of the module's `st.schedule`. passes/Pipeline/SchedulePattern.cpp has the orders.
enum class ScheduleKind : uint8_t {
  Sequential,            ///< one micro-batch after the other
  GPipe,                 ///< all forwards, then all backwards
  OneForwardOneBackward, ///< PipeDream-Flush
  Interleaved,           ///< the same with several virtual stages per group, assigned round-robin
  ZeroBubbleH1,          ///< weight gradients fill the idle time of 1F1B, with its memory
  ZeroBubbleH2,          ///< no idle time, in about twice the memory
  Listed,                ///< the user's list, see ScheduledUnit.h
  ZeroBubbleV,           ///< no idle time with 1F1B's memory: two virtual stages per group, in a V
};

/// Parses a schedule's name, as in the parallel file, `--schedule` and `st.schedule`. Returns
/// std::nullopt for other names.
std::optional<ScheduleKind> parseScheduleKind(llvm::StringRef name);

/// The names for messages: "sequential, ... or zb-v". "listed" is left out, because it needs a
/// list.
llvm::StringRef getScheduleNames();

/// Returns true if separate tasks compute the gradients of weights. Returns false for a listed
/// schedule, whose list decides.
bool splitsBackward(ScheduleKind kind);

/// The default number of virtual stages of a group.
int64_t getDefaultVirtualStages(ScheduleKind kind);

/// Returns true if groups may have this many virtual stages.
bool allowsVirtualStages(ScheduleKind kind, int64_t count);

/// The group that runs a virtual stage: stages are assigned to the groups round-robin, or in a V
/// for zb-v.
int64_t getGroupOfStage(ScheduleKind kind, int64_t stage, int64_t numGroups);

} // namespace mlir::st
