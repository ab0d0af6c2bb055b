#include "graph/onnx/sizes/size_values.h"

#include <cmath>
#include <map>

#include "graph/barrier.h"

namespace lemma {
namespace {

constexpr int64_t kMaxElements = 256;
constexpr int kMaxDepth = 500;  // far more than any shape computation needs

// An element of a definition, with the index variables at given positions.
class ElementEvaluator {
 public:
  using Inputs = std::vector<std::vector<IndexExpr>>;
  // `is_integer`: the definition's operands and results are integers, so that a quotient is
  // rounded.
  ElementEvaluator(const Definition& definition, const Inputs& inputs, bool is_integer)
      : definition_(definition), inputs_(inputs), is_integer_(is_integer) {}

  // The element of a tensor of the definition at `position`.
  std::optional<IndexExpr> At(TensorId tensor, const std::vector<int64_t>& position) {
    const ExprType type = definition_.TypeOf(tensor);
    for (size_t d = 0; d < position.size(); ++d) {
      auto size = type.dims[d].AsConst();
      if (!size || position[d] < 0 || position[d] >= *size) return std::nullopt;
    }
    if (tensor < definition_.num_inputs()) {
      int64_t flat = 0;
      for (size_t d = 0; d < position.size(); ++d) {
        flat = flat * type.dims[d].value() + position[d];
      }
      return inputs_[tensor][flat];
    }
    const TensorExpr& made = definition_.tensors[tensor - definition_.num_inputs()];
    ElementEvaluator inside(definition_, inputs_, is_integer_);
    for (size_t d = 0; d < position.size(); ++d) inside.vars_[made.axes[d].var] = position[d];
    return inside.Value(made.body);
  }

 private:
  // The index with variables replaced.
  std::optional<IndexExpr> Index(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
        return e;
      case IndexExpr::Kind::kVar: {
        auto it = vars_.find(e.var());
        if (it == vars_.end()) return std::nullopt;
        return IndexExpr(it->second);
      }
      case IndexExpr::Kind::kLoad:
        return Value(ScalarExpr(e.load()));
      default:
        break;
    }
    auto a = Index(e.lhs()), b = Index(e.rhs());
    if (!a || !b) return std::nullopt;
    return Binary(e.kind(), *a, *b);
  }

  std::optional<bool> Truth(const Guard& g) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
        return true;
      case Guard::Kind::kFalse:
        return false;
      case Guard::Kind::kNot: {
        auto a = Truth(g.left());
        if (!a) return std::nullopt;
        return !*a;
      }
      case Guard::Kind::kAnd:
      case Guard::Kind::kOr: {
        const bool decisive = g.kind() == Guard::Kind::kOr;
        auto a = Truth(g.left());
        if (a == decisive) return decisive;
        auto b = Truth(g.right());
        if (b == decisive) return decisive;
        if (!a || !b) return std::nullopt;
        return !decisive;
      }
      default:
        break;
    }
    auto a = Index(g.lhs()), b = Index(g.rhs());
    if (!a || !b) return std::nullopt;
    return Decide(g.kind() == Guard::Kind::kLe ? Le(*a, *b) : Eq(*a, *b));
  }

  static std::optional<IndexExpr> OfTruth(std::optional<bool> truth) {
    if (!truth) return std::nullopt;
    return IndexExpr(*truth ? 1 : 0);
  }

  std::optional<IndexExpr> Reduce(const ScalarExpr& e, size_t axis) {
    if (axis == e.axes().size()) {
      auto inside = Truth(e.guard());
      if (!inside) return std::nullopt;
      if (*inside) return Value(e.args()[0]);
      switch (e.reduce()) {
        case ReduceKind::kSum:
          return IndexExpr(0);
        case ReduceKind::kProd:
          return IndexExpr(1);
        default:
          return std::nullopt;  // the identity is infinite
      }
    }
    auto extent = Index(e.axes()[axis].extent);
    if (!extent || !extent->is_const() || extent->value() > kMaxElements) return std::nullopt;
    std::optional<IndexExpr> result;
    const VarId var = e.axes()[axis].var;
    for (int64_t i = 0; i < extent->value(); ++i) {
      vars_[var] = i;
      auto next = Reduce(e, axis + 1);
      if (!next) return std::nullopt;
      if (!result) {
        result = next;
        continue;
      }
      switch (e.reduce()) {
        case ReduceKind::kSum:
          result = *result + *next;
          break;
        case ReduceKind::kProd:
          result = *result * *next;
          break;
        case ReduceKind::kMax:
          result = Max(*result, *next);
          break;
        case ReduceKind::kMin:
          result = Min(*result, *next);
          break;
      }
    }
    vars_.erase(var);
    if (result) return result;
    if (e.reduce() == ReduceKind::kSum) return IndexExpr(0);
    if (e.reduce() == ReduceKind::kProd) return IndexExpr(1);
    return std::nullopt;
  }

  // Functions whose value for whole numbers is a whole number, which no type in between rounds.
  std::optional<IndexExpr> Apply(const ScalarExpr& e) {
    if (e.fn() == ScalarFn::kWhere) {
      auto condition = Value(e.args()[0]);
      if (!condition) return std::nullopt;
      auto is_zero = Decide(Eq(*condition, 0));
      if (!is_zero) return std::nullopt;
      return Value(e.args()[*is_zero ? 2 : 1]);
    }
    std::vector<IndexExpr> args;
    for (const ScalarExpr& arg : e.args()) {
      auto value = Value(arg);
      if (!value) return std::nullopt;
      args.push_back(*value);
    }
    switch (e.fn()) {
      case ScalarFn::kAdd:
        return args[0] + args[1];
      case ScalarFn::kSub:
        return args[0] - args[1];
      case ScalarFn::kMul:
        return args[0] * args[1];
      case ScalarFn::kNeg:
        return -args[0];
      case ScalarFn::kMin:
        return Min(args[0], args[1]);
      case ScalarFn::kMax:
        return Max(args[0], args[1]);
      case ScalarFn::kAbs:
        if (Decide(Le(0, args[0])) != true) return std::nullopt;
        return args[0];
      case ScalarFn::kDiv:  // of integers: towards zero
        if (Decide(Le(0, args[0])) != true || Decide(Le(1, args[1])) != true) return std::nullopt;
        if (!is_integer_ && !AreEqual(FloorDiv(args[0], args[1]) * args[1], args[0])) {
          return std::nullopt;
        }
        return FloorDiv(args[0], args[1]);
      case ScalarFn::kMod:
        if (Decide(Le(1, args[1])) != true) return std::nullopt;
        return Mod(args[0], args[1]);
      case ScalarFn::kLess:
        return OfTruth(Decide(Lt(args[0], args[1])));
      case ScalarFn::kEqual:
        return OfTruth(Decide(Eq(args[0], args[1])));
      case ScalarFn::kNot:
        return OfTruth(Decide(Eq(args[0], 0)));
      case ScalarFn::kFloor:
      case ScalarFn::kCeil:
      case ScalarFn::kRound:
      case ScalarFn::kTrunc:
        return args[0];
      default:
        return std::nullopt;
    }
  }

  std::optional<IndexExpr> Value(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        if (e.value() != std::floor(e.value()) || std::abs(e.value()) > 0x1p52) {
          return std::nullopt;
        }
        return IndexExpr(static_cast<int64_t>(e.value()));
      case ScalarExpr::Kind::kIndex:
        return Index(e.index());
      case ScalarExpr::Kind::kRead: {
        std::vector<int64_t> position;
        for (const IndexExpr& index : e.indices()) {
          auto at = Index(index);
          if (!at || !at->is_const()) return std::nullopt;
          position.push_back(at->value());
        }
        return At(e.tensor(), position);
      }
      case ScalarExpr::Kind::kSelect: {
        auto truth = Truth(e.guard());
        if (!truth) return std::nullopt;
        return Value(e.args()[*truth ? 0 : 1]);
      }
      case ScalarExpr::Kind::kReduce:
        return Reduce(e, 0);
      case ScalarExpr::Kind::kApply:
        return Apply(e);
      case ScalarExpr::Kind::kParam:
        return std::nullopt;
    }
    return std::nullopt;
  }

  const Definition& definition_;
  const Inputs& inputs_;
  const bool is_integer_;
  std::map<VarId, int64_t> vars_;
};

// Types that hold every size exactly, or truth values.
bool HoldsSizes(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kBool ||
         dtype == DType::kF64;
}

// Whether the type holds the number exactly, for all sizes. i64 is taken to (see the header).
bool Holds(DType dtype, const IndexExpr& e) {
  if (dtype == DType::kI64) return true;
  const int64_t most = dtype == DType::kI32   ? INT32_MAX
                       : dtype == DType::kF64 ? int64_t{1} << 53
                                              : 1;
  const int64_t least = dtype == DType::kBool ? 0 : -most;
  return Decide(Le(e, most)) == true && Decide(Le(least, e)) == true;
}

}  // namespace

SizeValues::Elements SizeValues::Find(const Value& value, int depth) {
  auto it = known_.find(value);
  if (it != known_.end()) return it->second;
  known_[value] = std::nullopt;
  Elements elements = Compute(value, depth);
  if (elements) {
    for (IndexExpr& e : *elements) {
      auto size = ToSize(e);
      if (!size) return std::nullopt;
      e = ToExpr(*size);
    }
  }
  return known_[value] = std::move(elements);
}

SizeValues::Elements SizeValues::Compute(const Value& value, int depth) {
  const Node& node = value.node();
  const TensorType& type = value.type();
  if (depth > kMaxDepth || !HoldsSizes(type.dtype) || IsSymbolic(type.shape) ||
      type.num_elements() > kMaxElements) {
    return std::nullopt;
  }
  if (!node.is_op()) {
    auto tensor = leaf_(value);
    if (!tensor || IsReal(tensor->dtype())) return std::nullopt;
    std::vector<IndexExpr> elements;
    for (int64_t v : tensor->ToInts()) elements.emplace_back(v);
    return elements;
  }
  if (node.IsOp("opaque")) return std::nullopt;
  if (IsBarrier(node)) return Find(node.inputs()[0], depth + 1);
  std::vector<std::vector<IndexExpr>> inputs;
  for (const Value& input : node.inputs()) {
    auto elements = Find(input, depth + 1);
    if (!elements) return std::nullopt;
    inputs.push_back(*std::move(elements));
  }
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return std::nullopt;
  bool is_integer = !IsReal(type.dtype);
  for (const Value& input : node.inputs()) is_integer = is_integer && !IsReal(input.dtype());
  std::vector<IndexExpr> elements;
  std::vector<int64_t> position(type.rank(), 0);
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    ElementEvaluator evaluator(*definition, inputs, is_integer);
    auto element = evaluator.At(definition->outputs[value.output()], position);
    if (!element) return std::nullopt;
    if (!Holds(type.dtype, *element)) return std::nullopt;
    elements.push_back(*std::move(element));
    for (int d = type.rank(); d-- > 0;) {
      if (++position[d] < type.shape[d]) break;
      position[d] = 0;
    }
  }
  return elements;
}

}  // namespace lemma
