#include "optimizer/cost/measured_cost.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/cost/calibration.h"
#include "optimizer/cost/roofline.h"
#include "optimizer/folding/constant_folding.h"

namespace lemma::optimizer {
namespace {

// Whether the kernel or graph cannot run here; that is not a failure of the measurement.
bool CannotRun(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
}

// Other work on the machine only adds time, so the least median is the best estimate.
MeasuredCost Summarize(const std::vector<double>& ms) {
  MeasuredCost result;
  result.runs = static_cast<int>(ms.size());
  result.median_ms = *std::min_element(ms.begin(), ms.end());
  double mean = 0;
  for (double x : ms) mean += x / result.runs;
  for (double x : ms) result.variance_ms2 += (x - mean) * (x - mean) / result.runs;
  return result;
}

// By operator of `folded` (`graph` with constants in place of some operators): the position in
// graph.nodes() of the operator it came from.
absl::flat_hash_map<const Node*, size_t> PositionsIn(const Graph& graph, const Graph& folded) {
  absl::flat_hash_map<const Node*, const Node*> origin;
  std::vector<std::pair<const Node*, const Node*>> pending;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    pending.emplace_back(&folded.outputs()[i].node(), &graph.outputs()[i].node());
  }
  while (!pending.empty()) {
    const auto [now, before] = pending.back();
    pending.pop_back();
    if (!now->is_op() || !before->is_op() || !origin.emplace(now, before).second) continue;
    for (size_t i = 0; i < std::min(now->inputs().size(), before->inputs().size()); ++i) {
      pending.emplace_back(&now->inputs()[i].node(), &before->inputs()[i].node());
    }
  }
  absl::flat_hash_map<const Node*, size_t> position, result;
  for (size_t i = 0; i < graph.nodes().size(); ++i) position[graph.nodes()[i].get()] = i;
  for (const auto& [now, before] : origin) result[now] = position.at(before);
  return result;
}

// Sums the costs of a plan's kernels; asks for each kernel once.
class KernelCostModel : public CostModel {
 public:
  explicit KernelCostModel(KernelMeasurer* measurer) : measurer_(measurer) {}

  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    return SumOver(
        graph, [this](const PlannedKernel& kernel) { return KnownCostOf(kernel); },
        [this](const std::vector<PlannedKernel>& kernels) { return PrepareNew(kernels); });
  }

  absl::StatusOr<Cost> EstimateOf(const Graph& graph) override {
    return SumOver(
        graph,
        [this](const PlannedKernel& kernel) -> absl::StatusOr<Cost> {
          auto it = memo_.find(kernel.signature);
          return it != memo_.end() ? it->second : EstimateOfKernel(kernel);
        },
        [](const std::vector<PlannedKernel>&) { return absl::OkStatus(); });
  }

  absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& graph) override {
    const Graph folded = AssumeFolded(graph);
    auto plan = measurer_->Plan(folded);
    if (!plan.ok() && CannotRun(plan.status())) return std::vector<Cost>();
    if (!plan.ok()) return plan.status();
    const absl::flat_hash_map<const Node*, size_t> position = PositionsIn(graph, folded);
    std::vector<Cost> shares(graph.nodes().size());
    for (const PlannedKernel& kernel : plan->kernels) {
      if (kernel.nodes.empty()) continue;
      auto cost = KnownCostOf(kernel);
      if (!cost.ok()) return cost.status();
      auto at = position.find(kernel.nodes.front().get());
      if (at != position.end()) shares[at->second] += *cost;
    }
    return shares;
  }

 protected:
  KernelMeasurer* measurer() { return measurer_; }
  virtual absl::StatusOr<Cost> CostOfKernel(const PlannedKernel& kernel) = 0;
  // Called before CostOfKernel with the kernels whose cost will be asked for next.
  virtual absl::Status PrepareKernels(const std::vector<PlannedKernel>& /*kernels*/) {
    return absl::OkStatus();
  }
  // As CostOfKernel, but without measuring.
  virtual absl::StatusOr<Cost> EstimateOfKernel(const PlannedKernel& kernel) {
    return CostOfKernel(kernel);
  }

 private:
  absl::Status PrepareNew(const std::vector<PlannedKernel>& kernels) {
    std::vector<PlannedKernel> fresh;
    absl::flat_hash_set<absl::string_view> seen;
    for (const PlannedKernel& kernel : kernels) {
      if (memo_.contains(kernel.signature) || !seen.insert(kernel.signature).second) continue;
      fresh.push_back(kernel);
    }
    return fresh.empty() ? absl::OkStatus() : PrepareKernels(fresh);
  }

  absl::StatusOr<Cost> KnownCostOf(const PlannedKernel& kernel) {
    auto it = memo_.find(kernel.signature);
    if (it != memo_.end()) return it->second;
    auto cost = CostOfKernel(kernel);
    if (cost.ok()) memo_.emplace(kernel.signature, *cost);
    return cost;
  }

  absl::StatusOr<Cost> SumOver(
      const Graph& graph, absl::FunctionRef<absl::StatusOr<Cost>(const PlannedKernel&)> cost_of,
      absl::FunctionRef<absl::Status(const std::vector<PlannedKernel>&)> prepare) {
    auto plan = measurer_->Plan(AssumeFolded(graph));
    if (!plan.ok() && CannotRun(plan.status())) return Cost::Infinite();
    if (!plan.ok()) return plan.status();
    if (absl::Status s = prepare(plan->kernels); !s.ok()) return s;
    Cost total;
    for (const PlannedKernel& kernel : plan->kernels) {
      auto cost = cost_of(kernel);
      if (!cost.ok()) return cost.status();
      total += *cost;
    }
    return total.WithPeak(plan->peak_bytes);
  }

  KernelMeasurer* const measurer_;
  absl::flat_hash_map<std::string, Cost> memo_;
};

class MeasuredCostModel : public KernelCostModel {
 public:
  MeasuredCostModel(KernelMeasurer* measurer, CostDb* db, MeasureOptions options)
      : KernelCostModel(measurer),
        db_(db),
        options_(std::move(options)),
        device_(measurer->device()) {}

  std::string Describe() const override { return absl::StrCat("measured on ", device_); }

 private:
  absl::StatusOr<Cost> CostOfKernel(const PlannedKernel& kernel) override {
    auto known = Known(kernel);
    if (!known.ok()) return known.status();
    if (known->has_value()) return **known;
    auto measured = Measure(kernel);
    if (CannotRun(measured.status())) return Cost::Infinite();
    if (!measured.ok()) return measured.status();
    return Cost::Milliseconds(calibration_->Milliseconds(kernel.signature, measured->median_ms));
  }

  absl::Status PrepareKernels(const std::vector<PlannedKernel>& kernels) override {
    std::vector<PlannedKernel> unknown;
    for (const PlannedKernel& kernel : kernels) {
      auto known = Known(kernel);
      if (!known.ok()) return known.status();
      if (!known->has_value()) unknown.push_back(kernel);
    }
    const absl::Status s = measurer()->Prepare(unknown);
    // If the kernels cannot run, measuring reports it for each kernel.
    return CannotRun(s) ? absl::OkStatus() : s;
  }

  absl::StatusOr<Cost> EstimateOfKernel(const PlannedKernel& kernel) override {
    auto known = Known(kernel);
    if (!known.ok()) return known.status();
    if (known->has_value()) return **known;
    if (!machine_) {
      auto entries = db_->Entries(device_);
      if (!entries.ok()) return entries.status();
      machine_ = FitRoofline(*entries);
    }
    return EstimateCost(*machine_, measurer()->WorkOf(kernel));
  }

  // The calibrated cost from the database.
  absl::StatusOr<std::optional<Cost>> Known(const PlannedKernel& kernel) {
    if (!calibration_) {
      auto entries = db_->Entries(device_);
      if (!entries.ok()) return entries.status();
      calibration_.emplace(*entries);
    }
    auto known = db_->Find(device_, kernel.signature);
    if (!known.ok()) return known.status();
    if (!known->has_value()) return std::optional<Cost>();
    return Cost::Milliseconds(calibration_->Milliseconds(kernel.signature, (*known)->median_ms));
  }

  absl::StatusOr<MeasuredCost> Measure(const PlannedKernel& kernel) {
    if (options_.on_measure) options_.on_measure(kernel.signature);
    std::vector<double> ms;
    for (int i = 0; i < std::max(1, options_.repetitions); ++i) {
      if (options_.deadline.interrupted()) return Deadline::Interruption();
      auto once = measurer()->MeasureMs(kernel);
      if (!once.ok()) return once.status();
      ms.push_back(*once);
    }
    MeasuredCost cost = Summarize(ms);
    const Work work = measurer()->WorkOf(kernel);
    cost.flops = work.flops;
    cost.bytes = work.bytes_read + work.bytes_written;
    return db_->Put(device_, kernel.signature, cost);
  }

  CostDb* const db_;
  const MeasureOptions options_;
  const std::string device_;
  std::optional<Roofline> machine_;         // fitted to the known kernels
  std::optional<Calibration> calibration_;  // set when the first kernel is priced
};

class KnownCostModel : public KernelCostModel {
 public:
  KnownCostModel(KernelMeasurer* measurer, std::string device,
                 const std::vector<CostEntry>& entries)
      : KernelCostModel(measurer),
        device_(std::move(device)),
        machine_(FitRoofline(entries)),
        calibration_(entries) {
    for (const CostEntry& entry : entries) known_[entry.signature] = entry.cost.median_ms;
  }

  std::string Describe() const override { return absl::StrCat("known of ", device_); }

 private:
  absl::StatusOr<Cost> CostOfKernel(const PlannedKernel& kernel) override {
    auto it = known_.find(kernel.signature);
    if (it != known_.end()) {
      return Cost::Milliseconds(calibration_.Milliseconds(kernel.signature, it->second));
    }
    return EstimateCost(machine_, measurer()->WorkOf(kernel));
  }

  const std::string device_;
  const Roofline machine_;
  const Calibration calibration_;
  absl::flat_hash_map<std::string, double> known_;
};

}  // namespace

std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options) {
  return std::make_unique<MeasuredCostModel>(measurer, db, std::move(options));
}

absl::StatusOr<std::unique_ptr<CostModel>> MakeKnownCostModel(KernelMeasurer* measurer, CostDb* db,
                                                              absl::string_view device) {
  auto entries = db->Entries(device);
  if (!entries.ok()) return entries.status();
  if (!device.empty() && !entries->empty()) {
    return std::make_unique<KnownCostModel>(measurer, std::string(device), *entries);
  }
  auto devices = db->Devices();
  if (!devices.ok()) return devices.status();
  return absl::NotFoundError(absl::StrCat(
      db->path(), ": no costs of the device '", device, "'; there are ",
      devices->empty() ? "none of any" : absl::StrCat("'", absl::StrJoin(*devices, "', '"), "'")));
}

}  // namespace lemma::optimizer
