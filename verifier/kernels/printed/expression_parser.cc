#include "verifier/kernels/printed/expression_parser.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::kernels {

ExprPtr MakeExpr(Expr::Kind kind, Type type) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->type = type;
  return e;
}

ExprPtr MakeExpr(Expr::Kind kind, Type type, ExprPtr operand) {
  ExprPtr e = MakeExpr(kind, type);
  e->args.push_back(std::move(operand));
  return e;
}

const char* NameOf(Type type) {
  static constexpr const char* kNames[] = {"bool",   "int",        "unsigned",  "int64",  "float",
                                           "double", "an element", "a pointer", "a word", "a row"};
  return kNames[static_cast<int>(type)];
}

const char* NameOf(Words words) {
  static constexpr const char* kNames[] = {"none", "tf32", "f32x3", "f16", "bf16",
                                           "u8u8", "u8i8", "i8u8",  "i8i8"};
  return kNames[static_cast<int>(words)];
}

const Token& ExpressionParser::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool ExpressionParser::Is(absl::string_view text, size_t ahead) const {
  return Peek(ahead).text == text && Peek(ahead).kind != Token::Kind::kString;
}

bool ExpressionParser::Accept(absl::string_view text) {
  if (failed() || !Is(text)) return false;
  ++at_;
  return true;
}

void ExpressionParser::Expect(absl::string_view text) {
  if (!Accept(text)) Fail(absl::StrCat("expected ", text));
}

std::string ExpressionParser::Name() {
  if (failed() || Peek().kind != Token::Kind::kName) {
    Fail("expected a name");
    return "";
  }
  return tokens_[at_++].text;
}

int64_t ExpressionParser::Size() {
  int64_t value = 0;
  if (Peek().kind != Token::Kind::kNumber || !absl::SimpleAtoi(Peek().text, &value) || value < 1 ||
      value > std::numeric_limits<int32_t>::max()) {
    Fail("expected a size");
    return 1;
  }
  ++at_;
  return value;
}

int64_t ExpressionParser::Extent() {
  int64_t extent = Size();
  constexpr int64_t kMost = 1 << 20;
  while (!failed()) {
    const bool multiplies = Accept("*");
    if (!multiplies && !Accept("/")) break;
    const int64_t by = Size();
    extent = multiplies ? extent * by : extent / by;
    if (extent < 1 || extent > kMost) Fail("expected a smaller extent, of at least 1");
  }
  return extent;
}

std::nullptr_t ExpressionParser::Fail(const std::string& what) {
  if (error_.empty()) {
    error_ = absl::StrCat("line ", Peek().line, ", at \"", Peek().text, "\": ", what);
  }
  return nullptr;
}

int ExpressionParser::Declare(Variable variable) {
  variable.cells = 1;
  variable.call = call_;
  constexpr int64_t kMostCells = 1 << 20;
  for (int64_t dim : variable.dims) {
    variable.cells *= dim;
    if (variable.cells > kMostCells) {
      Fail("an array is too large");
      return 0;
    }
  }
  const int number = static_cast<int>(variables_.size());
  if (!names_.scopes.back().emplace(variable.name, number).second) {
    Fail(absl::StrCat(variable.name, " is declared twice"));
  }
  variables_.push_back(std::move(variable));
  return number;
}

void ExpressionParser::SetDims(int variable, std::vector<int64_t> dims) {
  variables_[variable].dims = std::move(dims);
}

std::optional<int> ExpressionParser::Find(const std::string& name) const {
  if (name == declaring_) return std::nullopt;
  for (auto scope = names_.scopes.rbegin(); scope != names_.scopes.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  return std::nullopt;
}

int ExpressionParser::SlotNamed(const std::string& name, bool writes) {
  const auto found = names_.parameters.find(name);
  if (found == names_.parameters.end() || Find(name)) {
    Fail(absl::StrCat(name, " is no tensor"));
    return 0;
  }
  if (writes == found->second.constant) {
    Fail(absl::StrCat(name, writes ? " is constant" : " is for results only"));
  }
  return found->second.slot;
}

std::optional<Type> ExpressionParser::AcceptType() {
  if (Accept("unsigned")) {
    Accept("int");
    return Type::kUnsigned;
  }
  for (Type type : {Type::kBool, Type::kInt, Type::kInt64, Type::kFloat, Type::kDouble}) {
    if (Accept(NameOf(type))) return type;
  }
  return std::nullopt;
}

std::optional<DType> ExpressionParser::AcceptElementType() {
  for (int i = 0; i < kNumDTypes; ++i) {
    const std::string name = codegen::TypeName(static_cast<DType>(i));
    if (name.empty()) continue;
    const size_t space = name.find(' ');
    if (space == std::string::npos) {
      // "unsigned int" begins with the name of no other type.
      if (Accept(name)) return static_cast<DType>(i);
    } else if (Is(name.substr(0, space)) && Is(name.substr(space + 1), 1)) {
      at_ += 2;
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

ExprPtr ExpressionParser::Index() {
  ExprPtr e = Expression();
  if (e != nullptr && !IsIndex(e->type)) return Fail("expected an integer");
  return e;
}

ExprPtr ExpressionParser::Truth() {
  ExprPtr e = Expression();
  if (e != nullptr && e->type != Type::kBool) return Fail("expected a condition");
  return e;
}

ExprPtr ExpressionParser::As(Type type, ExprPtr e) {
  if (e == nullptr || e->type == type) return e;
  const bool zero = e->kind == Expr::Kind::kLiteral && IsIndex(e->type) && e->value == 0;
  if (IsIndex(type) ? IsIndex(e->type) : IsReal(type) && zero) {
    return MakeExpr(Expr::Kind::kConvert, type, std::move(e));
  }
  return Fail(absl::StrCat("expected ", NameOf(type), ", not ", NameOf(e->type)));
}

namespace {

// Whether an array or a pack is read, for which the machine has one place at a time.
bool ReadsArray(const Expr& e) {
  return e.kind == Expr::Kind::kElementOf || (e.kind == Expr::Kind::kVariable && !e.args.empty()) ||
         std::any_of(e.args.begin(), e.args.end(),
                     [](const ExprPtr& arg) { return ReadsArray(*arg); });
}

}  // namespace

ExprPtr ExpressionParser::ArrayIndex() {
  ExprPtr index = Index();
  if (!failed() && ReadsArray(*index)) Fail("an array's element as an index");
  return index;
}

std::vector<ExprPtr> ExpressionParser::Indices(int variable) {
  std::vector<ExprPtr> indices;
  while (Accept("[")) {
    indices.push_back(ArrayIndex());
    Expect("]");
  }
  if (!failed() && indices.size() != variables_[variable].dims.size()) {
    Fail(absl::StrCat("wrong number of indices of ", variables_[variable].name));
  }
  return indices;
}

ExprPtr ExpressionParser::Pointer(bool writes, int* slot) {
  *slot = SlotNamed(Name(), writes);
  Expect("+");
  return Index();
}

ExprPtr ExpressionParser::Expression() {
  ExprPtr condition = Disjunction();
  if (condition == nullptr || !Accept("?")) return condition;
  if (condition->type != Type::kBool) return Fail("expected a condition");
  ExprPtr then = Expression();
  Expect(":");
  ExprPtr otherwise = Expression();
  if (then == nullptr || otherwise == nullptr) return nullptr;
  if (then->type != otherwise->type) return Fail("two types");
  ExprPtr e = MakeExpr(Expr::Kind::kChoose, then->type, std::move(condition));
  e->args.push_back(std::move(then));
  e->args.push_back(std::move(otherwise));
  return e;
}

ExprPtr ExpressionParser::Disjunction() {
  ExprPtr left = Conjunction();
  while (left != nullptr && Accept("||")) {
    ExprPtr right = Conjunction();
    if (right == nullptr) return nullptr;
    if (left->type != Type::kBool || right->type != Type::kBool) return Fail("|| of numbers");
    left = MakeExpr(Expr::Kind::kOr, Type::kBool, std::move(left));
    left->args.push_back(std::move(right));
  }
  return left;
}

ExprPtr ExpressionParser::Conjunction() {
  ExprPtr left = Equality();
  while (left != nullptr && Accept("&&")) {
    ExprPtr right = Equality();
    if (right == nullptr) return nullptr;
    if (left->type != Type::kBool || right->type != Type::kBool) return Fail("&& of numbers");
    left = MakeExpr(Expr::Kind::kAnd, Type::kBool, std::move(left));
    left->args.push_back(std::move(right));
  }
  return left;
}

ExprPtr ExpressionParser::Equality() {
  ExprPtr left = Comparison();
  if (left == nullptr || !Accept("==")) return left;
  return Binary(Expr::Op::kEqual, std::move(left), Comparison(), true);
}

ExprPtr ExpressionParser::Comparison() {
  ExprPtr left = Sum();
  if (left == nullptr) return nullptr;
  if (Accept("<")) return Binary(Expr::Op::kLess, std::move(left), Sum(), true);
  if (Accept("<=")) return Binary(Expr::Op::kLessEqual, std::move(left), Sum(), true);
  if (Accept(">")) return Binary(Expr::Op::kLess, Sum(), std::move(left), true);
  if (Accept(">=")) return Binary(Expr::Op::kLessEqual, Sum(), std::move(left), true);
  return left;
}

ExprPtr ExpressionParser::Sum() {
  ExprPtr left = Product();
  while (left != nullptr) {
    const bool adds = Accept("+");
    if (!adds && !Accept("-")) break;
    if (adds && left->type == Type::kFloat && Accept("0.0f")) continue;
    left = Binary(adds ? Expr::Op::kAdd : Expr::Op::kSub, std::move(left), Product(), false);
  }
  return left;
}

ExprPtr ExpressionParser::Product() {
  ExprPtr left = Unary();
  while (left != nullptr) {
    Expr::Op op = Expr::Op::kMul;
    if (Accept("/")) {
      op = Expr::Op::kDiv;
    } else if (Accept("%")) {
      op = Expr::Op::kRem;
    } else if (!Accept("*")) {
      break;
    }
    left = Binary(op, std::move(left), Unary(), false);
  }
  return left;
}

// The type in which C++ computes with both: the wider one; of int and unsigned, unsigned.
std::optional<Type> ExpressionParser::Common(const Expr& a, const Expr& b) {
  if (!IsIndex(a.type) || !IsIndex(b.type)) return std::nullopt;
  return std::max(a.type, b.type);
}

ExprPtr ExpressionParser::Binary(Expr::Op op, ExprPtr a, ExprPtr b, bool compares) {
  if (a == nullptr || b == nullptr) return nullptr;
  const std::optional<Type> type = Common(*a, *b);
  if (!type) return Fail("an operator on values that are no integers");
  ExprPtr e = MakeExpr(compares ? Expr::Kind::kCompare : Expr::Kind::kBinary,
                       compares ? Type::kBool : *type, As(*type, std::move(a)));
  e->op = op;
  e->args.push_back(As(*type, std::move(b)));
  return e;
}

ExprPtr ExpressionParser::Unary() {
  if (Accept("!")) {
    ExprPtr e = Unary();
    if (e == nullptr) return nullptr;
    if (e->type != Type::kBool) return Fail("! of a number");
    return MakeExpr(Expr::Kind::kNot, Type::kBool, std::move(e));
  }
  if (!Accept("-")) return Primary();
  ExprPtr e = Unary();
  if (e == nullptr) return nullptr;
  if (e->kind == Expr::Kind::kLiteral && IsReal(e->type)) {
    if (e->special == Expr::Special::kInfinity) e->special = Expr::Special::kNoScore;
    e->real = -e->real;
    return e;
  }
  if (e->type != Type::kInt && e->type != Type::kInt64) return Fail("- of this type");
  const Type type = e->type;
  return MakeExpr(Expr::Kind::kNegate, type, std::move(e));
}

ExprPtr ExpressionParser::Number() {
  std::string text = tokens_[at_++].text;
  ExprPtr e = MakeExpr(Expr::Kind::kLiteral, Type::kInt);
  const bool hexadecimal = absl::StartsWith(text, "0x");
  if (!hexadecimal && text.find_first_of(".e") != std::string::npos) {
    e->type = absl::EndsWith(text, "f") ? Type::kFloat : Type::kDouble;
    if (e->type == Type::kFloat) text.pop_back();
    // The nearest number of the type, as the compiler takes it.
    char* end = nullptr;
    e->real =
        e->type == Type::kFloat ? std::strtof(text.c_str(), &end) : std::strtod(text.c_str(), &end);
    return *end == '\0' ? std::move(e) : Fail("a malformed number");
  }
  absl::string_view digits = text;
  if (absl::ConsumeSuffix(&digits, "ll")) e->type = Type::kInt64;
  if (!hexadecimal && digits.size() > 1 && digits[0] == '0') return Fail("an octal number");
  const bool read =
      hexadecimal ? absl::SimpleHexAtoi(digits, &e->value) : absl::SimpleAtoi(digits, &e->value);
  const bool fits = e->type == Type::kInt64 || e->value <= std::numeric_limits<int32_t>::max();
  return read && fits && e->value >= 0 ? std::move(e) : Fail("a malformed integer");
}

// After the type's name.
ExprPtr ExpressionParser::Cast(Type type) {
  Expect("(");
  ExprPtr e;
  const bool negative = Is("-") && Is("Infinity", 1);
  if (negative) ++at_;
  if (Is("Infinity") || Is("NotANumber")) {
    e = MakeExpr(Expr::Kind::kLiteral, type);
    e->special = Is("Infinity") ? Expr::Special::kInfinity : Expr::Special::kNaN;
    e->real = negative ? -1 : 1;
    ++at_;
    Expect("(");
    Expect(")");
    if (!IsReal(type)) return Fail("an infinite integer");
  } else {
    e = Expression();
  }
  Expect(")");
  if (failed() || e->type == type) return e;
  if (e->type == Type::kBool || type == Type::kBool || IsReal(e->type)) {
    return Fail(absl::StrCat("a conversion from ", NameOf(e->type), " to ", NameOf(type)));
  }
  return MakeExpr(Expr::Kind::kConvert, type, std::move(e));
}

ExprPtr ExpressionParser::Primary() {
  if (failed()) return nullptr;
  if (Peek().kind == Token::Kind::kNumber) return Number();
  if (Accept("(")) {
    ExprPtr e = Expression();
    Expect(")");
    return failed() ? nullptr : std::move(e);
  }
  if (Is("true") || Is("false")) {
    ExprPtr e = MakeExpr(Expr::Kind::kLiteral, Type::kBool);
    e->value = Is("true") ? 1 : 0;
    ++at_;
    return e;
  }
  if (Is("blockIdx") || Is("threadIdx")) {
    ExprPtr e =
        MakeExpr(Is("blockIdx") ? Expr::Kind::kBlock : Expr::Kind::kThread, Type::kUnsigned);
    ++at_;
    Expect(".");
    Expect("x");
    return failed() ? nullptr : std::move(e);
  }
  if (Accept("static_cast")) {
    Expect("<");
    const auto type = AcceptType();
    if (!type) return Fail("expected a type");
    Expect(">");
    return Cast(*type);
  }
  if (Is("(", 1)) {
    if (const auto type = AcceptType()) return Cast(*type);
  }
  const std::string name = Name();
  if (failed()) return nullptr;
  if (name == "Infinity" && Is("(")) {
    ExprPtr e = MakeExpr(Expr::Kind::kLiteral, Type::kFloat);
    e->special = Expr::Special::kInfinity;
    e->real = 1;
    Expect("(");
    Expect(")");
    return failed() ? nullptr : std::move(e);
  }
  if (Is("(") || Is("<")) {
    if (!Find(name)) return CalledFunction(name);
  }
  const auto variable = Find(name);
  if (!variable) return Fail(absl::StrCat("unknown name ", name));
  ExprPtr e = MakeExpr(Expr::Kind::kVariable, variables_[*variable].type);
  if (!IsReal(e->type) && !IsIndex(e->type) && e->type != Type::kBool) {
    return Fail(absl::StrCat(NameOf(e->type), " as a number"));
  }
  e->variable = *variable;
  if (Accept(".") && !Accept("at")) return Fail("expected at");
  e->args = Indices(*variable);
  return failed() ? nullptr : std::move(e);
}

}  // namespace lemma::kernels
