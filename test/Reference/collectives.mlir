// Every rank makes its values from its coordinates; a result is assembled from the ranks' pieces,
// so each output lists the values of all ranks.
//
// RUN: st-translate --interpret --function=axis_index %s | FileCheck %s --check-prefix=INDEX
// RUN: st-translate --interpret --function=all_reduce %s | FileCheck %s --check-prefix=REDUCE
// RUN: st-translate --interpret --function=kinds %s | FileCheck %s --check-prefix=KINDS
// RUN: st-translate --interpret --function=all_gather %s | FileCheck %s --check-prefix=GATHER
// RUN: st-translate --interpret --function=reduce_scatter %s | FileCheck %s --check-prefix=SCATTER
// RUN: st-translate --interpret --function=all_to_all %s | FileCheck %s --check-prefix=TO-ALL
// RUN: st-translate --interpret --function=all_slice %s | FileCheck %s --check-prefix=SLICE
// RUN: st-translate --interpret --function=collective_permute %s | FileCheck %s --check-prefix=PERMUTE
// RUN: st-translate --interpret --function=accumulate %s | FileCheck %s --check-prefix=ACCUMULATE
// RUN: st-translate --interpret --function=unreduced %s | FileCheck %s --check-prefix=UNREDUCED

st.mesh @mesh <["a"=2, "b"=3], micro=2>

// The number of a rank: 100 * micro + 10 * a + b.
func.func private @rank() -> tensor<1xi32> {
  %micro = st.axis_index "micro" of @mesh : tensor<i32>
  %a = st.axis_index "a" of @mesh : tensor<i32>
  %b = st.axis_index "b" of @mesh : tensor<i32>
  %c100 = stablehlo.constant dense<100> : tensor<i32>
  %c10 = stablehlo.constant dense<10> : tensor<i32>
  %0 = stablehlo.multiply %micro, %c100 : tensor<i32>
  %1 = stablehlo.multiply %a, %c10 : tensor<i32>
  %2 = stablehlo.add %0, %1 : tensor<i32>
  %3 = stablehlo.add %2, %b : tensor<i32>
  %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
  return %4 : tensor<1xi32>
}

// INDEX: result0 = dense<[0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112]>
func.func @axis_index() -> (tensor<1xi32> {st.global_type = tensor<12xi32>, st.sharding = #st.sharding<@mesh, [{"micro", "a", "b"}]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// Over the axis that is not the fastest one, and over two of the three.
// REDUCE: result0 = dense<[10, 12, 14, 210, 212, 214]>
// REDUCE: result1 = dense<[303, 363]>
func.func @all_reduce() -> (tensor<1xi32> {st.global_type = tensor<6xi32>, st.sharding = #st.sharding<@mesh, [{"micro", "b"}]>},
                            tensor<1xi32> {st.global_type = tensor<2xi32>, st.sharding = #st.sharding<@mesh, [{"a"}]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = st.all_reduce %0 sum over ["a"] of @mesh : tensor<1xi32>
  %2 = st.all_reduce %0 sum over ["b"] of @mesh : tensor<1xi32>
  %3 = st.accumulate %2 sum over micro : tensor<1xi32>
  %4 = stablehlo.constant dense<3> : tensor<1xi32>
  %5 = stablehlo.subtract %3, %4 : tensor<1xi32>
  return %1, %5 : tensor<1xi32>, tensor<1xi32>
}

// KINDS: result0 = dense<[12, 112]>
// KINDS: result1 = dense<[0, 100]>
// KINDS: result2 = dense<false>
// KINDS: result3 = dense<true>
func.func @kinds() -> (tensor<1xi32> {st.global_type = tensor<2xi32>, st.sharding = #st.sharding<@mesh, [{"micro"}]>},
                       tensor<1xi32> {st.global_type = tensor<2xi32>, st.sharding = #st.sharding<@mesh, [{"micro"}]>}, tensor<1xi1>, tensor<1xi1>) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = st.all_reduce %0 max over ["a", "b"] of @mesh : tensor<1xi32>
  %2 = st.all_reduce %0 min over ["b", "a"] of @mesh : tensor<1xi32>
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %3 = stablehlo.compare EQ, %0, %c : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  %4 = st.accumulate %3 and over micro : tensor<1xi1>
  %5 = st.accumulate %3 or over micro : tensor<1xi1>
  %6 = st.all_reduce %4 and over ["a", "b"] of @mesh : tensor<1xi1>
  %7 = st.all_reduce %5 or over ["a", "b"] of @mesh : tensor<1xi1>
  return %1, %2, %6, %7 : tensor<1xi32>, tensor<1xi32>, tensor<1xi1>, tensor<1xi1>
}

// The first axis named is the major one.
// GATHER: result0 = dense<[0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112]>
// GATHER: result1 = dense<[0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112]>
func.func @all_gather() -> (tensor<6xi32> {st.global_type = tensor<12xi32>, st.sharding = #st.sharding<@mesh, [{"micro"}]>},
                            tensor<6xi32> {st.global_type = tensor<12xi32>, st.sharding = #st.sharding<@mesh, [{"micro"}]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = st.all_gather %0 dim 0 over ["a", "b"] of @mesh : tensor<1xi32> -> tensor<6xi32>
  %2 = st.all_gather %0 dim 0 over ["b", "a"] of @mesh : tensor<1xi32> -> tensor<6xi32>
  return %1, %2 : tensor<6xi32>, tensor<6xi32>
}

// SCATTER{LITERAL}: result0 = dense<[[10, 110], [12, 112], [14, 114], [210, 310], [212, 312], [214, 314]]>
func.func @reduce_scatter() -> (tensor<1x1xi32> {st.global_type = tensor<6x2xi32>, st.sharding = #st.sharding<@mesh, [{"micro", "b"}, {"a"}]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xi32>) -> tensor<1x2xi32>
  %2 = stablehlo.constant dense<[[0, 50]]> : tensor<1x2xi32>
  %3 = stablehlo.add %1, %2 : tensor<1x2xi32>
  %4 = st.reduce_scatter %3 sum dim 1 over ["a"] of @mesh : tensor<1x2xi32> -> tensor<1x1xi32>
  return %4 : tensor<1x1xi32>
}

// Each rank holds a row of its group's matrix, then a column.
// TO-ALL{LITERAL}: result0 = dense<[[0, 1000, 2000], [1, 1001, 2001], [2, 1002, 2002]]>
func.func @all_to_all() -> (tensor<3x1xi32> {st.global_type = tensor<3x3xi32>, st.sharding = #st.sharding<@mesh, [{}, {"b"}]>}) {
  %b = st.axis_index "b" of @mesh : tensor<i32>
  %0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<i32>) -> tensor<1x3xi32>
  %1 = stablehlo.constant dense<[[0, 1000, 2000]]> : tensor<1x3xi32>
  %2 = stablehlo.add %0, %1 : tensor<1x3xi32>
  %3 = st.all_to_all %2 split 1 concat 0 over ["b"] of @mesh : tensor<1x3xi32> -> tensor<3x1xi32>
  return %3 : tensor<3x1xi32>
}

// SLICE: result0 = dense<[0, 1, 2, 3, 4, 5]>
func.func @all_slice() -> (tensor<1xi32> {st.global_type = tensor<6xi32>, st.sharding = #st.sharding<@mesh, [{"b", "a"}]>}) {
  %0 = stablehlo.iota dim = 0 : tensor<6xi32>
  %1 = st.all_slice %0 dim 0 over ["b", "a"] of @mesh : tensor<6xi32> -> tensor<1xi32>
  return %1 : tensor<1xi32>
}

// A rank that receives nothing has zeros.
// PERMUTE: result0 = dense<[1, 2, 0]>
// PERMUTE: result1 = dense<[0, 0, 1]>
func.func @collective_permute() -> (tensor<1xi32> {st.global_type = tensor<3xi32>, st.sharding = #st.sharding<@mesh, [{"b"}]>},
                                    tensor<1xi32> {st.global_type = tensor<3xi32>, st.sharding = #st.sharding<@mesh, [{"b"}]>}) {
  %b = st.axis_index "b" of @mesh : tensor<i32>
  %0 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %1 = st.collective_permute %0 [0, 2, 1, 0, 2, 1] over ["b"] of @mesh : tensor<1xi32>
  %2 = st.collective_permute %0 [1, 2] over ["b"] of @mesh : tensor<1xi32>
  return %1, %2 : tensor<1xi32>, tensor<1xi32>
}

// ACCUMULATE: result0 = dense<[100, 102, 104, 120, 122, 124]>
// ACCUMULATE: result1 = dense<[100, 101, 102, 110, 111, 112]>
func.func @accumulate() -> (tensor<1xi32> {st.global_type = tensor<6xi32>, st.sharding = #st.sharding<@mesh, [{"a", "b"}]>},
                            tensor<1xi32> {st.global_type = tensor<6xi32>, st.sharding = #st.sharding<@mesh, [{"a", "b"}]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = st.accumulate %0 sum over micro : tensor<1xi32>
  %2 = st.accumulate %0 max over micro : tensor<1xi32>
  return %1, %2 : tensor<1xi32>, tensor<1xi32>
}

// The caller gets a result reduced that the function leaves unreduced.
// UNREDUCED: result0 = dense<[100, 102, 104, 300, 302, 304]>
func.func @unreduced() -> (tensor<1xi32> {st.global_type = tensor<6xi32>, st.sharding = #st.sharding<@mesh, [{"a", "b"}], unreduced = sum ["micro"]>}) {
  %0 = func.call @rank() : () -> tensor<1xi32>
  %1 = st.axis_index "a" of @mesh : tensor<i32>
  %2 = stablehlo.constant dense<90> : tensor<i32>
  %3 = stablehlo.multiply %1, %2 : tensor<i32>
  %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
  %5 = stablehlo.add %0, %4 : tensor<1xi32>
  return %5 : tensor<1xi32>
}
