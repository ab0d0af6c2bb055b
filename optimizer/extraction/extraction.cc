#include "optimizer/extraction/extraction.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "optimizer/extraction/candidates.h"
#include "optimizer/extraction/integer_program.h"

namespace lemma::optimizer {
namespace {

// Keeps only providers on which the outputs depend, and sets the price.
void Trim(const EGraph& egraph, const std::vector<int64_t>& price, Selection* selection) {
  std::vector<ValueRef> kept(egraph.num_values());
  absl::flat_hash_set<int> counted;
  std::vector<int> pending;
  for (const ValueRef& v : egraph.outputs()) pending.push_back(egraph.ClassOf(v));
  selection->price = 0;
  while (!pending.empty()) {
    const int c = pending.back();
    pending.pop_back();
    if (kept[c].node >= 0) continue;
    kept[c] = selection->provider[c];
    if (!counted.insert(kept[c].node).second) continue;
    selection->price += price[kept[c].node];
    for (int operand : OperandClasses(egraph, kept[c].node)) pending.push_back(operand);
  }
  selection->provider = std::move(kept);
}

// The cheapest known way to compute a class.
struct Way {
  std::vector<uint64_t> nodes;  // a bit for each candidate
  int64_t price = 0;
  int count = 0;
};

class Greedy {
 public:
  Greedy(const EGraph& egraph, const std::vector<int64_t>& price, const Candidates& candidates)
      : egraph_(egraph), price_(price), candidates_(candidates) {}

  // A provider for each class that can be computed, needed or not.
  absl::StatusOr<Selection> Do() {
    selection_.provider.resize(egraph_.num_values());
    ways_.resize(egraph_.num_values());
    for (size_t i = 0; i < candidates_.nodes.size(); ++i) Visit(i);
    for (const ValueRef& v : egraph_.outputs()) {
      if (ways_[egraph_.ClassOf(v)] == nullptr) {
        return absl::FailedPreconditionError("no graph of these nodes can be run");
      }
    }
    return std::move(selection_);
  }

  // After Do(), by class: whether it can be computed at no price.
  std::vector<bool> IsFree() const {
    std::vector<bool> is_free(ways_.size());
    for (size_t c = 0; c < ways_.size(); ++c) {
      is_free[c] = ways_[c] != nullptr && ways_[c]->price == 0;
    }
    return is_free;
  }

 private:
  void Visit(size_t number) {
    const int node = candidates_.nodes[number];
    Way way;
    way.nodes.resize((candidates_.nodes.size() + 63) / 64);
    for (int operand : OperandClasses(egraph_, node)) {
      const auto& below = ways_[operand]->nodes;
      for (size_t w = 0; w < below.size(); ++w) way.nodes[w] |= below[w];
    }
    way.nodes[number / 64] |= uint64_t{1} << (number % 64);
    for (size_t w = 0; w < way.nodes.size(); ++w) {
      for (uint64_t rest = way.nodes[w]; rest != 0; rest &= rest - 1) {
        way.price += price_[candidates_.nodes[w * 64 + __builtin_ctzll(rest)]];
        ++way.count;
      }
    }
    const auto shared = std::make_shared<Way>(std::move(way));
    for (const ValueRef& v : candidates_.made_by[node]) {
      const int c = egraph_.ClassOf(v);
      auto& best = ways_[c];
      if (best != nullptr && std::make_pair(best->price, best->count) <=
                                 std::make_pair(shared->price, shared->count)) {
        continue;
      }
      best = shared;
      selection_.provider[c] = v;
    }
  }

  const EGraph& egraph_;
  const std::vector<int64_t>& price_;
  const Candidates& candidates_;
  std::vector<std::shared_ptr<const Way>> ways_;  // by class
  Selection selection_;
};
}  // namespace

absl::StatusOr<Selection> ExtractGreedily(const EGraph& egraph, const std::vector<int64_t>& price) {
  auto selection = Greedy(egraph, price, Candidates(egraph, price)).Do();
  if (selection.ok()) Trim(egraph, price, &*selection);
  return selection;
}

absl::StatusOr<Extraction> Extract(const EGraph& egraph, const std::vector<int64_t>& price,
                                   const ExtractionOptions& options) {
  const Candidates candidates(egraph, price);
  Greedy greedy(egraph, price, candidates);
  auto start = greedy.Do();
  if (!start.ok()) return start.status();
  Extraction result;
  result.best = *start;
  Trim(egraph, price, &result.best);
  const IntegerProgram program(egraph, price, candidates, greedy.IsFree());
  double bound = 0;
  Selection found = program.Solve(*start, result.best, options.max_nodes, &bound);
  Trim(egraph, price, &found);
  if (found.price < result.best.price) result.best = std::move(found);
  result.num_left_out = candidates.num_left_out;
  // The solver rounds its results.
  constexpr double kTolerance = 1e-6;
  const double reached = static_cast<double>(result.best.price);
  result.bound = bound >= reached * (1 - kTolerance)
                     ? result.best.price
                     : static_cast<int64_t>(std::max(0.0, std::floor(bound * (1 - kTolerance))));
  return result;
}

}  // namespace lemma::optimizer
