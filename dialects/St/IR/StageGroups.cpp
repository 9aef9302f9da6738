#include "dialects/St/IR/StageGroups.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::st;

SmallVector<int64_t> mlir::st::getStageGroups(ModuleOp module) {
  auto stages = module->getAttrOfType<IntegerAttr>("st.stages");
  int64_t numStages = stages ? stages.getInt() : 1;
  auto devices = module->getAttrOfType<ArrayAttr>("st.devices");
  if (!devices || static_cast<int64_t>(devices.size()) != numStages)
    return llvm::to_vector(llvm::seq(numStages));
  SmallVector<Attribute> known;
  SmallVector<int64_t> groups;
  for (Attribute ids : devices) {
    auto *found = llvm::find(known, ids);
    groups.push_back(found - known.begin());
    if (found == known.end())
      known.push_back(ids);
  }
  return groups;
}
