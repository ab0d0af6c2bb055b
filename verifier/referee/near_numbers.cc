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
    for (const Definition* side : {&statement_.source, &statement_.target}) Collect(*side);
    for (Definition* side : {&statement_.source, &statement_.target}) Replace(side);
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

  void Collect(const Definition& definition) {
    std::set<const ScalarNode*> seen;
    for (const TensorExpr& tensor : definition.tensors) {
      Collect(tensor.body, &seen);
    }
  }
  void Collect(const ScalarExpr& e, std::set<const ScalarNode*>* seen) {
    if (!seen->insert(e.node().get()).second) return;
    if (e.kind() == ScalarExpr::Kind::kConst && !IsExact(e.value())) numbers_.insert(e.value());
    for (const ScalarExpr& arg : e.args()) Collect(arg, seen);
  }

  // The least number of those that are near x, if there is one.
  std::optional<double> Common(double x) const {
    for (double number : numbers_) {
      if (AreNear(number, x)) return number;
    }
    return std::nullopt;
  }

  void Replace(Definition* definition) {
    Memo memo;
    const Definition old = *definition;
    for (TensorExpr& tensor : definition->tensors) {
      tensor.body = Replaced(old, tensor.body, &memo);
    }
  }

  ScalarExpr Replaced(const Definition& definition, const ScalarExpr& e, Memo* memo) {
    if (auto it = memo->find(e.node().get()); it != memo->end()) return it->second;
    ScalarExpr result = Rewritten(definition, e, memo);
    memo->emplace(e.node().get(), result);
    return result;
  }

  ScalarExpr Rewritten(const Definition& definition, const ScalarExpr& e, Memo* memo) {
    if (const auto number = NumberOf(definition, e); number && !IsExact(*number)) {
      const double common = *Common(*number);
      changed_ |= common != *number;
      return common;
    }
    if (e.args().empty()) return e;
    std::vector<ScalarExpr> args;
    for (const ScalarExpr& arg : e.args()) args.push_back(Replaced(definition, arg, memo));
    switch (e.kind()) {
      case ScalarExpr::Kind::kApply:
        if (e.fn() == ScalarFn::kDiv) {
          const auto divisor = NumberOf(definition, e.args()[1]);
          const auto common = divisor && !IsExact(*divisor) ? Common(1 / *divisor) : std::nullopt;
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
  std::set<double> numbers_;
  bool changed_ = false;
};

}  // namespace

bool UnifyNearNumbers(Statement* statement) { return Unifier(statement).Run(); }

}  // namespace lemma::referee
