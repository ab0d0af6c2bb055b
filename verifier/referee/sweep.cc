#include "verifier/referee/sweep.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "base/work.h"
#include "verifier/referee/evidence/constants.h"

namespace lemma::referee {
namespace {

constexpr int kCandidates = 3;  // values of `before` tried for one of `after`
constexpr int kMaxDepth = 2;
// Choices between the elements of several constants multiply, and so does the memory of a proof.
constexpr int64_t kLessWithValues = 20;
constexpr int64_t kLessAfterFault = 20;
constexpr int kForOutputs = 96;  // operators in a region that ends at an output
constexpr char kNotTried[] = "not tried before the time was up";
constexpr char kNotDecided[] = "its proof had not ended when the time was up";

class Sweeper {
 public:
  Sweeper(const Graph& before, const Graph& after, const std::vector<Value>& derived,
          const Sketches& in_before, const Sketches& in_after, RegionProver* prover,
          const SweepLimits& limits, const Deadline& deadline)
      : before_(before),
        after_(after),
        derived_(derived.begin(), derived.end()),
        in_before_(in_before),
        in_after_(in_after),
        deadline_(deadline),
        constants_(ConstantNodes(before.nodes())),
        prover_(*prover),
        limits_(limits) {
    for (const Value& value : derived) by_type_[value.type().Hash()].push_back(value);
  }

  SweepResult Run() {
    for (const NodePtr& node : before_.nodes()) {
      shared_.insert(node.get());
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        if (in_before_.count(value) > 0) by_type_[value.type().Hash()].push_back(value);
      }
    }
    const auto all = static_cast<int64_t>(after_.nodes().size());
    for (int64_t done = 0; done < all; ++done) {
      if (limits_.progress) limits_.progress(done, all);
      Move(after_.nodes()[static_cast<size_t>(done)]);
    }
    for (size_t o = 0; o < after_.outputs().size(); ++o) {
      result_.covered.push_back(CoverOutput(o));
    }
    for (const NodePtr& node : after_.nodes()) {
      for (int o = 0; o < node->num_outputs(); ++o) KeepIfEqual(Value(node, o));
    }
    result_.moved = std::move(moved_);
    return std::move(result_);
  }

 private:
  void Move(const NodePtr& node) {
    const NodePtr now = WithOperands(node, moved_);
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(now, o);
      moved_[Value(node, o)] = value;
      result_.by_rebuilt_value.try_emplace(value, Value(node, o));
      const bool is_compared = !limits_.parts.contains(node.get());
      if (is_compared && now->is_op() && shared_.count(now.get()) == 0) {
        Merge(Value(node, o), value);
      }
    }
  }

  void KeepIfEqual(const Value& value) {
    const Value& now = moved_.at(value);
    const bool is_equal = shared_.contains(&now.node()) || derived_.contains(now);
    if (is_equal) result_.equal.emplace_back(value, now);
  }

  // `value` of `after`; `now` is the same value over replaced operands.
  void Merge(const Value& value, const Value& now) {
    if (failures_ >= limits_.failures) return;
    std::optional<Value> differing;
    for (const Value& candidate : Candidates(value)) {
      if (deadline_.Passed()) {
        LeaveOpen(candidate, value, kNotTried);
        return;
      }
      if (ProveInTime(candidate, value, now, CutOptions().max_operators, kMaxDepth)) {
        moved_[value] = candidate;
        return;
      }
      if (differs_ && !differing) differing = candidate;
    }
    if (!limits_.assume || !differing) return;
    moved_[value] = *differing;
    result_.assumed.push_back({*differing, value, now});
  }

  // The time is up, and the pair is neither proved nor known to differ.
  void LeaveOpen(const Value& candidate, const Value& value, const char* reason) {
    result_.timed_out = true;
    const bool is_known = !result_.unproved.empty() && result_.unproved.back().after == value;
    if (!is_known) result_.unproved.push_back({candidate, value, 0, reason});
  }

  // The nearest values, one of the same name before others.
  std::vector<Value> Candidates(const Value& value) const {
    auto sketch = in_after_.find(value);
    auto of_type = by_type_.find(value.type().Hash());
    if (sketch == in_after_.end() || of_type == by_type_.end()) return {};
    const absl::string_view label = after_.LabelOf(value);
    std::vector<std::pair<double, Value>> near;
    for (const Value& candidate : of_type->second) {
      if (candidate.type() != value.type()) continue;
      double distance = Distance(in_before_.at(candidate), sketch->second);
      const bool is_named = !label.empty() && before_.LabelOf(candidate) == label;
      // The effects of assumed places add up.
      if (distance > kAlikeDistance && !(is_named && limits_.assume)) continue;
      if (is_named) distance = -1;
      if (derived_.count(candidate) > 0) distance += 1;
      near.emplace_back(distance, candidate);
    }
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (near.size() > kCandidates) near.resize(kCandidates);
    std::vector<Value> candidates;
    candidates.reserve(near.size());
    for (auto& [distance, candidate] : near) candidates.push_back(std::move(candidate));
    return candidates;
  }

  // As Prove; false if the time is up before Prove ends, even by an exception.
  bool ProveInTime(const Value& candidate, const Value& value, const Value& now, int max_operators,
                   int max_depth, int output = -1) {
    try {
      return Prove(candidate, value, now, max_operators, max_depth, output);
    } catch (const WorkEnded&) {
      if (!deadline_.Passed()) throw;
      LeaveOpen(candidate, value, kNotDecided);
      return false;
    }
  }

  bool Prove(const Value& candidate, const Value& value, const Value& now, int max_operators,
             int max_depth, int output = -1) {
    OpenPair unproved{candidate, value, 0, ""};
    differs_ = false;
    const bool follows_fault = FollowsFault(now);
    bool measured = false;
    // After a fault, a proof is long and hopeless, unless the fault does not matter here.
    const int deepest = follows_fault ? 0 : max_depth;
    for (int depth = 0; depth <= deepest; ++depth) {
      using Weights = CutOptions::Weights;
      for (const Weights weights :
           {Weights::kAny, Weights::kUniform, Weights::kSigns, Weights::kFew}) {
        if (follows_fault && weights == Weights::kFew) continue;
        CutOptions cut;
        cut.depth = depth;
        cut.weights = weights;
        cut.constants = &constants_;
        cut.max_operators = max_operators;
        const auto region = CutRegion(shared_, candidate, now, cut);
        if (!region) continue;
        const bool suspected = follows_fault || unproved.operators > 0;
        if (suspected && !measured && limits_.differs) {
          measured = true;
          if (Differs(candidate, now, max_operators, follows_fault)) {
            differs_ = true;
            if (!limits_.assume) faulty_.insert(&now.node());
            unproved.operators = std::max(unproved.operators, region->operators);
            if (unproved.reason.empty()) unproved.reason = "the values differ on random inputs";
            result_.unproved.push_back(std::move(unproved));
            ++failures_;
            return false;
          }
        }
        const int64_t less = follows_fault              ? kLessAfterFault
                             : weights == Weights::kFew ? kLessWithValues
                                                        : 1;
        const Verdict verdict = prover_.Prove(*region, limits_.work / less);
        if (const auto* proved = std::get_if<Proved>(&verdict)) {
          Record(candidate, value, *region, *proved, output);
          return true;
        }
        if (unproved.operators == 0) {
          unproved.operators = region->operators;
          unproved.reason = deadline_.Passed() ? kNotDecided : std::get<Unknown>(verdict).reason;
        }
        if (deadline_.Passed()) {
          result_.timed_out = true;
          break;
        }
      }
    }
    if (unproved.operators == 0) unproved.reason = "too many operators lie between equal values";
    result_.unproved.push_back(std::move(unproved));
    ++failures_;
    return false;
  }

  // Whether the value is computed, by operators that are not replaced, from one that differs.
  bool FollowsFault(const Value& now) const {
    if (faulty_.empty()) return false;
    std::vector<const Node*> stack = {&now.node()};
    absl::flat_hash_set<const Node*> seen;
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (shared_.count(node) > 0 || !seen.insert(node).second) continue;
      if (faulty_.count(node) > 0) return true;
      for (const Value& operand : node->inputs()) stack.push_back(&operand.node());
    }
    return false;
  }

  bool Differs(const Value& candidate, const Value& now, int max_operators, bool at_all) const {
    CutOptions cut;
    cut.weights = CutOptions::Weights::kAll;
    cut.max_operators = max_operators;
    const auto region = CutRegion(shared_, candidate, now, cut);
    return region && limits_.differs(*region, at_all);
  }

  void Record(const Value& candidate, const Value& value, const Region& region,
              const Proved& proved, int output) {
    ProvedRegion record;
    record.before = std::string(before_.LabelOf(candidate));
    record.after = std::string(after_.LabelOf(value));
    record.contract = proved.contract;
    record.before_operators = OperatorsOf(region.before);
    record.after_operators = OperatorsOf(region.after);
    record.condition = proved.coverage;
    record.before_value = candidate;
    record.after_value = value;
    record.cuts = region.inputs;
    for (const Value& v : region.constants) record.cuts.push_back({v, Known::kElements});
    record.output = output;
    result_.regions.push_back(std::move(record));
  }

  static std::vector<std::string> OperatorsOf(const Graph& graph) {
    std::vector<std::string> names;
    for (const NodePtr& node : graph.nodes()) {
      if (node->is_op()) names.push_back(node->op().name);
    }
    return names;
  }

  bool CoverOutput(size_t output) {
    const Value &before = before_.outputs()[output], &after = after_.outputs()[output];
    const Value now = moved_.at(after);
    if (now == before) return true;
    // The value may have been proved equal to another value of `before` that looks the same.
    if (deadline_.Passed()) {
      LeaveOpen(before, after, kNotTried);
      return false;
    }
    auto a = in_before_.find(before), b = in_after_.find(after);
    const bool alike = a != in_before_.end() && b != in_after_.end() &&
                       Distance(a->second, b->second) <= kAlikeDistance;
    return alike &&
           ProveInTime(before, after, now, kForOutputs, kMaxDepth + 1, static_cast<int>(output));
  }

  const Graph &before_, &after_;
  const absl::flat_hash_set<Value> derived_;
  const Sketches &in_before_, &in_after_;
  const Deadline& deadline_;
  const absl::flat_hash_set<const Node*> constants_;
  RegionProver& prover_;
  const SweepLimits& limits_;
  absl::flat_hash_set<const Node*> shared_;
  absl::flat_hash_map<uint64_t, std::vector<Value>> by_type_;
  absl::flat_hash_map<Value, Value> moved_;
  absl::flat_hash_set<const Node*> faulty_;  // values that differ from those they are like
  SweepResult result_;
  int failures_ = 0;
  bool differs_ = false;  // whether the values of the last call of Prove were found to differ
};

}  // namespace

bool SweepResult::AllCovered() const {
  return std::all_of(covered.begin(), covered.end(), [](bool c) { return c; });
}

SweepResult Sweep(const Graph& before, const Graph& after, const std::vector<Value>& derived,
                  const Sketches& in_before, const Sketches& in_after, RegionProver* prover,
                  const SweepLimits& limits, const Deadline& deadline) {
  return Sweeper(before, after, derived, in_before, in_after, prover, limits, deadline).Run();
}

}  // namespace lemma::referee
