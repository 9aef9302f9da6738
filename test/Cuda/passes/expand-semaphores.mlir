// RUN: st-opt --pass-pipeline="builtin.module(gpu.module(expand-semaphores))" %s | FileCheck %s
// Earlier spellings of the ops and the pass.
// RUN: sed -e s/take_ticket/take_number/ -e s/semaphore_wait/await_turn/ -e s/semaphore_release/end_turn/ %s | st-opt --pass-pipeline="builtin.module(gpu.module(expand-turns))" | FileCheck %s
// RUN: st-translate --kernels-to-ptx --chip=sm_80 --cuda-path=/nonexistent %s | FileCheck %s --check-prefix=PTX
// RUN: st-opt --gpu-to-host %s | FileCheck %s --check-prefix=HOST
// RUN: st-opt --pass-pipeline="builtin.module(gpu.module(expand-semaphores),gpu-to-host)" %s | FileCheck %s --check-prefix=EXPANDED

// For all threads, the first one takes a ticket, waits for the semaphore, and sets it for the next block.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<1xi32, #gpu.address_space<workgroup>>)
// CHECK: scf.if
// CHECK: %[[TAKEN:.*]] = memref.atomic_rmw addi %{{.*}}, %[[SEMAPHORES:.*]][%{{.*}}]
// CHECK: memref.store %[[TAKEN]], %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[SHARED]]
// CHECK: scf.while
// CHECK: %[[NOW:.*]] = memref.atomic_rmw addi %{{.*}}, %[[SEMAPHORES]]
// CHECK: arith.cmpi ne, %[[NOW]]
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: gpu.barrier
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: memref.atomic_rmw assign %{{.*}}, %[[SEMAPHORES]]

// PTX: atom{{.*}}.add
// PTX: bar{{.*}}.sync
// PTX: atom
// PTX: fence.acq_rel.gpu
// PTX: bar{{.*}}.sync
// PTX: bar{{.*}}.sync
// PTX: fence.acq_rel.gpu
// PTX: atom{{.*}}.exch

// On the host blocks run one after another, so none waits; a block that would wait sets a word.
// HOST: memref.global @st_unmet_wait : memref<1xi32> = dense<0>
// HOST-LABEL: func.func private @f
// HOST: scf.for
// HOST: %[[OTHER:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i32
// HOST: scf.if %[[OTHER]]
// HOST: %[[MISSED:.*]] = memref.get_global @st_unmet_wait : memref<1xi32>
// HOST: memref.store %{{.*}}, %[[MISSED]]

// The expanded code also runs on the host: all threads see the ticket that the first thread took.
// EXPANDED-LABEL: func.func private @f
// EXPANDED: memref.atomic_rmw addi
// EXPANDED: %[[NUMBER:.*]] = memref.load %{{.*}} : memref<1xi32>
// EXPANDED: arith.index_cast %[[NUMBER]]
// EXPANDED: scf.while
// EXPANDED: llvm.fence
// EXPANDED: memref.atomic_rmw assign
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f(%sums: memref<64xf32>, %semaphores: memref<2xi32>) workgroup(%shared: memref<1xi32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = gpu.thread_id x
      %ticket = cuda.take_ticket %semaphores[%c1] by %shared : memref<2xi32>, memref<1xi32, #gpu.address_space<workgroup>>
      %next = arith.addi %ticket, %c1 : index
      cuda.semaphore_wait %semaphores[%c0], %ticket : memref<2xi32>
      gpu.barrier
      %0 = memref.load %sums[%t] : memref<64xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %sums[%t] : memref<64xf32>
      gpu.barrier
      cuda.semaphore_release %semaphores[%c0], %next : memref<2xi32>
      gpu.return
    }
  }
}
