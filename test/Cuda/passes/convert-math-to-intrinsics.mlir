// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-math-to-intrinsics))' %s | FileCheck %s

// Functions with an instruction become intrinsics, also approximate ones; an exponential stays a library call.

// CHECK-LABEL: gpu.func @f
// CHECK: llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.call_intrinsic "llvm.fma"
// CHECK: math.exp
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%{{.*}}) : (f32) -> f32
gpu.module @kernels {
  gpu.func @f(%x: vector<4xf32>, %y: f64, %z: f32) -> (vector<4xf32>, f64, f32) {
    %0 = math.sqrt %x : vector<4xf32>
    %1 = math.fma %x, %0, %0 : vector<4xf32>
    %2 = math.exp %y : f64
    %3 = cuda.approximate exp2 %z : f32
    %4 = cuda.approximate reciprocal %3 : f32
    gpu.return %1, %2, %4 : vector<4xf32>, f64, f32
  }
}
