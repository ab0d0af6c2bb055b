#include "optimizer/cost/calibration.h"

namespace lemma::optimizer {

absl::string_view KindOfKernel(absl::string_view signature) {
  return signature.substr(0, signature.find('('));
}

Calibration::Calibration(const std::vector<CostEntry>& known) {
  for (const auto& [device, signature, cost] : known) {
    if (cost.in_graph_ms <= 0) continue;
    in_graph_[signature] = cost.in_graph_ms;
    for (Sums* sums : {&kinds_[std::string(KindOfKernel(signature))], &all_}) {
      sums->alone += cost.median_ms;
      sums->in_graph += cost.in_graph_ms;
    }
  }
}

double Calibration::Milliseconds(absl::string_view signature, double alone_ms) const {
  auto it = in_graph_.find(signature);
  return it != in_graph_.end() ? it->second : alone_ms * FactorOf(KindOfKernel(signature));
}

double Calibration::FactorOf(absl::string_view kind) const {
  auto it = kinds_.find(std::string(kind));
  return it != kinds_.end() ? it->second.Factor() : all_.Factor();
}

}  // namespace lemma::optimizer
