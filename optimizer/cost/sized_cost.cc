#include "optimizer/cost/sized_cost.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sizes/specialize.h"

namespace lemma::optimizer {
namespace {

class SizedCostModel : public CostModel {
 public:
  SizedCostModel(std::unique_ptr<CostModel> model, const std::vector<SizeHint>& hints)
      : model_(std::move(model)) {
    for (const SizeHint& hint : hints) sizes_.push_back({Specializer(hint.sizes), hint.weight});
  }

  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    return Sum(graph, [&](const Graph& sized) { return model_->CostOf(sized); });
  }
  absl::StatusOr<Cost> EstimateOf(const Graph& graph) override {
    return Sum(graph, [&](const Graph& sized) { return model_->EstimateOf(sized); });
  }

  absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& graph) override {
    std::vector<Cost> sum(graph.nodes().size());
    for (At& at : sizes_) {
      auto sized = at.specializer.Of(graph);
      if (!sized.ok()) return std::vector<Cost>();
      auto shares = model_->SharesOf(*sized);
      // Values that are equal at these sizes are one there.
      if (!shares.ok() || shares->size() != sum.size()) return std::vector<Cost>();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += (*shares)[i].Scaled(at.weight);
    }
    return sum;
  }

  std::optional<Cost> CostOfOperator(const Node& node) override {
    Cost sum;
    for (At& at : sizes_) {
      auto sized = at.specializer.Alone(node);
      if (!sized.ok())
        return model_->CostOfOperator(node) ? std::optional(Cost::Infinite()) : std::nullopt;
      auto cost = model_->CostOfOperator(**sized);
      if (!cost) return std::nullopt;
      sum += cost->Scaled(at.weight);
    }
    return sum;
  }

  bool ListsKernels() const override { return model_->ListsKernels(); }

  absl::StatusOr<std::optional<KernelList>> KernelsOf(const Graph& graph) override {
    std::map<int, double> times;
    for (At& at : sizes_) {
      auto sized = at.specializer.Of(graph);
      if (!sized.ok()) return std::optional<KernelList>();
      auto kernels = model_->KernelsOf(*sized);
      if (!kernels.ok() || !kernels->has_value()) return kernels;
      for (const KernelUse& use : **kernels) times[use.kernel] += use.times * at.weight;
    }
    KernelList list;
    for (const auto& [kernel, count] : times) list.push_back({kernel, count});
    return std::optional<KernelList>(std::move(list));
  }
  const KernelTraits& TraitsOf(int kernel) override { return model_->TraitsOf(kernel); }
  absl::StatusOr<std::vector<KernelPrice>> PricesOf(const KernelList& kernels) override {
    return model_->PricesOf(kernels);
  }
  absl::StatusOr<bool> Refine(const KernelList& kernels) override {
    return model_->Refine(kernels);
  }
  absl::StatusOr<bool> Confirm(const KernelList& kernels) override {
    return model_->Confirm(kernels);
  }

  std::string Describe() const override {
    std::vector<std::string> hints;
    for (const At& at : sizes_) {
      hints.push_back(absl::StrJoin(at.specializer.values(), ",", absl::PairFormatter("=")));
    }
    return absl::StrCat(model_->Describe(), ", at ", absl::StrJoin(hints, " and "));
  }

 private:
  struct At {
    Specializer specializer;
    double weight;
  };

  template <class Price>
  absl::StatusOr<Cost> Sum(const Graph& graph, const Price& price) {
    Cost sum;
    for (At& at : sizes_) {
      auto sized = at.specializer.Of(graph);
      if (!sized.ok()) return Cost::Infinite();
      auto cost = price(*sized);
      if (!cost.ok()) return cost;
      sum += cost->Scaled(at.weight);
    }
    return sum;
  }

  const std::unique_ptr<CostModel> model_;
  std::vector<At> sizes_;
};

}  // namespace

std::unique_ptr<CostModel> MakeSizedCostModel(std::unique_ptr<CostModel> model,
                                              const std::vector<SizeHint>& hints) {
  return std::make_unique<SizedCostModel>(std::move(model), hints);
}

}  // namespace lemma::optimizer
