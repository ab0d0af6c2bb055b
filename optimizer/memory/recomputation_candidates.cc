#include "optimizer/memory/recomputation_candidates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace lemma::optimizer {
namespace {

// ---- When and where the plan holds each value ----

class PlanIndex {
 public:
  explicit PlanIndex(const PlannedCopies& now) : now_(now), t_(now.timeline) {
    for (size_t k = 0; k < t_.kernels.size(); ++k) {
      for (const NodePtr& node : t_.kernels[k].nodes) kernel_of_[node.get()] = static_cast<int>(k);
    }
    for (const auto& [value, buffer] : t_.places) place_[value] = buffer;
    writers_.resize(t_.buffers.size());
    for (size_t k = 0; k < t_.kernels.size(); ++k) {
      for (int b : t_.writes[k]) writers_[b].push_back(static_cast<int>(k));
    }
    joints_.resize(t_.buffers.size());
    for (const NodePtr& node : now.copied.graph.nodes()) {
      ptr_[node.get()] = node;
      for (const Value& v : node->inputs()) users_[v].push_back(node.get());
      const Copy* origin = OriginOf(*node);
      if (origin == nullptr) continue;
      copies_[origin->node].push_back(node.get());
      // A concatenation that its operands' kernels write in place.
      const bool joint = KernelOf(*node) < 0 && node->inputs().size() > 1;
      auto place = place_.find(Value(node, 0));
      if (joint && place != place_.end()) joints_[place->second].push_back(node);
    }
    for (const Value& v : now.copied.graph.outputs()) outputs_.insert(v);
    FindUseTimes();
  }

  int KernelOf(const Node& node) const {  // -1: none
    auto it = kernel_of_.find(&node);
    return it == kernel_of_.end() ? -1 : it->second;
  }
  // When it first reads: its kernel or, if it is only a view of its operands, the first kernel that
  // reads the view.
  int UseTime(const Node& node) const { return use_time_.at(&node); }
  const Copy* OriginOf(const Node& node) const {  // nullptr: a barrier
    auto it = now_.copied.origins.find(&node);
    return it == now_.copied.origins.end() ? nullptr : &it->second;
  }
  const std::vector<const Node*>& UsersOf(const Value& v) const {
    static const auto* const none = new std::vector<const Node*>;
    auto it = users_.find(v);
    return it == users_.end() ? *none : it->second;
  }
  const std::vector<const Node*>& CopiesOf(int node) const { return copies_.at(node); }
  const std::vector<int>& KernelsThatWrite(int b) const { return writers_[b]; }
  const std::vector<NodePtr>& JointsIn(int b) const { return joints_[b]; }  // concatenations
  Value ValueOf(const Node* node, int output) const { return Value(ptr_.at(node), output); }

  // The values that the kernel computes and others read.
  std::vector<Value> ResultsOf(int kernel) const {
    std::vector<Value> results;
    for (const NodePtr& node : t_.kernels[kernel].nodes) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        const std::vector<const Node*>& users = UsersOf(Value(node, i));
        const bool leaves = std::any_of(users.begin(), users.end(), [&](const Node* user) {
          return KernelOf(*user) != kernel;
        });
        if (leaves) results.emplace_back(node, i);
      }
    }
    return results;
  }

  // Whether `v` is in memory while kernel `time` runs, or is an output outside of all buffers.
  bool IsThere(const Value& v, int time) const {
    auto place = place_.find(v);
    if (place == place_.end()) return outputs_.contains(v);
    const BufferLife& life = t_.buffers[place->second];
    if (life.first > time || life.last < time) return false;
    if (!joints_[place->second].empty()) return true;  // its parts have different writers
    int made = KernelOf(v.node());
    for (const Node* node = &v.node(); made < 0 && !node->inputs().empty();) {
      node = &node->inputs()[0].node();
      made = KernelOf(*node);
    }
    if (made > time) return false;
    for (int k : writers_[place->second]) {
      if (k > made && k <= time) return false;  // overwritten in place
    }
    return true;
  }

 private:
  void FindUseTimes() {
    const auto& nodes = now_.copied.graph.nodes();
    const int end = static_cast<int>(t_.kernels.size());
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      int time = KernelOf(**it);
      if (time < 0) {
        time = end;
        for (int k = 0; k < (*it)->num_outputs(); ++k) {
          for (const Node* user : UsersOf(Value(*it, k))) time = std::min(time, use_time_.at(user));
        }
      }
      use_time_[it->get()] = time;
    }
  }

  const PlannedCopies& now_;
  const MemoryTimeline& t_;
  absl::flat_hash_map<const Node*, int> kernel_of_, use_time_;
  absl::flat_hash_map<const Node*, NodePtr> ptr_;
  absl::flat_hash_map<int, std::vector<const Node*>> copies_;  // by node of the original graph
  absl::flat_hash_map<Value, int> place_;
  absl::flat_hash_map<Value, std::vector<const Node*>> users_;
  absl::flat_hash_set<Value> outputs_;
  std::vector<std::vector<int>> writers_;     // by buffer
  std::vector<std::vector<NodePtr>> joints_;  // by buffer
};

// ---- One candidate ----

class CandidateBuilder {
 public:
  // `joins`: merge with recomputations that make the same nodes or read the dropped value.
  CandidateBuilder(const PlannedCopies& now, const PlanIndex& index, int peak, bool joins)
      : now_(now), index_(index), peak_(peak), joins_(joins) {}

  // Offloads the value in buffer b.
  std::optional<RecomputationCandidate> Offloaded(int b) {
    const std::vector<int> writers = WritersOf(b);
    if (writers.empty() || !index_.JointsIn(b).empty() || IsReadAtPeak(b)) return std::nullopt;
    first_use_ = static_cast<int>(now_.timeline.kernels.size());
    const std::vector<NodePtr>& nodes = now_.timeline.kernels[writers.back()].nodes;
    if (nodes.empty() || nodes.back()->num_outputs() != 1 || !AddNode(*nodes.back())) {
      return std::nullopt;
    }
    const Value v(nodes.back(), 0);
    if (!index_.IsThere(v, peak_)) return std::nullopt;  // b holds another result of the kernel
    if (!AddLate(v) || unit_.late.empty() || !FindToken(writers.back())) return std::nullopt;
    Copy kept = *index_.OriginOf(v.node());
    unit_.fetched = kept.node;
    // A value that was fetched is still in host memory.
    while (kept.number > 0 && now_.list[kept.number - 1].fetched == kept.node) {
      const auto& operands = now_.list[kept.number - 1].operands;
      const auto from = operands.find(kept.node);
      kept.number = from == operands.end() ? 0 : from->second;
    }
    if (kept.number > 0) unit_.operands[kept.node] = kept.number;
    RecomputationCandidate candidate{b, now_.list};
    candidate.list.push_back(unit_);
    return candidate;
  }

  // Recomputes the values in buffer b once for all their readers after the peak.
  std::optional<RecomputationCandidate> ForAll(int b) {
    const std::vector<int> writers = WritersOf(b);
    if (writers.empty()) return std::nullopt;
    first_use_ = static_cast<int>(now_.timeline.kernels.size());
    std::vector<Value> results;
    for (int k : writers) {  // a copy has no nodes: the concatenation reads its source
      const std::vector<NodePtr>& nodes = now_.timeline.kernels[k].nodes;
      if (!AddKernel(k)) return std::nullopt;
      if (nodes.empty() && index_.JointsIn(b).empty()) return std::nullopt;
      const std::vector<Value> made = index_.ResultsOf(k);
      results.insert(results.end(), made.begin(), made.end());
    }
    for (const NodePtr& joint : index_.JointsIn(b)) {
      if (!AddNode(*joint)) return std::nullopt;
      results.emplace_back(joint, 0);
    }
    for (const Value& v : results) {
      if (!AddLate(v)) return std::nullopt;
    }
    if (unit_.late.empty() || !AddOperands() || !FindToken(writers.back())) return std::nullopt;
    RecomputationCandidate candidate;
    candidate.buffer = b;
    if (joins_) {
      candidate.list = Joined(now_.list, WithFirstToken(), also_);
    } else {
      candidate.list = now_.list;
      candidate.list.push_back(unit_);
    }
    return candidate;
  }

  // Recomputes the values in buffer b, which the kernel at the peak reads, separately for each
  // reader from then on: a reader's kernel may fuse them, so that they are not stored. Uses
  // available operands only.
  std::optional<RecomputationCandidate> ForEach(int b) {
    const std::vector<int> writers = WritersOf(b);
    if (writers.size() != 1 || !index_.JointsIn(b).empty()) return std::nullopt;
    const std::vector<NodePtr>& nodes = now_.timeline.kernels[writers[0]].nodes;
    if (nodes.empty() || !AddKernel(writers[0])) return std::nullopt;
    std::map<int, std::set<std::pair<int, Copy>>> readers;  // by time
    for (const Value& v : index_.ResultsOf(writers[0])) {
      if (!FindReaders(v, &readers)) return std::nullopt;
    }
    if (readers.empty()) return std::nullopt;  // only an earlier view is read
    RecomputationCandidate candidate;
    candidate.buffer = b;
    candidate.list = now_.list;
    for (const auto& [time, late] : readers) {
      first_use_ = time;
      unit_.late = late;
      unit_.operands.clear();
      unit_.token = Copy();
      if (!OperandsAreThere()) return std::nullopt;
      if (const int number = late.begin()->second.number; number > 0) {
        TakeIn(number, &candidate.list);
      } else if (FindToken(/*last_writer=*/-1)) {
        candidate.list.push_back(unit_);
      } else {
        return std::nullopt;
      }
    }
    return candidate;
  }

  // Whether joining makes a difference to the result of ForAll.
  bool Touches() const {
    return !also_.empty() || std::any_of(now_.list.begin(), now_.list.end(), SharesNodes());
  }

 private:
  static constexpr size_t kMaxKernels = 12;  // limit on kernels that one candidate recomputes

  bool IsReadAtPeak(int b) const {
    const auto& reads = now_.timeline.reads[peak_];
    return std::find(reads.begin(), reads.end(), b) != reads.end();
  }

  std::function<bool(const Recomputation&)> SharesNodes() const {
    return [this](const Recomputation& other) {
      return other.fetched < 0 && std::any_of(other.nodes.begin(), other.nodes.end(),
                                              [this](int n) { return unit_.nodes.count(n) > 0; });
    };
  }

  // The kernels whose results are in buffer b at the peak: all writers of a concatenation, or the
  // last writer. Empty if one of them runs at the peak or later.
  std::vector<int> WritersOf(int b) const {
    std::vector<int> writers;
    const bool joint = !index_.JointsIn(b).empty();
    for (int k : index_.KernelsThatWrite(b)) {
      if (!joint && k > peak_) break;
      if (!joint) writers.clear();
      writers.push_back(k);
    }
    if (!writers.empty() && writers.back() >= peak_) writers.clear();
    return writers;
  }

  bool AddNode(const Node& node) {
    const Copy* origin = index_.OriginOf(node);
    if (origin == nullptr || (joins_ && origin->number > 0)) return false;
    unit_.nodes.insert(origin->node);
    if (members_.insert(&node).second) added_.push_back(&node);
    return true;
  }
  bool AddKernel(int kernel) {
    if (++num_kernels_ > kMaxKernels) return false;
    for (const NodePtr& node : now_.timeline.kernels[kernel].nodes) {
      if (!AddNode(*node)) return false;
    }
    return true;
  }

  // Lets readers of `v` after the peak read the new copy; copies views of `v` too.
  bool AddLate(const Value& v) {
    for (const Node* user : index_.UsersOf(v)) {
      if (members_.contains(user)) continue;
      if (index_.OriginOf(*user) == nullptr) {  // a barrier before some copies
        for (const Node* copy : index_.UsersOf(index_.ValueOf(user, 0))) {
          if (!members_.contains(copy) && !AddReader(v, *copy, /*through_barrier=*/true)) {
            return false;
          }
        }
        continue;
      }
      const bool is_view = index_.KernelOf(*user) < 0 && user->inputs().size() == 1;
      if (!is_view) {
        if (!AddReader(v, *user, /*through_barrier=*/false)) return false;
        continue;
      }
      if (!AddNode(*user)) return false;
      for (int k = 0; k < user->num_outputs(); ++k) {
        if (!AddLate(index_.ValueOf(user, k))) return false;
      }
    }
    return true;
  }

  bool AddReader(const Value& v, const Node& user, bool through_barrier) {
    const int time = index_.UseTime(user);
    if (time <= peak_) return true;
    const Copy* reader = index_.OriginOf(user);
    if (reader == nullptr) return false;
    if (joins_ && reader->number > 0) {
      if (!through_barrier || now_.list[reader->number - 1].fetched >= 0) return false;
      also_.insert(reader->number);
    } else {
      unit_.late.insert({index_.OriginOf(v.node())->node, *reader});
    }
    first_use_ = std::min(first_use_, time);
    return true;
  }

  bool FindReaders(const Value& v, std::map<int, std::set<std::pair<int, Copy>>>* readers) const {
    for (const Node* user : index_.UsersOf(v)) {
      if (index_.OriginOf(*user) == nullptr) {
        if (!FindReaders(index_.ValueOf(user, 0), readers)) return false;
      } else if (index_.UseTime(*user) >= peak_) {
        if (index_.KernelOf(*user) < 0) return false;  // a view
        const Value source = index_.OriginOf(v.node()) == nullptr ? v.node().inputs()[0] : v;
        (*readers)[index_.UseTime(*user)].insert(
            {index_.OriginOf(source.node())->node, *index_.OriginOf(*user)});
      }
    }
    return true;
  }

  bool OperandsAreThere() {
    return std::all_of(added_.begin(), added_.end(), [&](const Node* node) {
      return std::all_of(node->inputs().begin(), node->inputs().end(), [&](Value v) {
        if (index_.OriginOf(v.node()) == nullptr) v = Value(v.node().inputs()[0]);
        const Copy* origin = index_.OriginOf(v.node());
        if (origin == nullptr) return false;
        if (!v.node().is_op() || now_.is_static[origin->node]) return true;
        return unit_.nodes.count(origin->node) > 0 || Find(v);
      });
    });
  }

  // Adds the nodes to the recomputation that reads them, inside of which there are no barriers.
  void TakeIn(int number, std::vector<Recomputation>* list) const {
    for (Recomputation& other : *list) {
      for (const auto& read : unit_.late) other.late.erase(read);
    }
    Recomputation& into = (*list)[number - 1];
    into.nodes.insert(unit_.nodes.begin(), unit_.nodes.end());
    into.operands.insert(unit_.operands.begin(), unit_.operands.end());
  }

  // Also recomputes operands that are no longer available then.
  bool AddOperands() {
    std::vector<const Node*> pending;
    std::swap(pending, added_);
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      for (Value v : node->inputs()) {
        if (index_.OriginOf(v.node()) == nullptr) v = Value(v.node().inputs()[0]);
        const Node& operand = v.node();
        const Copy* origin = index_.OriginOf(operand);
        if (origin == nullptr) return false;
        if (!operand.is_op() || now_.is_static[origin->node]) continue;
        if (unit_.nodes.count(origin->node) == 0 && Find(v)) continue;
        if (unit_.nodes.count(origin->node) > 0) {
          if (members_.insert(&operand).second) pending.push_back(&operand);
          continue;
        }
        const int kernel = index_.KernelOf(operand);
        if (kernel >= 0 ? !AddKernel(kernel) : !AddNode(operand)) return false;
        pending.insert(pending.end(), added_.begin(), added_.end());
        added_.clear();
      }
    }
    return true;
  }

  // Finds a copy of `v` that is available when needed, or that can be kept until then without
  // raising the peak.
  bool Find(const Value& v) {
    const Copy& origin = *index_.OriginOf(v.node());
    const auto take = [&](const Node& node) {
      const int number = index_.OriginOf(node)->number;
      if (number > 0) unit_.operands[origin.node] = number;
      return true;
    };
    if (joins_) return index_.IsThere(v, peak_) && take(v.node());
    if (index_.IsThere(v, first_use_ - 1)) return take(v.node());
    for (const Node* copy : index_.CopiesOf(origin.node)) {
      if (index_.IsThere(index_.ValueOf(copy, v.output()), first_use_ - 1)) return take(*copy);
    }
    return index_.IsThere(v, peak_) && take(v.node());
  }

  // Takes as token the last node that is computed before the copy is needed.
  bool FindToken(int last_writer) {
    for (int k = first_use_ - 1; k > last_writer; --k) {
      for (const NodePtr& node : now_.timeline.kernels[k].nodes) {
        const Copy* origin = index_.OriginOf(*node);
        if (origin == nullptr || (joins_ && origin->number > 0)) continue;
        if (unit_.nodes.count(origin->node) == 0) unit_.token = *origin;
      }
      if (unit_.token.node >= 0) return true;
    }
    return false;
  }

  // A joined recomputation begins with the earliest token of those it joins.
  Recomputation WithFirstToken() const {
    Recomputation unit = unit_;
    int time = TimeOf(unit.token);
    const auto shares = SharesNodes();
    for (size_t k = 0; k < now_.list.size(); ++k) {
      const Recomputation& other = now_.list[k];
      if (!shares(other) && also_.count(static_cast<int>(k) + 1) == 0) continue;
      const int other_time = TimeOf(other.token);
      if (other_time >= time) continue;
      unit.token = other.token;
      time = other_time;
    }
    return unit;
  }
  int TimeOf(const Copy& copy) const {
    for (const Node* node : index_.CopiesOf(copy.node)) {
      if (*index_.OriginOf(*node) == copy) return index_.KernelOf(*node);
    }
    return -1;
  }

  const PlannedCopies& now_;
  const PlanIndex& index_;
  const int peak_;
  const bool joins_;
  Recomputation unit_;
  std::set<int> also_;  // numbers of recomputations that read the dropped value
  int first_use_ = 0;
  size_t num_kernels_ = 0;
  std::vector<const Node*> added_;
  absl::flat_hash_set<const Node*> members_;  // nodes that are recomputed
};

}  // namespace

std::vector<RecomputationCandidate> OffloadCandidates(const PlannedCopies& now, int peak) {
  const PlanIndex index(now);
  std::vector<RecomputationCandidate> candidates;
  for (int b = 0; b < static_cast<int>(now.timeline.buffers.size()); ++b) {
    const BufferLife& life = now.timeline.buffers[b];
    if (life.first >= peak || life.last <= peak) continue;
    auto candidate = CandidateBuilder(now, index, peak, /*joins=*/false).Offloaded(b);
    if (candidate) candidates.push_back(*std::move(candidate));
  }
  return candidates;
}

std::vector<RecomputationCandidate> RecomputationCandidates(const PlannedCopies& now, int peak) {
  const PlanIndex index(now);
  std::vector<RecomputationCandidate> candidates;
  const auto keep = [&](std::optional<RecomputationCandidate> candidate) {
    if (candidate) candidates.push_back(*std::move(candidate));
  };
  const std::vector<int>& reads = now.timeline.reads[peak];
  for (int b = 0; b < static_cast<int>(now.timeline.buffers.size()); ++b) {
    const BufferLife& life = now.timeline.buffers[b];
    if (life.first >= peak || life.last < peak) continue;
    if (std::find(reads.begin(), reads.end(), b) != reads.end()) {
      keep(CandidateBuilder(now, index, peak, /*joins=*/false).ForEach(b));
      continue;
    }
    CandidateBuilder joining(now, index, peak, /*joins=*/true);
    auto joined = joining.ForAll(b);
    const bool one_will_do = joined && !joining.Touches();
    keep(std::move(joined));
    if (!one_will_do) keep(CandidateBuilder(now, index, peak, /*joins=*/false).ForAll(b));
  }
  return candidates;
}

}  // namespace lemma::optimizer
