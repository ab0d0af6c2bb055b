#include "rewrite/rules/zero_signs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/expr/arithmetic.h"

namespace lemma {
namespace {

class ZeroSigns {
 public:
  // `open`, by input: whether it may be a zero of undetermined sign.
  ZeroSigns(const Definition& definition, std::vector<bool> open)
      : definition_(definition), open_(std::move(open)) {
    for (const TensorExpr& tensor : definition_.tensors) {
      const bool is_open = IsOpen(tensor.body);
      // Integers have one zero.
      open_.push_back(is_open && IsFloat(tensor.dtype));
    }
  }

  // Whether such a zero may be a divisor.
  bool divides() const { return divides_; }
  // Whether this output may be such a zero.
  bool IsOpenOutput(int output) const {
    return open_[static_cast<size_t>(definition_.outputs[output])];
  }

 private:
  // Whether the value may be a zero of undetermined sign. Records divisions by such values.
  bool IsOpen(const ScalarExpr& e) {
    std::vector<bool> args;
    for (const ScalarExpr& arg : e.args()) args.push_back(IsOpen(arg));
    const bool any = std::find(args.begin(), args.end(), true) != args.end();
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
      case ScalarExpr::Kind::kIndex:
        return false;
      case ScalarExpr::Kind::kRead:
        return open_[static_cast<size_t>(e.tensor())];
      case ScalarExpr::Kind::kReduce:
        return any || e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin;
      case ScalarExpr::Kind::kSelect:
        return any;
      case ScalarExpr::Kind::kApply:
        break;
    }
    return IsOpen(e, args, any);
  }

  bool IsOpen(const ScalarExpr& e, const std::vector<bool>& args, bool any) {
    const auto constant = [&](double sign) {
      return std::any_of(e.args().begin(), e.args().end(), [&](const ScalarExpr& arg) {
        return arg.kind() == ScalarExpr::Kind::kConst && sign * arg.value() > 0;
      });
    };
    switch (e.fn()) {
      case ScalarFn::kMax:  // max(x, 1) is never zero
        return !constant(1);
      case ScalarFn::kMin:
        return !constant(-1);
      case ScalarFn::kDiv:
        divides_ = divides_ || args[1];
        return any;
      case ScalarFn::kPow:
        divides_ = divides_ || args[0];
        return any;
      case ScalarFn::kAbs:
      case ScalarFn::kExp:
      case ScalarFn::kCos:
      case ScalarFn::kCosh:
        return false;  // equal for 0 and -0
      case ScalarFn::kWhere:
        return args[1] || args[2];
      default:
        return any && !Info(e.fn()).truth();
    }
  }

  const Definition& definition_;
  std::vector<bool> open_;  // by tensor, inputs first
  bool divides_ = false;
};

}  // namespace

bool DividesByZeroOfAnySign(const Definition& definition) {
  return ZeroSigns(definition, std::vector<bool>(definition.inputs.size(), false)).divides();
}

bool DividesByZeroOfAnySign(const Graph& graph) {
  absl::flat_hash_set<Value> open;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) return true;
    std::vector<bool> operands;
    for (const Value& operand : node->inputs()) operands.push_back(open.count(operand) > 0);
    const ZeroSigns signs(*definition, std::move(operands));
    if (signs.divides()) return true;
    for (int o = 0; o < node->num_outputs(); ++o) {
      if (signs.IsOpenOutput(o)) open.insert(Value(node, o));
    }
  }
  return false;
}

}  // namespace lemma
