#include "dialects/St/IR/RecomputePolicy.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::st;

static constexpr llvm::StringLiteral kNames[] = {"none", "selective", "full", "fit"};

StringRef mlir::st::getPolicyName(RecomputePolicy::Kind kind) {
  assert(kind != RecomputePolicy::Budget);
  return kNames[kind];
}

std::optional<RecomputePolicy> mlir::st::parseRecomputePolicy(StringRef text) {
  for (auto [kind, name] : llvm::enumerate(kNames))
    if (text == name)
      return RecomputePolicy{static_cast<RecomputePolicy::Kind>(kind), 0};
  int64_t bytes;
  if (text.getAsInteger(10, bytes) || bytes < 0)
    return std::nullopt;
  return RecomputePolicy{RecomputePolicy::Budget, bytes};
}

std::optional<RecomputePolicy> mlir::st::parseRecomputePolicy(Attribute attribute) {
  if (auto bytes = dyn_cast<IntegerAttr>(attribute); bytes && bytes.getInt() >= 0)
    return RecomputePolicy{RecomputePolicy::Budget, bytes.getInt()};
  auto name = dyn_cast<StringAttr>(attribute);
  return name && llvm::is_contained(kNames, name.getValue()) ? parseRecomputePolicy(name.getValue())
                                                             : std::nullopt;
}

Attribute mlir::st::getRecomputeAttr(MLIRContext *context, RecomputePolicy policy) {
  Builder builder(context);
  if (policy.kind == RecomputePolicy::Budget)
    return builder.getI64IntegerAttr(policy.bytes);
  return builder.getStringAttr(getPolicyName(policy.kind));
}

std::string mlir::st::print(RecomputePolicy policy) {
  if (policy.kind == RecomputePolicy::Budget)
    return "{\"bytes\": " + std::to_string(policy.bytes) + "}";
  return "\"" + getPolicyName(policy.kind).str() + "\"";
}
