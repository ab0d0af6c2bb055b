#include "verifier/kernels/printed/lexer.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma::kernels {
namespace {

constexpr absl::string_view kSymbols[] = {
    "<<=", ">>=", "&&", "||", "==", "!=", "<=", ">=", "++", "--", "+=",
    "-=",  "*=",  "/=", "%=", "^=", "|=", "&=", "<<", ">>", "::", "->"};
constexpr absl::string_view kSingle = "+-*/%<>=!&|^~?:;,.(){}[]";

bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

size_t EndOfNumber(absl::string_view text, size_t at) {
  const bool hexadecimal = absl::StartsWith(text.substr(at), "0x");
  size_t end = at;
  while (end < text.size() && (IsNamePart(text[end]) || text[end] == '.')) {
    const bool exponent = !hexadecimal && (text[end] == 'e' || text[end] == 'E');
    ++end;
    if (exponent && end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  }
  return end;
}

}  // namespace

absl::StatusOr<std::vector<Token>> TokensOf(absl::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (absl::ascii_isspace(c)) {
      ++at;
      continue;
    }
    const absl::string_view rest = text.substr(at);
    const size_t line_end = std::min(rest.find('\n'), rest.size());
    if (absl::StartsWith(rest, "//") && absl::EndsWith(rest.substr(0, line_end), "\\")) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line, ": a comment of two lines"));
    }
    const absl::string_view line_text = rest.substr(0, line_end);
    if (absl::StartsWith(rest, "//") || line_text == "#pragma unroll" ||
        line_text == "#pragma unroll 4") {
      at += line_end;
      continue;
    }
    Token token;
    token.line = line;
    size_t length = 1;
    if (absl::ascii_isdigit(c)) {
      token.kind = Token::Kind::kNumber;
      length = EndOfNumber(text, at) - at;
    } else if (IsNamePart(c)) {
      token.kind = Token::Kind::kName;
      while (length < rest.size() && IsNamePart(rest[length])) ++length;
    } else if (c == '"' && rest.find('"', 1) < line_end) {
      token.kind = Token::Kind::kString;
      length = rest.find('"', 1) + 1;
    } else {
      token.kind = Token::Kind::kSymbol;
      const auto* symbol = absl::c_find_if(
          kSymbols, [&](absl::string_view symbol) { return absl::StartsWith(rest, symbol); });
      if (symbol != std::end(kSymbols)) {
        length = symbol->size();
      } else if (kSingle.find(c) == absl::string_view::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line, ": cannot read \"", rest.substr(0, line_end), "\""));
      }
    }
    token.text = std::string(rest.substr(0, length));
    tokens.push_back(std::move(token));
    at += length;
  }
  tokens.push_back({Token::Kind::kEnd, "", line});
  return tokens;
}

}  // namespace lemma::kernels
