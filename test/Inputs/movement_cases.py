"""Copies, gathers, scatters, and sequences of kernels: cases for kernel_cases.py."""

from kernel_text import kernel


def movement(inputs, result, op):
    return kernel("copy", inputs, [result], f"    %r = {op}\n    st.yield %r : tensor<{result}>"), inputs


MOVEMENTS = {
    "transpose": lambda: movement(["20x30x40xf32"], "40x20x30xf32",
                                  "stablehlo.transpose %a0, dims = [2, 0, 1] : (tensor<20x30x40xf32>) -> tensor<40x20x30xf32>"),
    "slice": lambda: movement(["20x30xf32"], "10x10xf32",
                              "stablehlo.slice %a0 [0:20:2, 5:25:2] : (tensor<20x30xf32>) -> tensor<10x10xf32>"),
    "concatenate": lambda: movement(["20x30xf32", "20x50xf32", "20x7xf32"], "20x87xf32",
                                    "stablehlo.concatenate %a0, %a1, %a2, dim = 1 : (tensor<20x30xf32>, tensor<20x50xf32>, tensor<20x7xf32>) -> tensor<20x87xf32>"),
    "broadcast": lambda: movement(["30x20xf32"], "20x5x30xf32",
                                  "stablehlo.broadcast_in_dim %a0, dims = [2, 0] : (tensor<30x20xf32>) -> tensor<20x5x30xf32>"),
    "reverse": lambda: movement(["20x30xf32"], "20x30xf32", "stablehlo.reverse %a0, dims = [0, 1] : tensor<20x30xf32>"),
    "pad": lambda: (kernel("copy", ["200x30xf32"], ["203x61xf32"], """
    %v = stablehlo.constant dense<-1.0> : tensor<f32>
    %r = stablehlo.pad %a0, %v, low = [2, 0], high = [1, 2], interior = [0, 1] : (tensor<200x30xf32>, tensor<f32>) -> tensor<203x61xf32>
    st.yield %r : tensor<203x61xf32>"""), ["200x30xf32"]),
    "crop": lambda: (kernel("copy", ["20x30xf32"], ["15x33xf32"], """
    %v = stablehlo.constant dense<-1.0> : tensor<f32>
    %r = stablehlo.pad %a0, %v, low = [-3, 5], high = [-2, -2], interior = [0, 0] : (tensor<20x30xf32>, tensor<f32>) -> tensor<15x33xf32>
    st.yield %r : tensor<15x33xf32>"""), ["20x30xf32"]),
    "transpose_large": lambda: movement(["300x500xf32"], "500x300xf32",
                                        "stablehlo.transpose %a0, dims = [1, 0] : (tensor<300x500xf32>) -> tensor<500x300xf32>"),
}


def gather(table, indices, result, numbers, sizes):
    return kernel("gather", [f"{table}xf32", f"{indices}xi32"], [f"{result}xf32"], f"""
    %r = "stablehlo.gather"(%a0, %a1) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>}}> : (tensor<{table}xf32>, tensor<{indices}xi32>) -> tensor<{result}xf32>
    st.yield %r : tensor<{result}xf32>"""), [f"{table}xf32", f"{indices}xi32"]


def scatter(table, indices, updates, numbers, operand):
    types = ([f"{table}xf32"] if operand else []) + [f"{indices}xi32", f"{updates}xf32"]
    first = 1 if operand else 0
    start = "%a0" if operand else "%zero"
    return kernel("scatter", types, [f"{table}xf32"], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<{table}xf32>
    %r = "stablehlo.scatter"({start}, %a{first}, %a{first + 1}) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<{table}xf32>, tensor<{indices}xi32>, tensor<{updates}xf32>) -> tensor<{table}xf32>
    st.yield %r : tensor<{table}xf32>"""), types


INDEXED = {
    "embedding": lambda: (*gather("50x40", "3x20x1", "3x20x40", "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", "1, 40"), {1: (-3, 53)}),
    "take_along": lambda: (*gather("60x40", "60x2", "60", "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", "1, 1"), {1: (0, 40)}),
    "batched": lambda: (*gather("60x40", "60x1", "60", "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1", "1, 1"), {1: (-2, 42)}),
    "offset_first": lambda: (*gather("50x40", "20x1", "40x20", "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 40"), {1: (0, 50)}),
    "window": lambda: (*gather("50x6x40", "20x1", "20x3x40", "offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3, 40"), {1: (0, 50)}),
    "embedding_gradient": lambda: (*scatter("50x400", "3x20x1", "3x20x400", "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2", False), {0: (-3, 53)}),
    "large_embedding_gradient": lambda: (*scatter("3000x40", "3x20x1", "3x20x40", "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2", True), {1: (1, 9)}),
    "add_to_operand": lambda: (*scatter("50x8", "20x1", "20x8", "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", True), {1: (0, 50)}),
    "points": lambda: (*scatter("60x40", "700x2", "700", "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1", False), {0: (-1, 42)}),
    "batched_points": lambda: (*scatter("60x40", "60x1", "60", "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1", False), {0: (-1, 42)}),
}


def products_then_copy():
    """Two products that share panels in L2, and a reader of the second. The queues synchronise before the second
    product because it claims L2, so the user needs another barrier."""
    m, k = "384x512xf32", "512x512xf32"
    products = "".join(f"""
  %p{i} = st.kernel "matmul" (%a0 = %0 : tensor<{m}>, %a1 = %{i + 1} : tensor<{k}>) -> tensor<{m}> {{
    %p = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : (tensor<{m}>, tensor<{k}>) -> tensor<{m}>
    st.yield %p : tensor<{m}>
  }}""" for i in range(2))
    return f"""func.func @main(%0: tensor<{m}>, %1: tensor<{k}>, %2: tensor<{k}>) -> (tensor<{m}>, tensor<512x384xf32>) {{
{products}
  %t = st.kernel "copy" (%a0 = %p1 : tensor<{m}>) -> tensor<512x384xf32> {{
    %r = stablehlo.transpose %a0, dims = [1, 0] : (tensor<{m}>) -> tensor<512x384xf32>
    st.yield %r : tensor<512x384xf32>
  }}
  return %p0, %t : tensor<{m}>, tensor<512x384xf32>
}}
""", [m, k, k]


SEQUENCES = {"products_then_copy": products_then_copy}
