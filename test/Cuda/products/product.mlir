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

// GELU of the value that is also stored.
// CHECK-LABEL: func.func @gelu
// CHECK: cuda.product %arg0 * %arg1 bias %arg2 aux %arg3 into %arg4 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>}
// CHECK-SAME: memref<32xbf16>, memref<64xbf16> bias memref<8xbf16> aux memref<32xbf16> into memref<32xbf16>
// HOST-LABEL: func.func @gelu
// HOST: memref.load %arg2
// HOST: arith.addf
// HOST: memref.store {{.*}}, %arg3
// HOST: memref.store {{.*}}, %arg4
func.func @gelu(%a: memref<32xbf16>, %b: memref<64xbf16>, %bias: memref<8xbf16>, %aux: memref<32xbf16>, %d: memref<32xbf16>) {
  cuda.product %a * %b bias %bias aux %aux into %d 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>}
      : memref<32xbf16>, memref<64xbf16> bias memref<8xbf16> aux memref<32xbf16> into memref<32xbf16>
  return
}

// CHECK-LABEL: func.func @gelu_gradient
// CHECK: cuda.product %arg0 * %arg1 aux %arg2 into %arg3 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu_gradient>}
// HOST-LABEL: func.func @gelu_gradient
// HOST: memref.load %arg2
// HOST: memref.store {{.*}}, %arg3
func.func @gelu_gradient(%a: memref<32xf32>, %b: memref<64xf32>, %aux: memref<32xf32>, %d: memref<32xf32>) {
  cuda.product %a * %b aux %aux into %d 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu_gradient>}
      : memref<32xf32>, memref<64xf32> aux memref<32xf32> into memref<32xf32>
  return
}

// The sums of an operand's rows.
// CHECK-LABEL: func.func @sums
// CHECK: cuda.product %arg0 * %arg1 sums b %arg2 into %arg3 4 x 6 x 8 a <1, 4> b <6, 1> d <6, 1>
// CHECK-SAME: memref<32xbf16>, memref<48xbf16> sums memref<6xf32> into memref<24xf32>
// HOST-LABEL: func.func @sums
// HOST: memref.load %arg1
// HOST: memref.store {{.*}}, %arg2
// HOST: memref.store {{.*}}, %arg3
func.func @sums(%a: memref<32xbf16>, %b: memref<48xbf16>, %sums: memref<6xf32>, %d: memref<24xf32>) {
  cuda.product %a * %b sums b %sums into %d 4 x 6 x 8 a <1, 4> b <6, 1> d <6, 1>
      : memref<32xbf16>, memref<48xbf16> sums memref<6xf32> into memref<24xf32>
  return
}
