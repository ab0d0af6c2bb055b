#include "optimizer/cost/calibration.h"

namespace lemma::optimizer {

absl::string_view KindOfKernel(absl::string_view signature) {
  return signature.substr(0, signature.find('('));
}

Calibration::Calibration(const std::vector<CostEntry>& known) {
  for (const auto& [device, signature, cost] : known) {
    if (cost.in_graph_ms > 0) timed_[signature] = {cost.median_ms, cost.in_graph_ms};
  }
  Fit();
}

void Calibration::Fit() {
  kinds_.clear();
  all_ = {};
  for (const auto& [signature, times] : timed_) {
    for (Sums* sums : {&kinds_[std::string(KindOfKernel(signature))], &all_}) {
      sums->alone += times.alone;
      sums->in_graph += times.in_graph;
    }
  }
}

void Calibration::Forget(absl::string_view signature) {
  auto it = timed_.find(signature);
  if (it == timed_.end()) return;
  timed_.erase(it);
  Fit();
}

double Calibration::Milliseconds(absl::string_view signature, double alone_ms) const {
  auto it = timed_.find(signature);
  return it != timed_.end() ? it->second.in_graph : alone_ms * FactorOf(KindOfKernel(signature));
}

double Calibration::FactorOf(absl::string_view kind) const {
  auto it = kinds_.find(std::string(kind));
  return it != kinds_.end() ? it->second.Factor() : all_.Factor();
}

}  // namespace lemma::optimizer
