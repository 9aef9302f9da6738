// RUN: st-opt --split-input-file --verify-diagnostics %s

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has a size of 0, expected sizes of at least 1}}
  cuda.attention %q * %q * %q into %q 2 x 3 of 8 x 0 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op is of 'f32', expected a 16-bit type}}
  cuda.attention %s * %q * %q into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : memref<48xf32>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has o of 'f32', expected 'bf16'}}
  cuda.attention %q * %q * %q into %s 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<48xf32> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has 2 strides of k, expected those of batch, head and row}}
  cuda.attention %q * %q * %q into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16] v [384, 16, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has v with strides that exceed its buffer}}
  cuda.attention %q * %q * %q into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 17, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has bias without strides or strides without it}}
  cuda.attention %q * %q * %q plus %f into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> plus memref<64xf32> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op is causal and has a bias, expected at most one of them}}
  cuda.attention %q * %q * %q plus %f into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] bias [0, 0, 8] {causal} : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> plus memref<64xf32> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op computes neither o nor the gradients of q, k and v}}
  cuda.attention %q * %q * %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has a body that does more than launches, products and copies}}
  cuda.attention %q * %q * %q into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {
    %0 = arith.constant 0 : index
    %1 = arith.constant 0.0 : f32
    // expected-note @+1 {{memref.store is here}}
    memref.store %1, %f[%0] : memref<64xf32>
  }
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %f: memref<64xf32>, %s: memref<48xf32>) {
  // expected-error @+1 {{'cuda.attention' op has groups of 2 heads, expected a divisor of 3}}
  cuda.attention %q * %q * %q into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] {group = 2 : i64} : memref<768xbf16>, memref<768xbf16>, memref<768xbf16> into memref<768xbf16> {}
  return
}

// -----

func.func @f(%q: memref<768xbf16>, %k: memref<256xbf16>) {
  // expected-error @+1 {{'cuda.attention' op has k with strides that exceed its buffer}}
  cuda.attention %q * %k * %k into %q 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [128, 16, 16] v [128, 0, 16] o [384, 128, 16] {group = 1 : i64} : memref<768xbf16>, memref<256xbf16>, memref<256xbf16> into memref<768xbf16> {}
  return
}
