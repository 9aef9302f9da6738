// Printable characters that represent bytes in vocabularies of byte-level models.
#ifndef ST_RUNTIME_TOKENIZERS_BYTELEVEL_H
#define ST_RUNTIME_TOKENIZERS_BYTELEVEL_H

#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

namespace st {

/// Appends bytes [begin, end) of `text` as characters: printable ones of Latin-1 represent
/// themselves, the others are numbered in order from U+0100 on (Radford et al. 2019).
void appendByteLevel(const AlignedText &text, size_t begin, size_t end, AlignedText &out);

/// The same for a piece outside of the text, with one source.
void appendByteLevel(absl::string_view piece, SourceRange from, AlignedText &out);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_BYTELEVEL_H
