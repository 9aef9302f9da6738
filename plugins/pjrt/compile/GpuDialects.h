// What programs for GPUs, and for the host instead of GPUs, need in addition to others.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace st::pjrt {

/// Registers the CUDA backend's passes, those upstream passes that lower its kernels, and their
/// interfaces. All of upstream's would triple the library's size. Call once in a process.
void registerGpuLowering(mlir::DialectRegistry &registry);

} // namespace st::pjrt
