// RUN: st-opt --split-input-file --verify-diagnostics %s

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op is of 4 x 4 x 0, expected at least one element of each}}
  cuda.product %a * %b into %d 4 x 4 x 0 a <4, 1> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xbf16>) {
  // expected-error @+1 {{'cuda.product' op multiplies 'f32' and 'f32' into 'bf16', expected operands of one type, and a result of that or, of 16-bit floats, f32}}
  cuda.product %a * %b into %d 4 x 4 x 4 a <4, 1> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> into memref<16xbf16>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %v: memref<4xbf16>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op has a bias of 'bf16', expected the result's 'f32'}}
  cuda.product %a * %b bias %v into %d 4 x 4 x 4 a <4, 1> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> bias memref<4xbf16> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op has a matrix a of 4 x 4 with strides 8 and 2, expected neighbours along one side and the other beyond them}}
  cuda.product %a * %b into %d 4 x 4 x 4 a <8, 2> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op has a batch of 1 dimensions and 0 strides of matrix b}}
  cuda.product %a * %b into %d 2 x 2 x 2 a <2, 1 batch [4]> b <2, 1> d <2, 1 batch [4]> {batch = array<i64: 4>} : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}
