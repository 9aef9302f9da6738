// A loop with a known number of trips and a data-dependent loop, nested in each other.
// RUN: st-opt --lower-loops %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %s > %t.before
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after
// RUN: st-opt --lower-loops --form-kernels --plan-memory --verify-memory-plan %s -o %t.planned.mlir
// RUN: st-translate --interpret %t.planned.mlir > %t.planned
// RUN: diff %t.before %t.planned
// RUN: st-opt --lower-loops --form-kernels --plan-memory --convert-to-dtu %s | FileCheck %s --check-prefix=DTU

#rep = #st.sharding<@mesh, [{}]>
st.mesh @mesh <[], micro=1>
// CHECK: st.program
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // CHECK-DAG: st.buffer @[[A:loop.*]] "step" slots 1 : tensor<4xf32>
  // CHECK-DAG: st.buffer @{{.*}} "step" slots 1 : tensor<i1>
  st.output @y "y" role "metric" global tensor<4xf32> slice #rep local tensor<4xf32>
  st.output @z "z" role "metric" global tensor<4xf32> slice #rep local tensor<4xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %w = stablehlo.constant dense<[2.0, 1.0, 0.0, 1.0]> : tensor<4xf32>
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    // CHECK: st.loop trips 3 carried [{{.*}}] init({{.*}}) captures(
    // DTU: dtu.loop
    // The two tensors swap in every trip.
    %r:4 = stablehlo.while(%i = %c0, %a = %x, %b = %w, %k = %w) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      // CHECK: st.capture 0
      // CHECK: st.read
      // CHECK: st.loop while @
      // DTU: dtu.load
      // DTU: dtu.leave
      %s = stablehlo.while(%v = %a) : tensor<4xf32>
        cond {
        %limit = stablehlo.constant dense<100.0> : tensor<f32>
        %first = stablehlo.slice %v [3:4] : (tensor<4xf32>) -> tensor<1xf32>
        %scalar = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
        %p = stablehlo.compare LT, %scalar, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %u = stablehlo.add %v, %v : tensor<4xf32>
        %t = stablehlo.add %u, %k : tensor<4xf32>
        stablehlo.return %t : tensor<4xf32>
      }
      stablehlo.return %next, %b, %s, %k : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    st.write %r#1 to @y : tensor<4xf32>
    st.write %r#2 to @z : tensor<4xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
