// The cuda dialect: ops of a task's function other than launches of generated kernels.

#ifndef CUDA_DIALECT_TD
#define CUDA_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::mlir::cuda";
  let summary = "Work of a task that a vendor's library computes.";
  let description = [{
    Generated kernels are `gpu.func`s. Work for cuBLASLt, and work that cuDNN may do, is an op of the task's
    function.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerCudaAttributes();
    // Parses earlier spellings of ops.
    std::optional<ParseOpHook> getParseOperationHook(StringRef opName) const override;
  }];
}

def Cuda_MatrixAttr : AttrDef<Cuda_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "layout of matrices in a buffer";
  let description = [{
    Strides in elements: from one row to the next (`row`), from one column to the next (`column`), and from
    one matrix to the next along each dimension of the batch. `#cuda.matrix<64, 1 batch[4096]>`: dense
    row-major matrices of 64 rows and 64 columns.
  }];
  let parameters = (ins "int64_t":$row, "int64_t":$column, OptionalArrayRefParameter<"int64_t">:$batch);
  let assemblyFormat = "`<` $row `,` $column (`batch` `[` $batch^ `]`)? `>`";
}

// Activations that cuBLASLt applies to a product before it writes it; it names them GELU and DGELU.
def Cuda_Activation : I32EnumAttr<"Activation", "function of a product", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluGradient", 2, "gelu_gradient">]> {
  let cppNamespace = "::mlir::cuda";
  let genSpecializedAttr = 0;
}
def Cuda_ActivationAttr : EnumAttr<Cuda_Dialect, Cuda_Activation, "activation"> {
  let assemblyFormat = "`<` $value `>`";
}

// Functions with an approximate GPU instruction.
def Cuda_Approximation : I32EnumAttr<"Approximation", "function that a GPU approximates", [
    I32EnumAttrCase<"Exp2", 0, "exp2">, I32EnumAttrCase<"Reciprocal", 1, "reciprocal">]> {
  let cppNamespace = "::mlir::cuda";
  let genSpecializedAttr = 0;
}
def Cuda_ApproximationAttr : EnumAttr<Cuda_Dialect, Cuda_Approximation, "approximation"> {
  let assemblyFormat = "$value";
}

// The operand of a product that cuBLASLt sums along the contracted dimension.
def Cuda_Operand : I32EnumAttr<"Operand", "operand of a product", [
    I32EnumAttrCase<"A", 0, "a">, I32EnumAttrCase<"B", 1, "b">]> {
  let cppNamespace = "::mlir::cuda";
  let genSpecializedAttr = 0;
}
def Cuda_OperandAttr : EnumAttr<Cuda_Dialect, Cuda_Operand, "operand"> {
  let assemblyFormat = "$value";
}

#endif // CUDA_DIALECT_TD
