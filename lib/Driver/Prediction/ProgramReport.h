// The messages of st-compile about the program of a binary.
#ifndef ST_DRIVER_PROGRAMREPORT_H
#define ST_DRIVER_PROGRAMREPORT_H

#include "lib/Proto/executable.pb.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::st {

/// Prints a table of the peak bytes of a device of each group, by class.
void printMemory(const ::st::proto::Executable &executable, llvm::raw_ostream &os);

/// Prints the predicted time of a step, or that it depends on data.
void printPrediction(const ::st::proto::Executable &executable, llvm::raw_ostream &os);

} // namespace mlir::st

#endif // ST_DRIVER_PROGRAMREPORT_H
