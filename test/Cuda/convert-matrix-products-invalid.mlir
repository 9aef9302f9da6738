// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-matrix-products))' --verify-diagnostics %s

gpu.module @kernels {
  gpu.func @shallow(%a: vector<2x2xf16>, %b: vector<1x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    // expected-error @+1 {{'nvgpu.mma.sync' op is no product of 16-bit floats in f32, 16 x 8 x 16}}
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]}
        : (vector<2x2xf16>, vector<1x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
}
