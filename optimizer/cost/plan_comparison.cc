#include "optimizer/cost/plan_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace lemma::optimizer {
namespace {

// A gain counts if it is larger than this many standard errors, a loss from one on: in doubt, the
// graph stays as it is.
constexpr double kErrorsOfGain = 2;

// What kernels do together.
struct Totals {
  std::map<absl::string_view, double> cores, fused;
  double operators = 0, flops = 0, bytes = 0, gap_bytes = 0;
  double moved_bytes = 0;  // written by kernels without main work
};

Totals TotalsOf(const KernelList& kernels, CostModel* costs) {
  Totals totals;
  for (const KernelUse& use : kernels) {
    const KernelTraits& traits = costs->TraitsOf(use.kernel);
    totals.cores[traits.core] += use.times;
    for (const std::string& fused : traits.fused) totals.fused[fused] += use.times;
    totals.operators += traits.operators * use.times;
    totals.flops += traits.work.flops * use.times;
    totals.bytes += (traits.work.bytes_read + traits.work.bytes_written) * use.times;
    totals.gap_bytes += traits.gap_bytes * use.times;
    if (traits.core.empty()) totals.moved_bytes += traits.work.bytes_written * use.times;
  }
  return totals;
}

// Whether each entry of `a` occurs at least as often in `b`.
bool Within(const std::map<absl::string_view, double>& a,
            const std::map<absl::string_view, double>& b) {
  return std::all_of(a.begin(), a.end(), [&b](const auto& entry) {
    auto it = b.find(entry.first);
    return it != b.end() && entry.second <= it->second;
  });
}

// Takes away pairs of an old kernel and a new one that cannot be slower. Returns how many.
double RemoveCertain(KernelList* before, KernelList* after, CostModel* costs) {
  double removed = 0;
  for (KernelUse& b : *after) {
    for (KernelUse& a : *before) {
      const double times = std::min(a.times, b.times);
      if (times <= 0 || !CannotLose({{{a.kernel, 1}}, {{b.kernel, 1}}}, costs)) continue;
      a.times -= times;
      b.times -= times;
      removed += times;
    }
  }
  for (KernelList* list : {before, after}) {
    list->erase(std::remove_if(list->begin(), list->end(),
                               [](const KernelUse& use) { return use.times <= 0; }),
                list->end());
  }
  return removed;
}

// As CompareTimes. Uncertain kernels are measured once more if the difference is within its error,
// all kernels if there is a gain.
absl::StatusOr<PlanComparison> ByRefinedTime(const PlanDifference& difference, CostModel* costs) {
  auto timed = CompareTimes(difference, costs);
  if (!timed.ok() || timed->verdict == PlanComparison::Verdict::kWorse || timed->error_ns == 0) {
    return timed;
  }
  KernelList all = difference.before;
  all.insert(all.end(), difference.after.begin(), difference.after.end());
  auto again =
      timed->verdict == PlanComparison::Verdict::kBetter ? costs->Confirm(all) : costs->Refine(all);
  if (!again.ok()) return again.status();
  return *again ? CompareTimes(difference, costs) : timed;
}

}  // namespace

PlanDifference DifferenceOf(const KernelList& before, const KernelList& after) {
  PlanDifference difference;
  auto a = before.begin(), b = after.begin();
  while (a != before.end() || b != after.end()) {
    if (b == after.end() || (a != before.end() && a->kernel < b->kernel)) {
      difference.before.push_back(*a++);
    } else if (a == before.end() || b->kernel < a->kernel) {
      difference.after.push_back(*b++);
    } else {
      const double more = b->times - a->times;
      if (more > 0) difference.after.push_back({a->kernel, more});
      if (more < 0) difference.before.push_back({a->kernel, -more});
      ++a;
      ++b;
    }
  }
  return difference;
}

absl::StatusOr<PlanComparison> CompareTimes(const PlanDifference& difference, CostModel* costs) {
  PlanComparison result;
  double variance = 0;
  for (const auto& [kernels, sign] : {std::pair(&difference.after, 1), {&difference.before, -1}}) {
    auto prices = costs->PricesOf(*kernels);
    if (!prices.ok()) return prices.status();
    for (size_t i = 0; i < kernels->size(); ++i) {
      const double times = (*kernels)[i].times;
      result.ns += sign * times * (*prices)[i].ns;
      variance += std::pow(times * (*prices)[i].error_ns, 2);
    }
  }
  using Verdict = PlanComparison::Verdict;
  result.error_ns = std::sqrt(variance);
  // NaN: both plans have kernels that cannot run.
  if (std::isnan(result.ns)) return result;
  if (result.ns < -kErrorsOfGain * result.error_ns) result.verdict = Verdict::kBetter;
  if (result.ns > result.error_ns || std::isinf(result.ns)) result.verdict = Verdict::kWorse;
  if (result.ns == -INFINITY) result.verdict = Verdict::kBetter;
  return result;
}

bool CannotLose(const PlanDifference& difference, CostModel* costs) {
  if (difference.before.empty()) return false;
  if (difference.after.empty()) return true;
  const Totals before = TotalsOf(difference.before, costs);
  const Totals after = TotalsOf(difference.after, costs);
  if (after.cores.count("") > 0) return false;
  if (!Within(after.cores, before.cores) || !Within(after.fused, before.fused)) return false;
  if (after.flops > before.flops || after.bytes > before.bytes) return false;
  if (after.gap_bytes > before.gap_bytes + before.moved_bytes) return false;
  return after.operators < before.operators ||
         (after.operators == before.operators && after.bytes < before.bytes);
}

absl::StatusOr<PlanComparison> Compare(const KernelList& before, const KernelList& after,
                                       int operators, CostModel* costs) {
  using Verdict = PlanComparison::Verdict;
  PlanDifference difference = DifferenceOf(before, after);
  PlanComparison result;
  result.is_certain = true;
  if (CannotLose(difference, costs)) {
    result.verdict = Verdict::kBetter;
    return result;
  }
  if (CannotLose({difference.after, difference.before}, costs)) {
    result.verdict = Verdict::kWorse;
    return result;
  }
  result.is_certain = false;
  const PlanDifference whole = difference;
  const double gained = RemoveCertain(&difference.before, &difference.after, costs);
  const double lost = RemoveCertain(&difference.after, &difference.before, costs);
  if (!difference.before.empty() || !difference.after.empty()) {
    auto timed = ByRefinedTime(difference, costs);
    if (!timed.ok()) return timed.status();
    result = *timed;
  }
  // A certain loss that was left out may outweigh the gain: then all of it is timed.
  if (lost > 0 && result.verdict == Verdict::kBetter) {
    auto timed = ByRefinedTime(whole, costs);
    if (!timed.ok()) return timed.status();
    result = *timed;
  }
  if (result.verdict != Verdict::kEven || operators > 0) return result;
  if (gained != lost) {
    if (gained > lost) result.verdict = Verdict::kBetter;
    return result;
  }
  const double bytes =
      TotalsOf(difference.after, costs).bytes - TotalsOf(difference.before, costs).bytes;
  if (operators < 0 || bytes < 0) result.verdict = Verdict::kBetter;
  return result;
}

}  // namespace lemma::optimizer
