// Rows of attention become the left operand of a product, two transposes become one, and a transpose that only moves a dimension
// of size 1 and a sum along one become reshapes. The values are small integers and stay the same.
//
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --lower-tensor-ops --canonicalize %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after
// RUN: st-opt --lower-tensor-ops --canonicalize %t.mlir | diff %t.mlir -

// CHECK-DAG: %[[Q:.*]] = stablehlo.reshape {{.*}} -> tensor<2x3x4xf32>
// CHECK: %[[SCORES:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x3x5xf32>
// CHECK-NEXT: %[[P:.*]] = stablehlo.negate %[[SCORES]] : tensor<2x3x5xf32>
// CHECK: stablehlo.dot_general %[[P]], %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, DEFAULT] : (tensor<2x3x5xf32>, tensor<2x5x2xf32>) -> tensor<2x3x2xf32>
// CHECK-NEXT: stablehlo.transpose {{.*}}, dims = [1, 0, 2] : (tensor<2x3x2xf32>) -> tensor<3x2x2xf32>
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.dot_general %[[Q]], %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [2]
// CHECK-NOT: stablehlo.reduce
// CHECK: return
func.func @main() -> (tensor<3x2x2xf32>, tensor<2x3x3xf32>, tensor<2x5xf32>) {
  %n = stablehlo.iota dim = 0 : tensor<24xf32>
  %q = stablehlo.reshape %n : (tensor<24xf32>) -> tensor<2x3x4xf32>
  %m = stablehlo.iota dim = 0 : tensor<40xf32>
  %k = stablehlo.reshape %m : (tensor<40xf32>) -> tensor<2x5x4xf32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %p = stablehlo.negate %s : tensor<2x3x5xf32>
  %v = stablehlo.slice %k [0:2, 0:5, 0:2] : (tensor<2x5x4xf32>) -> tensor<2x5x2xf32>
  // [b, d, q], then [b, q, d], then [q, b, d].
  %o = stablehlo.dot_general %v, %p, batching_dims = [0] x [0], contracting_dims = [1] x [2], precision = [DEFAULT, HIGH] : (tensor<2x5x2xf32>, tensor<2x3x5xf32>) -> tensor<2x2x3xf32>
  %turned = stablehlo.transpose %o, dims = [0, 2, 1] : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
  %heads = stablehlo.transpose %turned, dims = [1, 0, 2] : (tensor<2x3x2xf32>) -> tensor<3x2x2xf32>
  // Neither operand follows a product.
  %plain = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %row = stablehlo.slice %s [0:2, 0:1, 0:5] : (tensor<2x3x5xf32>) -> tensor<2x1x5xf32>
  %moved = stablehlo.transpose %row, dims = [0, 2, 1] : (tensor<2x1x5xf32>) -> tensor<2x5x1xf32>
  %sum = stablehlo.reduce(%moved init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x5x1xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %heads, %plain, %sum : tensor<3x2x2xf32>, tensor<2x3x3xf32>, tensor<2x5xf32>
}
