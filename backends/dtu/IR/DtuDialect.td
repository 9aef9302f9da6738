// The dtu dialect: the instruction set of docs/dtu-isa.md as IR.

#ifndef DTU_DIALECT_TD
#define DTU_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Dtu_Dialect : Dialect {
  let name = "dtu";
  let cppNamespace = "::mlir::dtu";
  let summary = "Instruction streams of a DTU cluster, one to one with the instruction set.";
  let description = [{
    A `dtu.program` is what one task runs on a cluster. Its streams hold one op
    per instruction; the attributes of an op are the fields of the instruction,
    named as in the assembler and left out where they have their default.
    Enumerations are strings with the assembler's names.

    On an `st.program`:

    - `dtu.rank_table`: the rank tables, rank-major;
    - `dtu.table_size`: entries of one rank;
    - `dtu.constants`: dictionaries of `offset` and dense `data`, arena contents before the first step.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerDtuAttributes();";
}

class Dtu_Attr<string name, string attrMnemonic> : AttrDef<Dtu_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Dtu_AffineAttr : Dtu_Attr<"Affine", "affine"> {
  let summary = "constant plus registers times coefficients";
  let description = "`#dtu.affine<64 + 4 * r5 + -8 * r6>`.";
  let parameters = (ins "int64_t":$constant,
                        ArrayRefParameter<"int64_t", "register, coefficient, register, ...">:$terms);
}

def Dtu_AddressAttr : Dtu_Attr<"Address", "address"> {
  let summary = "a byte address in one of the memories";
  let description = "`#dtu.address<L1[4096 + 1024 * r4] core 1 * r1>`.";
  let parameters = (ins StringRefParameter<"L1, L2, L3 or host">:$space,
                        "::mlir::dtu::AffineAttr":$offset, "::mlir::dtu::AffineAttr":$core);
}

def Dtu_ViewAttr : Dtu_Attr<"View", "view"> {
  let summary = "a strided view: an address and the bytes between elements of each dimension";
  let description = "`#dtu.view<L3[0] strides [4096, 4]>`.";
  let parameters = (ins "::mlir::dtu::AddressAttr":$address, ArrayRefParameter<"int64_t">:$strides);
}

def Dtu_ExtentAttr : Dtu_Attr<"Extent", "extent"> {
  let summary = "size of one dimension of a tile, at most the rest up to a limit if it has one";
  let description = "`#dtu.extent<128>`, or the smaller of 128 and a remainder, `#dtu.extent<128, 384 - r5>`.";
  let parameters = (ins "int64_t":$tile, "int64_t":$reg, "int64_t":$limit);
}

def Dtu_OperandAttr : Dtu_Attr<"Operand", "operand"> {
  let summary = "a tile operand of the vector engine; strides in elements";
  let description = "`#dtu.operand<f32 L1[0] rows 64 cols 1>`.";
  let parameters = (ins StringRefParameter<"element type">:$type, "::mlir::dtu::AddressAttr":$address,
                        "int64_t":$row_stride, "int64_t":$col_stride);
}

#endif // DTU_DIALECT_TD
