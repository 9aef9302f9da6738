#include "lib/Driver/Prediction/ProgramReport.h"

#include "lib/Support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"

using namespace mlir;

/// A column of a memory table.
static void printMebibytes(int64_t bytes, llvm::raw_ostream &os) {
  constexpr double kMebibyte = 1 << 20;
  os << llvm::format(" %12s", ::st::printFigure(static_cast<double>(bytes) / kMebibyte, 1).c_str());
}

void mlir::st::printMemory(const ::st::proto::Executable &executable, llvm::raw_ostream &os) {
  constexpr llvm::StringLiteral kHostClass = "host";
  bool usesHost = llvm::any_of(executable.groups(), [](const ::st::proto::Group &group) {
    return group.host_arena_bytes() > 0;
  });
  os << "\n  peak memory a device, MiB\n  group     ";
  if (executable.groups_size() > 0)
    for (const auto &entry : executable.groups(0).memory())
      if (entry.name() != kHostClass)
        os << llvm::format(" %12s", entry.name().c_str());
  const int64_t scratch = executable.cuda().scratch_bytes();
  if (scratch > 0)
    os << "      scratch";
  os << "        total" << (usesHost ? "  on the host\n" : "\n");
  for (const auto &group : executable.groups()) {
    os << llvm::format("  %-10s", group.name().c_str());
    for (const auto &entry : group.memory())
      if (entry.name() != kHostClass)
        printMebibytes(entry.bytes(), os);
    if (scratch > 0)
      printMebibytes(scratch, os);
    printMebibytes(group.arena_bytes() + scratch, os);
    if (usesHost)
      printMebibytes(group.host_arena_bytes(), os);
    os << '\n';
  }
}

void mlir::st::printPrediction(const ::st::proto::Executable &executable, llvm::raw_ostream &os) {
  constexpr double kPicosecondsPerMillisecond = 1e9;
  if (executable.has_prediction())
    os << "  a step takes "
       << ::st::printFigure(static_cast<double>(executable.prediction().picoseconds()) /
                            kPicosecondsPerMillisecond)
       << " ms\n";
  else
    os << "  the time of a step depends on its data\n";
}
