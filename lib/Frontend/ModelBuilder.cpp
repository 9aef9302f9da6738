//===- ModelBuilder.cpp - The signature and bookkeeping of @main ----------===//

#include "lib/Frontend/ModelBuilder.h"

#include "dialects/St/IR/NamedRows.h"
#include "dialects/St/IR/ShardingUtils.h"

using namespace mlir;
using namespace mlir::st;

/// An empty @main at the end of `module`, with a block.
static func::FuncOp createMain(OpBuilder &builder, ModuleOp module) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, module.getLoc(), "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

ModelBuilder::ModelBuilder(ModuleOp module, const ModelConfig &config, int64_t batch,
                           int64_t sequence, std::optional<int64_t> targetSequence)
    : config(config), batch(batch), sequence(sequence),
      targetSequence(targetSequence.value_or(sequence)), builder(module.getContext()),
      function(createMain(builder, module)), signature(function),
      emit(builder, &function.front(), builder.getUnknownLoc()) {
  builder.setListener(this);
}

ModelBuilder::Scope::Scope(ModelBuilder &model, const Twine &name)
    : model(model), outerLength(model.scopePath.size()), outerLoc(model.emit.loc) {
  if (outerLength)
    model.scopePath += '/';
  model.scopePath += name.str();
  model.emit.loc = NameLoc::get(model.builder.getStringAttr(model.scopePath));
}

ModelBuilder::Scope::~Scope() {
  model.scopePath.resize(outerLength);
  model.emit.loc = outerLoc;
}

void ModelBuilder::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  // An op inside of a region belongs to the op with the region; a constant belongs to its users.
  if (op->getParentOp() == function && !op->hasTrait<OpTrait::ConstantLike>())
    op->setAttr(kBlockAttr, builder.getI64IntegerAttr(blockIndex));
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static DictionaryAttr initAttr(Builder &builder, Init init) {
  SmallVector<NamedAttribute> fields;
  auto kind = [&](StringRef name) {
    fields.push_back(builder.getNamedAttr("kind", builder.getStringAttr(name)));
  };
  switch (init.kind) {
  case Init::Zeros:
    kind("zeros");
    break;
  case Init::Ones:
    kind("ones");
    break;
  case Init::Constant:
    kind("constant");
    fields.push_back(builder.getNamedAttr("value", builder.getF64FloatAttr(init.value)));
    break;
  case Init::Normal:
    kind("normal");
    fields.push_back(builder.getNamedAttr("std", builder.getF64FloatAttr(init.standardDeviation)));
    if (init.zeroRow)
      fields.push_back(builder.getNamedAttr("zero_row", builder.getI64IntegerAttr(*init.zeroRow)));
    break;
  }
  return builder.getDictionaryAttr(fields);
}

/// The attributes that every argument and result has.
static SmallVector<NamedAttribute> roleAttrs(Builder &builder, const Twine &name, StringRef role) {
  return {builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
          builder.getNamedAttr(kRoleAttr, builder.getStringAttr(role))};
}

Value ModelBuilder::parameter(const Twine &name, ArrayRef<int64_t> shape, Init init, bool decays) {
  SmallVector<NamedAttribute> attrs = roleAttrs(builder, name, "parameter");
  attrs.push_back(builder.getNamedAttr(kInitAttr, initAttr(builder, init)));
  if (!decays)
    attrs.push_back(builder.getNamedAttr(kNoDecayAttr, builder.getUnitAttr()));
  return signature.insertArgument(
      parameterCount++, RankedTensorType::get(shape, builder.getF32Type()), attrs, emit.loc);
}

Value ModelBuilder::frozenParameter(const Twine &name, ArrayRef<int64_t> shape, Init init) {
  Value frozen = parameter(name, shape, init, /*decays=*/false);
  signature.setArgumentAttr(cast<BlockArgument>(frozen).getArgNumber(), kFrozenAttr,
                            builder.getUnitAttr());
  return frozen;
}

Value ModelBuilder::unshardedWeight(const Twine &name, ArrayRef<int64_t> shape) {
  Value matrix = weight(name, shape);
  signature.setArgumentAttr(cast<BlockArgument>(matrix).getArgNumber(), kUnshardedAttr,
                            builder.getUnitAttr());
  return matrix;
}

Value ModelBuilder::stackedWeight(const Twine &name, int64_t count, ArrayRef<int64_t> shape,
                                  std::optional<double> standardDeviation) {
  SmallVector<int64_t> stacked = {count};
  llvm::append_range(stacked, shape);
  Value weights =
      parameter(name, stacked, {Init::Normal, standardDeviation.value_or(config.initializerRange)});
  signature.setArgumentAttr(cast<BlockArgument>(weights).getArgNumber(), kNamedRowsAttr,
                            builder.getUnitAttr());
  return weights;
}

Value ModelBuilder::insertBatch(ArrayRef<NamedAttribute> attrs, Type type) {
  // The key stays last.
  unsigned index = signature.getNumArguments() - (rngKeyArgument ? 1 : 0);
  return signature.insertArgument(index, type, attrs, emit.loc);
}

Value ModelBuilder::batchArgument(StringRef name, ArrayRef<int64_t> shape, int64_t limit) {
  SmallVector<NamedAttribute> attrs = roleAttrs(builder, name, "batch");
  attrs.push_back(builder.getNamedAttr(kLimitAttr, builder.getI64IntegerAttr(limit)));
  return insertBatch(attrs, RankedTensorType::get(shape, builder.getI32Type()));
}

Value ModelBuilder::batchArgument(StringRef name, ArrayRef<int64_t> shape) {
  return insertBatch(roleAttrs(builder, name, "batch"),
                     RankedTensorType::get(shape, builder.getF32Type()));
}

Value ModelBuilder::rngKey() {
  if (rngKeyArgument)
    return rngKeyArgument;
  auto word = builder.getIntegerType(32, /*isSigned=*/false);
  return rngKeyArgument = signature.appendArgument(RankedTensorType::get({2}, word),
                                                   roleAttrs(builder, "rng_key", "key"), emit.loc);
}

void ModelBuilder::finish(Value result, StringRef name, StringRef role) {
  builder.setListener(nullptr);
  func::ReturnOp::create(builder, builder.getUnknownLoc());
  signature.appendResult(result, roleAttrs(builder, name, role));
  for (auto &[measure, value] : measures)
    signature.appendResult(value, roleAttrs(builder, measure, "metric"));
  signature.write();
}
