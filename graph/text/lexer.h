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

// A place in a text. Both numbers are counted from 1; columns count bytes.
struct Position {
  int line = 1;
  int column = 1;
};

struct Token {
  enum class Kind {
    kName,   // text: an identifier (with dots), "%12", or a quoted name, unescaped
    kInt,    // integer: its value; a sign is a token of its own
    kFloat,  // real: its value, without a sign
    kPunct,  // text: one of ( ) { } [ ] , : = + - * / < > <= >= != => .. ...
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool quoted = false;  // a kName in quotes: never a keyword; may also be a string
  uint64_t integer = 0;
  double real = 0;
  Position position, end;  // of the token's first character; just past its last character
  // The comment lines directly above the token's line, without "#". Set only for the first token
  // after the comment, and only if no blank line lies between.
  std::string comment;
};

// An InvalidArgument status: "file:line:column: message".
absl::Status ErrorAt(absl::string_view file, Position position, absl::string_view message);

// The tokens of `text`; the last token is kEnd. A comment runs from # to the end of the line.
// Errors have the form of ErrorAt, where `file` is the name of the text.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text, absl::string_view file);

// The token as error messages call it: "')'", "the number 3", "the end of the text".
std::string Describe(const Token& token);

// `name` as the text form writes it: without quotes if it is an identifier (with dots) other than
// "return", "constant" and "_"; otherwise in quotes.
std::string QuoteName(absl::string_view name);
// Any bytes, in double quotes: " and \ with a \ before them, bytes outside printable ASCII as \xNN.
std::string Quote(absl::string_view content);

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_LEXER_H_
