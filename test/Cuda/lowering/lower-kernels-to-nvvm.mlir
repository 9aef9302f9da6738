// RUN: st-opt --lower-kernels-to-nvvm=chip=sm_80 %s | FileCheck %s
// RUN: st-translate --kernels-to-ptx --chip=sm_80 --cuda-path=/nonexistent %s | FileCheck %s --check-prefix=PTX

// Bare pointers and offsets of 32 bits; roots and fused multiply-adds are instructions, and no product is contracted.

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">]
// CHECK: llvm.func @f(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) attributes {gpu.kernel
// CHECK-SAME: nvvm.maxntid
// CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
// CHECK: llvm.call_intrinsic "llvm.sqrt"
// CHECK: llvm.call_intrinsic "llvm.fma"

// PTX: .version 8.0
// PTX: .target sm_80
// PTX: .visible .entry f(
// PTX: ld.global.v4
// PTX: sqrt.rn.f32
// PTX: fma.rn.f32
// PTX: mul.rn.f32
// PTX: add.rn.f32
// PTX: st.global.v4
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f(%x: memref<256xf32>, %y: memref<256xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c4 = arith.constant 4 : index
      %t = gpu.thread_id x
      %i = arith.muli %t, %c4 : index
      %0 = vector.load %x[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
      %1 = math.sqrt %0 : vector<4xf32>
      %2 = math.fma %0, %1, %1 : vector<4xf32>
      %3 = arith.mulf %2, %0 : vector<4xf32>
      %4 = arith.addf %3, %1 : vector<4xf32>
      vector.store %4, %y[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
      gpu.return
    }
  }
}
