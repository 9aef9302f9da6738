// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-matrix-products))' %s | FileCheck %s

// Registers of bf16 are bits, those of f16 pairs of numbers.

// CHECK-LABEL: gpu.func @bf16
// CHECK-COUNT-4: vector.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-2: vector.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK: nvvm.mma.sync{{.*}}#nvvm.mma_type<bf16>{{.*}}m = 16, n = 8, k = 16
// CHECK-COUNT-4: llvm.extractvalue
// CHECK-NOT: nvgpu
// CHECK-LABEL: gpu.func @f16
// CHECK-NOT: vector.bitcast
// CHECK: nvvm.mma.sync
gpu.module @kernels {
  gpu.func @bf16(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
  gpu.func @f16(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
}
