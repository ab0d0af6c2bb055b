// Reads tokens one after the other: the base of the parsers of the text forms.
#ifndef LEMMA_GRAPH_TEXT_TOKEN_READER_H_
#define LEMMA_GRAPH_TEXT_TOKEN_READER_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "graph/text/lexer.h"

namespace lemma::text {

// The base class of a parser. Errors have the form of ErrorAt (lexer.h), at the position of the
// next token.
class TokenReader {
 public:
  // `tokens` ends with kEnd. `file` is the name of the text in errors; it must outlive the reader.
  TokenReader(std::vector<Token> tokens, absl::string_view file)
      : tokens_(std::move(tokens)), file_(file) {}

 protected:
  absl::string_view file() const { return file_; }
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  // Returns the next token and moves past it, but never past kEnd.
  const Token& Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  // The token that was taken last; only after a Take of a token other than kEnd.
  const Token& Last() const { return tokens_[at_ - 1]; }
  bool AtPunct(absl::string_view text) const {
    return Peek().kind == Token::Kind::kPunct && Peek().text == text;
  }
  // Whether the token that Peek(ahead) returns is the name `text` without quotes.
  bool AtWord(absl::string_view text, size_t ahead = 0) const {
    const Token& t = Peek(ahead);
    return t.kind == Token::Kind::kName && !t.quoted && t.text == text;
  }
  bool TryPunct(absl::string_view text) {
    if (!AtPunct(text)) return false;
    Take();
    return true;
  }
  bool TryWord(absl::string_view text) {
    if (!AtWord(text)) return false;
    Take();
    return true;
  }
  // The error "expected WHAT, found …" at the next token.
  absl::Status Expected(absl::string_view what) const {
    return ErrorAt(file_, Peek().position,
                   absl::StrCat("expected ", what, ", found ", Describe(Peek())));
  }
  // Takes the token `text`, or returns the error "expected 'TEXT'WHY, found …". `why` is empty or
  // begins with a space, as in " and the sizes".
  absl::Status ExpectPunct(absl::string_view text, absl::string_view why = "") {
    if (TryPunct(text)) return absl::OkStatus();
    return Expected(absl::StrCat("'", text, "'", why));
  }
  // Takes a text in double quotes, and stores it in *string. The error is Expected(what).
  absl::Status ParseString(std::string* string, absl::string_view what) {
    if (Peek().kind != Token::Kind::kName || !Peek().quoted) return Expected(what);
    *string = Take().text;
    return absl::OkStatus();
  }
  // Calls `item` for each item of a list up to `close`; the opening bracket has been consumed.
  template <class F>
  absl::Status ParseList(absl::string_view close, F item) {
    if (TryPunct(close)) return absl::OkStatus();
    while (true) {
      LEMMA_RETURN_IF_ERROR(item());
      if (TryPunct(close)) return absl::OkStatus();
      if (!TryPunct(",")) return Expected(absl::StrCat("',' or '", close, "'"));
    }
  }

  // Return(mark) goes back to the place of Mark(), to try another way of reading.
  size_t Mark() const { return at_; }
  void Return(size_t mark) { at_ = mark; }

 private:
  std::vector<Token> tokens_;
  absl::string_view file_;
  size_t at_ = 0;
};

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_TOKEN_READER_H_
