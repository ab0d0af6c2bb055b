#include "optimizer/cost/cost_model.h"

namespace lemma::optimizer {

const KernelTraits& CostModel::TraitsOf(int /*kernel*/) {
  static const auto& none = *new KernelTraits;
  return none;
}

absl::StatusOr<std::vector<KernelPrice>> CostModel::PricesOf(const KernelList& /*kernels*/) {
  return absl::UnimplementedError("the model lists no kernels");
}

absl::StatusOr<bool> CostModel::Refine(const KernelList& /*kernels*/) { return false; }

absl::StatusOr<bool> CostModel::Confirm(const KernelList& /*kernels*/) { return false; }

}  // namespace lemma::optimizer
