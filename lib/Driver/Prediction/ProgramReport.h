// What st-compile says of the program that it puts into a binary.
#ifndef ST_DRIVER_PROGRAMREPORT_H
#define ST_DRIVER_PROGRAMREPORT_H

#include "lib/Proto/executable.pb.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::st {

/// A table of the peak bytes of a device of each group, by class.
void printMemory(const ::st::proto::Executable &executable, llvm::raw_ostream &os);

/// How long a step takes, as it was predicted; that it depends on data where it was not.
void printPrediction(const ::st::proto::Executable &executable, llvm::raw_ostream &os);

} // namespace mlir::st

#endif // ST_DRIVER_PROGRAMREPORT_H
