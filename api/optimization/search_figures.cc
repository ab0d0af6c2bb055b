#include "api/optimization/search_figures.h"

#include <algorithm>
#include <map>

namespace lemma::api {

std::vector<std::pair<std::string, int>> RuleCounts(
    const std::vector<optimizer::RewriteStep>& steps) {
  std::map<std::string, int> counts;
  for (const optimizer::RewriteStep& step : steps) ++counts[step.name];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

double GraphsPerSecond(const optimizer::SearchResult& search) {
  return static_cast<double>(search.steps) / std::max(1e-6, search.search_seconds);
}

optimizer::Cost PredictedCost(const optimizer::SearchResult& search,
                              const std::vector<optimizer::RewriteStep>& steps) {
  if (steps.empty()) return search.initial_cost;
  const uint64_t after = steps.back().after;
  auto ends = [after](const std::vector<optimizer::RewriteStep>& way) {
    return !way.empty() && way.back().after == after;
  };
  if (ends(search.rewrites)) return search.best_cost;
  return ends(search.descended_rewrites) ? search.descended_cost : search.certain_cost;
}

double ShareOfBound(const optimizer::SearchResult& search) {
  const double all = search.initial_cost.ms() - search.bound->cost.ms();
  return all > 0 ? (search.initial_cost.ms() - search.best_cost.ms()) / all : 1;
}

}  // namespace lemma::api
