// RUN: not st-translate --kernels-to-ptx --cuda-path=/nonexistent %s 2>&1 | FileCheck %s

// Code that needs a missing library is an error, not an unresolved symbol.

// CHECK: error: 'llvm.call' op calls __nv_exp of libdevice, but no CUDA installation was found
// CHECK-NOT: .visible
gpu.module @kernels {
  gpu.func @f(%x: memref<64xf64>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %0 = memref.load %x[%t] : memref<64xf64>
    %1 = math.exp %0 : f64
    memref.store %1, %x[%t] : memref<64xf64>
    gpu.return
  }
}
