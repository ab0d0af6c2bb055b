#include "graph/text/syntax.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/text/token_reader.h"

namespace lemma::text {
namespace {

class Parser : public TokenReader {
 public:
  using TokenReader::TokenReader;

  absl::StatusOr<std::vector<Block>> Run() {
    std::vector<Block> blocks;
    while (Peek().kind != Token::Kind::kEnd) {
      Block block;
      LEMMA_RETURN_IF_ERROR(ParseBlock(&block));
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

 private:
  absl::Status ParseName(Name* name, absl::string_view what) {
    if (Peek().kind != Token::Kind::kName) return Expected(what);
    const Token& token = Take();
    name->position = token.position;
    name->text = token.text;
    name->label = token.text[0] == '%' && !token.quoted ? "" : token.text;
    return absl::OkStatus();
  }
  absl::Status ParseLabel(Name* name, absl::string_view what) {
    LEMMA_RETURN_IF_ERROR(ParseName(name, what));
    if (!TryWord("as")) return absl::OkStatus();
    Name label;
    LEMMA_RETURN_IF_ERROR(ParseName(&label, "a label after 'as'"));
    name->label = label.text;
    return absl::OkStatus();
  }

  absl::Status ParseBlock(Block* block) {
    block->doc = Peek().comment;
    if (TryWord("rule")) {
      block->is_rule = true;
      LEMMA_RETURN_IF_ERROR(ParseName(&block->name, "the rule's name"));
    } else if (TryWord("graph")) {
      if (!AtPunct("(")) LEMMA_RETURN_IF_ERROR(ParseName(&block->name, "the graph's name or '('"));
    } else {
      return Expected("'graph' or 'rule'");
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("("));
    LEMMA_RETURN_IF_ERROR(ParseList(")", [&] {
      block->params.emplace_back();
      return ParseParam(&block->params.back());
    }));
    if (!block->is_rule) return ParseBody(&block->body);
    LEMMA_RETURN_IF_ERROR(ParseName(
        &block->contract, "the float contract: bit_exact, reassociates, real_only or bounded"));
    if (TryPunct("(")) {
      LEMMA_RETURN_IF_ERROR(ParseSum(&block->bound.emplace()));
      LEMMA_RETURN_IF_ERROR(ExpectPunct(")"));
    }
    if (TryWord("where")) {
      do {
        block->where.emplace_back();
        LEMMA_RETURN_IF_ERROR(ParseComparison(&block->where.back()));
      } while (TryPunct(","));
    }
    LEMMA_RETURN_IF_ERROR(ParseBody(&block->body));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("=>", " and what the rule turns this into"));
    LEMMA_RETURN_IF_ERROR(ParseBody(&block->target));
    block->end = Last().end;
    if (!AtWord("proved") && !AtWord("refuted") && !AtWord("unknown")) return absl::OkStatus();
    return ParseRecord(&block->record.emplace());
  }

  absl::Status ParseRecord(Record* record) {
    LEMMA_RETURN_IF_ERROR(ParseName(&record->verdict, "a verdict"));
    if (record->verdict.text == "proved") {
      LEMMA_RETURN_IF_ERROR(ParseName(&record->contract, "the float contract that was proved"));
    }
    LEMMA_RETURN_IF_ERROR(ParseString(&record->id, "the proof id, in quotes"));
    LEMMA_RETURN_IF_ERROR(ParseString(&record->detail, "an explanation, in quotes"));
    record->end = Last().end;
    return absl::OkStatus();
  }

  absl::Status ParseParam(Param* param) {
    LEMMA_RETURN_IF_ERROR(ParseLabel(&param->name, "a parameter's name or ')'"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct(":", " and the parameter's type"));
    if (TryWord("weight"))
      param->role = Param::Role::kWeight;
    else if (TryWord("constant"))
      param->role = Param::Role::kConstant;
    LEMMA_RETURN_IF_ERROR(ParseType(&param->type));
    if (TryPunct("=")) return ParsePayload(&param->payload);
    return absl::OkStatus();
  }

  absl::Status ParseType(Type* type) {
    type->position = Peek().position;
    if (Peek().kind == Token::Kind::kName) {
      type->dtype = ParseDType(Peek().text);
      if (!type->dtype) {
        std::string all;
        for (int i = 0; i < kNumDTypes; ++i) {
          absl::StrAppend(&all, i ? ", " : "", lemma::Name(static_cast<DType>(i)));
        }
        return Expected(absl::StrCat("an element type (", all, ")"));
      }
      Take();
    }
    LEMMA_RETURN_IF_ERROR(ExpectPunct("[", " and the sizes"));
    return ParseList("]", [&] {
      type->dims.emplace_back();
      return ParseItem(&type->dims.back());
    });
  }

  absl::Status ParsePayload(Payload* payload) {
    payload->position = Peek().position;
    if (TryWord("fill")) {
      payload->kind = Payload::Kind::kFill;
      payload->values.emplace_back();
      return ParseSum(&payload->values.back());
    }
    if (TryWord("base64")) {
      payload->kind = Payload::Kind::kBase64;
      return ParseString(&payload->base64, "quoted base64");
    }
    if (TryPunct("...")) {
      payload->kind = Payload::Kind::kElided;
      return absl::OkStatus();
    }
    if (!TryPunct("[")) return Expected("values: '[…]', 'fill …' or 'base64 \"…\"'");
    payload->kind = Payload::Kind::kList;
    return ParseList("]", [&] {
      payload->values.emplace_back();
      return ParseSum(&payload->values.back());
    });
  }

  absl::Status ParseBody(Body* body) {
    LEMMA_RETURN_IF_ERROR(ExpectPunct("{"));
    while (!TryWord("return")) {
      body->statements.emplace_back();
      LEMMA_RETURN_IF_ERROR(ParseStatement(&body->statements.back()));
    }
    return ParseResults(body);
  }

  absl::Status ParseResults(Body* body) {
    do {
      Result result;
      LEMMA_RETURN_IF_ERROR(ParseName(&result.value, "an output"));
      result.name = result.value.text;
      if (TryPunct("=")) {
        LEMMA_RETURN_IF_ERROR(ParseName(&result.value, "the value to return"));
      }
      body->results.push_back(std::move(result));
    } while (TryPunct(","));
    if (TryPunct("}")) return absl::OkStatus();
    return Expected("',' or '}' after an output");
  }

  absl::Status ParseStatement(Statement* statement) {
    do {
      statement->targets.emplace_back();
      Target& target = statement->targets.back();
      if (AtWord("_")) {
        target.name.position = Take().position;
      } else {
        LEMMA_RETURN_IF_ERROR(ParseLabel(&target.name, "a value's name or 'return'"));
      }
      if (TryPunct(":")) LEMMA_RETURN_IF_ERROR(ParseType(&target.type.emplace()));
    } while (TryPunct(","));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("=", " and an operator"));
    if (TryWord("constant")) {
      LEMMA_RETURN_IF_ERROR(ParseType(&statement->type.emplace()));
      return ParsePayload(&statement->payload);
    }
    LEMMA_RETURN_IF_ERROR(ParseName(&statement->op, "an operator or 'constant'"));
    LEMMA_RETURN_IF_ERROR(ExpectPunct("(", " and the operands"));
    LEMMA_RETURN_IF_ERROR(ParseList(")", [&] {
      statement->args.emplace_back();
      return ParseName(&statement->args.back(), "an operand's name");
    }));
    if (!TryPunct("{")) return absl::OkStatus();
    return ParseList("}", [&] {
      statement->attrs.emplace_back();
      auto& [name, value] = statement->attrs.back();
      LEMMA_RETURN_IF_ERROR(ParseName(&name, "an attribute's name"));
      LEMMA_RETURN_IF_ERROR(ExpectPunct("=", " and the attribute's value"));
      return ParseSum(&value);
    });
  }

  absl::Status ParseComparison(Comparison* comparison) {
    LEMMA_RETURN_IF_ERROR(ParseSum(&comparison->lhs));
    for (absl::string_view relation : {"=", "!=", "<=", "<", ">=", ">"}) {
      if (TryPunct(relation)) {
        comparison->relation = std::string(relation);
        return ParseSum(&comparison->rhs);
      }
    }
    return Expected("a comparison: =, !=, <, <=, > or >=");
  }

  absl::Status ParseItem(Expr* expr) {
    LEMMA_RETURN_IF_ERROR(ParseSum(expr));
    if (!TryPunct("..")) return absl::OkStatus();
    Expr splice;
    splice.kind = Expr::Kind::kSplice;
    splice.position = expr->position;
    splice.args.push_back(std::move(*expr));
    *expr = std::move(splice);
    return absl::OkStatus();
  }

  static void MakeCall(std::string fn, Expr* lhs, Expr rhs) {
    Expr call;
    call.kind = Expr::Kind::kCall;
    call.text = std::move(fn);
    call.position = lhs->position;
    call.args.push_back(std::move(*lhs));
    call.args.push_back(std::move(rhs));
    *lhs = std::move(call);
  }

  absl::Status ParseSum(Expr* expr) {
    if (depth_ >= kMaxExprDepth) {
      return ErrorAt(file(), Peek().position, "the expression is nested too deeply");
    }
    ++depth_;
    absl::Status status = ParseSumInside(expr);
    --depth_;
    return status;
  }
  absl::Status ParseSumInside(Expr* expr) {
    LEMMA_RETURN_IF_ERROR(ParseProduct(expr));
    // Limits the length, since the tree of a chain is as deep as the chain is long, and copying or
    // destroying it recurses.
    for (int length = 0; AtPunct("+") || AtPunct("-"); ++length) {
      if (length > kMaxExprDepth) return Expected("a shorter expression");
      std::string fn = Take().text;
      Expr rhs;
      LEMMA_RETURN_IF_ERROR(ParseProduct(&rhs));
      MakeCall(std::move(fn), expr, std::move(rhs));
    }
    return absl::OkStatus();
  }
  absl::Status ParseProduct(Expr* expr) {
    LEMMA_RETURN_IF_ERROR(ParseUnary(expr));
    for (int length = 0; AtPunct("*") || AtWord("div") || AtWord("mod"); ++length) {
      if (length > kMaxExprDepth) return Expected("a shorter expression");
      std::string fn = Take().text;
      Expr rhs;
      LEMMA_RETURN_IF_ERROR(ParseUnary(&rhs));
      MakeCall(std::move(fn), expr, std::move(rhs));
    }
    return absl::OkStatus();
  }
  absl::Status ParseUnary(Expr* expr) {
    expr->position = Peek().position;
    if (!TryPunct("-")) return ParsePrimary(expr, /*negative=*/false);
    if (Peek().kind == Token::Kind::kInt) return ParsePrimary(expr, /*negative=*/true);
    Position position = expr->position;
    LEMMA_RETURN_IF_ERROR(ParsePrimary(expr, false));
    expr->position = position;
    if (expr->kind == Expr::Kind::kReal) {
      expr->real = -expr->real;
      return absl::OkStatus();
    }
    Expr operand = std::move(*expr);
    *expr = Expr();
    expr->kind = Expr::Kind::kInt;
    expr->position = position;
    MakeCall("-", expr, std::move(operand));
    return absl::OkStatus();
  }

  absl::Status ParsePrimary(Expr* expr, bool negative) {
    const Token& token = Peek();
    expr->position = token.position;
    if (token.kind == Token::Kind::kInt) {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      if (token.integer > kMax + (negative ? 1 : 0)) {
        return ErrorAt(file(), token.position, "the number does not fit in 64 bits with a sign");
      }
      expr->kind = Expr::Kind::kInt;
      expr->integer = static_cast<int64_t>(negative ? 0 - token.integer : token.integer);
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
    if (TryPunct("[")) {
      expr->kind = Expr::Kind::kList;
      return ParseList("]", [&] {
        expr->args.emplace_back();
        return ParseItem(&expr->args.back());
      });
    }
    if (TryPunct("(")) {
      LEMMA_RETURN_IF_ERROR(ParseSum(expr));
      return ExpectPunct(")");
    }
    if (token.kind != Token::Kind::kName) return Expected("a value");
    expr->kind = token.quoted ? Expr::Kind::kString : Expr::Kind::kName;
    expr->text = token.text;
    bool quoted = token.quoted;
    Take();
    if (quoted || !TryPunct("(")) return absl::OkStatus();
    expr->kind = Expr::Kind::kCall;
    return ParseList(")", [&] {
      expr->args.emplace_back();
      return ParseSum(&expr->args.back());
    });
  }

  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Block>> ParseBlocks(absl::string_view text, absl::string_view file) {
  auto tokens = Tokenize(text, file);
  if (!tokens.ok()) return tokens.status();
  return Parser(*std::move(tokens), file).Run();
}

}  // namespace lemma::text
