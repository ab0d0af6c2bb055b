#include "generator/run/pairs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status_macros.h"

namespace lemma::generator {
namespace {

constexpr DerivationOptions kProved{DerivationOptions::kProved, true},
    kSplitsStay{DerivationOptions::kProved, false};

}  // namespace

NamedPair OrientWithoutNames(const OperatorSet& set, Pair* pair) {
  NamedPair named = WithoutNames(set, *pair);
  if (named.covers) return named;
  NamedPair turned = WithoutNames(set, {pair->target, pair->source});
  if (!turned.covers) return named;
  std::swap(pair->source, pair->target);
  return turned;
}

PairCollector::PairCollector(const OperatorSet* set, Derivation* known, Evaluator* evaluator,
                             GenerateStats* stats)
    : set_(*set), known_(*known), evaluator_(*evaluator), stats_(*stats) {
  for (const Input& input : set->inputs()) input_types_.push_back(input.type);
}

absl::Status PairCollector::Collect(const ValueClass& one, int size) {
  size_t count = 0;
  while (count < one.members.size() && one.members[count].num_ops <= size) ++count;
  if (count < 2 || one.members[count - 1].num_ops < size) return absl::OkStatus();
  // Graphs with splits may be siblings to merge; a rewriter must find that, beyond their equality.
  const bool has_splits = one.members[0].num_outputs > 1 &&
                          std::any_of(one.members.begin(), one.members.begin() + count,
                                      [&](const CompactGraph& graph) { return HasSplit(graph); });
  const DerivationOptions options = has_splits ? kSplitsStay : kProved;
  struct Candidate {  // a member that no other one has the normal forms of
    std::vector<int> values;
    size_t member;
    uint64_t key = 0;
  };
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < count; ++i) {
    std::vector<int> values = known_.Intern(Expanded(one.members[i]), input_types_);
    for (int& v : values) v = known_.NormalForm(v, options);
    if (std::none_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& candidate) { return candidate.values == values; })) {
      candidates.push_back({std::move(values), i});
    }
  }
  if (candidates.size() < 2) return absl::OkStatus();
  // The class's key covers only some elements, in one run.
  for (Candidate& candidate : candidates) {
    LEMMA_ASSIGN_OR_RETURN(candidate.key,
                           evaluator_.ExactKey(Expanded(one.members[candidate.member])));
  }
  for (size_t i = 1; i < candidates.size(); ++i) {
    // Pairs of smaller members were compared before.
    if (one.members[candidates[i].member].num_ops < size) continue;
    size_t first = 0;
    while (candidates[first].key != candidates[i].key) ++first;
    if (first == i) continue;
    AddParts({Expanded(one.members[candidates[i].member]),
              Expanded(one.members[candidates[first].member])},
             candidates[i].values, candidates[first].values);
  }
  return absl::OkStatus();
}

std::map<PairCollector::Priority, Pair> PairCollector::Take() { return std::exchange(found_, {}); }

bool PairCollector::HasSplit(const CompactGraph& graph) const {
  return std::any_of(graph.ops.begin(), graph.ops.begin() + graph.num_ops,
                     [&](const auto& op) { return set_.variants()[op.variant].num_outputs > 1; });
}

// The number of the part of each output. Two open outputs share a part only if both depend on one
// operator with several outputs; separately, each of them says more.
std::vector<size_t> PairCollector::PartsOf(const Pair& pair, const std::vector<bool>& open) const {
  std::vector<size_t> part(open.size());
  std::iota(part.begin(), part.end(), 0);
  auto join = [&](size_t a, size_t b) {
    const size_t from = part[a], to = part[b];
    std::replace(part.begin(), part.end(), from, to);
  };
  for (const NumberedGraph* graph : {&pair.source, &pair.target}) {
    std::vector<size_t> reader(graph->ops.size(), part.size());
    for (size_t o = 0; o < part.size(); ++o) {
      if (!open[o]) continue;
      std::vector<bool> read(graph->ops.size(), false);
      if (graph->outputs[o] >= 0) read[graph->outputs[o] / kMostOutputs] = true;
      for (size_t i = graph->ops.size(); i-- > 0;) {
        if (!read[i]) continue;
        for (int v : graph->ops[i].operands) {
          if (v >= 0) read[v / kMostOutputs] = true;
        }
        if (set_.variants()[graph->ops[i].variant].num_outputs < 2) continue;
        if (reader[i] < part.size()) join(o, reader[i]);
        reader[i] = o;
      }
    }
  }
  return part;
}

// Leaves out outputs that are known to be equal.
void PairCollector::AddParts(const Pair& pair, const std::vector<int>& source_forms,
                             const std::vector<int>& target_forms) {
  std::vector<bool> open;
  for (size_t o = 0; o < source_forms.size(); ++o) {
    open.push_back(source_forms[o] != target_forms[o]);
  }
  const std::vector<size_t> part = PartsOf(pair, open);
  for (size_t p = 0; p < part.size(); ++p) {
    Pair some = pair;
    some.source.outputs.clear();
    some.target.outputs.clear();
    for (size_t o = 0; o < part.size(); ++o) {
      if (part[o] != p || !open[o]) continue;
      some.source.outputs.push_back(pair.source.outputs[o]);
      some.target.outputs.push_back(pair.target.outputs[o]);
    }
    if (some.source.outputs.empty()) continue;
    if (some.source.outputs.size() == 1 &&
        known_.AreJoined(known_.Intern(some.source, input_types_),
                         known_.Intern(some.target, input_types_), kProved)) {
      continue;
    }
    RemoveUnread(&some.source);
    RemoveUnread(&some.target);
    ++stats_.pairs;
    const NamedPair named = OrientWithoutNames(set_, &some);
    if (!IsNew(named.key)) continue;
    ++stats_.candidates;
    found_.emplace(
        Priority{-named.num_variables, some.source.ops.size() + some.target.ops.size(), named.key},
        std::move(some));
  }
}

}  // namespace lemma::generator
