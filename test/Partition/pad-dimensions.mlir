// RUN: st-opt --split-input-file --pad-dimensions %s | FileCheck %s
// RUN: st-opt --split-input-file --pad-dimensions='row-alignment=16 row-bytes=128' %s | FileCheck %s --check-prefix=ROWS

// A reduction's input is masked, an argument before the op that reduces it; intermediate values are not. State has zeros on
// entry and exit.
st.mesh @mesh <["data"=4], micro=1>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32> {{{.*}}st.unpadded_type = tensor<6x4xf32>},
// CHECK-SAME: %[[W:.*]]: tensor<4x4xf32> {{{.*}}}) -> (tensor<4x4xf32>, tensor<8x4xf32> {st.unpadded_type = tensor<6x4xf32>})
func.func @main(%x: tensor<6x4xf32> {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<4x4xf32> {st.sharding = #st.sharding<@mesh, [{}, {}]>, tf.aliasing_output = 0 : i32})
    -> (tensor<4x4xf32>, tensor<6x4xf32>) {
  // CHECK: %[[Y:.*]] = stablehlo.dot_general %[[X]], %[[W]]
  // CHECK: %[[YM:.*]] = stablehlo.select %{{.*}}, %[[Y]],
  // CHECK: %[[ROW:.*]] = stablehlo.iota dim = 0 : tensor<8x4xi32>
  // CHECK: %[[SIZE:.*]] = stablehlo.constant dense<6> : tensor<8x4xi32>
  // CHECK: %[[WITHIN:.*]] = stablehlo.compare LT, %[[ROW]], %[[SIZE]]
  // CHECK: %[[XM:.*]] = stablehlo.select %[[WITHIN]], %[[X]], %{{.*}} : tensor<8x4xi1>, tensor<8x4xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.dot_general %[[XM]], %[[YM]], contracting_dims = [0] x [0]
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  return %g, %y : tensor<4x4xf32>, tensor<6x4xf32>
}

// -----

// Contracted weights need no mask, and their padding stays zero.
st.mesh @mesh <["tensor"=4], micro=1>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:.*]]: tensor<12x3xf32>
func.func @main(%w: tensor<10x3xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>, tf.aliasing_output = 0 : i32})
    -> (tensor<10x3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.reduce(%[[W]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<12x3xf32>, tensor<f32>)
  %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x3xf32>, tensor<f32>) -> tensor<3xf32>
  // CHECK: %[[E:.*]] = stablehlo.exponential %[[W]]
  // CHECK: %[[NEW:.*]] = stablehlo.select %{{.*}}, %[[E]], %{{.*}} : tensor<12x3xi1>, tensor<12x3xf32>
  %e = stablehlo.exponential %w : tensor<10x3xf32>
  // CHECK: return %[[NEW]]
  return %e, %s : tensor<10x3xf32>, tensor<3xf32>
}

// -----

// Ops that move elements along the dimension get it unpadded, and their results are padded again if
// others of their class are.
st.mesh @mesh <["data"=4], micro=1>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<6xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) -> (tensor<6xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) {
  // CHECK: %[[REAL:.*]] = stablehlo.slice %{{.*}} [0:6] : (tensor<8xf32>) -> tensor<6xf32>
  // CHECK: %[[TURNED:.*]] = stablehlo.reverse %[[REAL]], dims = [0] : tensor<6xf32>
  // CHECK: stablehlo.pad %[[TURNED]], %{{.*}}, low = [0], high = [2], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<8xf32>
  %y = stablehlo.reverse %x, dims = [0] : tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// A loop carries its values with padding.
st.mesh @mesh <["data"=4], micro=1>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<6xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: stablehlo.while{{.*}} : tensor<i32>, tensor<8xf32>
  // CHECK: stablehlo.tanh %{{.*}} : tensor<8xf32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<6xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %t = stablehlo.tanh %y : tensor<6xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t : tensor<i32>, tensor<6xf32>
  }
  return %r#1 : tensor<6xf32>
}

// -----

// Nothing changes if everything divides.
st.mesh @mesh <["data"=4], micro=1>
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
// CHECK-NEXT: stablehlo.reverse
func.func @main(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
  %y = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Rows of weights that products read: 1003 columns of 16 bits on 4 devices become 4 times a multiple of 64. 197 do not
// become 256, nor 200 if 2 percent is too much. Weights that no product reads stay, and so does a batch.
st.mesh @mesh <["tensor"=4], micro=1>
// CHECK-LABEL: func.func @aligned(
// CHECK-SAME: tensor<1004x64xf32>
// CHECK-SAME: tensor<197x64xbf16>
// ROWS-LABEL: func.func @aligned(
// ROWS-SAME: %[[X:[^:]*]]: tensor<5x64xbf16> {st.role = "batch"}
// ROWS-SAME: %[[W:[^:]*]]: tensor<1024x64xf32> {{.*}}st.unpadded_type = tensor<1003x64xf32>}
// ROWS-SAME: tensor<200x64xbf16> {{.*}}st.unpadded_type = tensor<197x64xbf16>}
// ROWS-SAME: tensor<1003xf32> {st.role = "parameter"}
func.func @aligned(%x: tensor<5x64xbf16> {st.role = "batch"},
                %w: tensor<1003x64xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>},
                %v: tensor<197x64xbf16> {st.role = "parameter"},
                %b: tensor<1003xf32> {st.role = "parameter"}) -> (tensor<5xf32>, tensor<5x197xbf16>, tensor<1003xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // ROWS: %[[WC:.*]] = stablehlo.convert %[[W]] : (tensor<1024x64xf32>) -> tensor<1024x64xbf16>
  // ROWS: %[[Y:.*]] = stablehlo.dot_general %[[X]], %[[WC]], {{.*}} -> tensor<5x1024xbf16>
  // ROWS: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<5x1024xi1>, tensor<5x1024xf32>
  %wc = stablehlo.convert %w : (tensor<1003x64xf32>) -> tensor<1003x64xbf16>
  %y = stablehlo.dot_general %x, %wc, contracting_dims = [1] x [1] : (tensor<5x64xbf16>, tensor<1003x64xbf16>) -> tensor<5x1003xbf16>
  %f = stablehlo.convert %y : (tensor<5x1003xbf16>) -> tensor<5x1003xf32>
  %m = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<5x1003xf32>, tensor<f32>) -> tensor<5xf32>
  %z = stablehlo.dot_general %x, %v, contracting_dims = [1] x [1] : (tensor<5x64xbf16>, tensor<197x64xbf16>) -> tensor<5x197xbf16>
  %e = stablehlo.tanh %b : tensor<1003xf32>
  return %m, %z, %e : tensor<5xf32>, tensor<5x197xbf16>, tensor<1003xf32>
}
