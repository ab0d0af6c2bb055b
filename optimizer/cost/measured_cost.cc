#include "optimizer/cost/measured_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/machine_load.h"
#include "optimizer/cost/calibration.h"
#include "optimizer/cost/roofline.h"
#include "optimizer/folding/constant_folding.h"

namespace lemma::optimizer {
namespace {

// Whether the kernel or graph cannot run here; that is not a failure of the measurement.
bool CannotRun(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
}

// A time by a roofline. What is wrong with it is wrong alike with the kernels that it is compared
// with, so it counts as no error.
KernelPrice Estimated(const Cost& cost) {
  return {cost.is_infinite() ? HUGE_VAL : static_cast<double>(cost.ns()), 0};
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

// Numbers the kernels of plans, and sums their prices. Asks for each price once.
class KernelCostModel : public CostModel {
 public:
  explicit KernelCostModel(KernelMeasurer* measurer) : measurer_(measurer) {}

  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    auto plan = PlanOf(graph);
    if (!plan.ok()) return plan.status();
    if (!plan->has_value()) return Cost::Infinite();
    const KernelList kernels = ListOf((*plan)->kernels);
    auto prices = PricesOf(kernels);
    if (!prices.ok()) return prices.status();
    Cost total;
    for (size_t i = 0; i < kernels.size(); ++i) {
      total += Cost::Nanoseconds((*prices)[i].ns).Scaled(kernels[i].times);
    }
    return total.WithPeak((*plan)->peak_bytes);
  }

  absl::StatusOr<Cost> EstimateOf(const Graph& graph) override {
    auto plan = PlanOf(graph);
    if (!plan.ok()) return plan.status();
    if (!plan->has_value()) return Cost::Infinite();
    Cost total;
    for (const PlannedKernel& planned : (*plan)->kernels) {
      const Kernel& kernel = kernels_[NumberOf(planned)];
      auto price = kernel.price ? *kernel.price : EstimateOfKernel(planned);
      if (!price.ok()) return price.status();
      total += Cost::Nanoseconds(price->ns);
    }
    return total.WithPeak((*plan)->peak_bytes);
  }

  absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& graph) override {
    const Graph folded = AssumeFolded(graph);
    auto plan = measurer_->Plan(folded);
    if (!plan.ok() && CannotRun(plan.status())) return std::vector<Cost>();
    if (!plan.ok()) return plan.status();
    const absl::flat_hash_map<const Node*, size_t> position = PositionsIn(graph, folded);
    std::vector<Cost> shares(graph.nodes().size());
    for (const PlannedKernel& planned : plan->kernels) {
      if (planned.nodes.empty()) continue;
      auto price = PricesOf({{NumberOf(planned), 1}});
      if (!price.ok()) return price.status();
      auto at = position.find(planned.nodes.front().get());
      if (at != position.end()) shares[at->second] += Cost::Nanoseconds(price->front().ns);
    }
    return shares;
  }

  bool ListsKernels() const override { return true; }

  absl::StatusOr<std::optional<KernelList>> KernelsOf(const Graph& graph) override {
    auto plan = PlanOf(graph);
    if (!plan.ok()) return plan.status();
    if (!plan->has_value()) return std::optional<KernelList>();
    return ListOf((*plan)->kernels);
  }

  const KernelTraits& TraitsOf(int kernel) override { return kernels_[kernel].traits; }

  absl::StatusOr<std::vector<KernelPrice>> PricesOf(const KernelList& list) override {
    std::vector<PlannedKernel> fresh;
    for (const KernelUse& use : list) {
      if (!kernels_[use.kernel].price) fresh.push_back(kernels_[use.kernel].planned);
    }
    if (!fresh.empty()) {
      if (absl::Status s = PrepareKernels(fresh); !s.ok()) return s;
    }
    std::vector<KernelPrice> prices;
    for (const KernelUse& use : list) {
      std::optional<KernelPrice>& known = kernels_[use.kernel].price;
      if (!known) {
        auto price = PriceOfKernel(kernels_[use.kernel].planned);
        if (!price.ok()) return price.status();
        prices.push_back(*price);
        if (KeepsPrices()) known = *price;
        continue;
      }
      prices.push_back(*known);
    }
    return prices;
  }

 protected:
  struct Kernel {
    PlannedKernel planned;
    KernelTraits traits;
    std::optional<KernelPrice> price;
    std::vector<double> refined_ms;  // measurements for Refine and Confirm
    int refinements = 0;             // how often such measurements were made
    double refined_load = 0;         // others' share of the machine during the last ones
  };

  KernelMeasurer* measurer() { return measurer_; }
  Kernel& kernel(int number) { return kernels_[number]; }
  virtual absl::StatusOr<KernelPrice> PriceOfKernel(const PlannedKernel& kernel) = 0;
  // Whether the price that PriceOfKernel has just returned holds later, too.
  virtual bool KeepsPrices() const { return true; }
  // Called before PriceOfKernel with the kernels whose prices will be asked for next.
  virtual absl::Status PrepareKernels(const std::vector<PlannedKernel>& /*kernels*/) {
    return absl::OkStatus();
  }
  // As PriceOfKernel, but without measuring.
  virtual absl::StatusOr<KernelPrice> EstimateOfKernel(const PlannedKernel& kernel) {
    return PriceOfKernel(kernel);
  }

 private:
  // nullopt: the graph cannot run.
  absl::StatusOr<std::optional<KernelPlan>> PlanOf(const Graph& graph) {
    auto plan = measurer_->Plan(AssumeFolded(graph));
    if (!plan.ok() && CannotRun(plan.status())) return std::optional<KernelPlan>();
    if (!plan.ok()) return plan.status();
    return std::optional<KernelPlan>(*std::move(plan));
  }

  int NumberOf(const PlannedKernel& planned) {
    auto [entry, is_new] =
        numbers_.try_emplace(planned.signature, static_cast<int>(kernels_.size()));
    if (is_new) {
      Kernel& added = kernels_.emplace_back();
      added.planned = planned;
      added.traits = measurer_->TraitsOf(planned);
    }
    return entry->second;
  }

  KernelList ListOf(const std::vector<PlannedKernel>& plan) {
    std::vector<int> numbers;
    numbers.reserve(plan.size());
    for (const PlannedKernel& planned : plan) numbers.push_back(NumberOf(planned));
    std::sort(numbers.begin(), numbers.end());
    KernelList list;
    for (int number : numbers) {
      if (list.empty() || list.back().kernel != number) list.push_back({number, 0});
      ++list.back().times;
    }
    return list;
  }

  KernelMeasurer* const measurer_;
  absl::flat_hash_map<std::string, int> numbers_;  // by signature
  std::deque<Kernel> kernels_;                     // references to them stay valid
};

class MeasuredCostModel : public KernelCostModel {
 public:
  MeasuredCostModel(KernelMeasurer* measurer, CostDb* db, MeasureOptions options)
      : KernelCostModel(measurer),
        db_(db),
        options_(std::move(options)),
        device_(measurer->device()) {}

  std::string Describe() const override { return absl::StrCat("measured on ", device_); }

  absl::StatusOr<bool> Refine(const KernelList& list) override {
    absl::Status failure;
    auto again = MeasureAgain(list, [&](const Kernel& k) {
      const double error = k.price->error_ns, ns = k.price->ns;
      if (k.refinements > 0) return MayBeDisturbed(k);
      if (error <= kUncertain * ns) return false;
      if (error > kStillUncertain * ns) return true;
      auto known = Known(k.planned);  // an earlier search may have refined it
      if (!known.ok()) failure = known.status();
      return known.ok() && known->has_value() && (*known)->repetitions <= Repetitions();
    });
    return failure.ok() ? again : failure;
  }

  absl::StatusOr<bool> Confirm(const KernelList& list) override {
    absl::Status failure;
    auto again = MeasureAgain(list, [&](const Kernel& k) {
      if (k.refinements > 0) return MayBeDisturbed(k);
      auto known = Known(k.planned);
      if (!known.ok()) failure = known.status();
      return known.ok() && known->has_value() && (*known)->repetitions <= Repetitions();
    });
    return failure.ok() ? again : failure;
  }

 private:
  // Relative errors above this are worth another measurement. It is above the error of each
  // measurement, however small its spread is (MeasuredCost::ErrorMs).
  static constexpr double kUncertain = 0.015;
  // The limit for kernels that were measured again before.
  static constexpr double kStillUncertain = 0.04;
  // A measurement is repeated if others took more than kBusy of the machine meanwhile, and now take
  // less than kQuiet; or if it is older than this, and the machine is quiet.
  static constexpr double kBusy = 0.25, kQuiet = 0.1;
  static constexpr int64_t kOldSeconds = 30 * 24 * 3600;
  // How often a kernel is measured again on a busy machine.
  static constexpr int kBusyRefinements = 3;

  // On a busy machine, a phase of some seconds can slow all measurements of a kernel alike. So
  // kernels that decide are measured at several times.
  static bool MayBeDisturbed(const Kernel& kernel) {
    return kernel.refined_load > kBusy && kernel.refinements < kBusyRefinements;
  }

  bool IsLate() const { return options_.is_late && options_.is_late(); }

  int Repetitions() const { return std::max(1, options_.repetitions); }

  // Measures those kernels of the list for which `is_wanted` holds, in turn, so that a disturbance
  // hits all alike. Each gets twice the usual repetitions, which also tells that it was measured
  // again; they are added to the repetitions of earlier calls. Returns whether there were any such
  // kernels.
  absl::StatusOr<bool> MeasureAgain(const KernelList& list,
                                    absl::FunctionRef<bool(const Kernel&)> is_wanted) {
    std::vector<int> wanted;
    for (const KernelUse& use : list) {
      const Kernel& k = kernel(use.kernel);
      if (!k.price || !std::isfinite(k.price->ns)) continue;
      // Times in runs of graphs count, whatever it takes alone.
      if (calibration_->IsTimed(k.planned.signature)) continue;
      if (is_wanted(k)) wanted.push_back(use.kernel);
    }
    if (wanted.empty()) return false;
    std::vector<std::vector<double>> ms(wanted.size());
    const MachineLoad load;
    for (int i = 0; i < 2 * Repetitions(); ++i) {
      // Times of different numbers of runs cannot be compared.
      if (IsLate()) return false;
      for (size_t k = 0; k < wanted.size(); ++k) {
        auto once = MeasureOnce(kernel(wanted[k]).planned);
        if (!once.ok()) return once.status();
        ms[k].push_back(*once);
      }
    }
    const double share = ShareDuring(load);
    for (size_t k = 0; k < wanted.size(); ++k) {
      Kernel& refined = kernel(wanted[k]);
      refined.refined_ms.insert(refined.refined_ms.end(), ms[k].begin(), ms[k].end());
      auto cost = Store(refined.planned, refined.refined_ms, share, /*replace=*/true);
      if (!cost.ok()) return cost.status();
      cost->load = 0;  // it slowed all of them
      refined.price = Calibrated(refined.planned, *cost);
      ++refined.refinements;
      refined.refined_load = share;
    }
    return true;
  }

  absl::StatusOr<KernelPrice> PriceOfKernel(const PlannedKernel& kernel) override {
    auto known = Known(kernel);
    if (!known.ok()) return known.status();
    if (known->has_value()) {
      if (IsLate() || !IsStale(**known)) return Calibrated(kernel, **known);
      auto again = Measure(kernel, /*replace=*/true);
      // What was known must do if the measurement is interrupted.
      if (!again.ok()) return Calibrated(kernel, **known);
      calibration_->Forget(kernel.signature);
      return Calibrated(kernel, *again);
    }
    if (IsLate()) {
      constexpr double kLate = 3;
      auto estimate = EstimateOfKernel(kernel);
      if (!estimate.ok()) return estimate.status();
      if (options_.on_late) options_.on_late();
      return KernelPrice{kLate * estimate->ns, estimate->error_ns};
    }
    auto measured = Measure(kernel, /*replace=*/false);
    if (CannotRun(measured.status())) return KernelPrice{HUGE_VAL, 0};
    if (!measured.ok()) return measured.status();
    return Calibrated(kernel, *measured);
  }

  bool KeepsPrices() const override { return !IsLate(); }

  absl::Status PrepareKernels(const std::vector<PlannedKernel>& kernels) override {
    std::vector<PlannedKernel> unknown;
    if (IsLate()) return absl::OkStatus();
    for (const PlannedKernel& kernel : kernels) {
      auto known = Known(kernel);
      if (!known.ok()) return known.status();
      if (!known->has_value()) unknown.push_back(kernel);
    }
    if (unknown.empty()) return absl::OkStatus();
    const absl::Status s = measurer()->Prepare(unknown);
    // If the kernels cannot run, measuring reports it for each kernel.
    return CannotRun(s) ? absl::OkStatus() : s;
  }

  absl::StatusOr<KernelPrice> EstimateOfKernel(const PlannedKernel& kernel) override {
    auto known = Known(kernel);
    if (!known.ok()) return known.status();
    if (known->has_value()) return Calibrated(kernel, **known);
    if (!machine_) {
      auto entries = db_->Entries(device_);
      if (!entries.ok()) return entries.status();
      machine_ = FitRoofline(*entries);
    }
    return Estimated(EstimateCost(*machine_, measurer()->WorkOf(kernel)));
  }

  KernelPrice Calibrated(const PlannedKernel& kernel, const MeasuredCost& cost) const {
    const double ms = calibration_->Milliseconds(kernel.signature, cost.median_ms);
    const double error = cost.median_ms > 0 ? cost.ErrorMs() / cost.median_ms : 0;
    return {ms * 1e6, error * ms * 1e6};
  }

  absl::StatusOr<std::optional<MeasuredCost>> Known(const PlannedKernel& kernel) {
    if (!calibration_) {
      auto entries = db_->Entries(device_);
      if (!entries.ok()) return entries.status();
      calibration_.emplace(*entries);
    }
    return db_->Find(device_, kernel.signature);
  }

  bool IsStale(const MeasuredCost& cost) {
    const bool is_old = cost.measured_at > 0 && std::time(nullptr) - cost.measured_at > kOldSeconds;
    return (is_old || cost.load > kBusy) && LoadNow() < kQuiet;
  }

  // What others take of the machine, over half a second or more.
  double LoadNow() {
    if (options_.others_share) return options_.others_share();
    constexpr double kWindow = 0.5;
    if (!load_now_ || recent_.Seconds() >= kWindow) {
      if (!load_now_) {
        std::this_thread::sleep_for(std::chrono::duration<double>(kWindow - recent_.Seconds()));
      }
      load_now_ = recent_.OthersShare();
      recent_.Restart();
    }
    return *load_now_;
  }

  // What others took since `load` began. A short time says little.
  double ShareDuring(const MachineLoad& load) {
    return options_.others_share || load.Seconds() < 0.1 ? LoadNow() : load.OthersShare();
  }

  absl::StatusOr<double> MeasureOnce(const PlannedKernel& kernel) {
    if (options_.on_measure) options_.on_measure(kernel.signature);
    if (options_.deadline.interrupted()) return Deadline::Interruption();
    return measurer()->MeasureMs(kernel);
  }

  absl::StatusOr<MeasuredCost> Measure(const PlannedKernel& kernel, bool replace) {
    std::vector<double> ms;
    const MachineLoad load;
    for (int i = 0; i < Repetitions() && (i == 0 || !IsLate()); ++i) {
      auto once = MeasureOnce(kernel);
      if (!once.ok()) return once.status();
      ms.push_back(*once);
    }
    return Store(kernel, ms, ShareDuring(load), replace);
  }

  absl::StatusOr<MeasuredCost> Store(const PlannedKernel& kernel, const std::vector<double>& ms,
                                     double load, bool replace) {
    MeasuredCost cost = Summarize(ms);
    const Work work = measurer()->WorkOf(kernel);
    cost.flops = work.flops;
    cost.bytes = work.bytes_read + work.bytes_written;
    cost.load = load;
    cost.measured_at = std::time(nullptr);
    if (!replace) return db_->Put(device_, kernel.signature, cost);
    if (absl::Status s = db_->Replace(device_, kernel.signature, cost); !s.ok()) return s;
    return cost;
  }

  CostDb* const db_;
  const MeasureOptions options_;
  const std::string device_;
  std::optional<Roofline> machine_;         // fitted to the known kernels
  std::optional<Calibration> calibration_;  // set when the first kernel is priced
  MachineLoad recent_;
  std::optional<double> load_now_;
};

class KnownCostModel : public KernelCostModel {
 public:
  KnownCostModel(KernelMeasurer* measurer, std::string device,
                 const std::vector<CostEntry>& entries,
                 std::function<void(const PlannedKernel& kernel, double ms)> on_estimate)
      : KernelCostModel(measurer),
        device_(std::move(device)),
        on_estimate_(std::move(on_estimate)),
        machine_(FitRoofline(entries)),
        calibration_(entries) {
    for (const CostEntry& entry : entries) known_[entry.signature] = entry.cost;
  }

  std::string Describe() const override { return absl::StrCat("known of ", device_); }

 private:
  absl::StatusOr<KernelPrice> PriceOfKernel(const PlannedKernel& kernel) override {
    auto it = known_.find(kernel.signature);
    if (it == known_.end()) {
      const KernelPrice price = Estimated(EstimateCost(machine_, measurer()->WorkOf(kernel)));
      if (on_estimate_ && is_reported_.insert(kernel.signature).second) {
        on_estimate_(kernel, price.ns * 1e-6);
      }
      return price;
    }
    const double ms = calibration_.Milliseconds(kernel.signature, it->second.median_ms);
    const double error = it->second.median_ms > 0 ? it->second.ErrorMs() / it->second.median_ms : 0;
    return KernelPrice{ms * 1e6, error * ms * 1e6};
  }

  const std::string device_;
  const std::function<void(const PlannedKernel& kernel, double ms)> on_estimate_;
  absl::flat_hash_set<std::string> is_reported_;  // by signature
  const Roofline machine_;
  const Calibration calibration_;
  absl::flat_hash_map<std::string, MeasuredCost> known_;
};

}  // namespace

std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options) {
  return std::make_unique<MeasuredCostModel>(measurer, db, std::move(options));
}

absl::StatusOr<std::unique_ptr<CostModel>> MakeKnownCostModel(
    KernelMeasurer* measurer, CostDb* db, absl::string_view device,
    std::function<void(const PlannedKernel& kernel, double ms)> on_estimate) {
  auto entries = db->Entries(device);
  if (!entries.ok()) return entries.status();
  if (!device.empty() && !entries->empty()) {
    return std::make_unique<KnownCostModel>(measurer, std::string(device), *entries,
                                            std::move(on_estimate));
  }
  auto devices = db->Devices();
  if (!devices.ok()) return devices.status();
  return absl::NotFoundError(absl::StrCat(
      db->path(), ": no costs of the device '", device, "'; there are ",
      devices->empty() ? "none of any" : absl::StrCat("'", absl::StrJoin(*devices, "', '"), "'")));
}

}  // namespace lemma::optimizer
