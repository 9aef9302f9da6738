// Unicode properties for tokenizers, by utf8proc. Where Hugging Face's tokenizers use another
// version of Unicode, results follow theirs.
#ifndef ST_RUNTIME_TOKENIZERS_UNICODE_H
#define ST_RUNTIME_TOKENIZERS_UNICODE_H

#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

#include <string>

namespace st {

bool isWhiteSpace(char32_t code);     ///< the property White_Space
bool isControl(char32_t code);        ///< categories Cc, Cf and Co, without tab and line ends
bool isPunctuation(char32_t code);    ///< categories P and every ASCII symbol
bool isLetter(char32_t code);         ///< categories L
bool isNumber(char32_t code);         ///< categories Nd, Nl and No
bool isNonspacingMark(char32_t code); ///< category Mn
bool isMark(char32_t code);           ///< categories Mn, Mc and Me
bool isCjkIdeograph(char32_t code);

/// Contents of PCRE2 character classes: letters (`\p{L}` in patterns of tokenizers), numbers
/// (`\p{N}`), and word characters (Unicode Technical Standard 18, annex C).
std::string classOfLetters();
std::string classOfNumbers();
std::string classOfWordChars();

/// Appends `code` in lower case, independent of its context.
void appendLowercase(char32_t code, std::u32string &out);

bool isAscii(absl::string_view text);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

/// Normalizes a text (Unicode Standard Annex 15). The source of a composed character spans from its
/// first part to its last.
AlignedText normalize(const AlignedText &text, NormalForm form);

/// Number of bytes of the extended grapheme cluster at `begin` (Unicode Standard Annex 29).
size_t graphemeLength(absl::string_view text, size_t begin);

/// Replaces invalid UTF-8 by U+FFFD: one for each longest sequence that begins a character, as the
/// Unicode standard recommends (section 3.9) and Python's `errors="replace"` does.
AlignedText replaceInvalid(absl::string_view bytes);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_UNICODE_H
