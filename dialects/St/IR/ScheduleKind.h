// The schedules of a pipeline, and what each asks of the programs that it orders.
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
  Interleaved,           ///< the same with several virtual stages a group, dealt in turn
  ZeroBubbleH1,          ///< weight gradients fill what 1F1B idles, in its memory
  ZeroBubbleH2,          ///< no idle time, in about twice the memory
  Listed,                ///< as the user lists it, see ScheduledUnit.h
  ZeroBubbleV, ///< no idle time in 1F1B's memory: two virtual stages a group, there and back
};

/// What the parallel file, `--schedule` and `st.schedule` call a schedule; none for other names.
std::optional<ScheduleKind> parseScheduleKind(llvm::StringRef name);

/// All names but "listed", which is no order by itself, for messages: "sequential, ... or zb-v".
llvm::StringRef getScheduleNames();

/// Whether the gradients of weights are computed in tasks of their own; of a listed one its list
/// says.
bool splitsBackward(ScheduleKind kind);

/// How many virtual stages a group has when nothing else is said.
int64_t getDefaultVirtualStages(ScheduleKind kind);

/// Whether groups may have this many virtual stages.
bool allowsVirtualStages(ScheduleKind kind, int64_t count);

/// The group that runs a virtual stage: stages are dealt to the groups in turn, in a V there and
/// back.
int64_t getGroupOfStage(ScheduleKind kind, int64_t stage, int64_t numGroups);

} // namespace mlir::st
