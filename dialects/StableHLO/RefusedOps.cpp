//===- RefusedOps.cpp - StableHLO ops that are not supported --------------===//
//
// The error names the op or type and the reason. Otherwise a valid program would seem to have a
// typing error.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/RefusedOps.h"

#include "dialects/StableHLO/StableHLODialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::stablehlo;

StringRef mlir::stablehlo::whyRefused(StringRef name) {
  constexpr StringLiteral kHost = "programs do not communicate with the host while they run";
  constexpr StringLiteral kToken = "programs have no side effects that tokens would order";
  constexpr StringLiteral kDynamic = "shapes are static";
  constexpr StringLiteral kQuantized = "there are no quantized types";
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"infeed", "outfeed", "send", "recv"}, kHost)
      .Cases({"after_all", "create_token"}, kToken)
      .Cases({"dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota",
              "dynamic_pad", "dynamic_reshape", "real_dynamic_slice", "get_dimension_size",
              "set_dimension_size"},
             kDynamic)
      .Cases({"uniform_quantize", "uniform_dequantize"}, kQuantized)
      .Cases({"async_start", "async_done"}, "the compiler decides when collectives run")
      .Case("rng", "its values depend on the implementation; rng_bit_generator's do not")
      .Case("broadcast", "it is deprecated in favour of broadcast_in_dim")
      .Case("cross-replica-sum", "it is deprecated in favour of all_reduce")
      .Cases({"dot", "einsum", "unary_einsum"}, "it is deprecated in favour of dot_general")
      .Case("torch_index_select", "it is deprecated in favour of gather")
      .Default("");
}

static StringRef withoutDialect(StringRef name) {
  name.consume_front("stablehlo.");
  return name;
}

static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  return parser.emitError(parser.getNameLoc())
         << "'" << name << "' is refused: " << whyRefused(withoutDialect(name));
}

std::optional<Dialect::ParseOpHook> StableHLODialect::getParseOperationHook(StringRef name) const {
  if (whyRefused(withoutDialect(name)).empty())
    return std::nullopt;
  return ParseOpHook(refuse);
}

Type StableHLODialect::parseType(DialectAsmParser &parser) const {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return Type();
  if (name == "token")
    parser.emitError(loc, "type '!stablehlo.token' is refused: ") << whyRefused("create_token");
  else
    parser.emitError(loc, "unknown type '!stablehlo.") << name << "'";
  return Type();
}
