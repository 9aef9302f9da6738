// The lowered forms of ops without a kernel compute the same. Everything is a small integer, so the
// order of summation does not matter.
//
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --lower-tensor-ops %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after
// RUN: st-opt --lower-tensor-ops %t.mlir | diff %t.mlir -

// CHECK-NOT: stablehlo.{{sort|convolution|reduce_window|select_and_scatter|optimization_barrier|dynamic_slice|dynamic_update_slice|tan|popcnt|count_leading_zeros|reduce_precision}}
// CHECK-NOT: chlo.
// CHECK-NOT: TOTALORDER

func.func @main() -> (tensor<3x5xi32>, tensor<3x5xi32>, tensor<2x3xi32>, tensor<2x3xi32>,
                      tensor<2x3x2x4xf32>, tensor<3x1x2x4xf32>, tensor<2x3x2x2xf32>, tensor<4x5xf32>, tensor<2x5xi32>,
                      tensor<5xi32>, tensor<i32>, tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x5xi32>, tensor<7xi32>,
                      tensor<7xi32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi1>, tensor<3xi32>, tensor<i32>, tensor<2x3xi32>) {
  %x = stablehlo.constant dense<[[5, 3, 9, 3, 1], [2, 2, 8, 7, 0], [4, 6, 4, 4, 5]]> : tensor<3x5xi32>
  %place = stablehlo.iota dim = 0 : tensor<3x5xi32>

  // Equal elements keep their order; the first dimension is not a power of two.
  %sorted:2 = "stablehlo.sort"(%x, %place) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<3x5xi32>, tensor<3x5xi32>) -> (tensor<3x5xi32>, tensor<3x5xi32>)
  %two = stablehlo.slice %x [0:2, 0:5] : (tensor<3x5xi32>) -> tensor<2x5xi32>
  %top:2 = chlo.top_k(%two, k = 3) : tensor<2x5xi32> -> (tensor<2x3xi32>, tensor<2x3xi32>)

  // Patches of a padded and strided window; a window larger than the result; groups.
  %n = stablehlo.iota dim = 0 : tensor<120xf32>
  %image = stablehlo.reshape %n : (tensor<120xf32>) -> tensor<2x5x4x3xf32>
  %m = stablehlo.iota dim = 0 : tensor<48xf32>
  %kernel = stablehlo.reshape %m : (tensor<48xf32>) -> tensor<2x2x3x4xf32>
  // CHECK: stablehlo.dot_general
  %conv = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 0], [0, 1]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x4x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  %gradient = stablehlo.convolution(%image, %conv) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[b, 0, 1, f], window = {rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x4x3xf32>, tensor<2x3x2x4xf32>) -> tensor<3x1x2x4xf32>
  %two_groups = stablehlo.slice %kernel [0:2, 0:2, 0:1, 0:2] : (tensor<2x2x3x4xf32>) -> tensor<2x2x1x2xf32>
  %half = stablehlo.slice %image [0:2, 0:4, 0:3, 0:2] : (tensor<2x5x4x3xf32>) -> tensor<2x4x3x2xf32>
  %grouped = stablehlo.convolution(%half, %two_groups) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x3x2xf32>, tensor<2x2x1x2xf32>) -> tensor<2x3x2x2xf32>

  // The gradient of a pool: windows overlap, and have equal elements.
  %values = stablehlo.convert %x : (tensor<3x5xi32>) -> tensor<3x5xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %padded = stablehlo.pad %values, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %source = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %pool = "stablehlo.select_and_scatter"(%padded, %source, %zero) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<4x5xf32>

  // Windows of two rows and seven columns that start before the tensor.
  %one = stablehlo.constant dense<1> : tensor<i32>
  %windows = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 2, 7>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %0 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3x5xi32>, tensor<i32>) -> tensor<2x5xi32>

  // With a body that no instruction has, of two tensors, and of integers.
  %zero_i = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<-1> : tensor<i32>
  %largest:2 = stablehlo.reduce(%x init: %low), (%place init: %zero_i) across dimensions = [0] : (tensor<3x5xi32>, tensor<3x5xi32>, tensor<i32>, tensor<i32>) -> (tensor<5xi32>, tensor<5xi32>)
    reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %0 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %b : tensor<i1>, tensor<i32>
    %2 = stablehlo.select %0, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
  }
  %bits = stablehlo.reduce(%x init: %zero_i) applies stablehlo.xor across dimensions = [0, 1] : (tensor<3x5xi32>, tensor<i32>) -> tensor<i32>

  // Elements are combined in order, the left one from the lower index, if the body distinguishes them:
  // here functions x -> a x + b are composed, and the last element is taken. Windows go row by row.
  %one_i = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: [0:4:2, 0:3]
  // CHECK: [1:4:2, 0:3]
  %functions:2 = stablehlo.reduce(%x init: %one_i), (%place init: %zero_i) across dimensions = [1] : (tensor<3x5xi32>, tensor<3x5xi32>, tensor<i32>, tensor<i32>) -> (tensor<3xi32>, tensor<3xi32>)
    reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %0 = stablehlo.multiply %a, %b : tensor<i32>
    %1 = stablehlo.multiply %c, %b : tensor<i32>
    %2 = stablehlo.add %1, %d : tensor<i32>
    stablehlo.return %0, %2 : tensor<i32>, tensor<i32>
  }
  %last = stablehlo.reduce(%x init: %zero_i) across dimensions = [0, 1] : (tensor<3x5xi32>, tensor<i32>) -> tensor<i32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
    stablehlo.return %b : tensor<i32>
  }
  %window_functions:2 = "stablehlo.reduce_window"(%x, %place, %one_i, %zero_i) <{window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>, %b: tensor<i32>, %d: tensor<i32>):
    %0 = stablehlo.multiply %a, %b : tensor<i32>
    %1 = stablehlo.multiply %c, %b : tensor<i32>
    %2 = stablehlo.add %1, %d : tensor<i32>
    stablehlo.return %0, %2 : tensor<i32>, tensor<i32>
  }) : (tensor<3x5xi32>, tensor<3x5xi32>, tensor<i32>, tensor<i32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  %product = stablehlo.dot_general %two, %two, contracting_dims = [1] x [1] : (tensor<2x5xi32>, tensor<2x5xi32>) -> tensor<2x2xi32>

  // Starts beyond the bounds are clamped.
  // CHECK: "stablehlo.gather"
  %start = stablehlo.constant dense<9> : tensor<ui8>
  %back = stablehlo.constant dense<1> : tensor<ui8>
  %slice = stablehlo.dynamic_slice %x, %back, %start, sizes = [2, 3] : (tensor<3x5xi32>, tensor<ui8>, tensor<ui8>) -> tensor<2x3xi32>
  // CHECK: "stablehlo.scatter"
  %update = stablehlo.dynamic_update_slice %x, %slice, %start, %back : (tensor<3x5xi32>, tensor<2x3xi32>, tensor<ui8>, tensor<ui8>) -> tensor<3x5xi32>

  %words = stablehlo.constant dense<[0, 1, -1, 255, 65536, -2147483648, 7]> : tensor<7xi32>
  %kept = stablehlo.optimization_barrier %words : tensor<7xi32>
  %ones = stablehlo.popcnt %kept : tensor<7xi32>
  %zeros = stablehlo.count_leading_zeros %kept : tensor<7xi32>
  %f = stablehlo.constant dense<[0.0, -0.0, 1.0, 0x7FC00000]> : tensor<4xf32>
  %g = stablehlo.constant dense<[-0.0, -0.0, -1.0, 0x7F800000]> : tensor<4xf32>
  %ordered = stablehlo.compare GT, %f, %g, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %fine = stablehlo.constant dense<[1.03125, 3.9e5, -1.0e-9, 65520.0]> : tensor<4xf32>
  %coarse = stablehlo.reduce_precision %fine, format = e5m2 : tensor<4xf32>
  %t = stablehlo.tan %f : tensor<4xf32>
  %finite = stablehlo.is_finite %t : (tensor<4xf32>) -> tensor<4xi1>
  return %sorted#0, %sorted#1, %top#0, %top#1, %conv, %gradient, %grouped, %pool, %windows, %largest#1, %bits, %product,
      %slice, %update, %ones, %zeros, %ordered, %coarse, %finite, %functions#1, %last, %window_functions#1 : tensor<3x5xi32>, tensor<3x5xi32>, tensor<2x3xi32>,
      tensor<2x3xi32>, tensor<2x3x2x4xf32>, tensor<3x1x2x4xf32>, tensor<2x3x2x2xf32>, tensor<4x5xf32>, tensor<2x5xi32>, tensor<5xi32>,
      tensor<i32>, tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x5xi32>, tensor<7xi32>, tensor<7xi32>, tensor<4xi1>,
      tensor<4xf32>, tensor<4xi1>, tensor<3xi32>, tensor<i32>, tensor<2x3xi32>
}
