//===- StableHLODialect.td - The stablehlo dialect ---------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_TD
#define ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_TD

include "mlir/IR/OpBase.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::mlir::stablehlo";
  let summary = "Tensor programs as OpenXLA's StableHLO specifies them";
  let description = [{
    Op names, attributes and the textual form are those of OpenXLA's StableHLO,
    so that text printed by JAX and torch-xla parses as it is. Shapes are
    static: every op rejects a dynamic dimension.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Parts of initialize().
    void registerAttributes();
    void addDialectInterfaces();

    /// Unsupported ops and types of StableHLO are refused by name,
    /// with the reason.
    ::std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
  }];
}

#endif // ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_TD
