// The parser of HLO text, which fills the importer's protos.
#pragma once

#include "lib/Hlo/HloTextCursor.h"
#include "lib/Proto/hlo.pb.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::st {

/// Reads a shape: `f32[2,3]{1,0}`, or a tuple of shapes.
LogicalResult readHloShape(HloTextCursor &cursor, ::st::hlo::Shape &shape);

/// Reads the elements of a constant of the literal's shape.
LogicalResult readHloLiteral(HloTextCursor &cursor, ::st::hlo::Literal &literal);

/// Reads `{key="value",key={value}}`.
LogicalResult readFrontendAttributes(HloTextCursor &cursor, ::st::hlo::FrontendAttributes &into);

/// Reads `name=value` after an instruction's operands, one after the other.
class HloAttributeReader {
public:
  using Computations = llvm::StringMap<int64_t>;
  HloAttributeReader(HloTextCursor &cursor, const Computations &computations,
                     ::st::hlo::Instruction &instruction)
      : cursor(cursor), computations(computations), at(instruction) {}

  LogicalResult read();
  /// Adds the computations that attributes name to the instruction.
  void finish();

private:
  using Reader = LogicalResult (HloAttributeReader::*)();
  static const llvm::StringMap<Reader> &readers();

  std::optional<LogicalResult> readNumber(StringRef name);
  std::optional<LogicalResult> readFlag(StringRef name);
  std::optional<LogicalResult> readDimensionList(StringRef name);
  std::optional<LogicalResult> readCalled(StringRef name);
  std::optional<LogicalResult> readChoice(StringRef name);
  template <typename T>
  LogicalResult readOneOf(ArrayRef<std::pair<StringRef, T>> choices, T &value);

  LogicalResult readSlices();
  LogicalResult readPadding();
  LogicalResult readWindow();
  LogicalResult readWindowPart(StringRef name);
  LogicalResult readDimLabels();
  LogicalResult readPrecisions();
  LogicalResult readGroups();
  LogicalResult readPairs();
  LogicalResult readSharding();
  LogicalResult readMetadata();
  LogicalResult readFrontendAttributes();
  LogicalResult readTarget();
  LogicalResult readComputation(SmallVectorImpl<int64_t> &into);
  LogicalResult readEpsilon();

  HloTextCursor &cursor;
  const Computations &computations;
  ::st::hlo::Instruction &at;
  SmallVector<int64_t, 2> calls, conditions, bodies, onTrue, onFalse, selects, scatters, branches;
};

} // namespace mlir::st
