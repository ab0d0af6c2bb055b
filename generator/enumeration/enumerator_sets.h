// Walks sets of nodes and the applications to them: the inner loops of enumerator.h.
#ifndef LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_SETS_H_
#define LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_SETS_H_

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/status_macros.h"
#include "generator/enumeration/enumerator.h"

namespace lemma::generator {

// A key of Enumerator::runs_ packs the nodes that the run rests on: kNodeBits bits for each node,
// which hold the node's number plus 1.
constexpr int kNodeBits = 21;
static_assert(kNodeBits * (kMostOps - 2) <= 64);

constexpr uint64_t kColliding = 1;  // in a value's key: another term has the same key

// Visits the sets of a size that contain the operands of each of their nodes.
template <class Visit>
class Enumerator::SetWalk {
 public:
  SetWalk(const Enumerator& enumerator, int size, const Visit& visit)
      : enumerator_(enumerator), size_(size), visit_(visit) {
    const auto it = enumerator_.runs_.find(0);
    if (it != enumerator_.runs_.end()) runs_[0].push_back(it->second);
    packable_[0] = true;
  }

  absl::Status Run(int first_begin, int first_end) {
    first_begin_ = first_begin;
    first_end_ = first_end;
    Extend();
    return status_;
  }

 private:
  static constexpr int kSetsBetweenChecks = 4096;

  void Extend() {
    const int level = set_.size;
    if (level == size_) {
      if (++count_ % kSetsBetweenChecks == 0) status_ = enumerator_.CheckInterrupted();
      if (status_.ok()) status_ = visit_(set_, absl::MakeConstSpan(runs_[level]));
      return;
    }
    const NodeSet before = set_;
    const int free = enumerator_.FreeOperands(level + 1);
    const int least = level == 0 ? first_begin_ : set_.nodes[level - 1] + 1;
    for (const NodeRun& run : runs_[level]) {
      const int end = level == 0 ? std::min(run.end, first_end_) : run.end;
      for (int node = std::max(run.begin, least); node < end; ++node) {
        const uint64_t mask = before.mask | enumerator_.masks_[node];
        if (!enumerator_.Completable(mask, free)) continue;
        set_.mask = mask;
        set_.read |= enumerator_.ReadBits(before, enumerator_.nodes_[node].operands);
        set_.two_outputs |= enumerator_.OutputsOf(node) > 1;
        set_.nodes[level] = node;
        ++set_.size;
        FindRuns(level, node);
        Extend();
        set_ = before;
        if (!status_.ok()) return;
      }
    }
  }

  // Makes the runs of the next level: the runs of this level that reach beyond `node`, and the runs
  // of nodes that rest on exactly `node` and some (or none) of the set's other nodes.
  void FindRuns(int level, int node) {
    auto& runs = runs_[level + 1];
    runs.clear();
    for (const NodeRun& run : runs_[level]) {
      if (run.end > node + 1) runs.push_back(run);
    }
    const bool packable = node < enumerator_.first_node_[enumerator_.options_.max_ops - 1];
    for (unsigned subset = 0; subset < (1u << level); ++subset) {
      const unsigned with = subset | 1u << level;
      packable_[with] = packable && packable_[subset] &&
                        __builtin_popcount(with) <= enumerator_.options_.max_ops - 2;
      if (!packable_[with]) continue;
      packed_[with] = packed_[subset] << kNodeBits | static_cast<uint64_t>(node + 1);
      if (!enumerator_.has_users_[node]) continue;
      const auto it = enumerator_.runs_.find(packed_[with]);
      if (it != enumerator_.runs_.end()) runs.push_back(it->second);
    }
  }

  const Enumerator& enumerator_;
  const int size_;
  const Visit& visit_;
  int first_begin_ = 0, first_end_ = 0;
  NodeSet set_;
  std::array<absl::InlinedVector<NodeRun, 1 << (kMostOps - 1)>, kMostOps> runs_;
  // By subset of the set's nodes: its key in Enumerator::runs_, and whether it has one.
  std::array<uint64_t, 1 << kMostOps> packed_ = {};
  std::array<bool, 1 << kMostOps> packable_ = {};
  int64_t count_ = 0;
  absl::Status status_;
};

template <class Visit>
absl::Status Enumerator::ForEachSet(int size, int first_begin, int first_end,
                                    const Visit& visit) const {
  return SetWalk<Visit>(*this, size, visit).Run(first_begin, first_end);
}

template <class Visit>
absl::Status Enumerator::ForEachNewApplication(const NodeSet& set, bool compile,
                                               const Visit& visit) {
  constexpr uint32_t kAllOutputs = (1u << kMostOutputs) - 1;
  // Nodes that no other node reads; the new term must read them.
  std::array<int, kMostOperands> top;
  int tops = 0;
  for (int i = 0; i < set.size; ++i) {
    if ((set.read >> OutputValue(i, 0) & kAllOutputs) != 0) continue;
    if (tops == kMostOperands) return absl::OkStatus();
    top[tops++] = i;
  }
  const int free = FreeOperands(set.size + 1);
  if (!Completable(set.mask, free + kMostOperands - tops)) return absl::OkStatus();
  NewApplication term;
  auto apply = [&](int a, int b) -> absl::Status {
    term.mask = set.mask;
    for (int v : {a, b}) {
      if (v != kNone && v < num_inputs()) term.mask |= uint64_t{1} << v;
    }
    if (!Completable(term.mask, free)) return absl::OkStatus();
    const int types[] = {a == kNone ? kNone : types_[a], b == kNone ? kNone : types_[b]};
    const std::vector<Application>* applications = evaluator_.Known(types[0], types[1]);
    if (applications == nullptr) {
      if (!compile) return absl::OkStatus();
      LEMMA_ASSIGN_OR_RETURN(applications, evaluator_.Applications(types[0], types[1]));
    }
    term.operands = {a, b};
    for (const Application& application : *applications) {
      if ((application.commutative && a > b) || (application.distinct && a == b)) continue;
      term.application = &application;
      LEMMA_RETURN_IF_ERROR(visit(term));
    }
    return absl::OkStatus();
  };
  using Values = absl::InlinedVector<int, 64>;
  auto add_outputs = [&](int i, Values* values) {
    for (int o = 0; o < OutputsOf(set.nodes[i]); ++o) {
      values->push_back(ValueOf(set.nodes[i], o));
    }
  };
  auto apply_all = [&](const Values& first, const Values& second) -> absl::Status {
    for (int a : first) {
      for (int b : second) LEMMA_RETURN_IF_ERROR(apply(a, b));
    }
    return absl::OkStatus();
  };
  Values read, others;
  for (int t = 0; t < std::min(tops, 1); ++t) add_outputs(top[t], &read);
  if (tops == 2) {
    add_outputs(top[1], &others);
    LEMMA_RETURN_IF_ERROR(apply_all(read, others));
    return apply_all(others, read);
  }
  for (int i = 0; i < num_inputs(); ++i) {
    if (Completable(set.mask | uint64_t{1} << i, free + 1 - tops)) others.push_back(i);
  }
  for (int i = 0; i < set.size; ++i) {
    if (i != top[0]) add_outputs(i, &others);
  }
  if (tops == 0) {
    LEMMA_RETURN_IF_ERROR(apply(kNone, kNone));
    LEMMA_RETURN_IF_ERROR(apply_all(others, {kNone}));
    return apply_all(others, others);
  }
  LEMMA_RETURN_IF_ERROR(apply_all(read, {kNone}));
  LEMMA_RETURN_IF_ERROR(apply_all(read, read));
  LEMMA_RETURN_IF_ERROR(apply_all(read, others));
  return apply_all(others, read);
}

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_SETS_H_
