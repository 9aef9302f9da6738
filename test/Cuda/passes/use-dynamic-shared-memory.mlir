// RUN: st-opt --pass-pipeline="builtin.module(gpu.module(use-dynamic-shared-memory))" %s | FileCheck %s
// RUN: st-opt --pass-pipeline="builtin.module(gpu.module(use-dynamic-shared-memory),gpu-to-host)" %s | FileCheck %s --check-prefix=HOST

// On the host the shared memory is one buffer.
// HOST-LABEL: func.func private @large
// HOST: %[[MEMORY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<60016xi8>
// HOST: memref.view %[[MEMORY]]{{.*}} : memref<60016xi8> to memref<20004xbf16>
// HOST: memref.view %[[MEMORY]]{{.*}} : memref<60016xi8> to memref<5000xf32>
// HOST: memref.dealloc %[[MEMORY]]

// More than 48 KiB become parts of a launch's dynamic shared memory.
// CHECK-LABEL: gpu.func @large
// CHECK-NOT: workgroup(
// CHECK: %[[MEMORY:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK: memref.view %[[MEMORY]][%[[FIRST]]][] : {{.*}} to memref<20004xbf16, #gpu.address_space<workgroup>>
// CHECK: %[[SECOND:.*]] = arith.constant 40016 : index
// CHECK: memref.view %[[MEMORY]][%[[SECOND]]][] : {{.*}} to memref<5000xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @small
// CHECK-SAME: workgroup(%{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>)
// CHECK-NOT: gpu.dynamic_shared_memory
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @large(%x: memref<64xf32>) workgroup(%a: memref<20004xbf16, #gpu.address_space<workgroup>>, %b: memref<5000xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %0 = memref.load %a[%t] : memref<20004xbf16, #gpu.address_space<workgroup>>
      %1 = arith.extf %0 : bf16 to f32
      memref.store %1, %b[%t] : memref<5000xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
    gpu.func @small(%x: memref<64xf32>) workgroup(%a: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<64xf32>
      memref.store %0, %a[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
}
