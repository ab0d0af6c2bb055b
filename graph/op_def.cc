#include "graph/op_def.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "graph/expr/unsigned.h"
#include "graph/sizes/condition_text.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

// A definition that uses what its table entry does not declare is a bug in Lemma.
[[noreturn]] void Broken(const OpDef& op, absl::string_view what) {
  std::fprintf(stderr, "lemma: definition of %s: %.*s\n", op.name.c_str(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

const char* KindName(AttrKind kind) {
  static constexpr const char* kNames[] = {"an integer", "a float", "a string",
                                           "a list of integers", "a list of floats"};
  return kNames[static_cast<int>(kind)];
}

std::string Describe(const ExprType& type) {
  auto dim = [](std::string* out, const IndexExpr& d) {
    auto size = ToSize(d);
    out->append(size ? SizeName(*size) : d.ToString());
  };
  return absl::StrCat(Name(type.dtype), "[", absl::StrJoin(type.dims, ",", dim), "]");
}

absl::Status AttrError(const OpDef& op, absl::string_view message) {
  auto name = [](std::string* out, const AttrSpec& spec) { out->append(spec.name); };
  return absl::InvalidArgumentError(absl::StrCat(
      op.name, ": ", message,
      op.attrs.empty() ? std::string(" (it takes no attributes)")
                       : absl::StrCat(" (attributes: ", absl::StrJoin(op.attrs, ", ", name), ")")));
}

bool IsSymbolic(const ExprAttr& value) {
  if (auto* i = std::get_if<IndexExpr>(&value)) return !i->is_const();
  if (auto* s = std::get_if<ScalarExpr>(&value)) return s->kind() != ScalarExpr::Kind::kConst;
  if (auto* list = std::get_if<Idx>(&value)) {
    for (const IndexExpr& i : *list) {
      if (!i.is_const()) return true;
    }
  }
  return false;
}

// Whether a requirement on symbolic sizes holds for all of them, or may be assumed: a model that
// does not meet it cannot run at that size. Equal sizes may be assumed only if neither can be 1,
// since a size of 1 is broadcast where it is a number.
bool MayBeAssumed(const Guard& requirement) {
  auto decided = Decide(requirement);
  if (decided) return *decided;
  switch (requirement.kind()) {
    case Guard::Kind::kLe:
      return true;
    case Guard::Kind::kEq:
      return Decide(Le(2, requirement.lhs())) == true && Decide(Le(2, requirement.rhs())) == true;
    case Guard::Kind::kAnd:
      return MayBeAssumed(requirement.left()) && MayBeAssumed(requirement.right());
    default:
      return false;
  }
}

absl::Status CheckInputCount(const OpDef& op, size_t count) {
  bool enough = static_cast<int>(count) >= op.min_inputs;
  bool not_too_many = op.max_inputs == kVariadic || static_cast<int>(count) <= op.max_inputs;
  if (enough && not_too_many) return absl::OkStatus();
  std::string accepted = op.max_inputs == kVariadic ? absl::StrCat("at least ", op.min_inputs)
                         : op.min_inputs == op.max_inputs
                             ? absl::StrCat(op.min_inputs)
                             : absl::StrCat(op.min_inputs, " to ", op.max_inputs);
  return absl::InvalidArgumentError(
      absl::StrCat(op.name, ": ", count, " inputs given, it takes ", accepted));
}

}  // namespace

const AttrSpec* OpDef::FindAttr(absl::string_view attr) const {
  for (const AttrSpec& spec : attrs) {
    if (spec.name == attr) return &spec;
  }
  return nullptr;
}

OpContext::OpContext(const OpDef& op, std::vector<ExprType> inputs, const ExprAttrs& attrs,
                     Mode mode)
    : op_(op), attrs_(attrs), mode_(mode) {
  definition_.inputs = std::move(inputs);
}

const ExprAttr& OpContext::Find(absl::string_view name, AttrKind kind) const {
  auto it = attrs_.find(std::string(name));
  if (it == attrs_.end() || static_cast<AttrKind>(it->second.index()) != kind) {
    Broken(op_, absl::StrCat("attribute ", name, " is not declared as ", KindName(kind)));
  }
  return it->second;
}

int64_t OpContext::Int(absl::string_view name) const {
  const IndexExpr& value = std::get<IndexExpr>(Find(name, AttrKind::kInt));
  if (!value.is_const()) Broken(op_, absl::StrCat("attribute ", name, " may be a symbol"));
  return value.value();
}

std::vector<int64_t> OpContext::Ints(absl::string_view name) const {
  std::vector<int64_t> result;
  for (const IndexExpr& value : std::get<Idx>(Find(name, AttrKind::kInts))) {
    if (!value.is_const()) Broken(op_, absl::StrCat("attribute ", name, " may be a symbol"));
    result.push_back(value.value());
  }
  return result;
}

const IndexExpr& OpContext::Size(absl::string_view name) const {
  return std::get<IndexExpr>(Find(name, AttrKind::kInt));
}
const Idx& OpContext::Sizes(absl::string_view name) const {
  return std::get<Idx>(Find(name, AttrKind::kInts));
}
const ScalarExpr& OpContext::Real(absl::string_view name) const {
  return std::get<ScalarExpr>(Find(name, AttrKind::kFloat));
}
const std::string& OpContext::String(absl::string_view name) const {
  return std::get<std::string>(Find(name, AttrKind::kString));
}
const std::vector<double>& OpContext::Reals(absl::string_view name) const {
  return std::get<std::vector<double>>(Find(name, AttrKind::kFloats));
}

absl::StatusOr<int> OpContext::NormalizeAxis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    return Fail(absl::StrCat("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool OpContext::Holds(const Guard& guard) {
  if (guard.is_true()) return true;
  if (guard.is_false()) return false;
  requirements_.push_back(guard);
  return true;
}

absl::Status OpContext::Fail(absl::string_view message) const {
  auto describe = [](std::string* out, const ExprType& type) { out->append(Describe(type)); };
  return absl::InvalidArgumentError(absl::StrCat(
      op_.name, "(", absl::StrJoin(definition_.inputs, ", ", describe), "): ", message));
}

TensorId OpContext::Add(DType dtype, Idx dims, const Body& body) {
  TensorExpr tensor;
  tensor.dtype = dtype;
  Idx index;
  for (IndexExpr& dim : dims) {
    IndexExpr var = NewVar();
    tensor.axes.push_back({var.var(), std::move(dim)});
    index.push_back(std::move(var));
  }
  if (mode_ == Mode::kFull) tensor.body = body(index);
  definition_.tensors.push_back(std::move(tensor));
  return definition_.num_inputs() + static_cast<TensorId>(definition_.tensors.size()) - 1;
}

TensorId OpContext::Local(DType dtype, Idx dims, const Body& body) {
  return Add(dtype, std::move(dims), body);
}

TensorId OpContext::Output(DType dtype, Idx dims, const Body& body) {
  TensorId id = Add(dtype, std::move(dims), body);
  definition_.outputs.push_back(id);
  return id;
}

ScalarExpr OpContext::Read(TensorId tensor, Idx index) const {
  return ScalarExpr::Read(tensor, std::move(index));
}

ScalarExpr OpContext::ReadOr(TensorId tensor, Idx index, const ScalarExpr& outside) const {
  ExprType type = definition_.TypeOf(tensor);
  Guard inside = true;
  for (size_t i = 0; i < index.size(); ++i) inside = inside && InRange(index[i], type.dims[i]);
  return ScalarExpr::Select(inside, Read(tensor, std::move(index)), outside);
}

ScalarExpr OpContext::Reduce(ReduceKind kind, const Idx& extents, const Body& body,
                             const std::function<Guard(const Idx&)>& where) {
  std::vector<Axis> axes;
  Idx index;
  for (const IndexExpr& extent : extents) {
    IndexExpr var = NewVar();
    axes.push_back({var.var(), extent});
    index.push_back(std::move(var));
  }
  Guard guard = where ? where(index) : Guard(true);
  return ScalarExpr::Reduce(kind, std::move(axes), std::move(guard), body(index));
}

absl::Status OpContext::DefineInFull(absl::FunctionRef<absl::Status(OpContext&)> build) {
  if (mode_ == Mode::kFull) return build(*this);
  OpContext full(op_, definition_.inputs, attrs_, Mode::kFull);
  if (auto s = build(full); !s.ok()) return s;
  definition_ = std::move(full.definition_);
  requirements_ = std::move(full.requirements_);
  return absl::OkStatus();
}

void OpContext::Adopt(Definition definition) { definition_ = std::move(definition); }

std::vector<ExprType> OpContext::output_types() const {
  std::vector<ExprType> types;
  for (TensorId id : definition_.outputs) types.push_back(definition_.TypeOf(id));
  return types;
}

absl::StatusOr<Attrs> CompleteAttrs(const OpDef& op, Attrs attrs) {
  for (auto& [name, value] : attrs) {
    const AttrSpec* spec = op.FindAttr(name);
    if (spec == nullptr) return AttrError(op, absl::StrCat("no attribute ", name));
    if (spec->kind == AttrKind::kFloat && KindOf(value) == AttrKind::kInt) {
      value = static_cast<double>(std::get<int64_t>(value));
    }
    if (spec->kind == AttrKind::kFloats && KindOf(value) == AttrKind::kInts) {
      const auto ints = std::get<std::vector<int64_t>>(value);
      value = std::vector<double>(ints.begin(), ints.end());
    }
    if (KindOf(value) != spec->kind) {
      return AttrError(op, absl::StrCat("attribute ", name, " = ", ToString(value), " must be ",
                                        KindName(spec->kind)));
    }
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.count(spec.name) > 0) continue;
    if (!spec.default_value)
      return AttrError(op, absl::StrCat("attribute ", spec.name, " missing"));
    attrs[spec.name] = *spec.default_value;
  }
  return attrs;
}

absl::StatusOr<ExprAttrs> CompleteExprAttrs(const OpDef& op, ExprAttrs attrs) {
  for (auto& [name, value] : attrs) {
    const AttrSpec* spec = op.FindAttr(name);
    if (spec == nullptr) return AttrError(op, absl::StrCat("no attribute ", name));
    if (auto* index = std::get_if<IndexExpr>(&value); index && spec->kind == AttrKind::kFloat) {
      value = ScalarExpr::Index(*index);
    }
    if (static_cast<AttrKind>(value.index()) != spec->kind) {
      return AttrError(op, absl::StrCat("attribute ", name, " must be ", KindName(spec->kind)));
    }
    if (!spec->symbolic && IsSymbolic(value)) {
      return AttrError(op, absl::StrCat("attribute ", name, " cannot be a symbol"));
    }
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.count(spec.name) > 0) continue;
    if (!spec.default_value)
      return AttrError(op, absl::StrCat("attribute ", spec.name, " missing"));
    attrs[spec.name] = ToExprAttrs({{spec.name, *spec.default_value}})[spec.name];
  }
  return attrs;
}

ExprType ToExprType(const TensorType& type) { return {type.dtype, ToExprs(type.shape)}; }

namespace {

// Definitions are for element types that Lemma computes with.
absl::Status RefuseOpaque(const OpDef& op, const std::vector<ExprType>& types) {
  for (const ExprType& type : types) {
    if (!IsOpaque(type.dtype)) continue;
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", op.name, " of element type ", Name(type.dtype)));
  }
  return absl::OkStatus();
}

bool AnySmallFloat(const std::vector<ExprType>& types) {
  return std::any_of(types.begin(), types.end(),
                     [](const ExprType& type) { return IsSmallFloat(type.dtype); });
}

// Whether `e` reads a small float, other than as a value that is only moved if `moves`.
bool Computes(const ScalarExpr& e, const Definition& d, bool moves) {
  auto any = [&](size_t from, size_t to, bool moves) {
    return std::any_of(e.args().begin() + from, e.args().begin() + to,
                       [&](const ScalarExpr& arg) { return Computes(arg, d, moves); });
  };
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
      return !moves && IsSmallFloat(d.TypeOf(e.tensor()).dtype);
    case ScalarExpr::Kind::kSelect:
      return any(0, e.args().size(), moves);
    case ScalarExpr::Kind::kApply:
      if (e.fn() == ScalarFn::kWhere) return any(0, 1, false) || any(1, 3, moves);
      return any(0, e.args().size(), false);
    default:
      return any(0, e.args().size(), false);
  }
}

// Whether the value is read or a number.
bool IsMoved(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
    case ScalarExpr::Kind::kConst:
      return true;
    case ScalarExpr::Kind::kSelect:
      return IsMoved(e.args()[0]) && IsMoved(e.args()[1]);
    case ScalarExpr::Kind::kApply:
      return e.fn() == ScalarFn::kWhere && IsMoved(e.args()[1]) && IsMoved(e.args()[2]);
    default:
      return false;
  }
}

absl::Status RefuseArithmetic(const OpDef& op, const Definition& d) {
  if (op.converts_small_floats) return absl::OkStatus();
  for (const TensorExpr& tensor : d.tensors) {
    const bool is_small = IsSmallFloat(tensor.dtype);
    if (!Computes(tensor.body, d, is_small) && (!is_small || IsMoved(tensor.body))) continue;
    auto small = std::find_if(d.inputs.begin(), d.inputs.end(),
                              [](const ExprType& type) { return IsSmallFloat(type.dtype); });
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", op.name, " of element type ",
                     Name(small == d.inputs.end() ? tensor.dtype : small->dtype)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> InferTypes(const OpDef& op,
                                                   absl::Span<const TensorType> inputs,
                                                   const Attrs& attrs) {
  if (auto s = CheckInputCount(op, inputs.size()); !s.ok()) return s;
  std::vector<ExprType> types;
  for (const TensorType& type : inputs) types.push_back(ToExprType(type));
  if (auto s = RefuseOpaque(op, types); !s.ok()) return s;
  ExprAttrs expr_attrs = ToExprAttrs(attrs);
  bool is_symbolic = std::any_of(inputs.begin(), inputs.end(), [](const TensorType& type) {
    return lemma::IsSymbolic(type.shape);
  });
  for (const auto& [name, value] : expr_attrs) {
    if (KindOf(attrs.at(name)) == AttrKind::kFloat || !IsSymbolic(value)) continue;
    is_symbolic = true;
    if (const AttrSpec* spec = op.FindAttr(name); spec != nullptr && !spec->symbolic) {
      return AttrError(op, absl::StrCat("attribute ", name, " must be a number, not ",
                                        ToString(attrs.at(name))));
    }
  }
  OpContext context(op, types, expr_attrs, OpContext::Mode::kTypesOnly);
  if (auto s = op.define(context); !s.ok()) return s;
  if (auto s = RefuseOpaque(op, context.output_types()); !s.ok()) return s;
  if (AnySmallFloat(types) || AnySmallFloat(context.output_types())) {
    if (auto meaning = Define(op, types, expr_attrs); !meaning.ok()) return meaning.status();
  }
  for (const Guard& requirement : context.requirements()) {
    // With constant sizes every requirement is decided, unless its arithmetic exceeds 64 bits.
    if (!is_symbolic) {
      return context.Fail(absl::StrCat("the sizes are too large: ", requirement.ToString()));
    }
    if (!MayBeAssumed(requirement)) {
      return context.Fail(
          absl::StrCat("for some sizes this does not hold: ", ConditionText(requirement),
                       "; where both are equal and never 1, give --range"));
    }
  }
  std::vector<TensorType> result;
  for (const ExprType& type : context.output_types()) {
    TensorType concrete{type.dtype, {}};
    for (const IndexExpr& dim : type.dims) {
      auto size = ToSize(dim);
      if (!size) {
        return context.Fail(absl::StrCat("output size ", dim.ToString(), " is not a constant"));
      }
      if (*size < 0) return context.Fail(absl::StrCat("output size ", *size, " is negative"));
      concrete.shape.push_back(*size);
    }
    result.push_back(std::move(concrete));
  }
  return result;
}

absl::StatusOr<OpMeaning> Define(const OpDef& op, std::vector<ExprType> inputs,
                                 const ExprAttrs& attrs) {
  if (auto s = CheckInputCount(op, inputs.size()); !s.ok()) return s;
  if (auto s = RefuseOpaque(op, inputs); !s.ok()) return s;
  OpContext context(op, std::move(inputs), attrs, OpContext::Mode::kFull);
  if (auto s = op.define(context); !s.ok()) return s;
  if (auto s = RefuseOpaque(op, context.output_types()); !s.ok()) return s;
  if (auto s = RefuseArithmetic(op, context.definition()); !s.ok()) return s;
  return OpMeaning{WithUnsignedOrder(context.definition()), context.requirements()};
}

absl::StatusOr<Definition> Define(const OpDef& op, absl::Span<const TensorType> inputs,
                                  const Attrs& attrs) {
  std::vector<ExprType> types;
  for (const TensorType& type : inputs) types.push_back(ToExprType(type));
  auto meaning = Define(op, std::move(types), ToExprAttrs(attrs));
  if (!meaning.ok()) return meaning.status();
  return std::move(meaning->definition);
}

}  // namespace lemma
