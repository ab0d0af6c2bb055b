#include "verifier/referee/evidence/near_numbers.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace lemma::referee {
namespace {

// Two numbers of f32 that are neighbors differ by at most this much, relative to them.
constexpr double kNear = 0x1p-23;
constexpr size_t kMostComposed = 24;  // numbers of which sums and products are tried

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
    if (changed_) return true;
    // The other direction: the source has a number that the target computes.
    composed_in_source_ = true;
    Replace(&statement_.source, false);
    return changed_;
  }

 private:
  struct Numbers {
    std::set<double> rounded, exact;  // whether f32 probably rounded them
  };
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

  void Collect(const Definition& definition, Numbers* numbers) {
    std::set<const ScalarNode*> seen;
    for (const ExprType& input : definition.inputs) has_doubles_ |= input.dtype == DType::kF64;
    for (const TensorExpr& tensor : definition.tensors) {
      has_doubles_ |= tensor.dtype == DType::kF64;
      Collect(tensor.body, &seen, numbers);
    }
  }
  static void Collect(const ScalarExpr& e, std::set<const ScalarNode*>* seen, Numbers* numbers) {
    if (!seen->insert(e.node().get()).second) return;
    if (e.kind() == ScalarExpr::Kind::kConst) {
      (IsExact(e.value()) ? numbers->exact : numbers->rounded).insert(e.value());
    }
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
    const std::optional<double> found = OnlyNear(x, in_source_.rounded);
    return found && OnlyNear(*found, in_target_.rounded) ? found : std::nullopt;
  }

  // The sum, difference, product or quotient of two of `numbers`, or its negation, that rounds to
  // x; x is one of `own`, and no other one of these is so near to it.
  static std::optional<ScalarExpr> Composed(double x, const Numbers& numbers, const Numbers& own) {
    auto rounds_to_x = [&](double value) {
      return AreNear(value, x) && OnlyNear(value, own.rounded).has_value();
    };
    std::vector<double> all(numbers.rounded.begin(), numbers.rounded.end());
    all.insert(all.end(), numbers.exact.begin(), numbers.exact.end());
    if (all.size() > kMostComposed) return std::nullopt;
    for (double a : numbers.rounded) {
      if (rounds_to_x(-a)) return -ScalarExpr(a);
      for (double b : all) {
        if (!std::isfinite(b)) continue;
        const ScalarExpr p(a), q(b);
        const std::pair<double, ScalarExpr> choices[] = {
            {a * b, p * q}, {a / b, p / q}, {b / a, q / p}, {a + b, p + q}, {a - b, p - q}};
        for (const auto& [value, expr] : choices) {
          if (!std::isfinite(value)) continue;
          if (rounds_to_x(value)) return expr;
          if (rounds_to_x(-value)) return -expr;
        }
      }
    }
    return std::nullopt;
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
      const bool is_known = common || reciprocals_.count(*number) > 0;
      const auto composed = is_known ? std::nullopt : Composed(*number, in_source_, in_target_);
      changed_ |= composed.has_value() || (common && *common != *number);
      return composed ? *composed : common ? ScalarExpr(*common) : e;
    }
    if (!in_target && composed_in_source_ && number && !IsExact(*number) &&
        !OnlyNear(*number, in_target_.rounded)) {
      const auto composed = Composed(*number, in_target_, in_source_);
      changed_ |= composed.has_value();
      return composed ? *composed : e;
    }
    if (e.args().empty()) return e;
    std::vector<ScalarExpr> args;
    for (const ScalarExpr& arg : e.args())
      args.push_back(Replaced(definition, arg, in_target, memo));
    switch (e.kind()) {
      case ScalarExpr::Kind::kApply:
        if (e.fn() == ScalarFn::kDiv) {
          const auto divisor = NumberOf(definition, e.args()[1]);
          const std::set<double>& own = (in_target ? in_target_ : in_source_).rounded;
          const auto common =
              divisor && !IsExact(*divisor) && OnlyNear(*divisor, own)
                  ? OnlyNear(1 / *divisor, (in_target ? in_source_ : in_target_).rounded)
                  : std::nullopt;
          changed_ |= common.has_value();
          if (common) {
            reciprocals_.insert(*common);
            return args[0] * ScalarExpr(*common);
          }
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
  Numbers in_source_, in_target_;
  std::set<double> reciprocals_;  // numbers of one side by which the other one divides no more
  bool has_doubles_ = false;
  bool composed_in_source_ = false;
  bool changed_ = false;
};

}  // namespace

bool UnifyNearNumbers(Statement* statement) { return Unifier(statement).Run(); }

}  // namespace lemma::referee
