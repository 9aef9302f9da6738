#include "lib/Driver/Evaluation/TrainedLayout.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Partition/DimensionClasses.h"
#include "passes/Partition/Stages/StageStarts.h"

#include <set>

using namespace mlir;
using namespace mlir::st;

void TrainedLayout::recordStages(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  std::set<std::string> inSeveral;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto role = function.getArgAttrOfType<StringAttr>(i, kRoleAttr);
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    auto stage = function.getArgAttrOfType<IntegerAttr>(i, kStageAttr);
    if (!role || role.getValue() != "parameter" || !name || !stage)
      continue;
    shapes[name.getValue().str()] =
        SmallVector<int64_t>(cast<RankedTensorType>(function.getArgumentTypes()[i]).getShape());
    if (!stages.emplace(name.getValue().str(), stage.getInt()).second)
      inSeveral.insert(name.getValue().str());
  }
  for (const std::string &name : inSeveral)
    stages.erase(name);
}

void TrainedLayout::recordAddresses(ModuleOp module) {
  for (auto op : module.getOps<ProgramOp>()) {
    Program &program = programs.emplace_back();
    program.devices.assign(op.getDevices().begin(), op.getDevices().end());
    for (auto state : op.getOps<StateOp>()) {
      const int64_t offset = state.getAddressAttr().getOffset();
      program.end = std::max<int64_t>(program.end, offset + getNumBytes(state.getLocalType()));
      program.states[state.getName().str()] = {offset, state.getLocalType(), state.getSharding()};
    }
  }
}

void TrainedLayout::assignStages(ModuleOp module) const {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, stage] : stages)
    entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(stage)));
  module->setAttr(kParameterStagesAttr, builder.getDictionaryAttr(entries));
  entries.clear();
  for (const auto &[name, shape] : shapes)
    entries.push_back(builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(shape)));
  module->setAttr(kParameterShapesAttr, builder.getDictionaryAttr(entries));
}

LogicalResult TrainedLayout::assignAddresses(ModuleOp module, StringRef what) const {
  Builder builder(module.getContext());
  auto ops = llvm::to_vector(module.getOps<ProgramOp>());
  if (ops.size() != programs.size())
    return module.emitError(what) << " has " << ops.size() << " device groups, expected the "
                                  << programs.size() << " of the training step";
  for (auto [op, program] : llvm::zip_equal(ops, programs)) {
    if (ArrayRef<int64_t>(op.getDevices()) != ArrayRef<int64_t>(program.devices))
      return op.emitOpError("of ") << what << " has different devices than the training step";
    SmallVector<NamedAttribute> entries;
    for (auto state : op.getOps<StateOp>()) {
      auto known = program.states.find(state.getName().str());
      if (known == program.states.end() || known->second.local != state.getLocalType() ||
          known->second.sharding != state.getSharding())
        return state.emitOpError("\"") << state.getName() << "\": " << what << " reads it as "
                                       << state.getLocalType() << " " << state.getSharding()
                                       << ", but the training step does not store it in this form";
      entries.push_back(
          builder.getNamedAttr(state.getName(), builder.getI64IntegerAttr(known->second.offset)));
    }
    op->setAttr(kResidentAttr, builder.getDictionaryAttr(entries));
    op->setAttr(kResidentEndAttr, builder.getI64IntegerAttr(program.end));
  }
  return success();
}

void mlir::st::addProgram(::st::proto::Executable &to, ::st::proto::Executable program,
                          const std::string &name) {
  for (int i = 0; i < to.groups_size(); ++i) {
    ::st::proto::Group &training = *to.mutable_groups(i), &other = *program.mutable_groups(i);
    const int64_t more = other.arena_bytes() - training.arena_bytes();
    if (more > 0) {
      training.set_arena_bytes(other.arena_bytes());
      ::st::proto::MemoryClass &memory = *training.add_memory();
      memory.set_name(name);
      memory.set_bytes(more);
    }
    other.set_arena_bytes(training.arena_bytes());
    training.set_host_arena_bytes(std::max(training.host_arena_bytes(), other.host_arena_bytes()));
  }
  const int64_t scratch = std::max(to.cuda().scratch_bytes(), program.cuda().scratch_bytes());
  if (scratch > 0) {
    to.mutable_cuda()->set_scratch_bytes(scratch);
    program.mutable_cuda()->set_scratch_bytes(scratch);
  }
  // They are those of the training program.
  program.mutable_model()->clear_config_json();
  program.mutable_model()->clear_vocab_txt();
  program.set_name(name);
  *to.add_others() = std::move(program);
}
