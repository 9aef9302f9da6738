// The tokenizer that a program was compiled with.
#ifndef ST_RUNTIME_TOKENIZERS_PROGRAMTOKENIZER_H
#define ST_RUNTIME_TOKENIZERS_PROGRAMTOKENIZER_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Tokenizers/TokenizerFiles.h"

namespace st {

/// The tokenizer's files of the model folder.
TokenizerFiles tokenizerFilesOf(const proto::ModelInfo &model);

/// Returns an error if a folder's tokenizer files differ from the program's in a piece of
/// vocab.txt, a merge or a stage of tokenizer.json. With `needsAll`, a missing file is an error
/// too.
absl::Status checkTokenizer(const std::string &folder, const proto::Executable &program,
                            bool needsAll);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_PROGRAMTOKENIZER_H
