#include "graph/text/lexer.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lemma::text {
namespace {

// Words with a special meaning where a value or an operator is named.
constexpr absl::string_view kKeywords[] = {"return", "constant", "_"};

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

class Lexer {
 public:
  Lexer(absl::string_view text, absl::string_view file) : text_(text), file_(file) {}

  absl::StatusOr<std::vector<Token>> Run() {
    // Growing a vector moves all tokens. Most have a few characters; long texts are payloads.
    constexpr size_t kMostReserved = size_t{1} << 18;
    tokens_.reserve(std::min(text_.size() / 3, kMostReserved));
    while (SkipBlanks()) {
      Token token;
      token.position = position_;
      token.comment = position_.line == comment_end_ + 1 ? comment_ : "";
      comment_.clear();
      absl::Status status = Next(&token);
      if (!status.ok()) return status;
      token.end = position_;
      tokens_.push_back(std::move(token));
    }
    Token end;
    end.position = end.end = position_;
    tokens_.push_back(std::move(end));
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Take() {
    char c = text_[at_++];
    if (c == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
    return c;
  }

  // Returns false at the end of the text.
  bool SkipBlanks() {
    while (!AtEnd()) {
      if (Peek() == '#') {
        TakeComment();
      } else if (absl::ascii_isspace(Peek())) {
        Take();
      } else {
        return true;
      }
    }
    return false;
  }

  void TakeComment() {
    Take();
    if (Peek() == ' ') Take();
    int line = position_.line;
    size_t begin = at_;
    while (!AtEnd() && Peek() != '\n') Take();
    absl::string_view content =
        absl::StripTrailingAsciiWhitespace(text_.substr(begin, at_ - begin));
    if (comment_.empty() || line != comment_end_ + 1) {
      comment_ = std::string(content);
    } else {
      absl::StrAppend(&comment_, "\n", content);
    }
    comment_end_ = line;
  }

  absl::Status Next(Token* token) {
    char c = Peek();
    if (IsNameStart(c)) return TakeName(token);
    if (c == '%') return TakeGeneratedName(token);
    if (c == '"') return TakeQuoted(token);
    if (absl::ascii_isdigit(c)) return TakeNumber(token);
    token->kind = Token::Kind::kPunct;
    for (absl::string_view punct : {"...", "..", "=>", "<=", ">=", "!=", "(", ")", "{", "}", "[",
                                    "]",   ",",  ":",  "=",  "+",  "-",  "*", "/", "<", ">"}) {
      if (text_.substr(at_, punct.size()) == punct) {
        token->text = std::string(punct);
        for (size_t i = 0; i < punct.size(); ++i) Take();
        return absl::OkStatus();
      }
    }
    return ErrorAt(file_, position_,
                   absl::StrCat("unexpected character ",
                                absl::ascii_isprint(c)
                                    ? absl::StrCat("'", absl::string_view(&c, 1), "'")
                                    : absl::StrFormat("0x%02x", static_cast<unsigned char>(c)),
                                "; names with other characters are written in double quotes"));
  }

  // Dots join parts of a name, as in layer1.0.weight; "s.." is a name and two dots.
  absl::Status TakeName(Token* token) {
    size_t begin = at_;
    while (IsNamePart(Peek()) || (Peek() == '.' && IsNamePart(Peek(1)))) Take();
    token->kind = Token::Kind::kName;
    token->text = std::string(text_.substr(begin, at_ - begin));
    return absl::OkStatus();
  }

  absl::Status TakeGeneratedName(Token* token) {
    size_t begin = at_;
    Take();
    while (absl::ascii_isdigit(Peek())) Take();
    if (at_ - begin == 1) return ErrorAt(file_, token->position, "expected a number after %");
    token->kind = Token::Kind::kName;
    token->text = std::string(text_.substr(begin, at_ - begin));
    return absl::OkStatus();
  }

  absl::Status TakeQuoted(Token* token) {
    Take();
    token->kind = Token::Kind::kName;
    token->quoted = true;
    while (!AtEnd() && Peek() != '"' && Peek() != '\n') {
      char c = Take();
      if (c != '\\') {
        token->text += c;
        continue;
      }
      Position escape = position_;
      char e = AtEnd() ? '\0' : Take();
      if (e == '"' || e == '\\') {
        token->text += e;
      } else if (e == 'x' && absl::ascii_isxdigit(Peek()) && absl::ascii_isxdigit(Peek(1))) {
        const char digits[] = {Take(), Take(), '\0'};
        token->text += static_cast<char>(std::strtol(digits, nullptr, 16));
      } else {
        return ErrorAt(file_, escape, "after \\ in quotes comes \\, \" or x and two hex digits");
      }
    }
    if (Peek() != '"' || AtEnd()) {
      return ErrorAt(file_, token->position, "the closing quote is missing on this line");
    }
    Take();
    return absl::OkStatus();
  }

  absl::Status TakeNumber(Token* token) {
    size_t begin = at_;
    while (absl::ascii_isdigit(Peek())) Take();
    bool real = false;
    if (Peek() == '.' && absl::ascii_isdigit(Peek(1))) {
      real = true;
      Take();
      while (absl::ascii_isdigit(Peek())) Take();
    }
    size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if ((Peek() == 'e' || Peek() == 'E') && absl::ascii_isdigit(Peek(1 + sign))) {
      real = true;
      for (size_t i = 0; i < 1 + sign; ++i) Take();
      while (absl::ascii_isdigit(Peek())) Take();
    }
    std::string digits(text_.substr(begin, at_ - begin));
    if (real) {
      token->kind = Token::Kind::kFloat;
      token->real = std::strtod(digits.c_str(), nullptr);
      return absl::OkStatus();
    }
    token->kind = Token::Kind::kInt;
    if (!absl::SimpleAtoi(digits, &token->integer)) {
      return ErrorAt(file_, token->position, absl::StrCat(digits, " does not fit in 64 bits"));
    }
    return absl::OkStatus();
  }

  absl::string_view text_, file_;
  size_t at_ = 0;
  Position position_;
  std::string comment_;
  int comment_end_ = -1;
  std::vector<Token> tokens_;
};

}  // namespace

absl::Status ErrorAt(absl::string_view file, Position position, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":", position.line, ":", position.column, ": ", message));
}

absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text, absl::string_view file) {
  return Lexer(text, file).Run();
}

std::string Describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kName:
      return token.quoted ? Quote(token.text) : absl::StrCat("'", token.text, "'");
    case Token::Kind::kInt:
      return absl::StrCat("the number ", token.integer);
    case Token::Kind::kFloat:
      return absl::StrCat("the number ", token.real);
    case Token::Kind::kPunct:
      return absl::StrCat("'", token.text, "'");
    case Token::Kind::kEnd:
      return "the end of the text";
  }
  return "?";
}

std::string Quote(absl::string_view content) {
  std::string quoted = "\"";
  for (unsigned char c : content) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7f) {
      absl::StrAppendFormat(&quoted, "\\x%02x", c);
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + "\"";
}

std::string QuoteName(absl::string_view name) {
  bool plain = !name.empty() && IsNameStart(name[0]);
  for (size_t i = 0; plain && i < name.size(); ++i) {
    plain =
        IsNamePart(name[i]) || (name[i] == '.' && i + 1 < name.size() && IsNamePart(name[i + 1]));
  }
  for (absl::string_view keyword : kKeywords) plain = plain && name != keyword;
  return plain ? std::string(name) : Quote(name);
}

}  // namespace lemma::text
