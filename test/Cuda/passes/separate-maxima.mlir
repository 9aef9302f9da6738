// RUN: st-opt --separate-maxima %s | FileCheck %s
// RUN: st-opt --separate-maxima --convert-kernels-to-gpu %s | FileCheck --check-prefix=PASSES %s
// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck --check-prefix=BEFORE %s

// Selected elements that do not depend on the maximum do not wait for it.
// CHECK-LABEL: @entropy
// CHECK: %[[MAX:.*]] = stablehlo.reduce(%{{.*}}) applies stablehlo.maximum
// CHECK: stablehlo.exponential
// CHECK: stablehlo.reduce
// CHECK: %[[NUMBER:.*]] = stablehlo.select %[[IS:.*]], %[[X:.*]], %{{.*}} : tensor<4x9216xi1>, tensor<4x9216xf32>
// CHECK: %[[COUNT:.*]] = stablehlo.select %[[IS]], %{{.*}}, %{{.*}} : tensor<4x9216xi1>, tensor<4x9216xf32>
// CHECK: %[[NUMBERS:.*]] = stablehlo.reduce(%[[NUMBER]]
// CHECK: %[[COUNTS:.*]] = stablehlo.reduce(%[[COUNT]]
// CHECK: %[[ANY:.*]] = stablehlo.compare NE, %[[COUNTS]]
// CHECK: %[[BELOW:.*]] = stablehlo.multiply %[[MAX]], %[[COUNTS]]
// CHECK: %[[DIFFERENCE:.*]] = stablehlo.subtract %[[NUMBERS]], %[[BELOW]]
// CHECK: stablehlo.select %[[ANY]], %[[DIFFERENCE]], %[[NUMBERS]]
//
// One loop reads the row once, for the maximum and the sums.
// BEFORE-LABEL: gpu.func
// BEFORE-COUNT-2: scf.for
// BEFORE: gpu.return
// PASSES-LABEL: gpu.func
// PASSES: scf.for
// PASSES-NOT: scf.for
// PASSES: gpu.return
module {
  st.mesh @mesh <["tensor"=1], micro=1>
  st.program @entropy stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @x "x" role "batch" global tensor<4x9216xbf16> slice <@mesh, [{}, {}]> local tensor<4x9216xbf16> micro_dim -1 at <offset = 0>
    st.input @t "t" role "batch" global tensor<4xi32> slice <@mesh, [{}]> local tensor<4xi32> micro_dim -1 at <offset = 73728>
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x9216xbf16>
      %1 = st.read @t {st.addresses = [#st.address<offset = 73728>]} : tensor<4xi32>
      %2:3 = st.kernel "loop" (%a = %0 : tensor<4x9216xbf16>, %b = %1 : tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {st.addresses = [#st.address<offset = 74752>, #st.address<offset = 75776>, #st.address<offset = 76800>]} {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %zeros = stablehlo.constant dense<0.0> : tensor<4x9216xf32>
        %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %x = stablehlo.convert %a : (tensor<4x9216xbf16>) -> tensor<4x9216xf32>
        %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x9216xf32>, tensor<f32>) -> tensor<4xf32>
        %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x9216xf32>
        %below = stablehlo.subtract %x, %maxes : tensor<4x9216xf32>
        %e = stablehlo.exponential %below : tensor<4x9216xf32>
        %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x9216xf32>, tensor<f32>) -> tensor<4xf32>
        %column = stablehlo.iota dim = 1 : tensor<4x9216xi32>
        %targets = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<4xi32>) -> tensor<4x9216xi32>
        %is = stablehlo.compare EQ, %column, %targets : (tensor<4x9216xi32>, tensor<4x9216xi32>) -> tensor<4x9216xi1>
        %one = stablehlo.select %is, %below, %zeros : tensor<4x9216xi1>, tensor<4x9216xf32>
        %target = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x9216xf32>, tensor<f32>) -> tensor<4xf32>
        st.yield %max, %sum, %target : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      }
    }
  }
}
