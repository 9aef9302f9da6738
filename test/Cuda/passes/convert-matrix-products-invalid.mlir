// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-matrix-products))' --split-input-file --verify-diagnostics %s

gpu.module @kernels {
  gpu.func @shallow(%a: vector<2x2xf16>, %b: vector<1x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    // expected-error @+1 {{'nvgpu.mma.sync' op is not a 16 x 8 x 16 product of 16-bit floats in f32}}
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]}
        : (vector<2x2xf16>, vector<1x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
}

// -----

gpu.module @kernels {
  gpu.func @two(%i: index) -> vector<2x2xf16> workgroup(%m: memref<512xf16, #gpu.address_space<workgroup>>) {
    // expected-error @+1 {{'nvgpu.ldmatrix' op is not a load of four matrices of 16-bit floats from one dimension}}
    %0 = nvgpu.ldmatrix %m[%i] {numTiles = 2 : i32, transpose = false}
        : memref<512xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
    gpu.return %0 : vector<2x2xf16>
  }
}

// -----

gpu.module @kernels {
  gpu.func @short(%x: memref<512xf16>, %i: index) workgroup(%m: memref<512xf16, #gpu.address_space<workgroup>>) {
    // expected-error @+1 {{'nvgpu.device_async_copy' op is not a one-dimensional copy of 16 bytes without a token}}
    %0 = nvgpu.device_async_copy %x[%i], %m[%i], 4
        : memref<512xf16> to memref<512xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
