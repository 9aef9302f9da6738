// RUN: st-opt --split-reductions=cores=132 %s | FileCheck %s
// RUN: st-opt --split-reductions %s | FileCheck %s --check-prefix=NONE

// Without a number of multiprocessors no reduction is split.
// NONE-COUNT-11: st.kernel
// NONE-NOT: st.kernel

// 16 blocks make 1024 sums, with 512 steps per thread: 64 parts leave 8 steps. Two sums of 16 bits
// are rounded once. Ops on the sums follow the parts.
// CHECK-LABEL: func.func @columns
// CHECK: %[[V:.*]] = stablehlo.reshape %arg0 : (tensor<8x512x1024xbf16>) -> tensor<8x8x64x1024xbf16>
// CHECK: %[[W:.*]] = stablehlo.reshape %arg1 : (tensor<8x512xf32>) -> tensor<8x8x64xf32>
// CHECK: %[[P:.*]]:2 = st.kernel "reduce" (%[[A:.*]] = %[[V]] : {{.*}}, %[[B:.*]] = %[[W]] : {{.*}}, %[[C:.*]] = %arg2 : tensor<1024xf32>) -> (tensor<8x8x1024xf32>, tensor<8x8x1024xf32>)
// CHECK: stablehlo.broadcast_in_dim %[[B]], dims = [0, 1, 2] : (tensor<8x8x64xf32>) -> tensor<8x8x64x1024xf32>
// CHECK: stablehlo.broadcast_in_dim %[[C]], dims = [3] : (tensor<1024xf32>) -> tensor<8x8x64x1024xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<8x8x64x1024xf32>, tensor<f32>) -> tensor<8x8x1024xf32>
// CHECK: %[[X:.*]] = stablehlo.convert %[[A]] : (tensor<8x8x64x1024xbf16>) -> tensor<8x8x64x1024xf32>
// CHECK: stablehlo.reduce(%[[X]] {{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK: %[[R:.*]]:2 = st.kernel "reduce" (%[[C:.*]] = %arg2 : {{.*}}, %[[S:.*]] = %[[P]]#0 : {{.*}}, %[[T:.*]] = %[[P]]#1 : {{.*}}) -> (tensor<1024xf32>, tensor<1024xbf16>)
// CHECK-DAG: %[[SUM:.*]] = stablehlo.reduce(%[[S]] {{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK-DAG: %[[OTHER:.*]] = stablehlo.reduce(%[[T]] {{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK-DAG: %[[SMALL:.*]] = stablehlo.convert %[[OTHER]] : (tensor<1024xf32>) -> tensor<1024xbf16>
// CHECK: %[[SHIFTED:.*]] = stablehlo.add %[[SUM]], %[[C]]
// CHECK: st.yield %[[SHIFTED]], %[[SMALL]]
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @columns(%0: tensor<8x512x1024xbf16>, %1: tensor<8x512xf32>, %2: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xbf16>) {
  %k:2 = st.kernel "reduce" (%a = %0 : tensor<8x512x1024xbf16>, %b = %1 : tensor<8x512xf32>, %c = %2 : tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xbf16>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %small = stablehlo.constant dense<0.0> : tensor<bf16>
    %x = stablehlo.convert %a : (tensor<8x512x1024xbf16>) -> tensor<8x512x1024xf32>
    %w = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<8x512xf32>) -> tensor<8x512x1024xf32>
    %v = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<1024xf32>) -> tensor<8x512x1024xf32>
    %d = stablehlo.subtract %x, %v : tensor<8x512x1024xf32>
    %p = stablehlo.multiply %d, %w : tensor<8x512x1024xf32>
    %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %q = stablehlo.reduce(%a init: %small) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %o = stablehlo.add %r, %c : tensor<1024xf32>
    st.yield %o, %q : tensor<1024xf32>, tensor<1024xbf16>
  }
  return %k#0, %k#1 : tensor<1024xf32>, tensor<1024xbf16>
}

// Divisors may be far from the desired number. Parts start from the neutral element.
// CHECK-LABEL: func.func @vocabulary
// CHECK: %[[V:.*]] = stablehlo.reshape %arg0 : (tensor<30522x1024xf32>) -> tensor<10174x3x1024xf32>
// CHECK: %[[P:.*]] = st.kernel "reduce" (%{{.*}} = %[[V]] : {{.*}}) -> tensor<10174xf32>
// CHECK: %[[LOWEST:.*]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: stablehlo.reduce({{.*}} init: %[[LOWEST]]) applies stablehlo.maximum across dimensions = [1, 2]
// CHECK: st.kernel "reduce" (%[[A:.*]] = %[[P]] : {{.*}}) -> tensor<f32>
// CHECK: %[[INIT:.*]] = stablehlo.constant dense<2.500000e+00> : tensor<f32>
// CHECK: stablehlo.reduce(%[[A]] init: %[[INIT]]) applies stablehlo.maximum across dimensions = [0]
func.func @vocabulary(%0: tensor<30522x1024xf32>) -> tensor<f32> {
  %k = st.kernel "reduce" (%a = %0 : tensor<30522x1024xf32>) -> tensor<f32> {
    %init = stablehlo.constant dense<2.5> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<30522x1024xf32>, tensor<f32>) -> tensor<f32>
    st.yield %r : tensor<f32>
  }
  return %k : tensor<f32>
}

// Integer positions continue across parts. f32 positions might be rounded differently: parts are whole rows.
// CHECK-LABEL: func.func @places
// CHECK: st.kernel "reduce" {{.*}} -> tensor<10xi32>
// CHECK: %[[N:.*]] = stablehlo.constant dense<25> : tensor<10x25x700xi32>
// CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<10x25x700xi32>
// CHECK: %[[J:.*]] = stablehlo.multiply %[[I]], %[[N]]
// CHECK: %[[L:.*]] = stablehlo.iota dim = 1 : tensor<10x25x700xi32>
// CHECK: stablehlo.add %[[J]], %[[L]]
// CHECK: st.kernel "reduce" {{.*}} -> tensor<i32>
// CHECK: st.kernel "reduce" (%{{.*}} = %arg1 : tensor<250x700xf32>) -> tensor<250xf32>
// CHECK: st.kernel "reduce" {{.*}} -> tensor<f32>
func.func @places(%0: tensor<250x700xi32>, %1: tensor<250x700xf32>) -> (tensor<i32>, tensor<f32>) {
  %k = st.kernel "reduce" (%a = %0 : tensor<250x700xi32>) -> tensor<i32> {
    %init = stablehlo.constant dense<0> : tensor<i32>
    %i = stablehlo.iota dim = 0 : tensor<250x700xi32>
    %s = stablehlo.multiply %i, %a : tensor<250x700xi32>
    %r = stablehlo.reduce(%s init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<250x700xi32>, tensor<i32>) -> tensor<i32>
    st.yield %r : tensor<i32>
  }
  %l = st.kernel "reduce" (%a = %1 : tensor<250x700xf32>) -> tensor<f32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %i = stablehlo.iota dim = 0 : tensor<250x700xf32>
    %s = stablehlo.multiply %i, %a : tensor<250x700xf32>
    %r = stablehlo.reduce(%s init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<250x700xf32>, tensor<f32>) -> tensor<f32>
    st.yield %r : tensor<f32>
  }
  return %k, %l : tensor<i32>, tensor<f32>
}

// After the sum of the parts, a kernel on all multiprocessors computes the ops along the rows.
// CHECK-LABEL: func.func @rows
// CHECK: %[[P:.*]] = st.kernel "reduce" {{.*}} -> tensor<3x{{.*}}xf32>
// CHECK: %[[S:.*]] = st.kernel "reduce" (%{{.*}} = %[[P]] : {{.*}}) -> tensor<3xf32>
// CHECK: %[[R:.*]] = st.kernel "loop" (%{{.*}} = %arg0 : tensor<3x100000xf32>, %[[B:.*]] = %[[S]] : tensor<3xf32>) -> tensor<3x100000xf32>
// CHECK-NOT: stablehlo.reduce
// CHECK: return %[[R]]
func.func @rows(%0: tensor<3x100000xf32>) -> tensor<3x100000xf32> {
  %k = st.kernel "loop" (%a = %0 : tensor<3x100000xf32>) -> tensor<3x100000xf32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<3x100000xf32>, tensor<f32>) -> tensor<3xf32>
    %w = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<3xf32>) -> tensor<3x100000xf32>
    %d = stablehlo.divide %a, %w : tensor<3x100000xf32>
    st.yield %d : tensor<3x100000xf32>
  }
  return %k : tensor<3x100000xf32>
}

// A reduction after another one has its parts too.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-4: st.kernel "reduce"
// CHECK-NOT: st.kernel
func.func @twice(%0: tensor<100000xf32>) -> tensor<f32> {
  %k = st.kernel "reduce" (%a = %0 : tensor<100000xf32>) -> tensor<f32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
    %w = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<100000xf32>
    %d = stablehlo.subtract %a, %w : tensor<100000xf32>
    %v = stablehlo.reduce(%d init: %init) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
    st.yield %v : tensor<f32>
  }
  return %k : tensor<f32>
}

// Many rows occupy all multiprocessors, and short ones are reduced quickly. A start that is not constant, and two
// tensors reduced together, stay.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-4: st.kernel "reduce"
// CHECK-NOT: st.kernel
func.func @stay(%0: tensor<4096x1024xf32>, %1: tensor<3x1024xf32>, %2: tensor<100000xf32>, %3: tensor<f32>) -> (tensor<4096xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) {
  %k = st.kernel "reduce" (%a = %0 : tensor<4096x1024xf32>) -> tensor<4096xf32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
    st.yield %r : tensor<4096xf32>
  }
  %l = st.kernel "reduce" (%a = %1 : tensor<3x1024xf32>) -> tensor<3xf32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<3x1024xf32>, tensor<f32>) -> tensor<3xf32>
    st.yield %r : tensor<3xf32>
  }
  %m = st.kernel "reduce" (%a = %2 : tensor<100000xf32>, %b = %3 : tensor<f32>) -> tensor<f32> {
    %r = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
    st.yield %r : tensor<f32>
  }
  %n = st.kernel "reduce" (%a = %2 : tensor<100000xf32>) -> tensor<f32> {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
     reducer(%x: tensor<f32>, %y: tensor<f32>) {
      %z = stablehlo.atan2 %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }
    st.yield %r : tensor<f32>
  }
  return %k, %l, %m, %n : tensor<4096xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>
}

// An argument with only a part read has no separate loops.
// CHECK-LABEL: func.func @slice
// CHECK: %[[P:.*]] = st.kernel "reduce" (%{{.*}} = %{{.*}} : tensor<{{.*}}x{{.*}}xf32>, %[[B:.*]] = %arg1 : tensor<2xf32>) -> tensor<{{[0-9]+}}xf32>
// CHECK: stablehlo.slice %[[B]] [0:1]
// CHECK: st.kernel "reduce" (%{{.*}} = %[[P]] : tensor<{{.*}}xf32>) -> tensor<f32>
func.func @slice(%0: tensor<1048576xf32>, %1: tensor<2xf32>) -> tensor<f32> {
  %k = st.kernel "reduce" (%a = %0 : tensor<1048576xf32>, %b = %1 : tensor<2xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.slice %b [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %n = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
    %w = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<1048576xf32>
    %p = stablehlo.multiply %a, %w : tensor<1048576xf32>
    %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    st.yield %r : tensor<f32>
  }
  return %k : tensor<f32>
}
