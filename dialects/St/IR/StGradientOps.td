// Custom gradients; `differentiate` removes them.

#ifndef ST_GRADIENT_OPS_TD
#define ST_GRADIENT_OPS_TD

include "dialects/St/IR/StDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def St_CustomGradientOp
    : Op<St_Dialect, "custom_gradient", [IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "a computation with a user-defined gradient";
  let description = [{
    The forward region gets the inputs. It returns the results, followed by any number of residuals:
    the values that the backward region needs. The backward region gets the residuals and then a
    cotangent for each float or complex result, in order, and returns one for each float or complex
    input. Both regions end with `stablehlo.return` and read no values from outside.

    `differentiate` replaces the op by the forward region, and inserts the backward region among the
    gradients. In a program that is not differentiated, `inline-custom-gradients` replaces the op by the
    forward region.
    Later phases never see the op. A cotangent of an unused result is zero.

    ```mlir
    // log(1 + exp(x)), whose derivative is 1 - 1 / (1 + exp(x)) even if exp overflows.
    %y = st.custom_gradient(%x) forward {
    ^bb0(%a: tensor<4xf32>):
      %e = stablehlo.exponential %a : tensor<4xf32>
      %l = stablehlo.log_plus_one %e : tensor<4xf32>
      stablehlo.return %l, %a : tensor<4xf32>, tensor<4xf32>
    } backward {
    ^bb0(%a: tensor<4xf32>, %ct: tensor<4xf32>):
      %s = stablehlo.logistic %a : tensor<4xf32>
      %d = stablehlo.multiply %ct, %s : tensor<4xf32>
      stablehlo.return %d : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<StaticShapeTensorOf<[AnyType]>>:$inputs);
  let results = (outs Variadic<StaticShapeTensorOf<[AnyType]>>:$results);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$backward);
  let assemblyFormat = [{
    `(` $inputs `)` `forward` $forward `backward` $backward attr-dict-with-keyword `:`
    functional-type($inputs, $results)
  }];
  let hasRegionVerifier = 1;
}

#endif // ST_GRADIENT_OPS_TD
