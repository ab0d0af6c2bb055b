// Splits the text form (graph/text/text.h) into tokens, and makes errors that point at them.
#ifndef LEMMA_GRAPH_TEXT_LEXER_H_
#define LEMMA_GRAPH_TEXT_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma::text {

// Both are counted from 1; columns count bytes.
struct Position {
  int line = 1;
  int column = 1;
};

struct Token {
  enum class Kind {
    kName,   // text: an identifier, "%12", or a quoted name's content
    kInt,    // integer: the digits' value
    kFloat,  // real
    kPunct,  // text: one of ( ) { } [ ] , : = + - * < > <= >= != => .. ...
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool quoted = false;  // a kName in quotes: never a keyword; may also be a string
  uint64_t integer = 0;
  double real = 0;
  Position position, end;  // of the first character; just past the last one
  // The comment lines directly above the token, without their marks. Empty after a blank line.
  std::string comment;
};

// "file:line:column: message", InvalidArgument.
absl::Status ErrorAt(absl::string_view file, Position position, absl::string_view message);

// The last token is kEnd. A comment runs from # to the end of the line.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text, absl::string_view file);

// The token in an error message: "')'", "the number 3", "the end of the text".
std::string Describe(const Token& token);

// A name as the text form writes it: quoted unless it is an identifier other than return, constant
// and _.
std::string QuoteName(absl::string_view name);
std::string Quote(absl::string_view content);

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_LEXER_H_
