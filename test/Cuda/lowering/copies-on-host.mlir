// Asynchronous copies on the host run immediately, or at the wait if threads run in reverse order.
//
// RUN: st-opt --gpu-to-host %s | FileCheck %s
// RUN: st-opt --gpu-to-host=descending %s | FileCheck %s --check-prefix=DOWN

// CHECK-LABEL: func.func private @ahead(
// CHECK: vector.load %{{.*}} : memref<512xbf16>, vector<8xbf16>
// CHECK: vector.store %{{.*}} : memref<512xbf16>, vector<8xbf16>
// CHECK: memref.load %[[X:.*]][%{{.*}}] : memref<512xbf16>
// CHECK-NOT: vector.load
// CHECK-NOT: nvvm
// CHECK-NOT: nvgpu

// A read before the wait finds the old contents.
// DOWN-LABEL: func.func private @ahead(
// DOWN-NOT: vector.load %{{.*}} : memref<512xbf16>
// DOWN: memref.load %{{.*}}[%{{.*}}] : memref<512xbf16>
// DOWN: scf.if
// DOWN: vector.load %{{.*}} : memref<512xbf16>, vector<8xbf16>
// DOWN: vector.store %{{.*}} : memref<512xbf16>, vector<8xbf16>
// DOWN-NOT: nvvm
// DOWN-NOT: nvgpu
gpu.module @kernels {
  gpu.func @ahead(%x: memref<512xbf16>, %y: memref<64xbf16>)
      workgroup(%m: memref<512xbf16, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c8 : index
    %0 = nvgpu.device_async_copy %x[%i], %m[%i], 8 {bypassL1}
        : memref<512xbf16> to memref<512xbf16, #gpu.address_space<workgroup>>
    %1 = memref.load %m[%i] : memref<512xbf16, #gpu.address_space<workgroup>>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    memref.store %1, %y[%t] : memref<64xbf16>
    gpu.return
  }
}
