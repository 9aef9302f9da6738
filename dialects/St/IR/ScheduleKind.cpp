#include "dialects/St/IR/ScheduleKind.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir::st;

std::optional<ScheduleKind> mlir::st::parseScheduleKind(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ScheduleKind>>(name)
      .Case("sequential", ScheduleKind::Sequential)
      .Case("gpipe", ScheduleKind::GPipe)
      .Case("1f1b", ScheduleKind::OneForwardOneBackward)
      .Case("interleaved", ScheduleKind::Interleaved)
      .Case("zb-h1", ScheduleKind::ZeroBubbleH1)
      .Case("zb-h2", ScheduleKind::ZeroBubbleH2)
      .Case("zb-v", ScheduleKind::ZeroBubbleV)
      .Case("listed", ScheduleKind::Listed)
      .Default(std::nullopt);
}

llvm::StringRef mlir::st::getScheduleNames() {
  return "sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v";
}

bool mlir::st::splitsBackward(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubbleH1 || kind == ScheduleKind::ZeroBubbleH2 ||
         kind == ScheduleKind::ZeroBubbleV;
}

int64_t mlir::st::getDefaultVirtualStages(ScheduleKind kind) {
  return kind == ScheduleKind::Interleaved || kind == ScheduleKind::ZeroBubbleV ? 2 : 1;
}

bool mlir::st::allowsVirtualStages(ScheduleKind kind, int64_t count) {
  if (kind == ScheduleKind::Interleaved || kind == ScheduleKind::Listed)
    return count >= 1;
  return count == getDefaultVirtualStages(kind);
}

int64_t mlir::st::getGroupOfStage(ScheduleKind kind, int64_t stage, int64_t numGroups) {
  int64_t group = stage % numGroups;
  bool isReverse = kind == ScheduleKind::ZeroBubbleV && stage / numGroups % 2 == 1;
  return isReverse ? numGroups - 1 - group : group;
}
