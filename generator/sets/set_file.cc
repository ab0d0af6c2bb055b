#include "generator/sets/set_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/text/source_text.h"
#include "graph/text/token_reader.h"

namespace lemma::generator {
namespace {

using text::ErrorAt;
using text::Position;
using text::Token;

class Parser : public text::TokenReader {
 public:
  Parser(std::vector<Token> tokens, absl::string_view text, absl::string_view file)
      : TokenReader(std::move(tokens), file), source_(text) {}

  absl::StatusOr<TableSetText> Run() {
    TableSetText set;
    std::set<std::string> names;
    while (Peek().kind != Token::Kind::kEnd) {
      if (TryWord("input")) {
        set.inputs.emplace_back();
        const Position position = Peek().position;
        LEMMA_RETURN_IF_ERROR(ParseInput(&set.inputs.back()));
        if (!names.insert(set.inputs.back().name).second) {
          return ErrorAt(file(), position, "another input has this name");
        }
      } else {
        set.variants.emplace_back();
        const Position position = Peek().position;
        LEMMA_RETURN_IF_ERROR(ParseVariant(&set.variants.back()));
        if (!names.insert("variant " + set.variants.back().name).second) {
          return ErrorAt(file(), position, "another variant has this name");
        }
      }
    }
    if (set.inputs.empty() || set.variants.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file(), ": a set has at least one input and one variant"));
    }
    return set;
  }

 private:
  absl::Status ParseName(std::string* name, absl::string_view what) {
    if (Peek().kind != Token::Kind::kName) return Expected(what);
    *name = Take().text;
    return absl::OkStatus();
  }

  absl::Status ParseInput(InputGroup* input) {
    LEMMA_RETURN_IF_ERROR(ParseName(&input->name, "the input's name"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct(":", " and the input's shape"));
    if (Peek().kind == Token::Kind::kInt) {
      if (Peek().integer < 1 || Peek().integer > 8) return Expected("a number of inputs, 1 to 8");
      input->count = static_cast<int>(Take().integer);
      if (!TryWord("of")) return Expected("'of' and the shape");
    }
    LEMMA_RETURN_IF_ERROR(ParseShape(&input->dims));
    while (TryPunct(",")) {
      input->more.emplace_back();
      LEMMA_RETURN_IF_ERROR(ParseShape(&input->more.back()));
    }
    return absl::OkStatus();
  }

  absl::Status ParseShape(Shape* shape) {
    LEMMA_RETURN_IF_ERROR(ExpectPunct("[", " and sizes"));
    return ParseList("]", [&] {
      shape->push_back(0);
      return ParseInt(&shape->back(), 1, "a size, from 1 to 4096");
    });
  }
  // A size is at most 4096; `least` 0 allows any integer.
  absl::Status ParseInt(int64_t* value, int64_t least, absl::string_view what) {
    const bool negative = least == 0 && TryPunct("-");
    if (Peek().kind != Token::Kind::kInt || Peek().integer > (least == 0 ? INT32_MAX : 4096) ||
        static_cast<int64_t>(Peek().integer) < least) {
      return Expected(what);
    }
    *value = static_cast<int64_t>(Take().integer) * (negative ? -1 : 1);
    return absl::OkStatus();
  }

  absl::Status ParseVariant(VariantText* variant) {
    variant->distinct = TryWord("distinct");
    variant->proper = TryWord("proper");
    if (!TryWord("variant")) return Expected("'input' or 'variant'");
    LEMMA_RETURN_IF_ERROR(ParseName(&variant->name, "the variant's name"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("(", " and the operands"));
    LEMMA_RETURN_IF_ERROR(TakeUntil("(", ")", &variant->operands));
    std::map<std::string, Position> given;
    if (TryWord("with")) {
      LEMMA_RETURN_IF_ERROR(ExpectPunct("{", " and the values of attributes"));
      LEMMA_RETURN_IF_ERROR(ParseList("}", [&]() -> absl::Status {
        std::string name;
        const Position position = Peek().position;
        LEMMA_RETURN_IF_ERROR(ParseName(&name, "an attribute's name"));
        LEMMA_RETURN_IF_ERROR(ExpectPunct("=", " and its value"));
        if (!given.emplace(name, position).second) {
          return ErrorAt(file(), position, absl::StrCat(name, " has a value already"));
        }
        return ParseValue(&variant->values[name]);
      }));
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("{", " and what the variant computes"));
    LEMMA_RETURN_IF_ERROR(TakeUntil("{", "}", &variant->body));
    for (const auto& [name, position] : given) {
      if (names_.count(name) > 0) continue;
      return ErrorAt(file(), position,
                     absl::StrCat("variant ", variant->name, " does not use ", name));
    }
    return absl::OkStatus();
  }

  absl::Status ParseValue(AttrValue* value) {
    if (TryPunct("[")) {
      std::vector<int64_t> list;
      LEMMA_RETURN_IF_ERROR(ParseList("]", [&] {
        list.push_back(0);
        return ParseInt(&list.back(), 0, "an integer");
      }));
      *value = std::move(list);
      return absl::OkStatus();
    }
    const bool negative = AtPunct("-") && Peek(1).kind == Token::Kind::kFloat;
    if (negative) Take();
    if (Peek().kind == Token::Kind::kFloat) {
      *value = Take().real * (negative ? -1 : 1);
      return absl::OkStatus();
    }
    int64_t integer = 0;
    LEMMA_RETURN_IF_ERROR(ParseInt(&integer, 0, "a number or a list of integers"));
    *value = integer;
    return absl::OkStatus();
  }

  // Takes the text up to the bracket `close` that ends the one that has been consumed. Sets names_
  // to the names in it.
  absl::Status TakeUntil(absl::string_view open, absl::string_view close, std::string* text) {
    const Position begin = Peek().position;
    names_.clear();
    for (int depth = 1;; Take()) {
      if (Peek().kind == Token::Kind::kName) names_.insert(Peek().text);
      if (Peek().kind == Token::Kind::kEnd) return Expected(absl::StrCat("'", close, "'"));
      if (AtPunct(open)) ++depth;
      if (AtPunct(close) && --depth == 0) break;
    }
    *text = source_.Between(begin, Peek().position);
    Take();
    return absl::OkStatus();
  }

  const text::SourceText source_;
  std::set<std::string> names_;
};

}  // namespace

absl::StatusOr<TableSetText> ReadSetFile(absl::string_view text, absl::string_view file) {
  LEMMA_ASSIGN_OR_RETURN(auto tokens, text::Tokenize(text, file));
  return Parser(std::move(tokens), text, file).Run();
}

}  // namespace lemma::generator
