#include "dialects/St/Utils/Roles.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

StringRef mlir::st::getRole(BlockArgument argument) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function)
    return "";
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
  return role ? role.getValue() : "";
}

bool mlir::st::isTrainingState(BlockArgument argument) {
  StringRef role = getRole(argument);
  return role == "parameter" || role == "optimizer_state";
}
