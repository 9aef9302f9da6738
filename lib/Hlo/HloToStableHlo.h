// The conversion of HLO instructions to ops, one by one.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <unordered_map>

namespace mlir::st {

using HloValues = SmallVector<Value, 1>;

/// The values of an instruction: the tensors of its shape, with tuples flattened.
struct HloResult {
  HloValues values;
  const ::st::hlo::Shape *shape = nullptr;
};

inline ArrayRef<int64_t> toArray(const google::protobuf::RepeatedField<int64_t> &field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

/// GSPMD's string for a sharding, `{devices=[2,1]<=[2]}`; empty if a field is unknown.
std::string textOfSharding(const ::st::hlo::OpSharding &sharding);

/// Attributes of JAX that HLO cannot represent, in the form that import-shardings reads.
inline constexpr StringLiteral kFrontendAttributes = "mhlo.frontend_attributes";

class HloToStableHlo {
public:
  HloToStableHlo(const ::st::hlo::Module &module, MLIRContext *context)
      : module(module), context(context), builder(context) {}
  OwningOpRef<ModuleOp> run();

private:
  using Instruction = ::st::hlo::Instruction;
  using Computation = ::st::hlo::Computation;
  /// Ids may be any numbers, including those that a DenseMap reserves.
  using Environment = std::unordered_map<int64_t, HloResult>;

  InFlightDiagnostic error(const Instruction &at) {
    return emitError(locationOf(at))
           << "HLO instruction \"" << at.name() << "\" (" << at.opcode() << "): ";
  }
  Location locationOf(const Instruction &at);

  // Computations and tuples.
  FailureOr<HloValues> emitComputation(const Computation &computation, ValueRange arguments);
  LogicalResult bindParameters(const Computation &computation, ValueRange arguments,
                               Environment &values);
  FailureOr<HloValues> emitInstruction(const Instruction &at, const Environment &values);
  FailureOr<HloValues> takeElement(const Instruction &at, const HloResult &tuple);
  LogicalResult flatten(const Instruction &at, const ::st::hlo::Shape &shape,
                        SmallVectorImpl<Type> &types);
  FailureOr<const Computation *> called(const Instruction &at, int index);

  // One op.
  FailureOr<HloValues> emitOp(const Instruction &at, ArrayRef<HloResult> operands);
  FailureOr<HloValues> emitBitcast(const Instruction &at, const HloResult &operand);
  LogicalResult addAttributes(const Instruction &at, ValueRange operands, OperationState &state);
  LogicalResult addLiteral(const Instruction &at, OperationState &state);
  LogicalResult addComparison(const Instruction &at, OperationState &state);
  void addSlice(const Instruction &at, OperationState &state);
  void addPad(const Instruction &at, OperationState &state);
  LogicalResult addDot(const Instruction &at, OperationState &state);
  void addGather(const Instruction &at, OperationState &state);
  void addScatter(const Instruction &at, OperationState &state);
  LogicalResult addLinearAlgebra(const Instruction &at, OperationState &state);
  LogicalResult addDimensions(const Instruction &at, OperationState &state);
  LogicalResult addCustomCall(const Instruction &at, OperationState &state);
  LogicalResult addTopK(const Instruction &at, ValueRange operands, OperationState &state);

  // Windows: convolution, reduce-window, select-and-scatter.
  LogicalResult addConvolution(const Instruction &at, OperationState &state);
  LogicalResult addWindow(const Instruction &at, OperationState &state);
  LogicalResult addPrecision(const Instruction &at, OperationState &state);

  // Collectives.
  LogicalResult addCollective(const Instruction &at, ValueRange operands, OperationState &state);
  FailureOr<DenseIntElementsAttr> replicaGroups(const Instruction &at);

  // Regions.
  LogicalResult addRegions(const Instruction &at, ArrayRef<HloResult> operands,
                           OperationState &state);
  LogicalResult addConditional(const Instruction &at, ArrayRef<HloResult> operands,
                               OperationState &state);
  LogicalResult fillRegion(const Instruction &at, Region &region, int index, ArrayRef<Type> types,
                           ValueRange captured = {});

  // @main.
  LogicalResult buildMain(ModuleOp result, const Computation &entry);
  LogicalResult addAliases(func::FuncOp main, size_t parameters);
  void addShardings(func::FuncOp main, ArrayRef<const Instruction *> parameters,
                    const Computation &entry);
  DictionaryAttr frontendAttributes(const ::st::hlo::FrontendAttributes &attributes);

  void addDims(OperationState &state, StringRef name, ArrayRef<int64_t> values) {
    state.addAttribute(name, builder.getDenseI64ArrayAttr(values));
  }
  void addNumber(OperationState &state, StringRef name, int64_t value) {
    state.addAttribute(name, builder.getI64IntegerAttr(value));
  }
  void addBool(OperationState &state, StringRef name, bool value) {
    state.addAttribute(name, builder.getBoolAttr(value));
  }

  const ::st::hlo::Module &module;
  MLIRContext *context;
  OpBuilder builder;
  std::unordered_map<int64_t, const Computation *> computations;
  int64_t emitted = 0, depth = 0, shapeDepth = 0;
  /// One more than the highest device that a collective names.
  int64_t devices = 0;
};

} // namespace mlir::st
