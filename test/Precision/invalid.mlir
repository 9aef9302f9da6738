// RUN: st-opt %s -split-input-file -verify-diagnostics --assign-precision
// RUN: st-opt %s -split-input-file -verify-diagnostics --scale-loss
// RUN: not st-opt %s --assign-precision=compute=f8 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: echo 'func.func @main(%%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) { return %%w : tensor<f32> }' > %t.mlir
// RUN: not st-opt %t.mlir --assign-precision --assign-precision 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not st-opt %t.mlir --widen-sums 2>&1 | FileCheck %s --check-prefix=WIDEN
// RUN: not st-opt %t.mlir --narrow-residuals 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not st-opt %t.mlir --scale-loss=scale=-1 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not st-opt %t.mlir --scale-loss=scale=1e60 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not st-opt %t.mlir --scale-loss=initial-scale=0 2>&1 | FileCheck %s --check-prefix=INITIAL
// RUN: not st-opt %t.mlir --scale-loss=growth-interval=0 2>&1 | FileCheck %s --check-prefix=INTERVAL
// RUN: echo 'func.func @main(%%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f16> {st.name = "loss", st.role = "loss"}) { %%0 = stablehlo.convert %%w : (tensor<f32>) -> tensor<f16> return %%0 : tensor<f16> }' > %t.loss.mlir
// RUN: not st-opt %t.loss.mlir --scale-loss 2>&1 | FileCheck %s --check-prefix=LOSS

// TYPE: Cannot find option named 'f8'
// TWICE: error: already has a precision: found st.precision, which assign-precision sets
// WIDEN: error: widen-sums: expected results of role "gradient", which differentiate leaves
// NARROW: error: narrow-residuals: expected results of role "gradient", which differentiate leaves
// SCALE: error: scale: expected a positive number that f32 holds, or 0, found -1
// LARGE: error: scale: expected a positive number that f32 holds, or 0, found 1.0{{.*}}e+60
// INITIAL: error: initial-scale: expected a positive number that f32 holds, found 0
// INTERVAL: error: growth-interval: expected at least 1, found 0
// LOSS: error: 'func.func' op expected one result of role "loss" and type tensor<f32>

// expected-error @below {{expected roles of arguments and results of @main}}
module {
  func.func @main(%w: tensor<f32>) -> tensor<f32> {
    return %w : tensor<f32>
  }
}

// -----

// expected-error @below {{found results of role "gradient", which differentiate leaves}}
module {
  func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.name = "w", st.role = "gradient"}) {
    return %w : tensor<f32>
  }
}

// -----

// expected-error @below {{expected a function @main with a body}}
module {
  func.func private @main(tensor<f32> {st.name = "w", st.role = "parameter"}) -> tensor<f32>
}
