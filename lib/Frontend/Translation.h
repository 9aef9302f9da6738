//===- Translation.h - The front end as a flag of st-translate --*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_TRANSLATION_H
#define ST_LIB_FRONTEND_TRANSLATION_H

namespace mlir::st {

/// Registers `--import-hf-config`, with `--task`, `--batch` and `--seq`, for a
/// tool made with mlirTranslateMain. The input is a config.json.
void registerImportHfConfig();

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_TRANSLATION_H
