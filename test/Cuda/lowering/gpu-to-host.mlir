// RUN: st-opt --gpu-to-host %s | FileCheck %s
// RUN: st-opt --gpu-to-host=descending %s | FileCheck %s --check-prefix=DOWN
// RUN: st-opt --gpu-to-host=approximation-error=0.25 %s | FileCheck %s --check-prefix=OFF

// Two segments around a barrier: the value that is live across it has an array, the constant appears once.

// A warp's product is one function for all threads: operands of four lanes and of eight.
// CHECK-LABEL: func.func private @multiply_matrices_bf16_f32_32(
// CHECK: arith.divui
// CHECK-COUNT-12: memref.load
// CHECK-COUNT-64: arith.mulf
// CHECK-NOT: arith.mulf

// CHECK-LABEL: func.func private @turn(
// CHECK-SAME: [[GRID:%[a-z0-9]+]]: index, {{.*}}, [[X:%[a-z0-9]+]]: memref<64xf32>, [[Y:%[a-z0-9]+]]: memref<64xf32>)
// CHECK-DAG: [[KEPT:%[a-z0-9_]+]] = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
// CHECK-DAG: [[SHARED:%[a-z0-9_]+]] = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
// CHECK: scf.for {{.*}} to [[GRID]]
// CHECK: scf.for [[T:%[a-z0-9]+]] =
// CHECK: memref.load [[X]]
// CHECK: memref.store {{.*}}[[T]]] : memref<64xf32>
// CHECK: scf.for
// CHECK: memref.load
// CHECK: arith.addf
// CHECK: memref.store {{.*}}[[Y]]
// CHECK: memref.dealloc

// DOWN-LABEL: func.func private @turn(
// DOWN: [[LAST:%[a-z0-9_]+]] = arith.constant 63 : index
// DOWN: arith.subi [[LAST]], {{.*}} : index
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @turn(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%shared: memref<64xf32, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c63 = arith.constant 63 : index
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<64xf32>
      memref.store %0, %shared[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %other = arith.subi %c63, %t : index
      %1 = memref.load %shared[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%t] : memref<64xf32>
      gpu.return
    }
    // A loop with a barrier and a shuffle: its values are carried in arrays.
    // CHECK-LABEL: func.func private @sum(
    // CHECK: scf.for
    // CHECK: scf.for {{.*}} {
    // CHECK: scf.for
    // CHECK: arith.xori
    // CHECK: memref.store
    // CHECK: scf.for
    // CHECK: arith.addf
    gpu.func @sum(%x: memref<32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %i1 = arith.constant 1 : i32
      %width = arith.constant 32 : i32
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<32xf32>
      %sum = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %0) -> f32 {
        %n = arith.index_cast %i : index to i32
        %mask = arith.shli %i1, %n : i32
        %b, %valid = gpu.shuffle xor %a, %mask, %width : f32
        %s = arith.addf %a, %b : f32
        scf.yield %s : f32
      }
      memref.store %sum, %x[%t] : memref<32xf32>
      gpu.return
    }
    // A product of a warp's matrices: each thread reads values of two quads' lanes and of a row.
    // CHECK-LABEL: func.func private @matrices(
    // CHECK: call @multiply_matrices_bf16_f32_32(
    // CHECK-NOT: nvgpu
    gpu.func @matrices(%x: memref<32xvector<4x2xbf16>>, %y: memref<32xvector<2x2xbf16>>, %z: memref<32xvector<2x2xf32>>)
        kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %t = gpu.thread_id x
      %a = memref.load %x[%t] : memref<32xvector<4x2xbf16>>
      %b = memref.load %y[%t] : memref<32xvector<2x2xbf16>>
      %c = memref.load %z[%t] : memref<32xvector<2x2xf32>>
      %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
          : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
      memref.store %d, %z[%t] : memref<32xvector<2x2xf32>>
      gpu.return
    }
    // The GPU's approximation of 2^x by a polynomial, zero below the least normal number, with the requested error.
    // CHECK-LABEL: func.func private @approximate(
    // CHECK-NOT: 1.250000e+00
    // CHECK: math.fma
    // CHECK: arith.constant 1.17549435E-38 : f32
    // CHECK-NOT: cuda.approximate
    // CHECK: memref.store
    // OFF-LABEL: func.func private @approximate(
    // OFF-DAG: arith.constant 1.250000e+00 : f32
    // OFF-DAG: arith.constant 7.500000e-01 : f32
    gpu.func @approximate(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<64xf32>
      %1 = cuda.approximate exp2 %0 : f32
      memref.store %1, %x[%t] : memref<64xf32>
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @launch
  // CHECK: call @turn(
  func.func @launch(%x: memref<64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@turn blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xf32>, %y : memref<64xf32>)
    return
  }
}
