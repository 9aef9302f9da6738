// The page's figures of a step simulated by the costs of its commands.
#ifndef ST_DRIVER_GPUFIGURES_H
#define ST_DRIVER_GPUFIGURES_H

#include "lib/Driver/Prediction/GpuStep.h"
#include "lib/Report/StepFigures.h"

namespace mlir::st {

/// The program must hold the prediction of this simulation.
::st::StepFigures gatherGpuFigures(const ::st::proto::Executable &program, const GpuStep &step,
                                   const ::st::Costs &costs, const ::st::MemoryUse &memory);

} // namespace mlir::st

#endif // ST_DRIVER_GPUFIGURES_H
