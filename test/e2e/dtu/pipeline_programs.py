"""Steps of a sequence of equal layers, as global-to-local emits them: the input of split-tasks."""


def group_of(stage, groups, kind):
    """Stages are assigned to the groups in turn; zb-v goes to the last group and back."""
    group = stage % groups
    return groups - 1 - group if kind == "zb-v" and stage // groups % 2 else group


def chain(groups, micro, kind, virtual=1):
    """One layer per stage: h[s] = h[s-1] w[s]; the loss is the sum of the last layer's elements. A micro-batch has 2
    rows."""
    last = groups * virtual - 1
    rows, sq = "tensor<2x4xf32>", "tensor<4x4xf32>"

    def at(stage, more=""):
        return f"{{st.stage = {stage} : i64{more}}}"
    arguments = [f'%x: {rows} {{st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #rows, '
                 f'st.global_type = tensor<{2 * micro}x4xf32>}}']
    results = [f'tensor<f32> {{st.name = "loss", st.role = "loss", st.stage = {last} : i64, st.sharding = #scalar}}']
    forward, backward, update, values = [], [], [], []
    for s in range(last + 1):
        common = f'st.name = "w{s}", st.role = "parameter", st.stage = {s} : i64, st.sharding = #replicated'
        arguments.append(f'%w{s}: {sq} {{{common}, tf.aliasing_output = {s + 1} : i32}}')
        results.append(f"{sq} {{{common}}}")
        if s:
            forward.append(f"%i{s} = st.transfer %h{s - 1} from {s - 1} to {s} {at(s)} : {rows}")
        forward.append(f"%h{s} = stablehlo.dot_general {f'%i{s}' if s else '%x'}, %w{s}, contracting_dims = [1] x [0] "
                       f"{at(s)} : ({rows}, {sq}) -> {rows}")
    for s in reversed(range(last + 1)):
        if s == last:
            backward.append(f"%d{s} = stablehlo.sine %h{s} {at(s)} : {rows}")
        else:
            backward.append(f"%d{s} = st.transfer %c{s + 1} from {s + 1} to {s} {at(s)} : {rows}")
        if s:
            backward.append(f"%c{s} = stablehlo.dot_general %d{s}, %w{s}, contracting_dims = [1] x [1] {at(s)} : "
                            f"({rows}, {sq}) -> {rows}")
        else:  # the first stage also computes a cotangent, so that it has a backward task
            backward.append(f"%c0 = stablehlo.dot_general %d0, %w0, contracting_dims = [1] x [1] {at(0)} : "
                            f"({rows}, {sq}) -> {rows}")
            backward.append(f"%e0 = stablehlo.add %c0, %d0 {at(0)} : {rows}")
        backward.append(f"%g{s} = stablehlo.dot_general {f'%i{s}' if s else '%x'}, {f'%d{s}' if s else '%e0'}, "
                        f"contracting_dims = [0] x [0] {at(s)} : ({rows}, {rows}) -> {sq}")
        backward.append(f"%a{s} = st.accumulate %g{s} sum over micro {at(s)} : {sq}")
        update.append(f"%n{s} = stablehlo.subtract %w{s}, %a{s} {at(s)} : {sq}")
        values.append(f"%n{s}")
    devices = ", ".join(f"array<i64: {group_of(s, groups, kind)}>" for s in range(last + 1))
    lines = "\n    ".join([
        *forward, f"%zero = stablehlo.constant {at(last)} dense<0.0> : tensor<f32>",
        f"%part = stablehlo.reduce(%h{last} init: %zero) applies stablehlo.add across dimensions = [0, 1] {at(last)} : "
        f"({rows}, tensor<f32>) -> tensor<f32>",
        f"%loss = st.accumulate %part sum over micro {at(last)} : tensor<f32>", *backward, *update,
        f"return %loss, {', '.join(reversed(values))} : tensor<f32>, {', '.join([sq] * (last + 1))}"])
    return f"""#scalar = #st.sharding<@mesh, []>
#rows = #st.sharding<@mesh, [{{"micro"}}, {{}}]>
#replicated = #st.sharding<@mesh, [{{}}, {{}}]>
module attributes {{st.stages = {last + 1} : i64, st.devices = [{devices}], st.schedule = "{kind}"}} {{
  st.mesh @mesh <["tensor"=1], micro={micro}>
  func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{
    {lines}
  }}
}}
"""
