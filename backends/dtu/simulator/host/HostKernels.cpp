#include "backends/dtu/simulator/host/HostKernels.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace st::dtu {

namespace {

/// Linux grants the tile registers only to a process that requests them, once for all its threads.
/// It refuses if the processor has none or a signal stack is too small for them.
bool requestTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

HostKernels withBf16Matmul(Bf16MatmulKernel matmul) {
  HostKernels kernels = avx512Kernels();
  kernels.bf16Matmul = matmul;
  return kernels;
}

} // namespace

HostFeatures hostFeatures() {
  static const HostFeatures features = [] {
    HostFeatures f;
    f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2");
    f.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    f.avx512Bf16 = __builtin_cpu_supports("avx512bf16");
    f.fastBf16Pairs = __builtin_cpu_is("amd");
    f.amx =
        __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") && requestTiles();
    return f;
  }();
  return features;
}

HostIsa widestHostIsa(const HostFeatures &features) {
  if (!features.avx2)
    return HostIsa::Baseline;
  if (!features.avx512)
    return HostIsa::Avx2;
  if (!features.avx512Bf16)
    return HostIsa::Avx512;
  return features.amx ? HostIsa::Amx : HostIsa::Avx512Bf16;
}

HostIsa widestHostIsa() { return widestHostIsa(hostFeatures()); }

HostIsa fastestHostIsa(const HostFeatures &features) {
  HostIsa widest = widestHostIsa(features);
  const bool isSlow = widest == HostIsa::Avx512Bf16 && !features.fastBf16Pairs;
  return isSlow ? HostIsa::Avx512 : widest;
}

HostIsa fastestHostIsa() { return fastestHostIsa(hostFeatures()); }

const HostKernels &hostKernels(HostIsa isa) {
  static const HostKernels bf16 = withBf16Matmul(avx512Bf16Matmul);
  static const HostKernels amx = withBf16Matmul(amxBf16Matmul);
  switch (isa == HostIsa::Auto ? fastestHostIsa() : isa) {
  case HostIsa::Amx:
    return amx;
  case HostIsa::Avx512Bf16:
    return bf16;
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
