// Kernels of kind "chain", as files from before its name was "attention" have them, are read as such.
//
// RUN: st-opt %s | FileCheck %s

// CHECK: st.kernel "attention"
func.func @main(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %k = st.kernel "chain" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>) -> tensor<8x4xf32> {
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %o = stablehlo.dot_general %s, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    st.yield %o : tensor<8x4xf32>
  }
  return %k : tensor<8x4xf32>
}
