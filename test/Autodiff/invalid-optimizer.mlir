// RUN: st-opt %s -split-input-file -verify-diagnostics --add-optimizer
// RUN: not st-opt %s -split-input-file --add-optimizer=kind=rmsprop 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not st-opt %s -split-input-file --add-optimizer=beta1=1.0 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not st-opt %s -split-input-file --add-optimizer=clip-norm=-1 2>&1 | FileCheck %s --check-prefix=CLIP
// KIND: Cannot find option named 'rmsprop'
// BETA: error: beta1: expected at least 0 and below 1{{.*}}, found 1
// CLIP: error: clip-norm: expected at least 0, found -1

// expected-note@+2 {{the parameter is here}}
// expected-error @below {{parameter "w" has no result of role "gradient" and its type; run differentiate first}}
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-note@+2 {{the parameter is here}}
// expected-error @below {{expected parameter "w" to have f32 elements, found 'tensor<bf16>'}}
func.func @main(%w: tensor<bf16> {st.name = "w", st.role = "parameter"})
    -> (tensor<bf16> {st.name = "w", st.role = "gradient"}) {
  return %w : tensor<bf16>
}

// -----

// expected-error @below {{already has optimizer state}}
func.func @main(%w: tensor<f32> {st.name = "w.exp_avg", st.role = "optimizer_state"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{has no argument of role "parameter"}}
func.func @main(%w: tensor<f32>) -> tensor<f32> {
  return %w : tensor<f32>
}
