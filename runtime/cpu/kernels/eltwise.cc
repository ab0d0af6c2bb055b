// Recognizes activations that oneDNN computes behind another primitive.
#include <cmath>
#include <limits>

#include "graph/expr/substitute.h"
#include "graph/op_table.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One of oneDNN's functions of an element, given by an operator that has its definition.
struct Activation {
  dnnl::algorithm algorithm;
  const char* op;
  // Attributes of the operator that are the function's parameters alpha and beta. Without an
  // attribute, a parameter has the number below, and the attributes have their defaults.
  const char* alpha_attr = nullptr;
  const char* beta_attr = nullptr;
  float alpha = 0, beta = 0;
};

std::vector<Activation> MakeActivations() {
  return {
      {dnnl::algorithm::eltwise_relu, "relu"},
      {dnnl::algorithm::eltwise_relu, "leaky_relu", "alpha"},
      {dnnl::algorithm::eltwise_clip, "clip", "min", "max"},
      {dnnl::algorithm::eltwise_clip, "clip", "min", nullptr, 0, kInfinity},
      {dnnl::algorithm::eltwise_clip, "clip", nullptr, "max", -kInfinity},
      {dnnl::algorithm::eltwise_elu, "elu", "alpha"},
      {dnnl::algorithm::eltwise_logistic, "sigmoid"},
      {dnnl::algorithm::eltwise_tanh, "tanh"},
      {dnnl::algorithm::eltwise_gelu_erf, "gelu"},
      {dnnl::algorithm::eltwise_gelu_tanh, "gelu_tanh"},
      {dnnl::algorithm::eltwise_swish, "silu", nullptr, nullptr, 1},
      {dnnl::algorithm::eltwise_hardswish, "hard_swish"},
      {dnnl::algorithm::eltwise_linear, "scalar_mul", "alpha"},
  };
}

// The function as an expression of Read(0, {}), with parameters "alpha" and "beta".
ScalarExpr ExpressionOf(const Activation& activation) {
  ExprAttrs attrs;
  if (activation.alpha_attr) attrs[activation.alpha_attr] = ScalarExpr::Param("alpha");
  if (activation.beta_attr) attrs[activation.beta_attr] = ScalarExpr::Param("beta");
  const OpDef& op = *FindOp(activation.op);
  const OpMeaning meaning =
      *Define(op, {ExprType{DType::kF32, {}}}, *CompleteExprAttrs(op, std::move(attrs)));
  return ElementFunctionOf(meaning.definition)->body;
}

struct Pattern {
  Activation activation;
  ScalarExpr expression;
};
const std::vector<Pattern>& Patterns() {
  static const auto* patterns = [] {
    auto* all = new std::vector<Pattern>;
    for (const Activation& a : MakeActivations()) all->push_back({a, ExpressionOf(a)});
    return all;
  }();
  return *patterns;
}

struct Parameters {
  std::optional<float> alpha, beta;
};

// Whether `e` is `pattern` with numbers as parameters. Numbers are compared as floats.
bool Matches(const ScalarExpr& pattern, const ScalarExpr& e, Parameters* found) {
  using Kind = ScalarExpr::Kind;
  if (pattern.kind() == Kind::kParam) {
    if (e.kind() != Kind::kConst) return false;
    const auto number = static_cast<float>(e.value());
    std::optional<float>& slot = pattern.name() == "alpha" ? found->alpha : found->beta;
    if (!slot) slot = number;
    return *slot == number;
  }
  if (pattern.kind() != e.kind()) return false;
  if (pattern.kind() == Kind::kConst) {
    return static_cast<float>(pattern.value()) == static_cast<float>(e.value());
  }
  if (pattern.kind() == Kind::kRead) return pattern.tensor() == e.tensor();
  if (pattern.kind() != Kind::kApply || pattern.fn() != e.fn()) return false;
  auto match_args = [&](bool swapped) {
    for (size_t i = 0; i < e.args().size(); ++i) {
      if (!Matches(pattern.args()[i], e.args()[swapped ? 1 - i : i], found)) return false;
    }
    return true;
  };
  const Parameters before = *found;
  if (match_args(false)) return true;
  *found = before;
  return Info(e.fn()).commutative() && match_args(true);
}

// The known element of a scalar constant.
std::optional<float> KnownScalar(const Value& v) {
  if (!v.node().has_payload() || v.type().num_elements() != 1 || v.dtype() != DType::kF32) {
    return std::nullopt;
  }
  return v.node().payload().data<float>()[0];
}

// What the last node computes from an element of `v`, which is Read(0, {}), if it depends on
// nothing else that is unknown. Each of the nodes may read those before it.
std::optional<ScalarExpr> FunctionOf(absl::Span<const Node* const> nodes, const Value& v) {
  std::vector<ScalarExpr> made;
  for (const Node* node : nodes) {
    const std::optional<ElementFunction>& element = NodeTraitsOf(*node).element;
    if (!element || node->type(0) != v.type() || v.dtype() != DType::kF32) return std::nullopt;
    bool known = true;
    ExprSubstitution substitution;
    substitution.read = [&](TensorId input, const Idx&) {
      const Value& operand = node->inputs()[input];
      if (operand == v) return ScalarExpr::Read(0, {});
      for (size_t n = 0; n < made.size(); ++n) {
        if (&operand.node() == nodes[n]) return made[n];
      }
      const std::optional<float> number = KnownScalar(operand);
      known = known && number.has_value();
      return ScalarExpr(number.value_or(0));
    };
    made.push_back(Substitute(element->body, substitution));
    if (!known) return std::nullopt;
  }
  return made.back();
}

// 1/c is exact only for powers of two. Only then the quotient x / c is the product of x and 1/c.
std::optional<float> FactorOfQuotient(const ScalarExpr& e) {
  if (e.kind() != ScalarExpr::Kind::kApply || e.fn() != ScalarFn::kDiv ||
      e.args()[0].kind() != ScalarExpr::Kind::kRead ||
      e.args()[1].kind() != ScalarExpr::Kind::kConst) {
    return std::nullopt;
  }
  int exponent = 0;
  const auto divisor = static_cast<float>(e.args()[1].value());
  if (std::fabs(std::frexp(divisor, &exponent)) != 0.5f) return std::nullopt;
  return 1.0f / divisor;
}

bool IsValid(const Eltwise& f) {
  if (f.algorithm == dnnl::algorithm::eltwise_clip)
    return !std::isnan(f.alpha) && !std::isnan(f.beta);
  return std::isfinite(f.alpha) && std::isfinite(f.beta);
}

std::optional<Eltwise> EltwiseOf(const ScalarExpr& e) {
  for (const auto& [activation, expression] : Patterns()) {
    Parameters found;
    if (!Matches(expression, e, &found)) continue;
    const Eltwise f = {activation.algorithm, found.alpha.value_or(activation.alpha),
                       found.beta.value_or(activation.beta)};
    if (IsValid(f)) return f;
  }
  if (const std::optional<float> factor = FactorOfQuotient(e)) {
    const Eltwise f = {dnnl::algorithm::eltwise_linear, *factor, 0};
    if (IsValid(f)) return f;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Eltwise> EltwiseOf(const Node& node, const Value& v) {
  const Node* const nodes[] = {&node};
  const std::optional<ScalarExpr> function = FunctionOf(nodes, v);
  return function ? EltwiseOf(*function) : std::nullopt;
}

std::optional<Eltwise> EltwiseOfPair(const Value& v, const Node& first, const Node& second) {
  auto reads = [](const Node& node, const Node& operand) {
    for (const Value& in : node.inputs()) {
      if (&in.node() == &operand) return true;
    }
    return false;
  };
  if (!reads(first, v.node()) || !reads(second, v.node()) || !reads(second, first)) {
    return std::nullopt;
  }
  const Node* const nodes[] = {&first, &second};
  const std::optional<ScalarExpr> function = FunctionOf(nodes, v);
  if (!function) return std::nullopt;
  const std::optional<Eltwise> f = EltwiseOf(*function);
  // FusesBehind compares parameters of single applications only.
  const bool fixed = f && (f->algorithm == dnnl::algorithm::eltwise_swish ||
                           f->algorithm == dnnl::algorithm::eltwise_hardswish);
  return fixed ? f : std::nullopt;
}

bool IsActivationPair(const Value& v, const Node& first, const Node& second) {
  return EltwiseOfPair(v, first, second).has_value();
}

}  // namespace lemma::cpu
