// The units of schedules, tasks of the loop over micro-batches, and the user's notation for an
// order.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::st {

/// On a module: an order for each device group, in which a "listed" schedule runs its units ("F0 F1
/// B0 B1", as formatUnit writes them).
constexpr llvm::StringLiteral kScheduleOrderAttr = "st.schedule_order";

/// One task of the loop over micro-batches. `chunk` is the number of the group's virtual stage, in
/// the order of the model.
struct ScheduledUnit {
  enum Kind : uint8_t { Forward, Backward, Weight };
  Kind kind = Forward;
  int64_t chunk = 0, microBatch = 0;

  bool operator==(const ScheduledUnit &other) const {
    return kind == other.kind && chunk == other.chunk && microBatch == other.microBatch;
  }
};

/// Parses "B3" or "B1.3": forward (F), backward (B) or weight (W), the virtual stage if it is not
/// the first, the micro-batch. Returns std::nullopt for any other text.
std::optional<ScheduledUnit> parseUnit(llvm::StringRef text);
std::string formatUnit(const ScheduledUnit &unit);

/// Parses units separated by blanks. Returns std::nullopt if one of them is malformed.
std::optional<llvm::SmallVector<ScheduledUnit>> parseUnits(llvm::StringRef text);

/// Describes the first error in an order of `chunks` virtual stages and micro-batches: a unit that
/// is duplicate, superfluous or missing, or that precedes one that it needs ("B0 is before F0").
/// Returns an empty string if there is no error. An order has weight units either for all backward
/// units or for none.
std::string findFault(llvm::ArrayRef<ScheduledUnit> order, int64_t chunks, int64_t microBatches);

} // namespace mlir::st
