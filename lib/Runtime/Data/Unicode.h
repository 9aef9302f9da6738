// What the BERT tokenizer needs to know of Unicode.
#ifndef ST_RUNTIME_DATA_UNICODE_H
#define ST_RUNTIME_DATA_UNICODE_H

#include <string>

namespace st {

bool isUnicodeSpace(char32_t code);       ///< categories Z, tab, line feed, carriage return
bool isUnicodeControl(char32_t code);     ///< categories Cc, Cf and Co, without those three
bool isUnicodePunctuation(char32_t code); ///< category P and every ASCII symbol
bool isCjkIdeograph(char32_t code);

/// Appends `code` lowercased and without accents: its canonical decomposition
/// less nonspacing marks, so possibly nothing.
void appendFolded(char32_t code, std::u32string &out);

} // namespace st

#endif // ST_RUNTIME_DATA_UNICODE_H
