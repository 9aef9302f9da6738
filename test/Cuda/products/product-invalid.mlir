// RUN: st-opt --split-input-file --verify-diagnostics %s

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op is of 4 x 4 x 0, expected at least one element of each}}
  cuda.product %a * %b into %d 4 x 4 x 0 a <4, 1> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xbf16>) {
  // expected-error @+1 {{'cuda.product' op multiplies 'f32' and 'f32' into 'bf16', expected operands of the same type, and a result of that type or, for 16-bit operands, f32}}
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
  // expected-error @+1 {{'cuda.product' op has a matrix a of 4 x 4 with strides 8 and 2, expected a contiguous side and a larger stride along the other}}
  cuda.product %a * %b into %d 4 x 4 x 4 a <8, 2> b <4, 1> d <4, 1> : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<16xf32>, %b: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error @+1 {{'cuda.product' op has a batch of 1 dimensions and 0 strides of matrix b}}
  cuda.product %a * %b into %d 2 x 2 x 2 a <2, 1 batch [4]> b <2, 1> d <2, 1 batch [4]> {batch = array<i64: 4>} : memref<16xf32>, memref<16xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has an aux without an activation}}
  cuda.product %a * %b aux %x into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> : memref<64xf32>, memref<64xf32> aux memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has an activation, expected a single matrix d that is not f64 and has a row stride of a multiple of 8 elements}}
  cuda.product %a * %b into %d 4 x 4 x 4 a <4, 1> b <4, 1> d <4, 1> {activation = #cuda.activation<gelu>} : memref<64xf32>, memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has an activation and an addend, expected at most one of them}}
  cuda.product %a * %b plus %x into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>} : memref<64xf32>, memref<64xf32> plus memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has activation gelu_gradient, expected an aux operand and no bias}}
  cuda.product %a * %b into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu_gradient>} : memref<64xf32>, memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has activation gelu_gradient, expected an aux operand and no bias}}
  cuda.product %a * %b bias %v aux %x into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu_gradient>} : memref<64xf32>, memref<64xf32> bias memref<8xf32> aux memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op sums an operand but has no buffer for the sums}}
  cuda.product %a * %b into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {summed = #cuda<operand a>} : memref<64xf32>, memref<64xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op sums an operand, expected matrices without a batch and not of f64}}
  cuda.product %a * %b sums b %v into %d 4 x 4 x 4 a <4, 1 batch [16]> b <4, 1 batch [16]> d <4, 1 batch [16]> {batch = array<i64: 4>} : memref<64xf32>, memref<64xf32> sums memref<8xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %x: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op sums an operand, expected no scale, bias or activation}}
  cuda.product %a * %b sums a %v into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> {scale = 2.0 : f64} : memref<64xf32>, memref<64xf32> sums memref<8xf32> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %v: memref<8xbf16>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has a buffer of sums of 'bf16', expected the result's 'f32'}}
  cuda.product %a * %b sums a %v into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> : memref<64xf32>, memref<64xf32> sums memref<8xbf16> into memref<64xf32>
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has a body but neither an activation nor sums}}
  cuda.product %a * %b into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> : memref<64xf32>, memref<64xf32> into memref<64xf32> {
    cuda.product %a * %b into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> : memref<64xf32>, memref<64xf32> into memref<64xf32>
  }
  return
}

// -----

func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %v: memref<8xf32>, %d: memref<64xf32>) {
  // expected-error @+1 {{'cuda.product' op has a body that does more than launches, products and copies}}
  cuda.product %a * %b sums a %v into %d 8 x 8 x 8 a <8, 1> b <8, 1> d <8, 1> : memref<64xf32>, memref<64xf32> sums memref<8xf32> into memref<64xf32> {
    %i = arith.constant 0 : index
    %x = arith.constant 0.0 : f32
    // expected-note @+1 {{memref.store is here}}
    memref.store %x, %v[%i] : memref<8xf32>
  }
  return
}
