// The dialects and passes of programs for GPUs, or for the host instead of GPUs.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace st::pjrt {

/// Registers the CUDA backend's passes, the MLIR passes that lower its kernels, and their
/// interfaces. All passes of MLIR would triple the library's size. Call once in a process.
void registerGpuLowering(mlir::DialectRegistry &registry);

} // namespace st::pjrt
