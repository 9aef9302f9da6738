// RUN: st-opt --pass-pipeline='builtin.module(gpu.module(convert-matrix-products))' %s | FileCheck %s

// Registers of bf16 are bits, those of f16 pairs of numbers.

// CHECK-LABEL: gpu.func @bf16
// CHECK-COUNT-4: vector.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK-COUNT-2: vector.bitcast {{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK: nvvm.mma.sync{{.*}}#nvvm.mma_type<bf16>{{.*}}m = 16, n = 8, k = 16
// CHECK-COUNT-4: llvm.extractvalue
// CHECK-NOT: nvgpu
// CHECK-LABEL: gpu.func @f16
// CHECK-NOT: vector.bitcast
// CHECK: nvvm.mma.sync
gpu.module @kernels {
  gpu.func @bf16(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
  gpu.func @f16(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %0 : vector<2x2xf32>
  }
}

// Four matrices as four registers; a constant that is added last is part of the address. Copies of 16 bytes, or of
// less and zeros. One number is rounded as the lower one of two, and one of two bf16 is widened by its bits.

// CHECK-LABEL: gpu.func @moves
// CHECK: %[[ROW:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, bf16
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[ROW]][{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, bf16
// CHECK: nvvm.ldmatrix %[[PLACE]] {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-4: llvm.extractvalue
// CHECK: %[[FROM:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<1>
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[FROM]], 16, cache = cg :
// CHECK: %[[BYTES:.*]] = arith.muli
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]] :
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> vector<2xbf16>
// CHECK: arith.shli
// CHECK: arith.andi
// CHECK-NOT: nvgpu
gpu.module @more {
  gpu.func @moves(%x: memref<512xbf16>, %i: index, %n: index, %f: f32, %two: vector<2xbf16>)
      -> (vector<4x2xbf16>, bf16, f32, f32) workgroup(%m: memref<512xbf16, #gpu.address_space<workgroup>>) {
    %c16 = arith.constant 16 : index
    %j = arith.addi %i, %c16 : index
    %0 = nvgpu.ldmatrix %m[%j] {numTiles = 4 : i32, transpose = true}
        : memref<512xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
    %1 = nvgpu.device_async_copy %x[%i], %m[%i], 8 {bypassL1}
        : memref<512xbf16> to memref<512xbf16, #gpu.address_space<workgroup>>
    %2 = nvgpu.device_async_copy %x[%i], %m[%i], 8, %n {bypassL1}
        : memref<512xbf16> to memref<512xbf16, #gpu.address_space<workgroup>>
    %3 = arith.truncf %f : f32 to bf16
    %4 = vector.extract %two[0] : bf16 from vector<2xbf16>
    %5 = arith.extf %4 : bf16 to f32
    %6 = vector.extract %two[1] : bf16 from vector<2xbf16>
    %7 = arith.extf %6 : bf16 to f32
    gpu.return %0, %3, %5, %7 : vector<4x2xbf16>, bf16, f32, f32
  }
}
