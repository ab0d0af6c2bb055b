#include "verifier/arithmetic/model_search.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/work.h"

namespace lemma::prover {
namespace {

constexpr int64_t kLargest = 1 << 20;

// Collects the unknowns of `p`: variables, symbols and loads, also inside quotients.
void Collect(const Leaves& leaves, const Poly& p, std::set<Leaf>* unknowns) {
  for (const auto& [m, c] : p.terms()) {
    for (Leaf leaf : m) {
      const LeafInfo& info = leaves.Info(leaf);
      if (leaves.IsBase(leaf) || info.kind == LeafInfo::Kind::kLoad) {
        unknowns->insert(leaf);
      } else {
        Collect(leaves, info.a, unknowns);
        Collect(leaves, info.b, unknowns);
      }
    }
  }
}

// Gives the unknowns values one by one. A fact is checked when its last unknown gets a value.
class Search {
 public:
  Search(const Leaves& leaves, const Facts& facts, std::vector<Leaf> order,
         const std::map<Leaf, int64_t>& hints, int budget, uint64_t seed)
      : leaves_(leaves),
        order_(std::move(order)),
        checks_(order_.size()),
        hints_(hints),
        budget_(budget),
        random_(seed) {
    SpendWork(static_cast<int64_t>(8 * facts.size()));
    std::map<Leaf, int> positions;
    for (size_t i = 0; i < order_.size(); ++i) positions[order_[i]] = static_cast<int>(i);
    for (const Fact& fact : facts) {
      std::set<Leaf> mine;
      Collect(leaves, fact.p, &mine);
      int last = -1;
      for (Leaf leaf : mine) last = std::max(last, positions[leaf]);
      if (last < 0) {
        possible_ = possible_ && Holds(fact);
      } else {
        checks_[last].push_back({&fact, IsLinearIn(fact.p, order_[last])});
      }
    }
  }

  bool Run() { return possible_ && From(0); }
  const std::map<Leaf, int64_t>& values() const { return values_; }

 private:
  struct Check {
    const Fact* fact;
    bool linear;  // in the unknown that it is checked for
  };

  bool IsLinearIn(const Poly& p, Leaf unknown) {
    for (const auto& [m, c] : p.terms()) {
      if (std::count(m.begin(), m.end(), unknown) > 1) return false;
      for (Leaf leaf : m) {
        if (leaf == unknown || leaves_.IsBase(leaf)) continue;
        std::set<Leaf> inside;
        Collect(leaves_, Poly::Of(leaf), &inside);
        if (inside.count(unknown) > 0) return false;
      }
    }
    return true;
  }

  std::optional<int64_t> ValueOf(Leaf leaf) {
    const LeafInfo& info = leaves_.Info(leaf);
    if (leaves_.IsBase(leaf) || info.kind == LeafInfo::Kind::kLoad) return values_[leaf];
    auto a = ValueOf(info.a), b = ValueOf(info.b);
    if (!a || !b) return std::nullopt;
    if (info.kind == LeafInfo::Kind::kMin) return std::min(*a, *b);
    if (info.kind == LeafInfo::Kind::kMax) return std::max(*a, *b);
    if (*b <= 0) return std::nullopt;
    return FloorDivide(*a, *b);
  }
  std::optional<int64_t> ValueOf(const Poly& p) {
    if (p.overflowed()) return std::nullopt;
    int64_t sum = 0;
    for (const auto& [m, c] : p.terms()) {
      int64_t product = c;
      for (Leaf leaf : m) {
        auto value = ValueOf(leaf);
        if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
      }
      if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    return sum;
  }
  bool Holds(const Fact& fact) {
    auto value = ValueOf(fact.p);
    if (!value) return false;
    return fact.kind == Fact::Kind::kGe   ? *value >= 0
           : fact.kind == Fact::Kind::kEq ? *value == 0
                                          : *value != 0;
  }

  // Bounds of an unknown from the facts that are linear in it; false if they exclude each other.
  bool Bound(size_t i, std::optional<int64_t>* low, std::optional<int64_t>* high) {
    auto at_least = [&](int64_t v) { *low = std::max(low->value_or(v), v); };
    auto at_most = [&](int64_t v) { *high = std::min(high->value_or(v), v); };
    for (const Check& check : checks_[i]) {
      if (!check.linear || check.fact->kind == Fact::Kind::kNe) continue;
      values_[order_[i]] = 0;
      auto at_zero = ValueOf(check.fact->p);
      values_[order_[i]] = 1;
      auto at_one = ValueOf(check.fact->p);
      if (!at_zero || !at_one) return false;
      const int64_t c = *at_one - *at_zero;
      if (c == 0) continue;
      if (check.fact->kind == Fact::Kind::kEq) {
        if (*at_zero % c != 0) return false;
        at_least(-*at_zero / c);
        at_most(-*at_zero / c);
      } else if (c > 0) {
        at_least(-FloorDivide(*at_zero, c));
      } else {
        at_most(FloorDivide(*at_zero, -c));
      }
    }
    return !*low || !*high || **low <= **high;
  }

  bool From(size_t i) {
    if (i == order_.size()) return true;
    std::optional<int64_t> low, high;
    if (!Bound(i, &low, &high)) return false;
    std::vector<int64_t> candidates;
    auto add = [&](int64_t v) {
      if ((low && v < *low) || (high && v > *high) || v > kLargest || v < -kLargest) return;
      if (std::count(candidates.begin(), candidates.end(), v) == 0) candidates.push_back(v);
    };
    auto hint = hints_.find(order_[i]);
    if (hint != hints_.end()) add(hint->second);
    const size_t fixed = candidates.size();
    if (low) {
      for (int64_t step : {0, 1, 2}) add(*low + step);
    }
    if (high) {
      for (int64_t step : {0, 1}) add(*high - step);
    }
    for (int64_t v : {2, 1, 3, 0, 4}) add(v);
    if (!low) {
      add(-1);
      add(-3);
    }
    if (random_ != 0) {
      for (size_t k = candidates.size(); k > fixed + 1; --k) {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        std::swap(candidates[k - 1], candidates[fixed + (random_ >> 33) % (k - fixed)]);
      }
    }
    for (int64_t v : candidates) {
      if (++tried_ > budget_) return false;
      SpendWork(static_cast<int64_t>(2 + 4 * checks_[i].size()));
      values_[order_[i]] = v;
      const bool holds = std::all_of(checks_[i].begin(), checks_[i].end(),
                                     [&](const Check& check) { return Holds(*check.fact); });
      if (holds && From(i + 1)) return true;
    }
    return false;
  }

  const Leaves& leaves_;
  std::vector<Leaf> order_;
  std::vector<std::vector<Check>> checks_;  // by the last unknown of each
  std::map<Leaf, int64_t> values_;
  const std::map<Leaf, int64_t>& hints_;  // values to try first
  int budget_;
  uint64_t random_;
  bool possible_ = true;
  int tried_ = 0;
};

}  // namespace

bool ModelSearch::Find(const Facts& facts) {
  std::set<Leaf> all, goal;
  for (const Fact& fact : facts) Collect(leaves_, fact.p, &all);
  Collect(leaves_, facts.back().p, &goal);
  // Sizes before indices, which they bound.
  std::vector<Leaf> order(all.begin(), all.end());
  auto is_size = [&](Leaf leaf) { return leaves_.Info(leaf).kind == LeafInfo::Kind::kSymbol; };
  std::stable_partition(order.begin(), order.end(), is_size);
  // First tries the last model, changing the unknowns of the goal; then from scratch, goal first.
  std::vector<Leaf> goal_last = order, goal_first = order;
  std::stable_partition(goal_last.begin(), goal_last.end(),
                        [&](Leaf leaf) { return goal.count(leaf) == 0; });
  std::stable_partition(goal_first.begin(), goal_first.end(),
                        [&](Leaf leaf) { return goal.count(leaf) > 0; });
  const std::map<Leaf, int64_t> none;
  const struct {
    const std::vector<Leaf>& order;
    const std::map<Leaf, int64_t>& hints;
    int budget;
    uint64_t seed;
  } kTries[] = {
      {goal_last, last_, 300, 0}, {order, none, 300, 0},       {goal_first, last_, 300, 0},
      {goal_first, none, 300, 1}, {goal_first, last_, 300, 2}, {order, none, 300, 3},
      {goal_first, none, 300, 4},
  };
  for (const auto& t : kTries) {
    Search search(leaves_, facts, t.order, t.hints, t.budget, t.seed);
    if (!search.Run()) continue;
    for (const auto& [leaf, value] : search.values()) last_[leaf] = value;
    return true;
  }
  return false;
}

}  // namespace lemma::prover
