#include "api/optimization/explanation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "optimizer/cost/plan_comparison.h"
#include "rewrite/matching/match_index.h"

namespace lemma::api {
namespace {

using Change = optimizer::RewriteStep::Change;

constexpr int kMostPlacesPriced = 4;  // places of a rule

// Prices changes of one graph.
class Pricer {
 public:
  static absl::StatusOr<Pricer> Create(const Graph& graph, optimizer::CostModel* costs) {
    Pricer pricer(costs);
    if (costs->ListsKernels()) {
      auto kernels = costs->KernelsOf(graph);
      if (!kernels.ok()) return kernels.status();
      pricer.kernels_ = *std::move(kernels);
      return pricer;
    }
    auto cost = costs->CostOf(graph);
    if (!cost.ok()) return cost.status();
    pricer.cost_ = *cost;
    return pricer;
  }

  // nullopt: one of the graphs cannot run.
  absl::StatusOr<std::optional<Change>> ChangeTo(const Graph& graph) const {
    if (!costs_->ListsKernels()) {
      auto cost = costs_->CostOf(graph);
      if (!cost.ok()) return cost.status();
      if (cost->is_infinite() || cost_.is_infinite()) return std::nullopt;
      return Change{static_cast<double>(cost->ns() - cost_.ns()), 0, false};
    }
    auto kernels = costs_->KernelsOf(graph);
    if (!kernels.ok()) return kernels.status();
    if (!kernels->has_value() || !kernels_) return std::nullopt;
    const optimizer::PlanDifference difference = optimizer::DifferenceOf(*kernels_, **kernels);
    auto times = optimizer::CompareTimes(difference, costs_);
    if (!times.ok()) return times.status();
    if (!std::isfinite(times->ns)) return std::nullopt;
    return Change{times->ns, times->error_ns, optimizer::CannotLose(difference, costs_)};
  }

 private:
  explicit Pricer(optimizer::CostModel* costs) : costs_(costs) {}

  optimizer::CostModel* costs_;
  std::optional<optimizer::KernelList> kernels_;
  optimizer::Cost cost_;
};

std::vector<Alternative> Sorted(std::map<std::string, Alternative> by_rule) {
  std::vector<Alternative> sorted;
  for (auto& [name, alternative] : by_rule) sorted.push_back(std::move(alternative));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Alternative& a, const Alternative& b) {
    const auto key = [](const Alternative& x) {
      return std::tuple(!x.change.has_value(), x.change ? x.change->ns : 0);
    };
    return key(a) < key(b);
  });
  return sorted;
}

}  // namespace

absl::StatusOr<Alternatives> AlternativesOf(const Graph& graph, const RewriteSource& rules,
                                            optimizer::CostModel* costs, const Deadline& deadline) {
  auto pricer = Pricer::Create(graph, costs);
  if (!pricer.ok()) return pricer.status();
  Alternatives result;
  std::map<std::string, Alternative> by_rule;
  absl::Status status;
  const MatchIndex index(graph);
  rules.ForEach(index, [&](const Rewrite& rewrite) {
    Alternative& alternative = by_rule[rewrite.name()];
    alternative.rule = rewrite.name();
    if (++alternative.places > kMostPlacesPriced) return true;
    if (deadline.Passed()) {
      result.is_complete = false;
      return true;
    }
    absl::StatusOr<Graph> changed = rewrite.Apply();
    if (!changed.ok()) return true;
    auto change = pricer->ChangeTo(*changed);
    if (!change.ok()) {
      status = change.status();
      return false;
    }
    if (!change->has_value()) return true;
    if (!alternative.change || (*change)->ns < alternative.change->ns) {
      alternative.change = **change;
      alternative.where = rewrite.Describe();
    }
    return true;
  });
  if (absl::IsCancelled(status)) {
    result.is_complete = false;
    status = absl::OkStatus();
  }
  if (!status.ok()) return status;
  result.rules = Sorted(std::move(by_rule));
  return result;
}

std::vector<Alternative> ChangesByRule(const std::vector<optimizer::RewriteStep>& steps) {
  std::map<std::string, Alternative> by_rule;
  for (const optimizer::RewriteStep& step : steps) {
    Alternative& sum = by_rule[step.name];
    sum.rule = step.name;
    ++sum.places;
    if (!step.change) continue;
    if (!sum.change) sum.change = Change{0, 0, true};
    sum.change->ns += step.change->ns;
    sum.change->error_ns = std::hypot(sum.change->error_ns, step.change->error_ns);
    sum.change->is_certain = sum.change->is_certain && step.change->is_certain;
  }
  return Sorted(std::move(by_rule));
}

}  // namespace lemma::api
