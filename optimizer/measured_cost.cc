#include "optimizer/measured_cost.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "optimizer/constant_folding.h"

namespace lemma {
namespace {

// The kernel or graph cannot be run here, which is no failure of measuring.
bool CannotRun(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
}

// Other work on the machine only ever adds time, so the quietest repetition tells most.
MeasuredCost Summarize(const std::vector<double>& ms) {
  MeasuredCost result;
  result.runs = static_cast<int>(ms.size());
  result.median_ms = *std::min_element(ms.begin(), ms.end());
  double mean = 0;
  for (double x : ms) mean += x / result.runs;
  for (double x : ms) result.variance_ms2 += (x - mean) * (x - mean) / result.runs;
  return result;
}

class MeasuredCostModel : public CostModel {
 public:
  MeasuredCostModel(KernelMeasurer* measurer, CostDb* db, MeasureOptions options)
      : measurer_(measurer), db_(db), options_(std::move(options)), device_(measurer->device()) {}

  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    auto plan = measurer_->Plan(AssumeFolded(graph));
    if (!plan.ok() && CannotRun(plan.status())) return Cost::Infinite();
    if (!plan.ok()) return plan.status();
    Cost total;
    for (const PlannedKernel& kernel : plan->kernels) {
      auto cost = CostOf(kernel);
      if (!cost.ok()) return cost.status();
      total += *cost;
    }
    return total.WithPeak(plan->peak_bytes);
  }

  std::string Describe() const override { return absl::StrCat("measured on ", device_); }

 private:
  absl::StatusOr<Cost> CostOf(const PlannedKernel& kernel) {
    auto it = memo_.find(kernel.signature);
    if (it != memo_.end()) return it->second;
    auto known = db_->Find(device_, kernel.signature);
    if (!known.ok()) return known.status();
    Cost cost = Cost::Infinite();
    if (known->has_value()) {
      cost = Cost::Milliseconds((*known)->median_ms);
    } else {
      auto measured = Measure(kernel);
      if (!measured.ok() && !CannotRun(measured.status())) return measured.status();
      if (measured.ok()) cost = Cost::Milliseconds(measured->median_ms);
    }
    memo_[kernel.signature] = cost;
    return cost;
  }

  absl::StatusOr<MeasuredCost> Measure(const PlannedKernel& kernel) {
    if (options_.on_measure) options_.on_measure(kernel.signature);
    std::vector<double> ms;
    for (int i = 0; i < std::max(1, options_.repetitions); ++i) {
      auto once = measurer_->MeasureMs(kernel);
      if (!once.ok()) return once.status();
      ms.push_back(*once);
    }
    return db_->Put(device_, kernel.signature, Summarize(ms));
  }

  KernelMeasurer* const measurer_;
  CostDb* const db_;
  const MeasureOptions options_;
  const std::string device_;
  absl::flat_hash_map<std::string, Cost> memo_;
};

}  // namespace

std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options) {
  return std::make_unique<MeasuredCostModel>(measurer, db, std::move(options));
}

}  // namespace lemma
