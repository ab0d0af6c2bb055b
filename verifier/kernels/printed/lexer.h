// Splits the text of a printed CUDA kernel into tokens.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_LEXER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_LEXER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma::kernels {

struct Token {
  enum class Kind { kName, kNumber, kString, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // as written
  int line = 0;      // from 1
};

// The tokens of `text`; the last one is kEnd. Leaves out // comments, and the lines #pragma unroll
// and #pragma unroll 4. InvalidArgument, with the line, for any other preprocessor directive, for a
// character that begins no token, and for a comment that continues on the next line.
absl::StatusOr<std::vector<Token>> TokensOf(absl::string_view text);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_LEXER_H_
