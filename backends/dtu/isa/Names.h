// Names, counts and properties of the instruction set's enumerations.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "absl/strings/string_view.h"

#include <optional>

namespace st::dtu {

constexpr unsigned kNumSpaces = 4, kNumEngines = 4, kNumReduces = 7;
constexpr unsigned kNumDTypes = static_cast<unsigned>(DType::F64) + 1;
constexpr unsigned kNumVectorOps = static_cast<unsigned>(VectorOp::MulHigh) + 1;

template <typename Enum> constexpr unsigned enumCount();
template <> constexpr unsigned enumCount<Space>() { return kNumSpaces; }
template <> constexpr unsigned enumCount<Engine>() { return kNumEngines; }
template <> constexpr unsigned enumCount<DType>() { return kNumDTypes; }
template <> constexpr unsigned enumCount<VectorOp>() { return kNumVectorOps; }
template <> constexpr unsigned enumCount<Reduce>() { return kNumReduces; }

absl::string_view name(Space space);
absl::string_view name(Engine engine);
absl::string_view name(DType type);
absl::string_view name(VectorOp op);
absl::string_view name(Reduce reduce);

/// The inverse of name().
template <typename Enum> std::optional<Enum> fromName(absl::string_view text) {
  for (unsigned i = 0; i < enumCount<Enum>(); ++i)
    if (name(static_cast<Enum>(i)) == text)
      return static_cast<Enum>(i);
  return std::nullopt;
}

bool operator==(const Affine &a, const Affine &b);
bool operator==(const Address &a, const Address &b);
bool operator==(const TileOperand &a, const TileOperand &b);

/// Source operands an op reads; 0 for generators.
unsigned operandCount(VectorOp op);
/// Returns true if the vector engine needs several cycles per vector for this op.
bool isTranscendental(VectorOp op);
constexpr bool isReduction(VectorOp op) { return op >= VectorOp::RowSum && op <= VectorOp::ColMin; }
constexpr bool isRowReduction(VectorOp op) {
  return op >= VectorOp::RowSum && op <= VectorOp::RowMin;
}
constexpr bool isCompare(VectorOp op) { return op >= VectorOp::CmpEq && op <= VectorOp::CmpGe; }
constexpr bool isFloat(DType type) { return type >= DType::BF16; }

} // namespace st::dtu
