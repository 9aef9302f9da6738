// Functions that are recognised by their values.
#include "backends/cuda/codegen/analysis/ScalarFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mlir::cuda {
namespace {

/// Ops of %x and %g on 4 x 8 elements; the function is that of the last one.
class ScalarFunctions : public testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string text;
  int count = 0;

  void SetUp() override { context.loadDialect<func::FuncDialect, stablehlo::StableHLODialect>(); }
  std::string name() { return "%" + std::to_string(count++); }
  std::string number(const std::string &value) {
    std::string result = name();
    text += result + " = stablehlo.constant dense<" + value + "> : tensor<4x8xf32>\n";
    return result;
  }
  std::string op(const std::string &op, const std::string &a, const std::string &b = "") {
    std::string result = name();
    text += result + " = stablehlo." + op + " " + a + (b.empty() ? "" : ", " + b) +
            " : tensor<4x8xf32>\n";
    return result;
  }
  std::string line(const std::string &ops) {
    std::string result = name();
    text += result + " = stablehlo." + ops + "\n";
    return result;
  }
  /// slope * (x + cubic * x^3)
  std::string inner(const std::string &x, const std::string &slope = "0.797884583") {
    std::string square = op("multiply", x, x);
    std::string cubic = op("multiply", square, number("0.044715"));
    return op("multiply", op("multiply", op("add", cubic, number("1.0")), x), number(slope));
  }

  enum Kind { None, IsGelu, IsGradient };
  Kind kind() {
    module = parseSourceString<ModuleOp>("func.func @f(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>, "
                                         "%s: tensor<8x4xf32>, %v: tensor<8xf32>) {\n" +
                                             text + "return\n}",
                                         &context);
    if (!module) {
      ADD_FAILURE() << text;
      return None;
    }
    Block &body = (*module->getOps<func::FuncOp>().begin()).getBody().front();
    Value last = body.getTerminator()->getPrevNode()->getResult(0);
    ScalarFunction function([](Value value) { return value; });
    if (function.isGelu(last, body.getArgument(0)))
      return IsGelu;
    return function.isGeluGradient(last, body.getArgument(1), body.getArgument(0)) ? IsGradient
                                                                                   : None;
  }
};

TEST_F(ScalarFunctions, DerivativeIsThatOfTheFunction) {
  for (double x = -6; x < 6; x += 0.07)
    EXPECT_NEAR(geluDerivative(x), (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5, 1e-8) << x;
}

TEST_F(ScalarFunctions, GeluByTanh) {
  std::string tanh = op("tanh", inner("%x"));
  op("multiply", op("multiply", op("add", tanh, number("1.0")), "%x"), number("0.5"));
  EXPECT_EQ(kind(), IsGelu);
}

TEST_F(ScalarFunctions, GeluByLogistic) {
  op("multiply", "%x", op("logistic", inner("%x", "1.59576917")));
  EXPECT_EQ(kind(), IsGelu);
}

TEST_F(ScalarFunctions, GeluByExponential) {
  std::string grown = op("exponential", op("negate", inner("%x", "1.59576917")));
  op("divide", "%x", op("add", number("1.0"), grown));
  EXPECT_EQ(kind(), IsGelu);
}

TEST_F(ScalarFunctions, GeluOfNumbersInAnotherType) {
  std::string narrow = line("convert %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>");
  std::string x = line("convert " + narrow + " : (tensor<4x8xbf16>) -> tensor<4x8xf32>");
  op("multiply", x, op("logistic", inner("%x", "1.59576917")));
  EXPECT_EQ(kind(), IsGelu);
}

TEST_F(ScalarFunctions, NumbersOfRankZero) {
  std::string scalar = line("constant dense<1.59576917> : tensor<f32>");
  std::string slope =
      line("broadcast_in_dim " + scalar + ", dims = [] : (tensor<f32>) -> tensor<4x8xf32>");
  op("multiply", "%x", op("logistic", op("multiply", inner("%x", "1.0"), slope)));
  EXPECT_EQ(kind(), IsGelu);
}

TEST_F(ScalarFunctions, OthersAreNot) {
  op("multiply", "%x", op("logistic", op("multiply", "%x", number("1.702"))));
  EXPECT_EQ(kind(), None);
  text.clear();
  op("multiply", "%x", op("logistic", inner("%x", "1.597")));
  EXPECT_EQ(kind(), None);
  text.clear();
  op("multiply", "%x", op("logistic", inner("%g", "1.59576917")));
  EXPECT_EQ(kind(), None);
  text.clear();
  op("add", "%x", number("0.0"));
  EXPECT_EQ(kind(), None);
  text.clear();
  number("0.0");
  EXPECT_EQ(kind(), None);
}

TEST_F(ScalarFunctions, FunctionsThatMoveElementsDoNotMatch) {
  std::string transposed =
      line("transpose %s, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>");
  op("multiply", transposed, op("logistic", inner("%x", "1.59576917")));
  EXPECT_EQ(kind(), None);
  text.clear();
  std::string spread = line("broadcast_in_dim %v, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>");
  op("add", op("multiply", "%x", op("logistic", inner("%x", "1.59576917"))), spread);
  EXPECT_EQ(kind(), None);
}

/// GELU's derivative at %x: (1 + t) / 2 + x / 2 * (1 - t^2) * slope * (1 + 3 * cubic * x^2).
class GeluDerivatives : public ScalarFunctions {
protected:
  std::string derivative() {
    std::string t = op("tanh", inner("%x")), one = number("1.0"), half = number("0.5");
    std::string slope =
        op("add", op("multiply", op("multiply", "%x", "%x"), number("0.134145")), one);
    std::string steep = op("subtract", one, op("multiply", t, t));
    std::string right =
        op("multiply", op("multiply", steep, slope), op("multiply", "%x", number("0.398942291")));
    return op("add", op("multiply", op("add", t, one), half), right);
  }
};

TEST_F(GeluDerivatives, TimesAGradient) {
  op("multiply", "%g", derivative());
  EXPECT_EQ(kind(), IsGradient);
}

TEST_F(GeluDerivatives, TimesSomethingElse) {
  op("multiply", "%x", derivative());
  EXPECT_EQ(kind(), None);
  text.clear();
  op("multiply", op("abs", "%g"), derivative());
  EXPECT_EQ(kind(), None);
  text.clear();
  op("multiply", op("add", "%g", number("0.01")), derivative());
  EXPECT_EQ(kind(), None);
  text.clear();
  derivative();
  EXPECT_EQ(kind(), None);
}

/// The generated GELU and its gradient are recognised.
TEST_F(ScalarFunctions, WrittenFunctionsAreRecognised) {
  for (StringRef type : {"f32", "bf16", "f16"}) {
    std::string tensor = "tensor<4x8x" + type.str() + ">";
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: " + tensor + ", %g: " + tensor + ") { return }", &context);
    Block &body = (*module->getOps<func::FuncOp>().begin()).getBody().front();
    OpBuilder builder(body.getTerminator());
    Value x = body.getArgument(0), gradient = body.getArgument(1);
    ScalarFunction function([](Value value) { return value; });
    EXPECT_TRUE(function.isGelu(emitGelu(builder, module->getLoc(), x), x));
    Value back = emitGeluGradient(builder, module->getLoc(), gradient, x);
    EXPECT_TRUE(function.isGeluGradient(back, gradient, x));
    EXPECT_EQ(back.getType(), x.getType());
  }
}

} // namespace
} // namespace mlir::cuda
