#include "verifier/referee/near_numbers.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace lemma::referee {
namespace {

// Two numbers of f32 that are neighbours differ by at most this much, relative to them.
constexpr double kNear = 0x1p-23;

// Small fractions of powers of two are exact and mean themselves.
bool IsExact(double x) { return !std::isfinite(x) || x * 4096 == std::floor(x * 4096); }

bool AreNear(double a, double b) {
  return std::signbit(a) == std::signbit(b) &&
         std::abs(a - b) <= kNear * std::min(std::abs(a), std::abs(b));
}

class Unifier {
 public:
  explicit Unifier(Statement* statement) : statement_(*statement) {}

  bool Run() {
    Collect(statement_.source, &in_source_);
    Collect(statement_.target, &in_target_);
    if (has_doubles_) return false;
    Replace(&statement_.source, false);
    Replace(&statement_.target, true);
    return changed_;
  }

 private:
  using Memo = absl::flat_hash_map<const ScalarNode*, ScalarExpr>;

  // The value of a tensor that is one number everywhere.
  static std::optional<double> NumberOf(const Definition& definition, TensorId id) {
    if (id < definition.num_inputs()) return std::nullopt;
    const ScalarExpr& body = definition.tensors[id - definition.num_inputs()].body;
    if (body.kind() != ScalarExpr::Kind::kConst) return std::nullopt;
    return body.value();
  }
  static std::optional<double> NumberOf(const Definition& definition, const ScalarExpr& e) {
    if (e.kind() == ScalarExpr::Kind::kConst) return e.value();
    if (e.kind() == ScalarExpr::Kind::kRead) return NumberOf(definition, e.tensor());
    return std::nullopt;
  }

  void Collect(const Definition& definition, std::set<double>* numbers) {
    std::set<const ScalarNode*> seen;
    for (const ExprType& input : definition.inputs) has_doubles_ |= input.dtype == DType::kF64;
    for (const TensorExpr& tensor : definition.tensors) {
      has_doubles_ |= tensor.dtype == DType::kF64;
      Collect(tensor.body, &seen, numbers);
    }
  }
  static void Collect(const ScalarExpr& e, std::set<const ScalarNode*>* seen,
                      std::set<double>* numbers) {
    if (!seen->insert(e.node().get()).second) return;
    if (e.kind() == ScalarExpr::Kind::kConst && !IsExact(e.value())) numbers->insert(e.value());
    for (const ScalarExpr& arg : e.args()) Collect(arg, seen, numbers);
  }

  // The only one of `numbers` that is near x; nullopt if two are so near that they must not be
  // mixed up.
  static std::optional<double> OnlyNear(double x, const std::set<double>& numbers) {
    std::optional<double> found;
    for (double number : numbers) {
      if (!AreNear(number, x)) continue;
      if (found) return std::nullopt;
      found = number;
    }
    return found;
  }

  // The number of the source that a number of the target stands for.
  std::optional<double> Common(double x) const {
    const std::optional<double> found = OnlyNear(x, in_source_);
    return found && OnlyNear(*found, in_target_) ? found : std::nullopt;
  }

  void Replace(Definition* definition, bool in_target) {
    Memo memo;
    const Definition old = *definition;
    for (TensorExpr& tensor : definition->tensors) {
      tensor.body = Replaced(old, tensor.body, in_target, &memo);
    }
  }

  ScalarExpr Replaced(const Definition& definition, const ScalarExpr& e, bool in_target,
                      Memo* memo) {
    if (auto it = memo->find(e.node().get()); it != memo->end()) return it->second;
    ScalarExpr result = Rewritten(definition, e, in_target, memo);
    memo->emplace(e.node().get(), result);
    return result;
  }

  ScalarExpr Rewritten(const Definition& definition, const ScalarExpr& e, bool in_target,
                       Memo* memo) {
    const auto number = NumberOf(definition, e);
    if (in_target && number && !IsExact(*number)) {
      const std::optional<double> common = Common(*number);
      if (!common) return e;
      changed_ |= *common != *number;
      return *common;
    }
    if (e.args().empty()) return e;
    std::vector<ScalarExpr> args;
    for (const ScalarExpr& arg : e.args())
      args.push_back(Replaced(definition, arg, in_target, memo));
    switch (e.kind()) {
      case ScalarExpr::Kind::kApply:
        if (e.fn() == ScalarFn::kDiv) {
          const auto divisor = NumberOf(definition, e.args()[1]);
          const std::set<double>& own = in_target ? in_target_ : in_source_;
          const auto common = divisor && !IsExact(*divisor) && OnlyNear(*divisor, own)
                                  ? OnlyNear(1 / *divisor, in_target ? in_source_ : in_target_)
                                  : std::nullopt;
          changed_ |= common.has_value();
          if (common) return args[0] * ScalarExpr(*common);
        }
        return ScalarExpr::Apply(e.fn(), std::move(args));
      case ScalarExpr::Kind::kSelect:
        return ScalarExpr::Select(e.guard(), args[0], args[1]);
      case ScalarExpr::Kind::kReduce:
        return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), args[0]);
      default:
        return e;
    }
  }

  Statement& statement_;
  std::set<double> in_source_, in_target_;
  bool has_doubles_ = false;
  bool changed_ = false;
};

}  // namespace

bool UnifyNearNumbers(Statement* statement) { return Unifier(statement).Run(); }

}  // namespace lemma::referee
