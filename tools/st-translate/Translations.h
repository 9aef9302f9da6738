// The translations of st-translate, each registered under its flag.
#ifndef ST_TOOLS_ST_TRANSLATE_TRANSLATIONS_H
#define ST_TOOLS_ST_TRANSLATE_TRANSLATIONS_H

namespace mlir::st {

/// `--assembly-to-program`: the assembler; `--program-to-assembly`: the disassembler.
void registerAssembly();

/// `--executable-to-text`: prints the contents of a training binary.
void registerExecutableToCode();
void registerExecutableToText();

/// `--import-hf-config`: builds the forward loss of a Hugging Face config.json.
void registerImportHfConfig();

/// `--import-hlo-proto`: reads an HloModuleProto, binary or text; `--import-hlo-text`: reads HLO.
void registerImportHlo();

/// `--import-vhlo`: reads a program as JAX serialises it.
void registerImportVhlo();

/// `--interpret`: runs a program with the reference interpreter.
void registerInterpret();

/// `--kernels-to-ptx`: kernels of planned programs for NVIDIA GPUs.
void registerKernelsToPtx();

/// `--timeline`: a table and a chart of scheduled programs.
void registerTimeline();

/// `--text-to-token-ids`: WordPiece.
void registerTextToTokenIds();

} // namespace mlir::st

#endif // ST_TOOLS_ST_TRANSLATE_TRANSLATIONS_H
