// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-math-to-intrinsics))' %s | FileCheck %s

// What is an instruction becomes an intrinsic; an exponential stays a call of a library.

// CHECK-LABEL: gpu.func @f
// CHECK: llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.call_intrinsic "llvm.fma"
// CHECK: math.exp
gpu.module @kernels {
  gpu.func @f(%x: vector<4xf32>, %y: f64) -> (vector<4xf32>, f64) {
    %0 = math.sqrt %x : vector<4xf32>
    %1 = math.fma %x, %0, %0 : vector<4xf32>
    %2 = math.exp %y : f64
    gpu.return %1, %2 : vector<4xf32>, f64
  }
}
