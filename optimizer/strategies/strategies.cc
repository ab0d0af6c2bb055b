#include "optimizer/strategies/strategies.h"

namespace lemma::optimizer {

const std::vector<Strategy>& Strategies() {
  static const auto& strategies = *new std::vector<Strategy>{
#define LEMMA_STRATEGY(name, make, knows_memory, help) {name, knows_memory, help, make},
#include "optimizer/strategies/strategies.inc"
#undef LEMMA_STRATEGY
  };
  return strategies;
}

const Strategy* FindStrategy(absl::string_view name) {
  for (const Strategy& strategy : Strategies()) {
    if (name == strategy.name) return &strategy;
  }
  return nullptr;
}

}  // namespace lemma::optimizer
