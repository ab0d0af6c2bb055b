#include "graph/define/expression_meaning.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/define/read_bounds.h"
#include "graph/define/scalar_names.h"

namespace lemma::define {
namespace {

using text::Position;

double NeutralOf(ReduceKind kind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::kSum:
      return 0;
    case ReduceKind::kProd:
      return 1;
    case ReduceKind::kMax:
      return -kInfinity;
    case ReduceKind::kMin:
      return kInfinity;
  }
  return 0;
}

bool UsesOneOf(const Expr& e, const std::vector<Bound>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(),
                     [&](const Bound& bound) { return bound.name == e.text; }) ||
         std::any_of(e.args.begin(), e.args.end(),
                     [&](const Expr& arg) { return UsesOneOf(arg, bounds); });
}

// 0 <= index < extent. An index in the data may be any number of 64 bits; for constant extents,
// these forms stay right where a kernel's arithmetic wraps.
Guard Within(const IndexExpr& index, const IndexExpr& extent) {
  const std::optional<int64_t> size = extent.AsConst();
  if (size && *size <= 0) return false;
  return size == 1 ? Eq(index, 0) : InRange(index, extent);
}

}  // namespace

const char* KindOf(const Named& named) {
  static constexpr const char* kKinds[] = {"a size", "a list", "a real attribute", "a tensor"};
  return kKinds[named.index()];
}

absl::Status Expressions::Error(Position position, absl::string_view message) const {
  return text::ErrorAt(op_.file, position, message);
}
absl::Status Expressions::Bind(const std::string& name, Position position, Named named) {
  if (names_.emplace(name, std::move(named)).second) return absl::OkStatus();
  return Error(position, absl::StrCat(name, " already has a meaning here"));
}
absl::StatusOr<const Named*> Expressions::Find(const std::string& name, Position position) const {
  auto it = names_.find(name);
  if (it != names_.end()) return &it->second;
  return Error(position, absl::StrCat("there is no size, index, attribute or tensor ", name));
}

absl::StatusOr<Idx> Expressions::ExtentsOf(const Bound& bound) {
  if (!bound.list) {
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr extent, IndexOf(bound.extent));
    return Idx{extent};
  }
  return ListOf(bound.extent);
}
absl::StatusOr<Idx> Expressions::ListOf(const Expr& splice) {
  LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(splice.text, splice.position));
  if (const Idx* list = std::get_if<Idx>(named)) return *list;
  return Error(splice.position, absl::StrCat(splice.text, " is ", KindOf(*named), ", not a list"));
}

void Expressions::WithBounds(const std::vector<Bound>& bounds, const std::vector<int>& counts,
                             const Idx& extents, const Idx& index,
                             absl::FunctionRef<absl::Status()> use) {
  const auto outer = names_;
  const size_t axes = scope_.axes.size();
  size_t next = 0;
  for (size_t b = 0; b < bounds.size(); ++b) {
    Idx list;
    for (int i = 0; i < counts[b]; ++i, ++next) {
      scope_.axes.push_back({index[next].var(), extents[next]});
      list.push_back(index[next]);
    }
    Keep(Bind(bounds[b].name, bounds[b].position, bounds[b].list ? Named(list) : Named(list[0])));
  }
  if (error_.ok()) Keep(use());
  scope_.axes.resize(axes);
  names_ = outer;
}
void Expressions::Keep(absl::Status status) {
  if (error_.ok()) error_ = std::move(status);
}

bool Expressions::IsIndex(const Expr& e) const {
  switch (e.kind) {
    case Expr::Kind::kInt:
      return true;
    case Expr::Kind::kName: {
      auto it = names_.find(e.text);
      return it != names_.end() && std::holds_alternative<IndexExpr>(it->second);
    }
    case Expr::Kind::kRead: {
      auto it = names_.find(e.text);
      return it != names_.end() && std::holds_alternative<Idx>(it->second);
    }
    case Expr::Kind::kCall: {
      static constexpr absl::string_view kFunctions[] = {"+",   "-",   "*",  "div", "mod", "min",
                                                         "max", "<",   "<=", ">",   ">=",  "=",
                                                         "!=",  "and", "or", "not"};
      return std::find(std::begin(kFunctions), std::end(kFunctions), e.text) !=
                 std::end(kFunctions) &&
             std::all_of(e.args.begin(), e.args.end(),
                         [&](const Expr& arg) { return IsIndex(arg); });
    }
    default:
      return false;
  }
}

absl::StatusOr<IndexExpr> Expressions::IndexOf(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt:
      return IndexExpr(e.integer);
    case Expr::Kind::kName: {
      LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
      if (const IndexExpr* index = std::get_if<IndexExpr>(named)) return *index;
      return Error(e.position, absl::StrCat(e.text, " is ", KindOf(*named),
                                            "; here a size, an index or an integer is needed"));
    }
    case Expr::Kind::kRead:
      return ReadIndex(e);
    case Expr::Kind::kCall:
      break;
    default:
      return Error(e.position, "here a size, an index or an integer is needed");
  }
  std::vector<IndexExpr> args;
  for (const Expr& arg : e.args) {
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, IndexOf(arg));
    args.push_back(index);
  }
  if (e.text == "-" && args.size() == 1) return -args[0];
  if (args.size() == 2) {
    if (e.text == "+") return args[0] + args[1];
    if (e.text == "-") return args[0] - args[1];
    if (e.text == "*") return args[0] * args[1];
    if (e.text == "min") return Min(args[0], args[1]);
    if (e.text == "max") return Max(args[0], args[1]);
    if (e.text == "div" || e.text == "mod") {
      if (!c_.Holds(NonNegative(args[1] - 1, scope_))) {
        return Error(e.position, absl::StrCat(e.text, " by ", args[1].ToString(),
                                              ", which is not positive or may not be"));
      }
      return e.text == "div" ? FloorDiv(args[0], args[1]) : Mod(args[0], args[1]);
    }
  }
  return Error(e.position,
               absl::StrCat("indices and sizes have +, -, *, div, mod, min and max, not ", e.text));
}

absl::StatusOr<IndexExpr> Expressions::ReadIndex(const Expr& e) {
  LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
  if (const Idx* list = std::get_if<Idx>(named)) {
    if (e.args.size() != 1 || e.args[0].kind != Expr::Kind::kInt ||
        e.args[0].integer >= static_cast<int64_t>(list->size())) {
      return Error(e.position, absl::StrCat("an element of ", e.text, " is written ", e.text,
                                            "[0] to ", e.text, "[", list->size() - 1, "]"));
    }
    return (*list)[e.args[0].integer];
  }
  const TensorId* tensor = std::get_if<TensorId>(named);
  if (tensor == nullptr) {
    return Error(e.position, absl::StrCat(e.text, " is ", KindOf(*named), ", and has no elements"));
  }
  const DType dtype = c_.definition().TypeOf(*tensor).dtype;
  if (IsFloat(dtype) || dtype == DType::kBool) {
    return Error(e.position, absl::StrCat("the elements of ", e.text,
                                          " are no integers, so they cannot be an index"));
  }
  if (*tensor >= c_.num_inputs()) {
    return Error(e.position,
                 absl::StrCat("an index comes from an input, and ", e.text, " is none"));
  }
  LEMMA_ASSIGN_OR_RETURN(const ScalarExpr value, ReadElement(e, *tensor));
  return IndexExpr::Load(value.node());
}

absl::StatusOr<Guard> Expressions::GuardOf(const Expr& e) {
  if (e.kind != Expr::Kind::kCall) return Error(e.position, "here a condition is needed");
  if (e.text == "and" || e.text == "or") {
    LEMMA_ASSIGN_OR_RETURN(const Guard a, GuardOf(e.args[0]));
    LEMMA_ASSIGN_OR_RETURN(const Guard b, GuardOf(e.args[1]));
    return e.text == "and" ? a && b : a || b;
  }
  if (e.text == "not") {
    LEMMA_ASSIGN_OR_RETURN(const Guard a, GuardOf(e.args[0]));
    return !a;
  }
  LEMMA_ASSIGN_OR_RETURN(const IndexExpr a, IndexOf(e.args[0]));
  LEMMA_ASSIGN_OR_RETURN(const IndexExpr b, IndexOf(e.args[1]));
  if (e.text == "=") return Eq(a, b);
  if (e.text == "!=") return Ne(a, b);
  if (e.text == "<") return Lt(a, b);
  if (e.text == "<=") return Le(a, b);
  if (e.text == ">") return Gt(a, b);
  return Ge(a, b);
}

absl::StatusOr<ScalarExpr> Expressions::TruthOf(const Expr& e) {
  if (IsIndex(e)) {
    LEMMA_ASSIGN_OR_RETURN(const Guard guard, GuardOf(e));
    return ScalarExpr::Select(guard, 1, 0);
  }
  if (e.text == "and" || e.text == "or" || e.text == "not") {
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, TruthOf(e.args[0]));
    if (e.text == "not") return Apply(ScalarFn::kNot, a);
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, TruthOf(e.args[1]));
    return Apply(e.text == "and" ? ScalarFn::kAnd : ScalarFn::kOr, a, b);
  }
  LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, ScalarOf(e.args[0]));
  LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, ScalarOf(e.args[1]));
  const ScalarExpr equal = Apply(ScalarFn::kEqual, a, b);
  if (e.text == "=") return equal;
  if (e.text == "!=") return Apply(ScalarFn::kNot, equal);
  if (e.text == "<") return Apply(ScalarFn::kLess, a, b);
  if (e.text == ">") return Apply(ScalarFn::kLess, b, a);
  return Apply(ScalarFn::kOr,
               e.text == "<=" ? Apply(ScalarFn::kLess, a, b) : Apply(ScalarFn::kLess, b, a), equal);
}

absl::StatusOr<ScalarExpr> Expressions::ScalarOf(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt:
      if (e.integer > int64_t{1} << 53) {
        return Error(e.position, "the number has more digits than a double");
      }
      return ScalarExpr(static_cast<double>(e.integer));
    case Expr::Kind::kReal:
      return ScalarExpr(e.real);
    case Expr::Kind::kName: {
      LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
      if (const Real* real = std::get_if<Real>(named)) return real->value;
      if (const IndexExpr* index = std::get_if<IndexExpr>(named)) return ScalarExpr::Index(*index);
      return Error(e.position,
                   absl::StrCat(e.text, " is ", KindOf(*named), "; here a number is needed",
                                std::holds_alternative<TensorId>(*named)
                                    ? absl::StrCat(", such as ", e.text, "[…]")
                                    : ""));
    }
    case Expr::Kind::kRead: {
      LEMMA_ASSIGN_OR_RETURN(const Named* named, Find(e.text, e.position));
      if (const TensorId* tensor = std::get_if<TensorId>(named)) return ReadElement(e, *tensor);
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, ReadIndex(e));
      return ScalarExpr::Index(index);
    }
    case Expr::Kind::kReduce:
      return ReduceOf(e);
    case Expr::Kind::kSplice:
      return Error(e.position, "a list can only be an index, as in x[i..]");
    case Expr::Kind::kCall:
      break;
  }
  if (e.text == "div" || (e.text == "mod" && IsIndex(e))) {
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr index, IndexOf(e));
    return ScalarExpr::Index(index);
  }
  if (e.text == "if") return IfOf(e);
  std::vector<ScalarExpr> args;
  for (const Expr& arg : e.args) {
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr value, ScalarOf(arg));
    args.push_back(value);
  }
  if (e.text == "-" && args.size() == 1) {
    if (args[0].kind() == ScalarExpr::Kind::kConst) return ScalarExpr(-args[0].value());
    return -args[0];
  }
  const auto fn = FunctionOf(e.text);
  if (!fn) {
    return Error(e.position, absl::StrCat("there is no function ", e.text, "; the functions are ",
                                          FunctionNames()));
  }
  if (static_cast<int>(args.size()) != Info(*fn).arity) {
    return Error(e.position,
                 absl::StrCat(e.text, " takes ", Info(*fn).arity, " arguments, not ", args.size()));
  }
  return ScalarExpr::Apply(*fn, std::move(args));
}

absl::StatusOr<ScalarExpr> Expressions::IfOf(const Expr& e) {
  if (!IsIndex(e.args[0])) {
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr test, TruthOf(e.args[0]));
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, ScalarOf(e.args[1]));
    LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, ScalarOf(e.args[2]));
    return Apply(ScalarFn::kWhere, test, a, b);
  }
  LEMMA_ASSIGN_OR_RETURN(const Guard guard, GuardOf(e.args[0]));
  auto where = [&](const Guard& condition, const Expr& value) {
    scope_.conditions.push_back(condition);
    auto result = condition.is_false() ? absl::StatusOr<ScalarExpr>(0) : ScalarOf(value);
    scope_.conditions.pop_back();
    return result;
  };
  LEMMA_ASSIGN_OR_RETURN(const ScalarExpr a, where(guard, e.args[1]));
  LEMMA_ASSIGN_OR_RETURN(const ScalarExpr b, where(!guard, e.args[2]));
  return ScalarExpr::Select(guard, a, b);
}

absl::StatusOr<ScalarExpr> Expressions::ReduceOf(const Expr& e) {
  ReduceKind kind = ReduceKind::kSum;
  for (ReduceKind other : {ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
    if (e.text == Name(other)) kind = other;
  }
  return ReduceFrom(e, kind, 0);
}
absl::StatusOr<ScalarExpr> Expressions::ReduceFrom(const Expr& e, ReduceKind kind, size_t first) {
  std::vector<Bound> bounds;
  std::vector<int> counts;
  Idx extents;
  for (size_t b = first; b < e.bounds.size() && !UsesOneOf(e.bounds[b].extent, bounds); ++b) {
    LEMMA_ASSIGN_OR_RETURN(Idx list, ExtentsOf(e.bounds[b]));
    // A loop cannot run a negative number of times.
    for (IndexExpr& extent : list) {
      if (!NonNegative(extent, scope_).is_true()) extent = Max(extent, 0);
    }
    bounds.push_back(e.bounds[b]);
    counts.push_back(static_cast<int>(list.size()));
    extents.insert(extents.end(), list.begin(), list.end());
  }
  const size_t next = first + bounds.size();
  const bool last = next == e.bounds.size();
  Guard guard = true;
  auto where = [&](const Idx& index) {
    WithBounds(bounds, counts, extents, index, [&]() -> absl::Status {
      if (!last || e.args.size() < 2) return absl::OkStatus();
      LEMMA_ASSIGN_OR_RETURN(guard, GuardOf(e.args[1]));
      return absl::OkStatus();
    });
    return guard;
  };
  ScalarExpr value = 0;
  auto body = [&](const Idx& index) {
    WithBounds(bounds, counts, extents, index, [&]() -> absl::Status {
      scope_.conditions.push_back(guard);
      auto element = last ? ScalarOf(e.args[0]) : ReduceFrom(e, kind, next);
      scope_.conditions.pop_back();
      LEMMA_ASSIGN_OR_RETURN(value, std::move(element));
      return absl::OkStatus();
    });
    return value;
  };
  if (!extents.empty()) {
    value = c_.Reduce(kind, extents, body, where);
  } else {
    where({});
    value = ScalarExpr::Select(guard, body({}), NeutralOf(kind));
  }
  if (!error_.ok()) return error_;
  return value;
}

absl::StatusOr<ScalarExpr> Expressions::ReadElement(const Expr& e, TensorId tensor) {
  const ExprType type = c_.definition().TypeOf(tensor);
  Idx index;
  for (const Expr& arg : e.args) {
    if (arg.kind == Expr::Kind::kSplice) {
      LEMMA_ASSIGN_OR_RETURN(const Idx list, ListOf(arg));
      index.insert(index.end(), list.begin(), list.end());
    } else {
      LEMMA_ASSIGN_OR_RETURN(const IndexExpr at, IndexOf(arg));
      index.push_back(at);
    }
  }
  if (static_cast<int>(index.size()) != type.rank()) {
    return Error(e.position,
                 absl::StrCat(e.text, " has ", type.rank(), " dimensions, but is read at ",
                              index.size(), " indices"));
  }
  if (e.otherwise) {
    Guard inside = true;
    for (size_t d = 0; d < index.size(); ++d) inside = inside && Within(index[d], type.dims[d]);
    return ScalarExpr::Select(inside, c_.Read(tensor, std::move(index)), *e.otherwise);
  }
  for (size_t d = 0; d < index.size(); ++d) {
    // The size as the text states it, in terms of the names in the index.
    auto stated = stated_sizes_.find({tensor, static_cast<int>(d)});
    const IndexExpr& dim = stated == stated_sizes_.end() ? type.dims[d] : stated->second;
    if (c_.Holds(Inside(index[d], dim, scope_))) continue;
    return Error(e.position, absl::StrCat("index ", d, " of ", e.text,
                                          "[…] may lie outside its dimension; write ", e.text,
                                          "[…] else VALUE for the value there"));
  }
  return c_.Read(tensor, std::move(index));
}

}  // namespace lemma::define
