// RUN: st-opt --form-kernels %s | FileCheck %s
// RUN: st-opt --form-kernels --plan-memory --convert-to-dtu %s | FileCheck %s --check-prefix=DTU

// A loop over rows makes the sums of rows and other row values. The quotient that joined the two has moved into the
// kernel of the sum over all rows, which are too many for a loop: the two parts still share the loop over rows.

module attributes {st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 65536, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @x "x" role "batch" global tensor<16384x6xf32> slice <@mesh, [{}, {}]> local tensor<16384x6xf32> micro_dim -1
    st.input @y "y" role "batch" global tensor<16384xf32> slice <@mesh, [{}]> local tensor<16384xf32> micro_dim -1
    st.output @e "e" role "metric" global tensor<16384xf32> slice <@mesh, [{}]> local tensor<16384xf32>
    st.output @total "total" role "metric" global tensor<f32> slice <@mesh, []> local tensor<f32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[L:.*]]:2 = st.kernel "loop"
      // CHECK-DAG: stablehlo.reduce
      // CHECK-DAG: stablehlo.exponential
      // CHECK: st.yield
      // CHECK: st.kernel "reduce" (%{{.*}} = %[[L]]#{{.}} : tensor<16384xf32>, %{{.*}} = %[[L]]#{{.}} : tensor<16384xf32>)
      // CHECK: stablehlo.divide
      // CHECK-NOT: st.kernel
      // DTU: dtu.label "loop"
      // DTU: dtu.label "reduce"
      %x = st.read @x : tensor<16384x6xf32>
      %y = st.read @y : tensor<16384xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %negative = stablehlo.negate %x : tensor<16384x6xf32>
      %sums = stablehlo.reduce(%negative init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x6xf32>, tensor<f32>) -> tensor<16384xf32>
      %e = stablehlo.exponential %y : tensor<16384xf32>
      st.write %e to @e : tensor<16384xf32>
      %quotient = stablehlo.divide %sums, %e : tensor<16384xf32>
      %total = stablehlo.reduce(%quotient init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
      st.write %total to @total : tensor<f32>
    }
    st.schedule "sequential" [@forward0 0]
  }
}
