// The page's figures of a step that was simulated by the costs of its commands.
#ifndef ST_DRIVER_GPUFIGURES_H
#define ST_DRIVER_GPUFIGURES_H

#include "lib/Driver/Prediction/GpuStep.h"
#include "lib/Report/StepFigures.h"

namespace mlir::st {

/// The program holds the prediction of this same simulation.
::st::StepFigures gatherGpuFigures(const ::st::proto::Executable &program, const GpuStep &step,
                                   const ::st::Costs &costs, const ::st::MemoryUse &memory);

} // namespace mlir::st

#endif // ST_DRIVER_GPUFIGURES_H
