// RUN: st-opt --split-attention --join-attention-gradients %s | FileCheck %s
// RUN: st-opt --split-attention --join-attention-gradients %s | FileCheck %s

!q = tensor<2x80x16xbf16>
!k = tensor<2x72x16xbf16>
!s = tensor<2x80x72xbf16>
!w = tensor<2x80x72xf32>

// Scores and their gradient are computed once.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[ALL:.*]]:3 = st.kernel "attention" (
// CHECK-COUNT-5: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: st.yield
// CHECK-NOT: st.kernel
// CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @gradient(%0: !q, %1: !q, %2: !k, %3: !k, %4: tensor<2x80xf32>) -> (!q, !k, !k) {
  %g:3 = st.kernel "attention" (%q = %0 : !q, %d = %1 : !q, %k = %2 : !k, %v = %3 : !k, %r = %4 : tensor<2x80xf32>) -> (!q, !k, !k) {
    %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %p = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %pw = stablehlo.convert %p : (!s) -> !w
    %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<2x80xf32>) -> !w
    %c = stablehlo.subtract %pw, %rb : !w
    %cn = stablehlo.convert %c : (!w) -> !s
    %dq = stablehlo.dot_general %cn, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!s, !k) -> !q
    %dk = stablehlo.dot_general %cn, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !k
    %n = stablehlo.negate %s : !s
    %dv = stablehlo.dot_general %n, %d, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !k
    st.yield %dq, %dk, %dv : !q, !k, !k
  }
  return %g#0, %g#1, %g#2 : !q, !k, !k
}

// With sums of rows, the gradient of queries comes first, because the sums are known only after all columns.
// CHECK-LABEL: func.func @sums
// CHECK: st.kernel "attention"
// CHECK: stablehlo.reduce
// CHECK: st.kernel "attention"
func.func @sums(%0: !q, %1: !q, %2: !k) -> (!q, !k) {
  %g:2 = st.kernel "attention" (%q = %0 : !q, %d = %1 : !q, %k = %2 : !k) -> (!q, !k) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %p = stablehlo.dot_general %d, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %m = stablehlo.multiply %s, %p : !s
    %pw = stablehlo.convert %m : (!s) -> !w
    %r = stablehlo.reduce(%pw init: %zero) applies stablehlo.add across dimensions = [2] : (!w, tensor<f32>) -> tensor<2x80xf32>
    %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<2x80xf32>) -> !w
    %c = stablehlo.subtract %pw, %rb : !w
    %cn = stablehlo.convert %c : (!w) -> !s
    %dq = stablehlo.dot_general %cn, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!s, !k) -> !q
    %dk = stablehlo.dot_general %cn, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !k
    st.yield %dq, %dk : !q, !k
  }
  return %g#0, %g#1 : !q, !k
}

// The first attention kernel's result is used before the second attention kernel: it cannot wait for it.
// CHECK-LABEL: func.func @between
// CHECK: st.kernel "attention"
// CHECK: st.kernel "loop"
// CHECK: st.kernel "attention"
func.func @between(%0: !q, %1: !q, %2: !k, %3: !k) -> (!q, !k) {
  %a = st.kernel "attention" (%q = %0 : !q, %d = %1 : !q, %k = %2 : !k, %v = %3 : !k) -> !q {
    %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %p = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %m = stablehlo.multiply %s, %p : !s
    %dq = stablehlo.dot_general %m, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!s, !k) -> !q
    st.yield %dq : !q
  }
  %n = st.kernel "loop" (%x = %a : !q) -> !q {
    %y = stablehlo.negate %x : !q
    st.yield %y : !q
  }
  %b = st.kernel "attention" (%q = %0 : !q, %d = %1 : !q, %k = %2 : !k, %v = %3 : !k) -> !k {
    %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %p = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !k) -> !s
    %m = stablehlo.multiply %s, %p : !s
    %dk = stablehlo.dot_general %m, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !k
    st.yield %dk : !k
  }
  return %n, %b : !q, !k
}

// f32 has no tensor cores here.
// CHECK-LABEL: func.func @wide
// CHECK: st.kernel "attention"
// CHECK: st.kernel "attention"
func.func @wide(%0: tensor<80x16xf32>, %1: tensor<80x16xf32>, %2: tensor<72x16xf32>) -> (tensor<80x16xf32>, tensor<72x16xf32>) {
  %g:2 = st.kernel "attention" (%q = %0 : tensor<80x16xf32>, %d = %1 : tensor<80x16xf32>, %k = %2 : tensor<72x16xf32>) -> (tensor<80x16xf32>, tensor<72x16xf32>) {
    %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<80x16xf32>, tensor<72x16xf32>) -> tensor<80x72xf32>
    %p = stablehlo.dot_general %d, %k, contracting_dims = [1] x [1] : (tensor<80x16xf32>, tensor<72x16xf32>) -> tensor<80x72xf32>
    %m = stablehlo.multiply %s, %p : tensor<80x72xf32>
    %dq = stablehlo.dot_general %m, %k, contracting_dims = [1] x [0] : (tensor<80x72xf32>, tensor<72x16xf32>) -> tensor<80x16xf32>
    %dk = stablehlo.dot_general %m, %q, contracting_dims = [0] x [0] : (tensor<80x72xf32>, tensor<80x16xf32>) -> tensor<72x16xf32>
    st.yield %dq, %dk : tensor<80x16xf32>, tensor<72x16xf32>
  }
  return %g#0, %g#1 : tensor<80x16xf32>, tensor<72x16xf32>
}
