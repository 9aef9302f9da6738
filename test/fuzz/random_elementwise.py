"""Random elementwise ops, on values where they are defined and well conditioned."""

from program_builder import WIDE

# Unary ops, by the range of the operand: any number, one in (-0.9, 0.9), one in [1, 2), or an
# argument, because the result jumps where its operand barely changes.
UNARY = {
    "any": ["tanh", "negate", "abs", "logistic", "sine", "cosine", "chlo.atan", "chlo.asinh", "chlo.erf", "chlo.erfc",
            "chlo.bessel_i1e"],
    "unit": ["exponential", "exponential_minus_one", "log_plus_one", "tan", "chlo.tan", "chlo.sinh", "chlo.cosh", "chlo.asin",
             "chlo.acos", "chlo.atanh", "chlo.erf_inv", "chlo.square"],
    "positive": ["sqrt", "rsqrt", "log", "cbrt", "chlo.acosh", "chlo.lgamma", "chlo.digamma"],
    "argument": ["floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign"],
}
BINARY = {
    "any": ["add", "subtract", "multiply", "maximum", "minimum"],
    "positive": ["divide", "power", "atan2", "chlo.zeta", "chlo.polygamma"],
    "argument": ["remainder", "chlo.next_after"],
}
INTEGER_BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "shift_left",
                  "shift_right_arithmetic", "shift_right_logical", "divide", "remainder", "chlo.mulhi"]
INTEGER_UNARY = ["not", "popcnt", "count_leading_zeros", "abs", "negate", "sign"]
# The interpreter supports these chlo ops only in wide types, and nothing widens their operands.
NARROW_MISSING = ("chlo.polygamma", "chlo.zeta", "chlo.next_after", "chlo.digamma", "chlo.lgamma", "chlo.bessel_i1e")
INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")


class ElementwiseOps:
    def prepared(self, value, domain):
        """The value, mapped into the domain."""
        if domain == "any" or domain == "argument":
            return value
        t = self.apply("tanh", value)
        if domain == "unit":
            return self.scaled(t, 0.9)
        return self.apply("add", self.apply("multiply", t, t), self.constant("1.0", value[1]))

    def operand(self, domain, condition=lambda value: True):
        return self.given(condition) if domain == "argument" else self.pick(condition)

    def op_unary(self):
        domain = self.rng.choice(["any", "unit", "positive", "argument"])
        x, op = self.operand(domain), self.rng.choice(UNARY[domain])
        if x and not (op in NARROW_MISSING and self.element in ("f16", "bf16")):
            x = self.prepared(x, domain)
            if op == "chlo.acosh" and self.element in ("f16", "bf16"):
                # At 1 its slope is unbounded: the last bit of a sum in 16 bits would determine the whole result.
                x = self.apply("add", x, self.constant("1.0", x[1]))
            self.apply(op, x)

    def op_binary(self):
        domain = self.rng.choice(["any", "any", "positive", "argument"])
        op = self.rng.choice(BINARY[domain])
        x = self.operand(domain)
        y = x and self.operand(domain, lambda v: v[1] == x[1])
        if not y or (op in NARROW_MISSING and self.element in ("f16", "bf16")):
            return
        x, y = self.prepared(x, domain), self.prepared(y, domain)
        if op == "chlo.polygamma":
            x = self.constant("1.0", x[1])
        elif op == "chlo.zeta":
            x = self.apply("add", x, self.constant("1.0", x[1]))
        z = self.apply(op, x, y)
        if op == "multiply":
            self.apply("tanh", z)

    def op_choose(self):
        """A select by a predicate, or between bounds."""
        x = self.pick()
        y = x and self.pick(lambda v: v[1] == x[1])
        if not y:
            return
        if self.rng.random() < 0.4:
            low, high = self.constant("-0.5"), self.constant("0.75", x[1] if self.rng.random() < 0.5 else ())
            low = low if high[1] == () else self.constant("-0.5", x[1])
            self.emit(f"stablehlo.clamp {low[0]}, {x[0]}, {high[0]} : ({self.type(low)}, {self.type(x)}, {self.type(high)}) "
                      "-> RESULT", x[1], x[2], x[0])
            return
        a = self.given(lambda v: v[1] == x[1])
        predicate = self.pick(lambda v: v[1] in (x[1], ()), "i1") or (
            a and self.compare(self.rng.choice(["LT", "GE", "NE"]), a, self.constant("0.25", x[1])))
        if predicate:
            self.emit(f"stablehlo.select {predicate[0]}, {x[0]}, {y[0]} : {self.type(predicate)}, RESULT", x[1], x[2],
                      predicate[0], x[0], y[0])

    def op_predicates(self):
        """Ops with i1 results."""
        x = self.pick(element="i1")
        y = x and self.pick(lambda v: v[1] == x[1], "i1")
        if y:
            self.apply(self.rng.choice(["and", "or", "xor"]), x, y)
        elif x := self.pick():
            finite = self.emit(f"stablehlo.is_finite {x[0]} : ({self.type(x)}) -> RESULT", x[1], "i1", x[0])
            self.apply("not", finite)

    def op_integers(self):
        """Some ops in one integer type, on values made from an argument."""
        x = self.given(element="i32")
        element = self.rng.choice(INTEGERS)
        if element != "i32":
            x = self.emit(f"stablehlo.convert {x[0]} : ({self.type(x)}) -> RESULT", x[1], element, x[0])
        for _ in range(self.rng.randint(1, 3)):
            if self.rng.random() < 0.4:
                op = self.rng.choice(INTEGER_UNARY)
                if not (element.startswith("u") and op in ("abs", "sign", "negate")):
                    x = self.apply(op, x)
                continue
            y = self.constant(self.rng.randint(1, 6), x[1], element)
            x = self.apply(self.rng.choice(INTEGER_BINARY), x, y)
        if self.rng.random() < 0.5:
            # A one bit moves to another position, so that it counts.
            low = self.apply("and", x, self.constant(3, x[1], element))
            self.emit(f"stablehlo.convert {low[0]} : ({self.type(low)}) -> RESULT", x[1], self.element, low[0])

    def op_convert(self):
        """Converts to another float type and back."""
        x = self.pick()
        other = self.rng.choice([e for e in ("f64", "f32", "f16", "bf16") if e != self.element])
        if x:
            y = self.emit(f"stablehlo.convert {x[0]} : ({self.type(x)}) -> RESULT", x[1], other, x[0])
            y = self.apply("negate", y)
            self.emit(f"stablehlo.convert {y[0]} : ({self.type(y)}) -> RESULT", x[1], self.element, y[0])

    def op_bits(self):
        """The bits of arguments, which are the same in all ways to compute a program."""
        x = self.given()
        if not x:
            return
        if self.rng.random() < 0.5:
            self.emit(f"stablehlo.reduce_precision {x[0]}, format = e5m5 : RESULT", x[1], x[2], x[0])
            return
        wide = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}[self.element]
        narrow = {"i64": "i32", "i32": "i16", "i16": "i8"}[wide]
        same = self.rng.random() < 0.5
        shape = x[1] if same else (*x[1], 2)
        y = self.emit(f"stablehlo.bitcast_convert {x[0]} : ({self.type(x)}) -> RESULT", shape, wide if same else narrow, x[0])
        if not same and self.rng.random() < 0.5:
            # The two halves of a number on two devices.
            y = self.emit(f"st.constrain {y[0]} to {self.sharding(y[1]).removeprefix('#st.sharding')} : RESULT", y[1], y[2], y[0])
        back = self.apply("xor", y, self.constant(1, y[1], y[2]))
        self.emit(f"stablehlo.bitcast_convert {back[0]} : ({self.type(back)}) -> RESULT", x[1], x[2], back[0])

    def op_complex(self):
        if self.element not in WIDE:
            return
        x = self.pick()
        y = x and self.pick(lambda v: v[1] == x[1])
        if not y:
            return
        element = f"complex<{self.element}>"
        z = self.emit(f"stablehlo.complex {x[0]}, {y[0]} : RESULT", x[1], element, x[0], y[0])
        w = self.apply("chlo.conj", z) if self.rng.random() < 0.5 else self.apply("negate", z)
        z = self.apply(self.rng.choice(["add", "subtract"]), z, w)
        part = self.rng.choice(["real", "imag", "abs"])
        self.emit(f"stablehlo.{part} {z[0]} : ({self.type(z)}) -> RESULT", x[1], self.element, z[0])

    def op_mask(self):
        """A select by position, as in a causal mask."""
        x = self.pick(lambda v: len(v[1]) >= 2)
        if not x:
            return
        d, e = self.rng.sample(range(len(x[1])), 2)
        rows, columns = (self.emit(f"stablehlo.iota dim = {dim} : RESULT", x[1], "i32") for dim in (d, e))
        mask = self.compare("GE", rows, columns)
        zero = self.constant("0.0", x[1])
        self.emit(f"stablehlo.select {mask[0]}, {x[0]}, {zero[0]} : {self.type(mask)}, RESULT", x[1], x[2], mask[0], x[0])
