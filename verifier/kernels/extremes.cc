#include "verifier/kernels/extremes.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "verifier/kernels/memory.h"

namespace lemma::kernels {
namespace {

using Kind = ScalarExpr::Kind;

class Rewriter {
 public:
  Rewriter(bool floats, const std::optional<Extremes>& extremes)
      : floats_(floats), extremes_(extremes) {}

  ScalarExpr Rewrite(const ScalarExpr& e) {
    const auto known = memo_.find(e.node().get());
    if (known != memo_.end()) return known->second;
    ScalarExpr result = Change(e);
    memo_.emplace(e.node().get(), result);
    return result;
  }

 private:
  ScalarExpr Shift(bool max) const {
    return static_cast<double>(max ? extremes_->max : extremes_->min);
  }

  ScalarExpr Change(const ScalarExpr& e) {
    std::vector<ScalarExpr> args;
    for (const ScalarExpr& arg : e.args()) args.push_back(Rewrite(arg));
    switch (e.kind()) {
      case Kind::kConst: {
        const double value = floats_ ? static_cast<float>(e.value()) : e.value();
        if (!extremes_ || !std::isinf(value)) return ScalarExpr(value);
        return Shift(value < 0) + 1.0;
      }
      case Kind::kApply: {
        const bool max = e.fn() == ScalarFn::kMax;
        if (!extremes_ || (!max && e.fn() != ScalarFn::kMin))
          return ScalarExpr::Apply(e.fn(), std::move(args));
        return Shift(max) + (args[0] - Shift(max)) * (args[1] - Shift(max));
      }
      case Kind::kSelect:
        return ScalarExpr::Select(e.guard(), args[0], args[1]);
      case Kind::kReduce: {
        const bool max = e.reduce() == ReduceKind::kMax;
        if (!extremes_ || (!max && e.reduce() != ReduceKind::kMin)) {
          return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), args[0]);
        }
        return Shift(max) +
               ScalarExpr::Reduce(ReduceKind::kProd, e.axes(), e.guard(), args[0] - Shift(max));
      }
      default:
        return e;
    }
  }

  const bool floats_;
  const std::optional<Extremes>& extremes_;
  absl::flat_hash_map<const ScalarNode*, ScalarExpr> memo_;
};

bool Has(const ScalarExpr& e, bool only_reductions,
         absl::flat_hash_map<const ScalarNode*, bool>* seen) {
  if (!seen->emplace(e.node().get(), true).second) return false;
  if (!only_reductions && e.kind() == Kind::kApply &&
      (e.fn() == ScalarFn::kMax || e.fn() == ScalarFn::kMin)) {
    return true;
  }
  if (e.kind() == Kind::kReduce &&
      (e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return Has(arg, only_reductions, seen); });
}

}  // namespace

Extremes RandomExtremes(uint64_t seed) {
  constexpr uint64_t kExact = uint64_t{1} << 52;
  return {static_cast<int64_t>(kExact + Mix(seed) % kExact),
          static_cast<int64_t>(kExact + Mix(seed + 1) % kExact)};
}

bool HasExtremes(const Definition& definition, bool only_reductions) {
  absl::flat_hash_map<const ScalarNode*, bool> seen;
  return std::any_of(
      definition.tensors.begin(), definition.tensors.end(),
      [&](const TensorExpr& tensor) { return Has(tensor.body, only_reductions, &seen); });
}

Definition Restated(const Definition& definition, bool floats,
                    const std::optional<Extremes>& extremes) {
  Definition result = definition;
  Rewriter rewriter(floats, extremes);
  for (TensorExpr& tensor : result.tensors) tensor.body = rewriter.Rewrite(tensor.body);
  return result;
}

}  // namespace lemma::kernels
