// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt --gpu-to-host %s | FileCheck --check-prefix=HOST %s

// CHECK-LABEL: func.func @all
// CHECK: cuda.product %arg0 * %arg1 plus %arg2 bias %arg3 into %arg4 4 x 6 x 8 a <8, 1 batch[32]> b <1, 8 batch[0]> d <6, 1 batch[24]> {batch = array<i64: 3>, scale = 5.000000e-01 : f64}
// CHECK-SAME: memref<96xbf16>, memref<48xbf16> plus memref<72xf32> bias memref<6xf32> into memref<72xf32>

// The stand-in adds up in f32, then scales, adds and stores.
// HOST-LABEL: func.func @all
// HOST-COUNT-3: scf.for
// HOST: scf.for {{.*}} iter_args(%{{.*}}) -> (f32)
// HOST: arith.mulf
// HOST: arith.addf
// HOST: scf.yield
// HOST: arith.mulf
// HOST: memref.load %arg2
// HOST: arith.addf
// HOST: memref.load %arg3
// HOST: arith.addf
// HOST: memref.store {{.*}}, %arg4
func.func @all(%a: memref<96xbf16>, %b: memref<48xbf16>, %c: memref<72xf32>, %bias: memref<6xf32>, %d: memref<72xf32>) {
  cuda.product %a * %b plus %c bias %bias into %d 4 x 6 x 8 a <8, 1 batch [32]> b <1, 8 batch [0]> d <6, 1 batch [24]> {batch = array<i64: 3>, scale = 0.5 : f64}
      : memref<96xbf16>, memref<48xbf16> plus memref<72xf32> bias memref<6xf32> into memref<72xf32>
  return
}
