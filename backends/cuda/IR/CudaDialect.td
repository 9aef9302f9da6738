// The cuda dialect: what a task does that no generated kernel does.

#ifndef CUDA_DIALECT_TD
#define CUDA_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::mlir::cuda";
  let summary = "Work of a task that a vendor's library does.";
  let description = [{
    Kernels that we generate are `gpu.func`s. What cuBLASLt computes is an op of the task's function, and so
    is what cuDNN may compute.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerCudaAttributes();";
}

def Cuda_MatrixAttr : AttrDef<Cuda_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "how matrices lie in a buffer";
  let description = [{
    Elements between neighbours of a column (`row`: from one row to the next), of a row (`column`), and from one matrix to the
    next along each dimension of the batch. `#cuda.matrix<64, 1 batch[4096]>`: dense matrices of 64
    columns and as many rows, row by row.
  }];
  let parameters = (ins "int64_t":$row, "int64_t":$column, OptionalArrayRefParameter<"int64_t">:$batch);
  let assemblyFormat = "`<` $row `,` $column (`batch` `[` $batch^ `]`)? `>`";
}

#endif // CUDA_DIALECT_TD
