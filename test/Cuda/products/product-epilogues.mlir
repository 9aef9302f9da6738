// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s
// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s --check-prefix=BODY

// Epilogues of products at the addresses of the memory plan: GELU at 1024 and its argument at 2048, GELU's gradient
// from that argument, and the sums of an operand.

// CHECK: func.func @group0_forward0(%[[ARENA:.*]]: memref<?xi8>
// CHECK: %[[X:.*]] = memref.view %[[ARENA]][%c2048
// CHECK: %[[Y:.*]] = memref.view %[[ARENA]][%c1024
// CHECK: cuda.product %{{.*}} * %{{.*}} aux %[[X]] into %[[Y]] 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>, scale = 5.000000e-01 : f64}
// CHECK: {{^    }}}
// CHECK: %[[AUX:.*]] = memref.view %[[ARENA]][%c2048
// CHECK: cuda.product %{{.*}} * %{{.*}} aux %[[AUX]] into %{{.*}} 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu_gradient>}
// CHECK: {{^    }}}
// CHECK: %[[SUMS:.*]] = memref.view %[[ARENA]][%c5120{{.*}} to memref<8xf32>
// CHECK: cuda.product %{{.*}} * %{{.*}} sums b %[[SUMS]] into %{{.*}} 8 x 8 x 4 a <1, 8> b <8, 1> d <8, 1>

// The same by a product without an epilogue and a kernel: GELU of the value at 2048, GELU's gradient in place of the result, and
// sums of an operand.

// BODY: memref.view %[[ARENA:.*]][%c2048
// BODY: cuda.product %{{.*}} aux %[[X:.*]] into %{{.*}} {activation = #cuda.activation<gelu>
// BODY-NEXT: cuda.product %{{.*}} * %{{.*}} into %[[X]] 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {scale = 5.000000e-01 : f64}
// BODY: %[[FROM:.*]] = memref.view %[[ARENA]][%c2048
// BODY: %[[TO:.*]] = memref.view %[[ARENA]][%c1024
// BODY: gpu.launch_func @kernels::@loop_0 {{.*}} args(%[[FROM]] : memref<32xf32>, %[[TO]] : memref<32xf32>)
// BODY: cuda.product %{{.*}} aux %{{.*}} into %[[D:.*]] 4 x 8 x 8 {{.*}} {activation = #cuda.activation<gelu_gradient>
// BODY-NEXT: cuda.product %{{.*}} * %{{.*}} into %[[D]] 4 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> :
// BODY: %[[FROM:.*]] = memref.view %[[ARENA]][%c3072
// BODY: %[[AUX:.*]] = memref.view %[[ARENA]][%c2048
// BODY: %[[TO:.*]] = memref.view %[[ARENA]][%c3072
// BODY: gpu.launch_func @kernels::@loop_1 {{.*}} args(%[[FROM]] : memref<32xf32>, %[[AUX]] : memref<32xf32>, %[[TO]] : memref<32xf32>)
// BODY: cuda.product %{{.*}} sums b %{{.*}} into %[[D:.*]] 8 x 8 x 4
// BODY-NEXT: cuda.product %{{.*}} * %{{.*}} into %[[D]] 8 x 8 x 4 a <1, 8> b <8, 1> d <8, 1> :
// BODY: %[[FROM:.*]] = memref.view %[[ARENA]][%c3072
// BODY: %[[TO:.*]] = memref.view %[[ARENA]][%c5120
// BODY: gpu.launch_func @kernels::@reduce_2 {{.*}} args(%[[FROM]] : memref<32xf32>, %[[TO]] : memref<8xf32>)
st.mesh @mesh <["x"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @i "i" role "batch" global tensor<4x8xf32> slice <@mesh, [{}, {}]> local tensor<4x8xf32> micro_dim -1 at <offset = 0>
  st.input @w "w" role "batch" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1 at <offset = 512>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @i {st.addresses = [#st.address<offset = 0>]} : tensor<4x8xf32>
    %1 = st.read @w {st.addresses = [#st.address<offset = 512>]} : tensor<8x8xf32>
    %y:2 = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {st.addresses = [#st.address<offset = 1024>, #st.address<offset = 2048>]} {
      %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
      %cubic = stablehlo.constant dense<0.044715> : tensor<4x8xf32>
      %slope = stablehlo.constant dense<1.59576917> : tensor<4x8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %x = stablehlo.multiply %2, %half : tensor<4x8xf32>
      %3 = stablehlo.multiply %x, %x : tensor<4x8xf32>
      %4 = stablehlo.multiply %3, %cubic : tensor<4x8xf32>
      %5 = stablehlo.add %4, %one : tensor<4x8xf32>
      %6 = stablehlo.multiply %5, %x : tensor<4x8xf32>
      %7 = stablehlo.multiply %6, %slope : tensor<4x8xf32>
      %8 = stablehlo.logistic %7 : tensor<4x8xf32>
      %9 = stablehlo.multiply %x, %8 : tensor<4x8xf32>
      st.yield %9, %x : tensor<4x8xf32>, tensor<4x8xf32>
    }
    %d = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x8xf32>, %x = %y#1 : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {st.addresses = [#st.address<offset = 3072>]} {
      %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
      %cubic = stablehlo.constant dense<0.044715> : tensor<4x8xf32>
      %cubic3 = stablehlo.constant dense<0.134145> : tensor<4x8xf32>
      %slope = stablehlo.constant dense<0.797884561> : tensor<4x8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %3 = stablehlo.multiply %x, %x : tensor<4x8xf32>
      %4 = stablehlo.multiply %3, %cubic : tensor<4x8xf32>
      %5 = stablehlo.add %4, %one : tensor<4x8xf32>
      %6 = stablehlo.multiply %5, %x : tensor<4x8xf32>
      %7 = stablehlo.multiply %6, %slope : tensor<4x8xf32>
      %t = stablehlo.tanh %7 : tensor<4x8xf32>
      %8 = stablehlo.multiply %t, %t : tensor<4x8xf32>
      %9 = stablehlo.subtract %one, %8 : tensor<4x8xf32>
      %10 = stablehlo.multiply %3, %cubic3 : tensor<4x8xf32>
      %11 = stablehlo.add %10, %one : tensor<4x8xf32>
      %12 = stablehlo.multiply %11, %9 : tensor<4x8xf32>
      %13 = stablehlo.multiply %12, %slope : tensor<4x8xf32>
      %14 = stablehlo.multiply %13, %x : tensor<4x8xf32>
      %15 = stablehlo.add %14, %t : tensor<4x8xf32>
      %16 = stablehlo.add %15, %one : tensor<4x8xf32>
      %17 = stablehlo.multiply %16, %half : tensor<4x8xf32>
      %18 = stablehlo.multiply %2, %17 : tensor<4x8xf32>
      st.yield %18 : tensor<4x8xf32>
    }
    %s:2 = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %d : tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) attributes {st.addresses = [#st.address<offset = 4096>, #st.address<offset = 5120>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      %3 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
      st.yield %2, %3 : tensor<8x8xf32>, tensor<8xf32>
    }
  }
}
