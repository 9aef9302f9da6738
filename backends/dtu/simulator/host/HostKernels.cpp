#include "backends/dtu/simulator/host/HostKernels.h"

namespace st::dtu {

HostIsa widestHostIsa() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return HostIsa::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    return HostIsa::Avx2;
  return HostIsa::Baseline;
}

const HostKernels &hostKernels(HostIsa isa) {
  switch (isa == HostIsa::Auto ? widestHostIsa() : isa) {
  case HostIsa::Avx512:
    return avx512Kernels();
  case HostIsa::Avx2:
    return avx2Kernels();
  default:
    return baselineKernels();
  }
}

TileKernel findVectorKernel(const HostKernels &kernels, VectorOp op, DType type) {
  TileKernel kernel = kernels.vector(op, type);
  return kernel ? kernel : genericVectorKernel(op, type);
}

ConvertKernel findConvertKernel(const HostKernels &kernels, DType to, DType from) {
  ConvertKernel kernel = kernels.convert(to, from);
  return kernel ? kernel : genericConvertKernel(to, from);
}

TransposeKernel findTransposeKernel(const HostKernels &kernels, unsigned elementBytes) {
  return elementBytes == 4 ? kernels.transpose4 : genericTransposeKernel(elementBytes);
}

} // namespace st::dtu
