// Reads calls of the prelude's functions.
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "verifier/kernels/printed/expression_parser.h"

namespace lemma::kernels {

ExprPtr ExpressionParser::CalledFunction(const std::string& name) {
  if (name == "Load") return LoadCall();
  if (name == "HighBits" || name == "LowBits") return BitsOfByte(name == "LowBits");
  if (name == "WarpReduce" || name == "BlockReduce") return GroupReduce(name == "BlockReduce");
  if (absl::StartsWith(name, "fn_")) return Function(name.substr(3));
  return IndexCall(name);
}

ExprPtr ExpressionParser::LoadCall() {
  Expect("<");
  const auto type = AcceptType();
  if (!type || (!IsReal(*type) && *type != Type::kInt64)) return Fail("expected a number's type");
  Expect(">");
  return LoadedElement(*type);
}

// The quotient of the element, which must be a byte without a sign, and a power of two, rounded
// down; or the element less this quotient times the power.
ExprPtr ExpressionParser::BitsOfByte(bool low) {
  Expect("<");
  const auto type = AcceptType();
  if (!type || !IsReal(*type)) return Fail("expected a real number's type");
  Expect(",");
  const int64_t divisor = Size();
  Expect(">");
  const size_t from = position();
  ExprPtr element = LoadedElement(*type);
  if (element == nullptr) return nullptr;
  const int slot =
      element->kind == Expr::Kind::kRead ? element->slot : variables_[element->variable].slot;
  if (DTypeOf(slot) != DType::kU8) return Fail("bits of something else than a byte");
  if (divisor < 2 || divisor > 128 || (divisor & (divisor - 1)) != 0) {
    return Fail("expected a power of two");
  }
  auto apply = [&](ScalarFn fn, ExprPtr a, ExprPtr b) {
    ExprPtr e = MakeExpr(Expr::Kind::kFunction, *type);
    e->fn = fn;
    e->args.push_back(std::move(a));
    if (b != nullptr) e->args.push_back(std::move(b));
    return e;
  };
  auto literal = [&](double value) {
    ExprPtr e = MakeExpr(Expr::Kind::kLiteral, *type);
    e->real = value;
    return e;
  };
  const auto by = static_cast<double>(divisor);
  ExprPtr quotient =
      apply(ScalarFn::kFloor, apply(ScalarFn::kMul, std::move(element), literal(1 / by)), nullptr);
  if (!low) return quotient;
  MoveTo(from);
  ExprPtr again = LoadedElement(*type);
  return apply(ScalarFn::kSub, std::move(again),
               apply(ScalarFn::kMul, literal(by), std::move(quotient)));
}

// After the type: "(p0[i])", or "(pack.at[u])".
ExprPtr ExpressionParser::LoadedElement(Type number) {
  Expect("(");
  const std::string name = Name();
  ExprPtr e = MakeExpr(Expr::Kind::kRead, number);
  if (const auto variable = Find(name)) {
    if (variables_[*variable].type != Type::kElement) return Fail("a load of a number");
    // What is stored there is rounded.
    if (!variables_[*variable].constant) return Fail("a load of a result");
    e->kind = Expr::Kind::kElementOf;
    e->variable = *variable;
    Expect(".");
    Expect("at");
    e->args = Indices(*variable);
  } else {
    e->slot = SlotNamed(name, false);
    Expect("[");
    e->args.push_back(Index());
    Expect("]");
  }
  Expect(")");
  return failed() ? nullptr : std::move(e);
}

ExprPtr ExpressionParser::IndexCall(const std::string& name) {
  static const std::map<std::string, Expr::Op> kOps = {{"FloorDiv", Expr::Op::kFloorDiv},
                                                       {"FloorDivOr0", Expr::Op::kFloorDivOr0},
                                                       {"ModOr0", Expr::Op::kModOr0},
                                                       {"Least", Expr::Op::kLeast},
                                                       {"Greatest", Expr::Op::kGreatest}};
  const auto op = kOps.find(name);
  if (op == kOps.end()) return Fail(absl::StrCat("unknown function ", name));
  Expect("<");
  const auto type = AcceptType();
  if (!type || (*type != Type::kInt && *type != Type::kInt64)) return Fail("expected int or int64");
  Expect(">");
  Expect("(");
  ExprPtr e = MakeExpr(Expr::Kind::kBinary, *type, As(*type, Index()));
  e->op = op->second;
  Expect(",");
  e->args.push_back(As(*type, Index()));
  Expect(")");
  return failed() ? nullptr : std::move(e);
}

ExprPtr ExpressionParser::Function(const std::string& name) {
  int fn = 0;
  while (fn < kNumScalarFns && name != scalar_fn::kTable[fn].name) ++fn;
  if (fn == kNumScalarFns) return Fail(absl::StrCat("unknown function fn_", name));
  const auto& row = scalar_fn::kTable[fn];
  Expect("(");
  std::vector<ExprPtr> args;
  for (int i = 0; i < row.arity; ++i) {
    if (i > 0) Expect(",");
    args.push_back(Expression());
    if (failed()) return nullptr;
  }
  Expect(")");
  const Type type = args[0]->type;
  // Index arithmetic in 64 bits may contain a product of two int64.
  if (!IsReal(type) && (type != Type::kInt64 || !row.integral())) {
    return Fail(absl::StrCat("fn_", name, " of ", NameOf(type)));
  }
  ExprPtr e = MakeExpr(Expr::Kind::kFunction, type);
  e->fn = static_cast<ScalarFn>(fn);
  for (ExprPtr& arg : args) {
    if (arg->type != type) return Fail("arguments of several types");
    e->args.push_back(std::move(arg));
  }
  return failed() ? nullptr : std::move(e);
}

ExprPtr ExpressionParser::GroupReduce(bool block) {
  static const std::map<std::string, ScalarFn> kFns = {{"Sum", ScalarFn::kAdd},
                                                       {"Prod", ScalarFn::kMul},
                                                       {"Max", ScalarFn::kMax},
                                                       {"Min", ScalarFn::kMin}};
  ExprPtr e = MakeExpr(block ? Expr::Kind::kBlockReduce : Expr::Kind::kWarpReduce, Type::kFloat);
  Expect("<");
  const auto fn = kFns.find(Name());
  if (fn == kFns.end()) return Fail("unknown reduction");
  e->fn = fn->second;
  if (block) {
    Expect(",");
    if (Size() != threads_) return Fail("a reduction of another number of threads");
  }
  Expect(">");
  Expect("(");
  ExprPtr value = Expression();
  if (value == nullptr) return nullptr;
  e->type = value->type;
  if (!IsReal(e->type) && e->type != Type::kInt64) return Fail("a reduction of this type");
  e->args.push_back(std::move(value));
  if (block) {
    Expect(",");
    const auto shared = Find(Name());
    if (!shared || !variables_[*shared].shared || variables_[*shared].dims.size() != 1 ||
        variables_[*shared].type != e->type) {
      return Fail("expected shared memory");
    }
    e->variable = *shared;
  }
  Expect(")");
  return failed() ? nullptr : std::move(e);
}

}  // namespace lemma::kernels
