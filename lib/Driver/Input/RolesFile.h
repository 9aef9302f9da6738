//===- RolesFile.h - The roles of a program as JSON -*- C++ -*-===//
//
// st-compile's table of roles, complete and as JSON (--roles-out). A script can use it to write a
// checkpoint or an input file from the arrays that the program takes.
//
//===----------------------------------------------------------------------===//
#ifndef ST_DRIVER_INPUT_ROLESFILE_H
#define ST_DRIVER_INPUT_ROLESFILE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::st {

/// Numbers the arguments and results of @main before the import, which can remove some of them.
void numberPorts(ModuleOp module);

/// JSON with the `arguments` and `results` of @main, one line each: the number in the program, the
/// name, role, element type and shape; for state also `replaced_by`, the number of the result that
/// replaces it, and `of`, the parameter that it belongs to. Removes the numbers from the module.
std::string takeRoles(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_INPUT_ROLESFILE_H
