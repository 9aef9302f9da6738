// RUN: st-opt --form-kernels --split-input-file --verify-diagnostics %s

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "step" slots 1 : tensor<8xf32>
    st.task @update update stage 0 (%mb) {
      %x = st.read @x : tensor<8xf32>
      // expected-error @+1 {{has no kernel; expected an elementwise op, a reduction, a product, data movement, a gather or a scatter}}
      %y = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      st.write %y to @x : tensor<8xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "step" slots 1 : tensor<8xf32>
    st.buffer @y "step" slots 1 : tensor<8xf32>
    st.task @update update stage 0 (%mb) {
      %x = st.read @x : tensor<8xf32>
      // expected-note @+1 {{written here}}
      st.write %x to @y : tensor<8xf32>
      // expected-error @+1 {{reads @y after the task has written it; expected reads of earlier tasks' values}}
      %y = st.read @y : tensor<8xf32>
      st.write %y to @x : tensor<8xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <["tensor"=1], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "step" slots 1 : tensor<8xf32>
    st.task @forward forward stage 0 (%mb) {
      %x = st.read @x : tensor<8xf32>
      // expected-error @+1 {{has complex elements, which no kernel computes}}
      %c = stablehlo.complex %x, %x : tensor<8xcomplex<f32>>
      %r = stablehlo.real %c : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
      st.write %r to @x : tensor<8xf32>
    }
  }
}
