// Names and sizes of the instruction set's enumerations.
#include "backends/dtu/isa/Isa.h"

#include "backends/dtu/isa/Names.h"

namespace st::dtu {

unsigned byteWidth(DType type) {
  switch (type) {
  case DType::I1:
  case DType::I8:
  case DType::U8:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::I32:
  case DType::U32:
  case DType::F32:
    return 4;
  case DType::I64:
  case DType::U64:
  case DType::F64:
    return 8;
  }
  return 0;
}

bool operator==(const Affine &a, const Affine &b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size())
    return false;
  for (size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].reg != b.terms[i].reg || a.terms[i].coefficient != b.terms[i].coefficient)
      return false;
  return true;
}

bool operator==(const Address &a, const Address &b) {
  return a.space == b.space && a.offset == b.offset && a.core == b.core;
}

bool operator==(const TileOperand &a, const TileOperand &b) {
  return a.address == b.address && a.rowStride == b.rowStride && a.colStride == b.colStride &&
         a.type == b.type;
}

bool isTranscendental(VectorOp op) {
  return (op >= VectorOp::Exp && op <= VectorOp::Cos) || op == VectorOp::Div ||
         op == VectorOp::Pow || op == VectorOp::Rem;
}

unsigned operandCount(VectorOp op) {
  if (op <= VectorOp::IsFinite)
    return 1;
  if (op <= VectorOp::CmpGe || op == VectorOp::MulHigh)
    return 2;
  if (op <= VectorOp::MulAdd)
    return 3;
  return op <= VectorOp::Fill ? 0 : 1;
}

absl::string_view name(Space space) {
  constexpr absl::string_view names[] = {"L1", "L2", "L3", "host"};
  return names[static_cast<unsigned>(space)];
}

absl::string_view name(Engine engine) {
  constexpr absl::string_view names[] = {"core", "dte", "tx", "rx"};
  return names[static_cast<unsigned>(engine)];
}

absl::string_view name(DType type) {
  constexpr absl::string_view names[] = {"i1",  "i8",   "ui8",  "i16", "ui16", "i32", "ui32",
                                         "i64", "ui64", "bf16", "f16", "f32",  "f64"};
  return names[static_cast<unsigned>(type)];
}

absl::string_view name(VectorOp op) {
  constexpr absl::string_view names[] = {
      "copy",        "neg",       "abs",      "not",     "sign",    "exp",     "expm1",
      "log",         "log1p",     "logistic", "tanh",    "sqrt",    "rsqrt",   "cbrt",
      "erf",         "erfc",      "sin",      "cos",     "floor",   "ceil",    "round",
      "round_even",  "is_finite", "add",      "sub",     "mul",     "div",     "max",
      "min",         "pow",       "rem",      "and",     "or",      "xor",     "shl",
      "shr_logical", "shr_arith", "rotl",     "eq",      "ne",      "lt",      "le",
      "gt",          "ge",        "select",   "clamp",   "mul_add", "iota",    "fill",
      "row_sum",     "row_max",   "row_min",  "col_sum", "col_max", "col_min", "mul_high"};
  static_assert(std::size(names) == kNumVectorOps);
  return names[static_cast<unsigned>(op)];
}

absl::string_view name(Reduce reduce) {
  constexpr absl::string_view names[] = {"none", "sum", "max", "min", "and", "or", "mul"};
  return names[static_cast<unsigned>(reduce)];
}

} // namespace st::dtu
