"""Attention and its gradients: cases for kernel_cases.py."""

import re

from kernel_text import kernel


def attention(batch, heads, rows, columns, width, kept=False, transposed=False, row_reductions=True):
    """Scores with a mask, their softmax or maximum with zero, and the product of that with the values. `kept`: the
    probabilities and the rows' sums are results too. `transposed`: keys and values have their rows innermost."""
    b, h, r, c, w = batch, heads, rows, columns, width
    query, matrix = f"{b}x{r}x{h}x{w}xf32", f"{b}x{h}x{w}x{c}xf32" if transposed else f"{b}x{c}x{h}x{w}xf32"
    space, row, out = f"{b}x{h}x{r}x{c}xf32", f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}xf32"
    outer = "[0, 1]" if transposed else "[0, 2]"
    softmax = f"""
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}>
    %d = stablehlo.subtract %t, %mb : tensor<{space}>
    %e = stablehlo.exponential %d : tensor<{space}>
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}>
    %p = stablehlo.divide %e, %zb : tensor<{space}>"""
    maximum = f"""
    %zb = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<{space}>
    %p = stablehlo.maximum %t, %zb : tensor<{space}>"""
    inputs, results = [query, matrix, matrix, f"{b}x{c}xf32"], [out] + ([space, row] if kept else [])
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0, 2] x {outer}, contracting_dims = [3] x [{2 if transposed else 3}] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>
    %k = stablehlo.broadcast_in_dim %a3, dims = [0, 3] : (tensor<{b}x{c}xf32>) -> tensor<{space}>
    %t = stablehlo.add %s, %k : tensor<{space}>{softmax if row_reductions else maximum}
    %o = stablehlo.dot_general %p, %a2, batching_dims = [0, 1] x {outer}, contracting_dims = [3] x [{3 if transposed else 1}] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{out}>
    st.yield %o{", %p, %z" if kept else ""} : {", ".join(f"tensor<{t}>" for t in results)}"""), inputs


def attention_dropout(batch, heads, rows, columns, width, element="f32", low="0xFF800000", squared=False):
    """Attention as in models: scores are rounded to their type, the softmax is in f32, dropout drops some probabilities
    and scales the others, and maxima and sums of rows are results. `low`: the initial value of the maxima. `squared`:
    products read values that a later maximum does not scale."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query, matrix, space = f"{b}x{r}x{h}x{w}x{t}", f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}"
    row, out = f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}x{t}"
    inputs = [query, matrix, matrix, f"{space}xi1", f"{b}x{c}xf32"]
    probabilities = f"%p = stablehlo.multiply %e, %e : tensor<{space}xf32>" if squared else f"""
    %one = stablehlo.constant dense<1.0> : tensor<{row}>
    %i = stablehlo.divide %one, %z : tensor<{row}>
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}xf32>
    %p = stablehlo.multiply %e, %ib : tensor<{space}xf32>"""
    return kernel("attention", inputs, [out, row, row], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<{low}> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}x{t}>
    %sf = stablehlo.convert %s : (tensor<{space}x{t}>) -> tensor<{space}xf32>
    %k = stablehlo.broadcast_in_dim %a4, dims = [0, 3] : (tensor<{b}x{c}xf32>) -> tensor<{space}xf32>
    %x = stablehlo.add %sf, %k : tensor<{space}xf32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<{space}xf32>, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> tensor<{space}xf32>
    %d = stablehlo.subtract %x, %mb : tensor<{space}xf32>
    %e = stablehlo.exponential %d : tensor<{space}xf32>
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{space}xf32>, tensor<f32>) -> tensor<{row}>
    {probabilities}
    %g = stablehlo.constant dense<1.25> : tensor<{space}xf32>
    %zb = stablehlo.constant dense<0.0> : tensor<{space}xf32>
    %grown = stablehlo.multiply %p, %g : tensor<{space}xf32>
    %kept = stablehlo.select %a3, %grown, %zb : tensor<{space}xi1>, tensor<{space}xf32>
    %pt = stablehlo.convert %kept : (tensor<{space}xf32>) -> tensor<{space}x{t}>
    %o = stablehlo.dot_general %pt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}x{t}>, tensor<{matrix}>) -> tensor<{out}>
    st.yield %o, %m, %z : tensor<{out}>, tensor<{row}>, tensor<{row}>"""), inputs, {i: (-1, 2) for i in range(3)}


def attention_gradient(batch, rows, columns, width):
    """Two products make rows, two products read them, and one result has one value per row."""
    b, r, c, w = batch, rows, columns, width
    query, matrix, space, row = f"{b}x{r}x{w}xf32", f"{b}x{c}x{w}xf32", f"{b}x{r}x{c}xf32", f"{b}x{r}xf32"
    dot = f"batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{query}>"
    inputs = [query, query, matrix, matrix, row]
    return kernel("attention", inputs, [query, space, query], f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a2, {dot}
    %g = stablehlo.dot_general %a1, %a3, {dot}
    %n = stablehlo.tanh %s : tensor<{space}>
    %m = stablehlo.multiply %n, %g : tensor<{space}>
    %z = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %y = stablehlo.add %z, %a4 : tensor<{row}>
    %yb = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<{row}>) -> tensor<{space}>
    %d = stablehlo.subtract %m, %yb : tensor<{space}>
    %q = stablehlo.dot_general %d, %a2, {back}
    %o = stablehlo.dot_general %n, %a3, {back}
    st.yield %q, %d, %o : tensor<{query}>, tensor<{space}>, tensor<{query}>"""), inputs


def whole_gradient(batch, heads, rows, columns, width, element="f32", transposed=False, kept=False):
    """The gradients of attention without a softmax: of the queries, and of keys and values, whose products contract the rows.
    `transposed`: queries and the incoming gradient have their rows innermost. `kept`: the rows that the products read are a result
    too. Values of types other than f32 are integers, so the order of additions does not matter."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query = f"{b}x{h}x{w}x{r}x{t}" if transposed else f"{b}x{r}x{h}x{w}x{t}"
    matrix, space, wide = f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}x{t}", f"{b}x{h}x{r}x{c}xf32"
    outer, depth, along = ("[0, 1]", 2, 3) if transposed else ("[0, 2]", 3, 1)
    make = f"batching_dims = {outer} x [0, 2], contracting_dims = [{depth}] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0, 1] x {outer}, contracting_dims = [2] x [{along}] : (tensor<{space}>, tensor<{query}>) -> tensor<{b}x{h}x{c}x{w}x{t}>"
    results = [f"{b}x{h}x{r}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}"] + ([space] if kept else [])
    inputs = [query, query, matrix, matrix, f"{b}x{h}x{r}x{c}xi1"]
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a2, {make}
    %g = stablehlo.dot_general %a1, %a3, {make}
    %zb = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<{wide}>
    %sf = stablehlo.convert %s : (tensor<{space}>) -> tensor<{wide}>
    %gf = stablehlo.convert %g : (tensor<{space}>) -> tensor<{wide}>
    %n = stablehlo.{"tanh" if t == "f32" else "negate"} %sf : tensor<{wide}>
    %p = stablehlo.select %a4, %n, %zb : tensor<{b}x{h}x{r}x{c}xi1>, tensor<{wide}>
    %m = stablehlo.multiply %p, %gf : tensor<{wide}>
    %z = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<{wide}>, tensor<f32>) -> tensor<{b}x{h}x{r}xf32>
    %y = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{b}x{h}x{r}xf32>) -> tensor<{wide}>
    %d = stablehlo.subtract %m, %y : tensor<{wide}>
    %pt = stablehlo.convert %p : (tensor<{wide}>) -> tensor<{space}>
    %dt = stablehlo.convert %d : (tensor<{wide}>) -> tensor<{space}>
    %q = stablehlo.dot_general %dt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{results[0]}>
    %v = stablehlo.dot_general %pt, %a1, {back}
    %k = stablehlo.dot_general %dt, %a0, {back}
    st.yield %q, %v, %k{", %dt" if kept else ""} : {", ".join(f"tensor<{x}>" for x in results)}"""), inputs, {i: (-1, 2) for i in range(4)}


def masked(space, direction="GE", window=None, row=2):
    """%seen: the elements that a mask shows, by their rows and columns. `row`: the dimension of rows."""
    words, bits = f"tensor<{space}xi32>", f"tensor<{space}xi1>"
    text = f"""    %row = stablehlo.iota dim = {row} : {words}
    %column = stablehlo.iota dim = {row + 1} : {words}
    %{"order" if window else "seen"} = stablehlo.compare {direction}, %row, %column : ({words}, {words}) -> {bits}"""
    return text if not window else text + f"""
    %distance = stablehlo.subtract %row, %column : {words}
    %window = stablehlo.constant dense<{window}> : {words}
    %near = stablehlo.compare LT, %distance, %window : ({words}, {words}) -> {bits}
    %seen = stablehlo.and %order, %near : {bits}"""


def masked_attention(batch, heads, rows, width, window=None, cap=None, slopes=False, gradient=False, element="f32"):
    """Attention under a causal mask or a window. `cap`: scores are capped softly. `slopes`: each head subtracts a multiple
    of the distance (ALiBi). `gradient`: the gradients of queries, keys and values for given numbers of rows."""
    b, h, r, w, t = batch, heads, rows, width, element
    query, space, row, out = f"{b}x{r}x{h}x{w}x{t}", f"{b}x{h}x{r}x{r}", f"{b}x{h}x{r}xf32", f"{b}x{h}x{r}x{w}x{t}"
    inputs, wide, narrow = [query, query, query, f"{h}xf32"], f"tensor<{space}xf32>", f"tensor<{space}x{t}>"
    product = f"batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<{query}>, tensor<{query}>) -> {narrow}"

    def consume(contracted, name, values):
        return f"stablehlo.dot_general %{name}, %{values}, batching_dims = [0, 1] x [0, 2], contracting_dims = [{contracted}] x [1] : ({narrow}, tensor<{query}>) -> tensor<{out}>"
    text = f"""
    %s = stablehlo.dot_general %a0, %a1, {product}
    %s0 = stablehlo.convert %s : ({narrow}) -> {wide}
{masked(space, window=window)}
    %low = stablehlo.constant dense<-1.0e+30> : {wide}"""
    scores = "%s0"
    if cap:
        text += f"""
    %cap = stablehlo.constant dense<{cap:e}> : {wide}
    %small = stablehlo.divide {scores}, %cap : {wide}
    %bent = stablehlo.tanh %small : {wide}
    %capped = stablehlo.multiply %bent, %cap : {wide}"""
        scores = "%capped"
    if slopes:
        far = "%distance" if window else "%apart"
        text += ("" if window else f"\n    %apart = stablehlo.subtract %row, %column : tensor<{space}xi32>") + f"""
    %far = stablehlo.convert {far} : (tensor<{space}xi32>) -> {wide}
    %slopes = stablehlo.broadcast_in_dim %a3, dims = [1] : (tensor<{h}xf32>) -> {wide}
    %slope = stablehlo.multiply %slopes, %far : {wide}
    %biased = stablehlo.subtract {scores}, %slope : {wide}"""
        scores = "%biased"
    text += f"""
    %x = stablehlo.select %seen, {scores}, %low : tensor<{space}xi1>, {wide}"""
    if gradient:
        inputs += [query, row]
        return kernel("attention", inputs, [out] * 3, text + f"""
    %g = stablehlo.dot_general %a4, %a2, {product}
    %gf = stablehlo.convert %g : ({narrow}) -> {wide}
    %l = stablehlo.broadcast_in_dim %a5, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %d = stablehlo.subtract %x, %l : {wide}
    %p = stablehlo.exponential %d : {wide}
    %f = stablehlo.subtract %gf, %l : {wide}
    %y = stablehlo.multiply %p, %f : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}
    %yt = stablehlo.convert %y : ({wide}) -> {narrow}
    %dq = {consume(3, "yt", "a1")}
    %dk = {consume(2, "yt", "a0")}
    %dv = {consume(2, "pt", "a4")}
    st.yield %dq, %dk, %dv : {", ".join([f"tensor<{out}>"] * 3)}"""), inputs
    return kernel("attention", inputs, [out, row], text + f"""
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [3] : ({wide}, tensor<f32>) -> tensor<{row}>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %d = stablehlo.subtract %x, %mb : {wide}
    %e = stablehlo.exponential %d : {wide}
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : ({wide}, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}>) -> {wide}
    %p = stablehlo.divide %e, %zb : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}
    %o = {consume(3, "pt", "a2")}
    st.yield %o, %z : tensor<{out}>, tensor<{row}>"""), inputs


def joined_gradient(batch, heads, rows, columns, width, element="bf16", causal=False, window=None, transposed=False):
    """A gradient with given sums of rows: one kernel, whose blocks add to the first result in turn. Values are integers,
    so the order of additions does not matter."""
    b, h, r, c, w, t = batch, heads, rows, columns, width, element
    query = f"{b}x{h}x{w}x{r}x{t}" if transposed else f"{b}x{r}x{h}x{w}x{t}"
    matrix, space, wide, row = f"{b}x{c}x{h}x{w}x{t}", f"{b}x{h}x{r}x{c}x{t}", f"{b}x{h}x{r}x{c}xf32", f"{b}x{h}x{r}"
    outer, depth, along = ("[0, 1]", 2, 3) if transposed else ("[0, 2]", 3, 1)
    make = f"batching_dims = {outer} x [0, 2], contracting_dims = [{depth}] x [3] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>"
    back = f"batching_dims = [0, 1] x {outer}, contracting_dims = [2] x [{along}] : (tensor<{space}>, tensor<{query}>) -> tensor<{b}x{h}x{c}x{w}x{t}>"
    results = [f"{b}x{h}x{r}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}", f"{b}x{h}x{c}x{w}x{t}"]
    seen = masked(f"{b}x{h}x{r}x{c}", "NE" if not causal and not window else "GE", window)
    return kernel("attention", [query, query, matrix, matrix, f"{row}xi32"], results, f"""
    %s = stablehlo.dot_general %a0, %a2, {make}
    %g = stablehlo.dot_general %a1, %a3, {make}
    %zero = stablehlo.constant dense<0.0> : tensor<{wide}>
{seen}
    %sf = stablehlo.convert %s : (tensor<{space}>) -> tensor<{wide}>
    %gf = stablehlo.convert %g : (tensor<{space}>) -> tensor<{wide}>
    %n = stablehlo.negate %sf : tensor<{wide}>
    %p = stablehlo.select %seen, %n, %zero : tensor<{b}x{h}x{r}x{c}xi1>, tensor<{wide}>
    %z = stablehlo.convert %a4 : (tensor<{row}xi32>) -> tensor<{row}xf32>
    %y = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : (tensor<{row}xf32>) -> tensor<{wide}>
    %f = stablehlo.subtract %gf, %y : tensor<{wide}>
    %d = stablehlo.multiply %p, %f : tensor<{wide}>
    %pt = stablehlo.convert %p : (tensor<{wide}>) -> tensor<{space}>
    %dt = stablehlo.convert %d : (tensor<{wide}>) -> tensor<{space}>
    %q = stablehlo.dot_general %dt, %a2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{results[0]}>
    %v = stablehlo.dot_general %pt, %a1, {back}
    %k = stablehlo.dot_general %dt, %a0, {back}
    st.yield %q, %v, %k : {", ".join(f"tensor<{x}>" for x in results)}"""), [query, query, matrix, matrix, f"{row}xi32"], {
        **{i: (-1, 2) for i in range(4)}, 4: (-3, 4)}


def grouped_heads(batch, groups, heads, rows, columns, width, element="f32", gradient=False):
    """Causal attention, or its gradient with given sums of rows. All heads of a group have the same keys and values: the
    kernel broadcasts them. In 16 bits values of a gradient are integers, so the order of additions does not matter."""
    b, g, h, r, c, w, t = batch, groups, heads, rows, columns, width, element
    query, matrix, many = f"{b}x{r}x{g}x{h}x{w}x{t}", f"{b}x{c}x{g}x{w}x{t}", f"{b}x{c}x{g}x{h}x{w}x{t}"
    space, row = f"{b}x{g}x{h}x{r}x{c}", f"{b}x{g}x{h}x{r}"
    wide, narrow, out, back = f"tensor<{space}xf32>", f"tensor<{space}x{t}>", f"{b}x{g}x{h}x{r}x{w}x{t}", f"{b}x{g}x{h}x{c}x{w}x{t}"

    def produce(name, left, right):
        return f"""
    %{name}n = stablehlo.dot_general %{left}, %{right}, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<{query}>, tensor<{many}>) -> {narrow}
    %{name} = stablehlo.convert %{name}n : ({narrow}) -> {wide}"""

    def consume(name, left, right, along, matrix, result):
        return f"""
    %{name} = stablehlo.dot_general %{left}, %{right}, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [{along}] x [1] : ({narrow}, tensor<{matrix}>) -> tensor<{result}>"""
    text = f"""
    %k = stablehlo.broadcast_in_dim %a1, dims = [0, 1, 2, 4] : (tensor<{matrix}>) -> tensor<{many}>
    %v = stablehlo.broadcast_in_dim %a2, dims = [0, 1, 2, 4] : (tensor<{matrix}>) -> tensor<{many}>
{masked(space, row=3)}{produce("s", "a0", "k")}"""
    if gradient:
        inputs = [query, matrix, matrix, query, f"{row}xi32"]
        return kernel("attention", inputs, [out, back, back], f"""{text}{produce("g", "a3", "v")}
    %none = stablehlo.constant dense<0.0> : {wide}
    %p = stablehlo.select %seen, %s, %none : tensor<{space}xi1>, {wide}
    %z = stablehlo.convert %a4 : (tensor<{row}xi32>) -> tensor<{row}xf32>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2, 3] : (tensor<{row}xf32>) -> {wide}
    %f = stablehlo.subtract %g, %zb : {wide}
    %d = stablehlo.multiply %p, %f : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}
    %dt = stablehlo.convert %d : ({wide}) -> {narrow}{consume("dq", "dt", "k", 4, many, out)}{consume("dk", "dt", "a0", 3, query, back)}{consume("dv", "pt", "a3", 3, query, back)}
    st.yield %dq, %dk, %dv : tensor<{out}>, tensor<{back}>, tensor<{back}>"""), inputs, {
            **{i: (-1, 2) for i in range(4)}, 4: (-3, 4)}
    inputs = [query, matrix, matrix]
    return kernel("attention", inputs, [out, f"{row}xf32"], f"""{text}
    %low = stablehlo.constant dense<-1.0e+30> : {wide}
    %x = stablehlo.select %seen, %s, %low : tensor<{space}xi1>, {wide}
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [4] : ({wide}, tensor<f32>) -> tensor<{row}xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : (tensor<{row}xf32>) -> {wide}
    %d = stablehlo.subtract %x, %mb : {wide}
    %e = stablehlo.exponential %d : {wide}
    %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [4] : ({wide}, tensor<f32>) -> tensor<{row}xf32>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2, 3] : (tensor<{row}xf32>) -> {wide}
    %p = stablehlo.divide %e, %zb : {wide}
    %pt = stablehlo.convert %p : ({wide}) -> {narrow}{consume("o", "pt", "v", 4, many, out)}
    st.yield %o, %z : tensor<{out}>, tensor<{row}xf32>"""), inputs, {i: (-1, 2) for i in range(3)}


def row_means(batch, rows, columns, width):
    """A product reads values that vary only along the rows or only along the columns, although an op broadcasts them to
    the full shape. A product that contracts the rows reads one of them too."""
    b, r, c, w = batch, rows, columns, width
    query, matrix, space, row = f"{b}x{r}x{w}xf32", f"{b}x{c}x{w}xf32", f"{b}x{r}x{c}xf32", f"{b}x{r}xf32"
    back = f"batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{space}>, tensor<{matrix}>) -> tensor<{query}>"
    inputs, results = [query, matrix, f"{b}x{c}xf32"], [query, query, matrix]
    return kernel("attention", inputs, results, f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.dot_general %a0, %a1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{query}>, tensor<{matrix}>) -> tensor<{space}>
    %z = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{space}>, tensor<f32>) -> tensor<{row}>
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (tensor<{row}>) -> tensor<{space}>
    %zz = stablehlo.multiply %zb, %zb : tensor<{space}>
    %m = stablehlo.broadcast_in_dim %a2, dims = [0, 2] : (tensor<{b}x{c}xf32>) -> tensor<{space}>
    %mm = stablehlo.tanh %m : tensor<{space}>
    %q = stablehlo.dot_general %zz, %a1, {back}
    %o = stablehlo.dot_general %mm, %a1, {back}
    %k = stablehlo.dot_general %zz, %a0, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{space}>, tensor<{query}>) -> tensor<{matrix}>
    st.yield %q, %o, %k : {", ".join(f"tensor<{t}>" for t in results)}"""), inputs


ATTENTION = {
    "heads": lambda: attention(2, 3, 60, 60, 16),
    "ragged": lambda: attention(2, 3, 37, 53, 5),
    "one_head": lambda: attention(2, 1, 40, 24, 8),
    "few_rows": lambda: attention(3, 2, 3, 7, 4),
    "long": lambda: attention(1, 2, 150, 700, 64),
    "kept": lambda: attention(2, 2, 50, 40, 16, kept=True),
    "transposed": lambda: attention(2, 2, 50, 45, 16, transposed=True),
    "dropout": lambda: attention_dropout(2, 2, 50, 150, 16),
    "dropout_low": lambda: attention_dropout(2, 1, 70, 130, 12, low="4.0"),
    "dropout_squared": lambda: attention_dropout(1, 2, 40, 130, 16, squared=True),
    "dropout_bf16": lambda: attention_dropout(2, 2, 130, 150, 64, element="bf16"),
    "dropout_f16_ragged": lambda: attention_dropout(2, 2, 37, 150, 24, element="f16"),
    "dropout_bf16_wide": lambda: attention_dropout(1, 1, 40, 90, 128, element="bf16"),
    "no_reduction": lambda: attention(2, 2, 70, 90, 12, row_reductions=False),
    "gradient": lambda: attention_gradient(3, 50, 70, 16),
    "gradient_long": lambda: attention_gradient(2, 200, 384, 64),
    "whole_gradient": lambda: whole_gradient(2, 3, 64, 48, 16),
    "whole_gradient_ragged": lambda: whole_gradient(2, 3, 37, 53, 5),
    "whole_gradient_one_head": lambda: whole_gradient(1, 1, 150, 24, 8),
    "whole_gradient_few": lambda: whole_gradient(3, 2, 3, 7, 4),
    "whole_gradient_transposed": lambda: whole_gradient(2, 2, 60, 45, 16, transposed=True),
    "whole_gradient_kept": lambda: whole_gradient(2, 2, 50, 40, 16, kept=True),
    "whole_gradient_f16": lambda: whole_gradient(2, 2, 37, 53, 5, element="f16"),
    "whole_gradient_bf16": lambda: whole_gradient(2, 2, 64, 48, 8, element="bf16"),
    "whole_gradient_bf16_wide": lambda: whole_gradient(1, 1, 70, 40, 128, element="bf16"),
    "joined": lambda: joined_gradient(1, 2, 100, 300, 64),
    "joined_ragged": lambda: joined_gradient(2, 2, 37, 53, 24, element="f16"),
    "joined_wide": lambda: joined_gradient(1, 1, 70, 260, 128),
    "joined_causal": lambda: joined_gradient(1, 2, 190, 190, 32, causal=True),
    "joined_window": lambda: joined_gradient(1, 2, 330, 330, 32, window=70),
    "masked": lambda: masked_attention(2, 2, 150, 16),
    "masked_window": lambda: masked_attention(1, 2, 300, 16, window=40),
    "masked_capped": lambda: masked_attention(1, 2, 300, 16, window=40, cap=2.0),
    "masked_slopes": lambda: masked_attention(1, 2, 150, 16, slopes=True),
    "masked_gradient": lambda: masked_attention(2, 2, 150, 16, gradient=True),
    "masked_gradient_window": lambda: masked_attention(1, 2, 300, 16, window=40, gradient=True, slopes=True),
    "joined_transposed": lambda: joined_gradient(1, 2, 72, 140, 16, transposed=True),
    "grouped": lambda: grouped_heads(2, 2, 3, 70, 70, 16),
    "grouped_one": lambda: grouped_heads(2, 1, 4, 37, 53, 8),
    "grouped_gradient": lambda: grouped_heads(2, 2, 3, 70, 70, 16, gradient=True),
    "grouped_gradient_bf16": lambda: grouped_heads(1, 2, 3, 130, 130, 32, element="bf16", gradient=True),
    "row_means": lambda: row_means(2, 50, 40, 16),
    "whole_gradient_long": lambda: whole_gradient(1, 2, 700, 384, 64),
}

def read_transposed(case):
    """An attention kernel whose results of four dimensions kernels of kind copy transpose."""
    text, *rest = case
    body, names, types = re.fullmatch(r"(.*)  return (.*?) : (.*?)\n}\n", text, re.S).groups()
    names, types = names.split(", "), types.split(", ")
    before = ", ".join(types)
    for i, (name, given) in enumerate(zip(names, types)):
        if given.count("x") == 4:
            a, b, c, last = given.removeprefix("tensor<").split("x", 3)
            names[i], types[i] = f"%t{i}", f"tensor<{a}x{c}x{b}x{last}"
            body += (f'  %t{i} = st.kernel "copy" (%a = {name} : {given}) -> {types[i]} {{\n'
                     f"    %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : ({given}) -> {types[i]}\n"
                     f"    st.yield %x : {types[i]}\n  }}\n")
    body = body.replace(f"-> ({before}) {{\n", f"-> ({', '.join(types)}) {{\n", 1)
    return f"{body}  return {', '.join(names)} : {', '.join(types)}\n}}\n", *rest


TRANSPOSED = {
    "attention": lambda: read_transposed(attention(2, 3, 37, 53, 5)),
    "gradients": lambda: read_transposed(whole_gradient(2, 3, 37, 53, 5)),
    "gradients_bf16": lambda: read_transposed(whole_gradient(2, 2, 64, 48, 8, element="bf16")),
}
