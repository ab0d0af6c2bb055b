#include "rewrite/rules/zero_signs.h"

#include <algorithm>
#include <vector>

#include "graph/expr/arithmetic.h"

namespace lemma {
namespace {

class ZeroSigns {
 public:
  explicit ZeroSigns(const Definition& definition) : definition_(definition) {}

  bool Run() {
    for (const TensorExpr& tensor : definition_.tensors) {
      const bool open = IsOpen(tensor.body);
      // Integers have one zero.
      open_.push_back(open && IsFloat(tensor.dtype));
    }
    return divides_;
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
      case ScalarExpr::Kind::kRead: {
        const TensorId made = e.tensor() - definition_.num_inputs();
        return made >= 0 && open_[made];
      }
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
  std::vector<bool> open_;  // by computed tensor
  bool divides_ = false;
};

}  // namespace

bool DividesByZeroOfAnySign(const Definition& definition) { return ZeroSigns(definition).Run(); }

}  // namespace lemma
