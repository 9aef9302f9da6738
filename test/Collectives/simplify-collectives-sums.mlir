// Devices add up their own elements before a collective if they then send fewer bytes. The interpreter gives the same
// numbers, which are exact.
//
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --simplify-collectives %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after
//
// Exact sums have a fixed order.
// RUN: sed 's/module {/module attributes {st.exact_sums} {/' %s > %t.exact.mlir
// RUN: st-opt %t.exact.mlir -o %t.plain
// RUN: st-opt --simplify-collectives %t.exact.mlir | diff - %t.plain

#rows = #st.sharding<@mesh, [{"x"}, {}]>
#vector = #st.sharding<@mesh, [{"x"}]>
#cube = #st.sharding<@mesh, [{"x"}, {}, {}]>
#every = #st.sharding<@mesh, [{}]>
module {
  st.mesh @mesh <["x"=2, "y"=1], micro=1>
  // CHECK-LABEL: func.func @main
  func.func @main() -> (tensor<4x3xbf16> {st.global_type = tensor<8x3xbf16>, st.sharding = #rows},
                        tensor<3xf32> {st.global_type = tensor<3xf32>, st.sharding = #every},
                        tensor<4x3xf32> {st.global_type = tensor<8x3xf32>, st.sharding = #rows},
                        tensor<4x3xbf16> {st.global_type = tensor<8x3xbf16>, st.sharding = #rows},
                        tensor<12xbf16> {st.global_type = tensor<24xbf16>, st.sharding = #vector},
                        tensor<4xf32> {st.global_type = tensor<8xf32>, st.sharding = #vector},
                        tensor<4x3x2xbf16> {st.global_type = tensor<8x3x2xbf16>, st.sharding = #cube}) {
    %x = st.axis_index "x" of @mesh : tensor<i32>
    %spread = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<8x3x4xi32>
    %rows = stablehlo.iota dim = 0 : tensor<8x3x4xi32>
    %columns = stablehlo.iota dim = 1 : tensor<8x3x4xi32>
    %heads = stablehlo.iota dim = 2 : tensor<8x3x4xi32>
    %two = stablehlo.add %rows, %spread : tensor<8x3x4xi32>
    %three = stablehlo.multiply %columns, %heads : tensor<8x3x4xi32>
    %sum = stablehlo.add %two, %three : tensor<8x3x4xi32>
    %value = stablehlo.convert %sum : (tensor<8x3x4xi32>) -> tensor<8x3x4xbf16>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>

    // The sum over four heads is converted back, so the devices send bf16.
    // CHECK: %[[S0:.*]] = stablehlo.reshape %[[V:.*]] : (tensor<8x3x4xbf16>) -> tensor<4x2x3x4xbf16>
    // CHECK: %[[W0:.*]] = stablehlo.convert %[[S0]] {st.stage = 0 : i64} : (tensor<4x2x3x4xbf16>) -> tensor<4x2x3x4xf32>
    // CHECK: %[[R0:.*]] = stablehlo.reduce(%[[W0]] init: %{{.*}}) applies stablehlo.add across dimensions = [3] {st.stage = 0 : i64}
    // CHECK: %[[N0:.*]] = stablehlo.convert %[[R0]] : (tensor<4x2x3xf32>) -> tensor<4x2x3xbf16>
    // CHECK: %[[P0:.*]] = st.reduce_scatter %[[N0]] sum dim 1 over ["x"] of @mesh : tensor<4x2x3xbf16> -> tensor<4x1x3xbf16>
    // CHECK: %[[A0:.*]] = stablehlo.reshape %[[P0]] : (tensor<4x1x3xbf16>) -> tensor<4x3xbf16>
    %0 = stablehlo.reshape %value : (tensor<8x3x4xbf16>) -> tensor<4x2x3x4xbf16>
    %1 = st.reduce_scatter %0 sum dim 1 over ["x"] of @mesh : tensor<4x2x3x4xbf16> -> tensor<4x1x3x4xbf16>
    %2 = stablehlo.reshape %1 : (tensor<4x1x3x4xbf16>) -> tensor<4x3x4xbf16>
    %3 = stablehlo.convert %2 : (tensor<4x3x4xbf16>) -> tensor<4x3x4xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] {st.stage = 0 : i64} : (tensor<4x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
    %5 = stablehlo.convert %4 : (tensor<4x3xf32>) -> tensor<4x3xbf16>

    // The result stays wide, and so does what is sent.
    // CHECK: %[[W1:.*]] = stablehlo.convert %[[V]] : (tensor<8x3x4xbf16>) -> tensor<8x3x4xf32>
    // CHECK: %[[R1:.*]] = stablehlo.reduce(%[[W1]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 2]
    // CHECK: %[[A1:.*]] = st.all_reduce %[[R1]] sum over ["x"] of @mesh : tensor<3xf32>
    %6 = st.all_reduce %value sum over ["x"] of @mesh : tensor<8x3x4xbf16>
    %7 = stablehlo.convert %6 : (tensor<8x3x4xbf16>) -> tensor<8x3x4xf32>
    %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<8x3x4xf32>, tensor<f32>) -> tensor<3xf32>

    // The dimension of the devices is the first part of the scattered one.
    // CHECK: %[[S2:.*]] = stablehlo.reshape %{{.*}} : (tensor<8x3x4xf32>) -> tensor<2x4x3x4xf32>
    // CHECK: %[[R2:.*]] = stablehlo.reduce(%[[S2]] init: %{{.*}}) applies stablehlo.add across dimensions = [3]
    // CHECK: %[[P2:.*]] = st.reduce_scatter %[[R2]] sum dim 0 over ["x"] of @mesh : tensor<2x4x3xf32> -> tensor<1x4x3xf32>
    // CHECK: %[[A2:.*]] = stablehlo.reshape %[[P2]] : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
    %wide = stablehlo.convert %sum : (tensor<8x3x4xi32>) -> tensor<8x3x4xf32>
    %9 = st.reduce_scatter %wide sum dim 0 over ["x"] of @mesh : tensor<8x3x4xf32> -> tensor<4x3x4xf32>
    %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>

    // A sum with another use, a maximum, and a sum over a dimension of one element stay.
    // CHECK: st.reduce_scatter %[[V]] sum dim 0
    // CHECK: st.reduce_scatter %[[V]] max dim 0
    // CHECK: st.reduce_scatter %{{.*}} sum dim 0 over ["x"] of @mesh : tensor<8x1xf32> -> tensor<4x1xf32>
    %11 = st.reduce_scatter %value sum dim 0 over ["x"] of @mesh : tensor<8x3x4xbf16> -> tensor<4x3x4xbf16>
    %12 = stablehlo.convert %11 : (tensor<4x3x4xbf16>) -> tensor<4x3x4xf32>
    %13 = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
    %14 = stablehlo.slice %11 [0:4, 0:3, 1:2] : (tensor<4x3x4xbf16>) -> tensor<4x3x1xbf16>
    %15 = stablehlo.reshape %14 : (tensor<4x3x1xbf16>) -> tensor<4x3xbf16>
    %16 = stablehlo.convert %13 : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %17 = stablehlo.add %15, %16 : tensor<4x3xbf16>
    %18 = st.reduce_scatter %value max dim 0 over ["x"] of @mesh : tensor<8x3x4xbf16> -> tensor<4x3x4xbf16>
    %19 = stablehlo.convert %18 : (tensor<4x3x4xbf16>) -> tensor<4x3x4xf32>
    %20 = stablehlo.reduce(%19 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
    %21 = stablehlo.convert %20 : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %22 = stablehlo.reshape %21 : (tensor<4x3xbf16>) -> tensor<12xbf16>
    %23 = stablehlo.slice %wide [0:8, 1:2, 1:2] : (tensor<8x3x4xf32>) -> tensor<8x1x1xf32>
    %24 = stablehlo.reshape %23 : (tensor<8x1x1xf32>) -> tensor<8x1xf32>
    %25 = st.reduce_scatter %24 sum dim 0 over ["x"] of @mesh : tensor<8x1xf32> -> tensor<4x1xf32>
    %26 = stablehlo.reduce(%25 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>

    // Fewer elements move if the heads are added up before they are transposed.
    // CHECK: %[[S3:.*]] = stablehlo.reshape %{{.*}} : (tensor<12x8x2xbf16>) -> tensor<3x4x4x2x2xbf16>
    // CHECK: %[[W3:.*]] = stablehlo.convert %[[S3]]
    // CHECK: %[[R3:.*]] = stablehlo.reduce(%[[W3]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
    // CHECK: %[[N3:.*]] = stablehlo.convert %[[R3]] : (tensor<3x4x2x2xf32>) -> tensor<3x4x2x2xbf16>
    // CHECK: %[[T3:.*]] = stablehlo.transpose %[[N3]], dims = [1, 2, 0, 3] : (tensor<3x4x2x2xbf16>) -> tensor<4x2x3x2xbf16>
    // CHECK: %[[P3:.*]] = st.reduce_scatter %[[T3]] sum dim 1 over ["x"] of @mesh : tensor<4x2x3x2xbf16> -> tensor<4x1x3x2xbf16>
    // CHECK: %[[A3:.*]] = stablehlo.reshape %[[P3]] : (tensor<4x1x3x2xbf16>) -> tensor<4x3x2xbf16>
    // CHECK-NOT: stablehlo.transpose
    %head = stablehlo.iota dim = 0 : tensor<12x8x2xi32>
    %token = stablehlo.iota dim = 1 : tensor<12x8x2xi32>
    %feature = stablehlo.iota dim = 2 : tensor<12x8x2xi32>
    %device = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<12x8x2xi32>
    %27 = stablehlo.multiply %head, %feature : tensor<12x8x2xi32>
    %28 = stablehlo.add %27, %token : tensor<12x8x2xi32>
    %29 = stablehlo.add %28, %device : tensor<12x8x2xi32>
    %30 = stablehlo.convert %29 : (tensor<12x8x2xi32>) -> tensor<12x8x2xbf16>
    %31 = stablehlo.transpose %30, dims = [1, 0, 2] : (tensor<12x8x2xbf16>) -> tensor<8x12x2xbf16>
    %32 = stablehlo.reshape %31 : (tensor<8x12x2xbf16>) -> tensor<4x2x3x4x2xbf16>
    %33 = st.reduce_scatter %32 sum dim 1 over ["x"] of @mesh : tensor<4x2x3x4x2xbf16> -> tensor<4x1x3x4x2xbf16>
    %34 = stablehlo.reshape %33 : (tensor<4x1x3x4x2xbf16>) -> tensor<4x3x4x2xbf16>
    %35 = stablehlo.convert %34 : (tensor<4x3x4x2xbf16>) -> tensor<4x3x4x2xf32>
    %36 = stablehlo.reduce(%35 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x4x2xf32>, tensor<f32>) -> tensor<4x3x2xf32>
    %37 = stablehlo.convert %36 : (tensor<4x3x2xf32>) -> tensor<4x3x2xbf16>

    // CHECK: return %[[A0]], %[[A1]], %[[A2]], {{.*}}, %[[A3]] :
    return %5, %8, %10, %17, %22, %26, %37 : tensor<4x3xbf16>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xbf16>, tensor<12xbf16>, tensor<4xf32>, tensor<4x3x2xbf16>
  }
}
