// Every line is in the form that JAX prints, so parsing and printing change nothing.
// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi32>, %p: tensor<i1>) {
  // CHECK: stablehlo.abs %arg0 : tensor<2x3xf32>
  %0 = stablehlo.abs %x : tensor<2x3xf32>
  // CHECK: stablehlo.cbrt %arg0 : tensor<2x3xf32>
  %1 = stablehlo.cbrt %x : tensor<2x3xf32>
  // CHECK: stablehlo.ceil %arg0 : tensor<2x3xf32>
  %2 = stablehlo.ceil %x : tensor<2x3xf32>
  // CHECK: stablehlo.count_leading_zeros %arg1 : tensor<4xi32>
  %3 = stablehlo.count_leading_zeros %i : tensor<4xi32>
  // CHECK: stablehlo.cosine %arg0 : tensor<2x3xf32>
  %4 = stablehlo.cosine %x : tensor<2x3xf32>
  // CHECK: stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, rtol = 0.000000e+00, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
  %5 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-03, rtol = 0.0, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
  // CHECK: stablehlo.exponential_minus_one %arg0 : tensor<2x3xf32>
  %6 = stablehlo.exponential_minus_one %x : tensor<2x3xf32>
  // CHECK: stablehlo.floor %arg0 : tensor<2x3xf32>
  %7 = stablehlo.floor %x : tensor<2x3xf32>
  // CHECK: stablehlo.log %arg0 : tensor<2x3xf32>
  %8 = stablehlo.log %x : tensor<2x3xf32>
  // CHECK: stablehlo.log_plus_one %arg0 : tensor<2x3xf32>
  %9 = stablehlo.log_plus_one %x : tensor<2x3xf32>
  // CHECK: stablehlo.logistic %arg0 : tensor<2x3xf32>
  %10 = stablehlo.logistic %x : tensor<2x3xf32>
  // CHECK: stablehlo.negate %arg1 : tensor<4xi32>
  %11 = stablehlo.negate %i : tensor<4xi32>
  // CHECK: stablehlo.not %arg2 : tensor<i1>
  %12 = stablehlo.not %p : tensor<i1>
  // CHECK: stablehlo.popcnt %arg1 : tensor<4xi32>
  %13 = stablehlo.popcnt %i : tensor<4xi32>
  // CHECK: stablehlo.round_nearest_afz %arg0 : tensor<2x3xf32>
  %14 = stablehlo.round_nearest_afz %x : tensor<2x3xf32>
  // CHECK: stablehlo.round_nearest_even %arg0 : tensor<2x3xf32>
  %15 = stablehlo.round_nearest_even %x : tensor<2x3xf32>
  // CHECK: stablehlo.rsqrt %arg0 : tensor<2x3xf32>
  %16 = stablehlo.rsqrt %x : tensor<2x3xf32>
  // CHECK: stablehlo.sign %arg0 : tensor<2x3xf32>
  %17 = stablehlo.sign %x : tensor<2x3xf32>
  // CHECK: stablehlo.sine %arg0 : tensor<2x3xf32>
  %18 = stablehlo.sine %x : tensor<2x3xf32>
  // CHECK: stablehlo.sqrt %arg0 : tensor<2x3xf32>
  %19 = stablehlo.sqrt %x : tensor<2x3xf32>
  // CHECK: stablehlo.tan %arg0 : tensor<2x3xf32>
  %20 = stablehlo.tan %x : tensor<2x3xf32>
  // CHECK: stablehlo.tanh %arg0 : tensor<2x3xf32>
  %21 = stablehlo.tanh %x : tensor<2x3xf32>
  // CHECK: stablehlo.is_finite %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %22 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: stablehlo.convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %23 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  // CHECK: stablehlo.convert %arg0 : tensor<2x3xf32>
  %24 = stablehlo.convert %x : tensor<2x3xf32>
  // CHECK: stablehlo.reduce_precision %arg0, format = e8m10 : tensor<2x3xf32>
  %25 = stablehlo.reduce_precision %x, format = e8m10 : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<2xf32>, %i: tensor<2xui32>, %p: tensor<2xi1>) {
  // CHECK: stablehlo.add %arg0, %arg0 {st.note} : tensor<2xf32>
  %0 = stablehlo.add %x, %x {st.note} : tensor<2xf32>
  // The same in the long form.
  // CHECK: stablehlo.add %arg0, %arg0 : tensor<2xf32>
  %1 = stablehlo.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.and %arg2, %arg2 : tensor<2xi1>
  %2 = stablehlo.and %p, %p : tensor<2xi1>
  // CHECK: stablehlo.atan2 %arg0, %arg0 : tensor<2xf32>
  %3 = stablehlo.atan2 %x, %x : tensor<2xf32>
  // CHECK: stablehlo.divide %arg0, %arg0 : tensor<2xf32>
  %4 = stablehlo.divide %x, %x : tensor<2xf32>
  // CHECK: stablehlo.maximum %arg0, %arg0 : tensor<2xf32>
  %5 = stablehlo.maximum %x, %x : tensor<2xf32>
  // CHECK: stablehlo.minimum %arg0, %arg0 : tensor<2xf32>
  %6 = stablehlo.minimum %x, %x : tensor<2xf32>
  // CHECK: stablehlo.multiply %arg0, %arg0 : tensor<2xf32>
  %7 = stablehlo.multiply %x, %x : tensor<2xf32>
  // CHECK: stablehlo.or %arg1, %arg1 : tensor<2xui32>
  %8 = stablehlo.or %i, %i : tensor<2xui32>
  // CHECK: stablehlo.power %arg0, %arg0 : tensor<2xf32>
  %9 = stablehlo.power %x, %x : tensor<2xf32>
  // CHECK: stablehlo.remainder %arg0, %arg0 : tensor<2xf32>
  %10 = stablehlo.remainder %x, %x : tensor<2xf32>
  // CHECK: stablehlo.shift_left %arg1, %arg1 : tensor<2xui32>
  %11 = stablehlo.shift_left %i, %i : tensor<2xui32>
  // CHECK: stablehlo.shift_right_arithmetic %arg1, %arg1 : tensor<2xui32>
  %12 = stablehlo.shift_right_arithmetic %i, %i : tensor<2xui32>
  // CHECK: stablehlo.shift_right_logical %arg1, %arg1 : tensor<2xui32>
  %13 = stablehlo.shift_right_logical %i, %i : tensor<2xui32>
  // CHECK: stablehlo.subtract %arg0, %arg0 : tensor<2xf32>
  %14 = stablehlo.subtract %x, %x : tensor<2xf32>
  // CHECK: stablehlo.xor %arg1, %arg1 : tensor<2xui32>
  %15 = stablehlo.xor %i, %i : tensor<2xui32>
  // CHECK: [[Z:%.*]] = stablehlo.complex %arg0, %arg0 : tensor<2xcomplex<f32>>
  %16 = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
  // CHECK: stablehlo.real [[Z]] : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %17 = stablehlo.real %16 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK: stablehlo.imag [[Z]] : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %18 = stablehlo.imag %16 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @choice
func.func @choice(%x: tensor<2xf32>, %p: tensor<2xi1>, %q: tensor<i1>, %s: tensor<f32>) {
  // CHECK: stablehlo.compare LT, %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %0 = stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // Older versions print double spaces.
  // CHECK: stablehlo.compare EQ, %arg0, %arg0, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %1 = stablehlo.compare  EQ, %x, %x,  TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: stablehlo.select %arg1, %arg0, %arg0 : tensor<2xi1>, tensor<2xf32>
  %2 = stablehlo.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
  // CHECK: stablehlo.select %arg2, %arg0, %arg0 : tensor<i1>, tensor<2xf32>
  %3 = stablehlo.select %q, %x, %x : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.clamp %arg0, %arg0, %arg0 : tensor<2xf32>
  %4 = stablehlo.clamp %x, %x, %x : tensor<2xf32>
  // CHECK: stablehlo.clamp %arg3, %arg0, %arg3 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %5 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
  %6 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @chlo
func.func @chlo(%x: tensor<2x3xf32>, %i: tensor<4xui32>) {
  // CHECK: chlo.erf %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %0 = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.erfc %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = chlo.erfc %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.erf_inv %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = chlo.erf_inv %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.lgamma %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = chlo.lgamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.square %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = chlo.square %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.top_k(%arg0, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %5:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  // CHECK: chlo.top_k(%arg0, k = 2, is_stable = true) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %stable:2 = chlo.top_k(%x, k = 2, is_stable = true) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %b = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: chlo.top_k(%{{.*}}, k = 1) : tensor<2x3xi1> -> (tensor<2x1xi1>, tensor<2x1xi32>)
  %true:2 = chlo.top_k(%b, k = 1) : tensor<2x3xi1> -> (tensor<2x1xi1>, tensor<2x1xi32>)
  // CHECK: chlo.acos %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = chlo.acos %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.acosh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %7 = chlo.acosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.asin %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %8 = chlo.asin %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.asinh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %9 = chlo.asinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.atan %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %10 = chlo.atan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.atanh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %11 = chlo.atanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.bessel_i1e %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %12 = chlo.bessel_i1e %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.conj %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %13 = chlo.conj %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.cosh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %14 = chlo.cosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.digamma %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %15 = chlo.digamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.sinh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %16 = chlo.sinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.tan %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %17 = chlo.tan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.next_after %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %18 = chlo.next_after %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.polygamma %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %19 = chlo.polygamma %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.zeta %arg0, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %20 = chlo.zeta %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.mulhi %arg1, %arg1 : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  %21 = chlo.mulhi %i, %i : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  return
}
