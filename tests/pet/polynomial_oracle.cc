#include "tests/pet/polynomial_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lemma::pet {
namespace {

// Elements of leaves, each as often as it is a factor; sorted.
using Product = std::vector<std::string>;
using Sum = std::map<Product, double>;

// Coefficients are small fractions, so a smaller sum of them is 0.
constexpr double kNothing = 1e-9;

Sum Plus(Sum a, const Sum& b, double scale = 1) {
  for (const auto& [product, coefficient] : b) a[product] += scale * coefficient;
  return a;
}

Sum Times(const Sum& a, const Sum& b) {
  Sum result;
  for (const auto& [x, c] : a) {
    for (const auto& [y, d] : b) {
      Product product = x;
      product.insert(product.end(), y.begin(), y.end());
      std::sort(product.begin(), product.end());
      result[product] += c * d;
    }
  }
  return result;
}

Sum Number(double value) { return {{Product(), value}}; }

class Oracle {
 public:
  Sum Element(const Value& value, const std::vector<int64_t>& index) {
    const Node& node = value.node();
    if (!node.is_op()) {
      int64_t flat = 0;
      for (size_t d = 0; d < index.size(); ++d) flat = flat * value.shape()[d] + index[d];
      if (node.kind() == Node::Kind::kConstant) return Number(node.payload().AtDouble(flat));
      const std::string leaf = node.kind() == Node::Kind::kInput
                                   ? absl::StrCat("input", node.input_index())
                                   : node.name();
      return {{{absl::StrCat(leaf, "[", flat, "]")}, 1.0}};
    }
    auto definition = DefinitionOf(node);
    EXPECT_TRUE(definition.ok()) << definition.status();
    const TensorId id = definition->outputs[static_cast<size_t>(value.output())];
    return Body(node, *definition, id, index);
  }

 private:
  using Vars = std::map<VarId, int64_t>;

  Sum Body(const Node& node, const Definition& d, TensorId id, const std::vector<int64_t>& index) {
    const TensorExpr& tensor = d.tensors[static_cast<size_t>(id - d.num_inputs())];
    Vars vars;
    for (size_t i = 0; i < index.size(); ++i) vars[tensor.axes[i].var] = index[i];
    return Expr(node, d, tensor.body, &vars);
  }

  static IndexEnv EnvOf(const Vars& vars) {
    IndexEnv env;
    env.var = [&vars](VarId v) -> std::optional<int64_t> { return vars.at(v); };
    env.symbol = [](const std::string&) { return std::nullopt; };
    return env;
  }

  Sum Expr(const Node& node, const Definition& d, const ScalarExpr& e, Vars* vars) {
    const IndexEnv env = EnvOf(*vars);
    auto arg = [&](size_t i) { return Expr(node, d, e.args()[i], vars); };
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return Number(e.value());
      case ScalarExpr::Kind::kIndex:
        return Number(static_cast<double>(*EvaluateIndex(e.index(), env)));
      case ScalarExpr::Kind::kRead: {
        std::vector<int64_t> at;
        for (const IndexExpr& i : e.indices()) at.push_back(*EvaluateIndex(i, env));
        if (e.tensor() >= d.num_inputs()) return Body(node, d, e.tensor(), at);
        return Element(node.inputs()[static_cast<size_t>(e.tensor())], at);
      }
      case ScalarExpr::Kind::kSelect:
        return arg(*EvaluateGuard(e.guard(), env) ? 0 : 1);
      case ScalarExpr::Kind::kReduce:
        EXPECT_EQ(e.reduce(), ReduceKind::kSum);
        return Reduce(node, d, e, 0, vars);
      case ScalarExpr::Kind::kApply:
        switch (e.fn()) {
          case ScalarFn::kAdd:
            return Plus(arg(0), arg(1));
          case ScalarFn::kSub:
            return Plus(arg(0), arg(1), -1);
          case ScalarFn::kNeg:
            return Plus({}, arg(0), -1);
          case ScalarFn::kMul:
            return Times(arg(0), arg(1));
          case ScalarFn::kDiv: {
            const Sum divisor = arg(1);
            EXPECT_TRUE(divisor.size() == 1 && divisor.begin()->first.empty());
            return Plus({}, arg(0), 1 / divisor.begin()->second);
          }
          default:
            break;
        }
        [[fallthrough]];
      default:
        ADD_FAILURE() << "no polynomial: " << e.ToString();
        return {};
    }
  }

  Sum Reduce(const Node& node, const Definition& d, const ScalarExpr& e, size_t axis, Vars* vars) {
    if (axis == e.axes().size()) {
      return *EvaluateGuard(e.guard(), EnvOf(*vars)) ? Expr(node, d, e.args()[0], vars) : Sum();
    }
    Sum sum;
    const int64_t extent = *EvaluateIndex(e.axes()[axis].extent, EnvOf(*vars));
    for (int64_t i = 0; i < extent; ++i) {
      (*vars)[e.axes()[axis].var] = i;
      sum = Plus(std::move(sum), Reduce(node, d, e, axis + 1, vars));
    }
    return sum;
  }
};

}  // namespace

std::vector<int64_t> DifferingPositions(const Graph& a, const Graph& b) {
  const Value &x = a.outputs()[0], &y = b.outputs()[0];
  EXPECT_EQ(x.type().ToString(), y.type().ToString());
  std::vector<int64_t> positions;
  Oracle oracle;
  for (int64_t flat = 0; flat < x.type().num_elements(); ++flat) {
    std::vector<int64_t> index(x.shape().size());
    int64_t rest = flat;
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % x.shape()[d];
      rest /= x.shape()[d];
    }
    const Sum difference = Plus(oracle.Element(x, index), oracle.Element(y, index), -1);
    const bool differs = std::any_of(difference.begin(), difference.end(), [](const auto& term) {
      return std::abs(term.second) > kNothing;
    });
    if (differs) positions.push_back(flat);
  }
  return positions;
}

}  // namespace lemma::pet
