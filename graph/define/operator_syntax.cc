#include "graph/define/operator_syntax.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "graph/text/source_text.h"
#include "graph/text/token_reader.h"

namespace lemma::define {
namespace {

using text::ErrorAt;
using text::Position;
using text::Token;

constexpr int kMostNesting = 64;   // of expressions
constexpr int kMostOperands = 64;  // of a sum or a product
// Expressions that are read, some repeatedly, since a parenthesis may open a condition too.
constexpr int kMostSteps = 1'000'000;

bool IsReduction(absl::string_view name) {
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
    if (name == Name(kind)) return true;
  }
  return false;
}

class Parser : public text::TokenReader {
 public:
  Parser(std::vector<Token> tokens, absl::string_view text, absl::string_view file)
      : TokenReader(std::move(tokens), file), source_(text) {}

  absl::StatusOr<std::vector<OperatorText>> Run() {
    std::vector<OperatorText> operators;
    while (Peek().kind != Token::Kind::kEnd) {
      operators.emplace_back();
      LEMMA_RETURN_IF_ERROR(ParseOperator(&operators.back()));
    }
    return operators;
  }

 private:
  absl::Status ParseName(std::string* name, Position* position, absl::string_view what) {
    if (Peek().kind != Token::Kind::kName || Peek().quoted || Peek().text[0] == '%') {
      return Expected(what);
    }
    *position = Peek().position;
    *name = Take().text;
    return absl::OkStatus();
  }

  absl::Status ParseOperator(OperatorText* op) {
    op->doc = Peek().comment;
    op->file = std::string(file());
    const Position begin = Peek().position;
    if (!TryWord("operator")) return Expected("'operator'");
    LEMMA_RETURN_IF_ERROR(ParseName(&op->name, &op->position, "the operator's name"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("(", " and the inputs"));
    LEMMA_RETURN_IF_ERROR(ParseList(")", [&] {
      op->params.emplace_back();
      return ParseParam(&op->params.back());
    }));
    if (op->params.empty()) return ErrorAt(file(), op->position, "an operator has inputs");
    if (AtPunct("{") && Peek(1).kind == Token::Kind::kName && IsAttrType(Peek(3)) &&
        Peek(2).text == ":") {
      Take();
      LEMMA_RETURN_IF_ERROR(ParseList("}", [&] {
        op->attrs.emplace_back();
        return ParseAttr(&op->attrs.back());
      }));
    }
    if (TryWord("onnx")) {
      LEMMA_RETURN_IF_ERROR(
          ParseString(&op->onnx, "the ONNX operator in quotes, such as \"com.example.Name\""));
    }
    if (TryWord("where")) {
      do {
        op->where.emplace_back();
        LEMMA_RETURN_IF_ERROR(ParseCondition(&op->where.back()));
      } while (TryPunct(","));
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("{", " and the definition"));
    const Position first = Peek().position;
    while (!AtWord("return")) {
      op->tensors.emplace_back();
      LEMMA_RETURN_IF_ERROR(ParseTensor(&op->tensors.back()));
    }
    op->equation = absl::StrReplaceAll(
        absl::StripAsciiWhitespace(source_.Between(first, Peek().position)), {{"\n  ", "\n"}});
    Take();
    do {
      op->results.emplace_back();
      auto& [name, position] = op->results.back();
      LEMMA_RETURN_IF_ERROR(ParseName(&name, &position, "a result"));
    } while (TryPunct(","));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("}", " after the results"));
    op->text = source_.Between(begin, Last().end);
    return absl::OkStatus();
  }

  static bool IsAttrType(const Token& token) {
    return token.kind == Token::Kind::kName && (token.text == "real" || token.text == "int");
  }

  absl::Status ParseParam(Param* param) {
    LEMMA_RETURN_IF_ERROR(ParseName(&param->name, &param->position, "an input's name or ')'"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct(":", " and the input's sizes"));
    if (Peek().kind == Token::Kind::kName) {
      const std::string& type = Peek().text;
      if (type == "number") {
        param->accepts = Accepts::kNumber;
      } else if (type == "any") {
        param->accepts = Accepts::kAny;
      } else if (type == "integer") {
        param->accepts = Accepts::kInteger;
      } else if (auto dtype = ParseDType(type);
                 dtype && !IsOpaque(*dtype) && !IsSmallFloat(*dtype)) {
        param->accepts = Accepts::kFixed;
        param->dtype = *dtype;
      } else if (type != "float") {
        return Expected("an element type (f32, i64, …), float, number, any, integer or '['");
      }
      Take();
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("[", " and the sizes"));
    return ParseList("]", [&] {
      param->dims.emplace_back();
      return ParseItem(&param->dims.back());
    });
  }

  absl::Status ParseAttr(AttrDecl* attr) {
    LEMMA_RETURN_IF_ERROR(ParseName(&attr->name, &attr->position, "an attribute's name"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct(":", " and real, int or int[length]"));
    if (TryWord("real")) {
      attr->kind = AttrKind::kFloat;
    } else if (TryWord("int")) {
      attr->kind = AttrKind::kInt;
      if (TryPunct("[")) {
        attr->kind = AttrKind::kInts;
        if (Peek().kind != Token::Kind::kInt || Peek().integer < 1 || Peek().integer > 64) {
          return Expected("the number of integers, from 1 to 64");
        }
        attr->length = static_cast<int>(Take().integer);
        LEMMA_RETURN_IF_ERROR(ExpectPunct("]"));
      }
    } else {
      return Expected("real, int or int[length]");
    }
    if (!TryPunct("=")) return absl::OkStatus();
    return ParseDefault(attr);
  }

  absl::Status ParseDefault(AttrDecl* attr) {
    auto number = [&](double* real, int64_t* integer) -> absl::Status {
      Expr value;
      LEMMA_RETURN_IF_ERROR(ParseUnary(&value));
      bool negative = value.kind == Expr::Kind::kCall && value.text == "-";
      const Expr& literal = negative ? value.args[0] : value;
      const bool is_int = literal.kind == Expr::Kind::kInt;
      if (!is_int && (literal.kind != Expr::Kind::kReal || attr->kind != AttrKind::kFloat)) {
        return ErrorAt(file(), value.position,
                       attr->kind == AttrKind::kFloat ? "the default must be a number"
                                                      : "the default must be an integer");
      }
      *integer = negative ? -literal.integer : literal.integer;
      *real = is_int ? static_cast<double>(*integer) : negative ? -literal.real : literal.real;
      return absl::OkStatus();
    };
    double real = 0;
    int64_t integer = 0;
    if (attr->kind == AttrKind::kInts) {
      std::vector<int64_t> list;
      const Position position = Peek().position;
      LEMMA_RETURN_IF_ERROR(ExpectPunct("[", " and the default"));
      LEMMA_RETURN_IF_ERROR(ParseList("]", [&]() -> absl::Status {
        LEMMA_RETURN_IF_ERROR(number(&real, &integer));
        list.push_back(integer);
        return absl::OkStatus();
      }));
      if (static_cast<int>(list.size()) != attr->length) {
        return ErrorAt(file(), position,
                       absl::StrCat(attr->name, " has ", attr->length, " integers, the default ",
                                    list.size()));
      }
      attr->default_value = std::move(list);
      return absl::OkStatus();
    }
    LEMMA_RETURN_IF_ERROR(number(&real, &integer));
    if (attr->kind == AttrKind::kFloat) {
      attr->default_value = real;
    } else {
      attr->default_value = integer;
    }
    return absl::OkStatus();
  }

  absl::Status ParseTensor(TensorDef* tensor) {
    LEMMA_RETURN_IF_ERROR(
        ParseName(&tensor->name, &tensor->position, "a tensor's name or 'return'"));
    if (TryPunct(":")) {
      auto dtype = Peek().kind == Token::Kind::kName ? ParseDType(Peek().text) : std::nullopt;
      if (!dtype || IsOpaque(*dtype) || IsSmallFloat(*dtype))
        return Expected("an element type, such as f32 or bool");
      Take();
      tensor->dtype = dtype;
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("[", " and the bounds of the indices"));
    LEMMA_RETURN_IF_ERROR(ParseList("]", [&] {
      tensor->bounds.emplace_back();
      return ParseBound(&tensor->bounds.back());
    }));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("=", " and the element"));
    return ParseExpr(&tensor->body);
  }

  absl::Status ParseBound(Bound* bound) {
    LEMMA_RETURN_IF_ERROR(
        ParseName(&bound->name, &bound->position, "an index and its bound, such as i < n"));
    bound->list = TryPunct("..");
    LEMMA_RETURN_IF_ERROR(ExpectPunct("<", " and the bound of the index"));
    if (!bound->list) return ParseExpr(&bound->extent);
    LEMMA_RETURN_IF_ERROR(ParseItem(&bound->extent));
    if (bound->extent.kind == Expr::Kind::kSplice) return absl::OkStatus();
    return ErrorAt(
        file(), bound->extent.position,
        absl::StrCat("the bound of ", bound->name, ".. is a list of sizes, such as b.."));
  }

  // An expression, or a list to splice.
  absl::Status ParseItem(Expr* item) {
    if (Peek().kind == Token::Kind::kName && !Peek().quoted &&
        Peek(1).kind == Token::Kind::kPunct && Peek(1).text == "..") {
      item->kind = Expr::Kind::kSplice;
      item->position = Peek().position;
      item->text = Take().text;
      Take();
      return absl::OkStatus();
    }
    return ParseExpr(item);
  }

  static Expr Call(std::string fn, Position position, std::vector<Expr> args) {
    Expr call;
    call.kind = Expr::Kind::kCall;
    call.text = std::move(fn);
    call.position = position;
    call.args = std::move(args);
    return call;
  }
  static void Join(std::string fn, Expr* lhs, Expr rhs) {
    const Position position = lhs->position;
    std::vector<Expr> args;
    args.push_back(std::move(*lhs));
    args.push_back(std::move(rhs));
    *lhs = Call(std::move(fn), position, std::move(args));
  }

  // Runs `parse` one level deeper.
  template <class F>
  absl::Status Nested(F parse) {
    if (depth_ >= kMostNesting || ++steps_ > kMostSteps) {
      return ErrorAt(file(), Peek().position, "the expression is nested too deeply");
    }
    ++depth_;
    absl::Status status = parse();
    --depth_;
    return status;
  }
  // Operands that `parse` reads, joined from the left by the operators that `at` finds.
  template <class At, class F>
  absl::Status Chain(Expr* expr, At at, F parse) {
    LEMMA_RETURN_IF_ERROR(parse(expr));
    for (int length = 0; at(); ++length) {
      if (length > kMostOperands) return Expected("a shorter expression");
      std::string fn = Take().text;
      Expr rhs;
      LEMMA_RETURN_IF_ERROR(parse(&rhs));
      Join(std::move(fn), expr, std::move(rhs));
    }
    return absl::OkStatus();
  }

  absl::Status ParseCondition(Expr* expr) {
    return Nested([&] {
      return Chain(
          expr, [&] { return AtWord("or"); },
          [&](Expr* term) {
            return Chain(
                term, [&] { return AtWord("and"); },
                [&](Expr* factor) { return ParseComparison(factor); });
          });
    });
  }
  absl::Status ParseComparison(Expr* expr) {
    const Position position = Peek().position;
    if (TryWord("not")) {
      Expr inner;
      LEMMA_RETURN_IF_ERROR(Nested([&] { return ParseComparison(&inner); }));
      std::vector<Expr> args;
      args.push_back(std::move(inner));
      *expr = Call("not", position, std::move(args));
      return absl::OkStatus();
    }
    const size_t mark = Mark();
    if (absl::Status plain = ParseRelation(expr); plain.ok() || !AtParenthesis(mark)) return plain;
    // A condition in parentheses.
    Return(mark);
    Take();
    *expr = Expr();
    LEMMA_RETURN_IF_ERROR(ParseCondition(expr));
    return ExpectPunct(")");
  }
  bool AtParenthesis(size_t mark) {
    const size_t here = Mark();
    Return(mark);
    const bool at = AtPunct("(");
    Return(here);
    return at;
  }
  absl::Status ParseRelation(Expr* expr) {
    LEMMA_RETURN_IF_ERROR(ParseExpr(expr));
    for (absl::string_view relation : {"=", "!=", "<=", "<", ">=", ">"}) {
      if (!TryPunct(relation)) continue;
      Expr rhs;
      LEMMA_RETURN_IF_ERROR(ParseExpr(&rhs));
      Join(std::string(relation), expr, std::move(rhs));
      return absl::OkStatus();
    }
    return Expected("a comparison: =, !=, <, <=, > or >=");
  }

  absl::Status ParseExpr(Expr* expr) {
    return Nested([&] {
      return Chain(
          expr, [&] { return AtPunct("+") || AtPunct("-"); },
          [&](Expr* product) {
            return Chain(
                product,
                [&] { return AtPunct("*") || AtPunct("/") || AtWord("div") || AtWord("mod"); },
                [&](Expr* factor) { return ParseUnary(factor); });
          });
    });
  }
  absl::Status ParseUnary(Expr* expr) {
    const Position position = Peek().position;
    if (!TryPunct("-")) return ParsePrimary(expr);
    Expr operand;
    LEMMA_RETURN_IF_ERROR(Nested([&] { return ParseUnary(&operand); }));
    std::vector<Expr> args;
    args.push_back(std::move(operand));
    *expr = Call("-", position, std::move(args));
    return absl::OkStatus();
  }

  absl::Status ParsePrimary(Expr* expr) {
    const Token token = Peek();
    expr->position = token.position;
    if (token.kind == Token::Kind::kInt) {
      if (token.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return ErrorAt(file(), token.position, "the number does not fit in 64 bits with a sign");
      }
      expr->kind = Expr::Kind::kInt;
      expr->integer = static_cast<int64_t>(token.integer);
      Take();
      return absl::OkStatus();
    }
    if (token.kind == Token::Kind::kFloat || AtWord("inf") || AtWord("nan")) {
      expr->kind = Expr::Kind::kReal;
      expr->real = token.kind == Token::Kind::kFloat ? token.real
                   : AtWord("inf")                   ? std::numeric_limits<double>::infinity()
                                                     : std::numeric_limits<double>::quiet_NaN();
      Take();
      return absl::OkStatus();
    }
    if (TryPunct("(")) {
      LEMMA_RETURN_IF_ERROR(ParseExpr(expr));
      return ExpectPunct(")");
    }
    if (token.kind != Token::Kind::kName || token.quoted || token.text[0] == '%') {
      return Expected("a number, a name, a function or '('");
    }
    expr->text = Take().text;
    if (TryPunct("[")) return ParseRead(expr);
    expr->kind = Expr::Kind::kName;
    if (!TryPunct("(")) return absl::OkStatus();
    expr->kind = Expr::Kind::kCall;
    if (IsReduction(expr->text) && AtBound()) return ParseReduction(expr);
    if (expr->text == "if") {
      expr->args.resize(3);
      LEMMA_RETURN_IF_ERROR(ParseCondition(&expr->args[0]));
      LEMMA_RETURN_IF_ERROR(ExpectPunct(",", " and the value where the condition holds"));
      LEMMA_RETURN_IF_ERROR(ParseExpr(&expr->args[1]));
      LEMMA_RETURN_IF_ERROR(ExpectPunct(",", " and the value elsewhere"));
      LEMMA_RETURN_IF_ERROR(ParseExpr(&expr->args[2]));
      return ExpectPunct(")");
    }
    return ParseList(")", [&] {
      expr->args.emplace_back();
      return ParseExpr(&expr->args.back());
    });
  }

  absl::Status ParseRead(Expr* expr) {
    expr->kind = Expr::Kind::kRead;
    LEMMA_RETURN_IF_ERROR(ParseList("]", [&] {
      expr->args.emplace_back();
      return ParseItem(&expr->args.back());
    }));
    if (!TryWord("else")) return absl::OkStatus();
    const bool negative = TryPunct("-");
    Expr value;
    if (Peek().kind == Token::Kind::kName && !AtWord("inf") && !AtWord("nan")) {
      return Expected("the number that is read outside the tensor");
    }
    LEMMA_RETURN_IF_ERROR(ParsePrimary(&value));
    if (value.kind != Expr::Kind::kInt && value.kind != Expr::Kind::kReal) {
      return ErrorAt(file(), value.position, "after 'else' comes a number");
    }
    const double number =
        value.kind == Expr::Kind::kInt ? static_cast<double>(value.integer) : value.real;
    expr->otherwise = negative ? -number : number;
    return absl::OkStatus();
  }

  // "k <" or "r.. <"
  bool AtBound() const {
    if (Peek().kind != Token::Kind::kName || Peek().quoted) return false;
    const size_t next = Peek(1).text == ".." ? 2 : 1;
    return Peek(next).kind == Token::Kind::kPunct && Peek(next).text == "<";
  }

  absl::Status ParseReduction(Expr* expr) {
    expr->kind = Expr::Kind::kReduce;
    do {
      expr->bounds.emplace_back();
      LEMMA_RETURN_IF_ERROR(ParseBound(&expr->bounds.back()));
      if (AtWord("where")) break;
      LEMMA_RETURN_IF_ERROR(ExpectPunct(",", " and what is reduced"));
    } while (AtBound());
    expr->args.emplace_back();
    if (TryWord("where")) {
      Expr where;
      LEMMA_RETURN_IF_ERROR(ParseCondition(&where));
      expr->args.push_back(std::move(where));
      LEMMA_RETURN_IF_ERROR(ExpectPunct(",", " and what is reduced"));
    }
    LEMMA_RETURN_IF_ERROR(ParseExpr(&expr->args[0]));
    return ExpectPunct(")");
  }

  const text::SourceText source_;
  int depth_ = 0, steps_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<OperatorText>> ParseOperators(absl::string_view text,
                                                         absl::string_view file) {
  LEMMA_ASSIGN_OR_RETURN(auto tokens, text::Tokenize(text, file));
  return Parser(std::move(tokens), text, file).Run();
}

}  // namespace lemma::define
