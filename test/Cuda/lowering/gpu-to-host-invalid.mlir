// RUN: st-opt --gpu-to-host --split-input-file --verify-diagnostics %s

gpu.module @kernels {
  gpu.func @differs(%x: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %0 = memref.load %x[%t] : memref<64xi1>
    // expected-error @+1 {{'scf.if' op contains a barrier or a shuffle and has a condition that differs between threads}}
    scf.if %0 {
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @bounds() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    // expected-error @+1 {{'scf.for' op contains a barrier or a shuffle and has bounds that differ between threads}}
    scf.for %i = %c0 to %t step %c1 {
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op has no known_block_size, which gpu-to-host needs}}
  gpu.func @unknown() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @some() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // expected-error @+1 {{'nvvm.cp.async.wait.group' op leaves copies pending, expected a wait for all of them}}
    nvvm.cp.async.wait.group 1
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @short(%x: memref<512xf32>, %i: index) workgroup(%m: memref<512xf32, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // expected-error @+1 {{'nvgpu.device_async_copy' op is not a one-dimensional copy of 16 bytes without a token}}
    %0 = nvgpu.device_async_copy %x[%i], %m[%i], 2
        : memref<512xf32> to memref<512xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
