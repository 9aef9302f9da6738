// RUN: st-opt %s --merge-launches | FileCheck %s

// Launches of a kernel are merged at the first one, if the commands in between touch none of their memory. Buffers that all
// launches share are not selected by the index. A launch stays in place if another launch wrote or reads its memory, if its
// buffer is copied, or if an address moves with the micro-batch. Threads of a block that synchronize take the same buffers.
// Launches that an update makes unnecessary are merged separately.
// CHECK: gpu.module @kernels
// CHECK-NOT: @alone
// CHECK: gpu.func @scale_times_3(%[[A0:.*]]: memref<8xf32>, %[[S:.*]]: memref<1xf32>, %[[A1:.*]]: memref<8xf32>, %[[B1:.*]]: memref<8xf32>, %[[A2:[^:]*]]: memref<8xf32>)
// CHECK-SAME: cuda.bytes = 2.040000e+02 : f64
// CHECK-SAME: known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 6, 1, 1>
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[INSTANCE:.*]] = arith.divui %[[BLOCK]], %c2{{.*}}
// CHECK: %[[OWN:.*]] = arith.remui %[[BLOCK]], %c2{{.*}}
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[INSTANCE]], %c1
// CHECK: %[[BUFFERS:.*]]:2 = scf.if %[[FIRST]] -> (memref<8xf32>, memref<8xf32>)
// CHECK-NEXT: scf.yield %[[A0]], %[[A0]]
// CHECK: scf.if
// CHECK: scf.yield %[[A1]], %[[B1]]
// CHECK: scf.yield %[[A2]], %[[A2]]
// CHECK: arith.muli %[[OWN]], %c4
// CHECK: memref.load %[[BUFFERS]]#0
// CHECK: memref.load %[[S]]
// CHECK: memref.store %{{.*}}, %[[BUFFERS]]#1
// CHECK: gpu.func @meet(
// CHECK: gpu.func @meet_times_2(%[[M0:.*]]: memref<8xf32>, %[[M1:[^:]*]]: memref<8xf32>)
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK: %[[MET:.*]] = scf.if
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[SHARED]]
// CHECK: memref.store %{{.*}}, %[[MET]]
// CHECK-LABEL: func.func @task
// CHECK: gpu.launch_func @kernels::@scale_times_3 blocks in (%c6
// CHECK: gpu.launch_func @kernels::@meet_times_2 blocks in (%c4
// CHECK: gpu.launch_func @kernels::@meet blocks in (%c2{{.*}} {cuda.left_by_update}
// CHECK: gpu.memcpy
// CHECK: gpu.launch_func @kernels::@scale blocks in (%c2
// CHECK: gpu.launch_func @kernels::@scale blocks in (%c2
// CHECK-NOT: launch
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%from: memref<8xf32>, %factor: memref<1xf32>, %to: memref<8xf32>) kernel
        attributes {cuda.bytes = 68.0, known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %first = arith.muli %block, %c4 : index
      %i = arith.addi %first, %thread : index
      %x = memref.load %from[%i] : memref<8xf32>
      %f = memref.load %factor[%c0] : memref<1xf32>
      %y = arith.mulf %x, %f : f32
      memref.store %y, %to[%i] : memref<8xf32>
      gpu.return
    }
    gpu.func @meet(%from: memref<8xf32>) workgroup(%shared: memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel
        attributes {known_block_size = array<i32: 4, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
      %c3 = arith.constant 3 : index
      %thread = gpu.thread_id x
      %x = memref.load %from[%thread] : memref<8xf32>
      memref.store %x, %shared[%thread] : memref<4xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %other = arith.subi %c3, %thread : index
      %y = memref.load %shared[%other] : memref<4xf32, #gpu.address_space<workgroup>>
      memref.store %y, %from[%thread] : memref<8xf32>
      gpu.return
    }
    gpu.func @alone(%from: memref<8xf32>) kernel {
      gpu.return
    }
  }
  func.func @task(%arena: memref<?xi8>, %mb: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %a0 = arith.constant 0 : index
    %a1 = arith.constant 32 : index
    %a2 = arith.constant 64 : index
    %b1 = arith.constant 96 : index
    %s = arith.constant 128 : index
    %b2 = arith.constant 160 : index
    %b3 = arith.constant 192 : index
    %b4 = arith.constant 224 : index
    %v0 = memref.view %arena[%a0][] : memref<?xi8> to memref<8xf32>
    %v1 = memref.view %arena[%a1][] : memref<?xi8> to memref<8xf32>
    %v2 = memref.view %arena[%a2][] : memref<?xi8> to memref<8xf32>
    %w1 = memref.view %arena[%b1][] : memref<?xi8> to memref<8xf32>
    %w2 = memref.view %arena[%b2][] : memref<?xi8> to memref<8xf32>
    %w3 = memref.view %arena[%b3][] : memref<?xi8> to memref<8xf32>
    %w4 = memref.view %arena[%b4][] : memref<?xi8> to memref<8xf32>
    %vs = memref.view %arena[%s][] : memref<?xi8> to memref<1xf32>
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%v0 : memref<8xf32>, %vs : memref<1xf32>, %v0 : memref<8xf32>)
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%v1 : memref<8xf32>, %vs : memref<1xf32>, %w1 : memref<8xf32>)
    gpu.launch_func @kernels::@meet blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%w4 : memref<8xf32>)
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%v2 : memref<8xf32>, %vs : memref<1xf32>, %v2 : memref<8xf32>)
    gpu.launch_func @kernels::@meet blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%w2 : memref<8xf32>)
    gpu.launch_func @kernels::@meet blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%w3 : memref<8xf32>) {cuda.left_by_update}
    gpu.memcpy %v1, %w1 : memref<8xf32>, memref<8xf32>
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%w1 : memref<8xf32>, %vs : memref<1xf32>, %v2 : memref<8xf32>)
    %moving = arith.muli %mb, %a1 : index
    %moved = memref.view %arena[%moving][] : memref<?xi8> to memref<8xf32>
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1) args(%moved : memref<8xf32>, %vs : memref<1xf32>, %moved : memref<8xf32>)
    return
  }
}
