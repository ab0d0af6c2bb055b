#include "optimizer/rematerialization.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/second_copies.h"

namespace lemma {
namespace {

// --- One plan, and what could be dropped in it ---

// The graph as it is now, its plan, and what its nodes are copies of.
struct Moment {
  Graph graph;
  MemoryTimeline timeline;
  absl::flat_hash_map<const Node*, CopyOf> origins;

  std::vector<int64_t> Live() const { return LiveBytes(timeline.buffers, timeline.kernels.size()); }
};

struct Candidate {
  CopiedNodes unit;
  double score = 0;  // time that it costs by the bytes it relieves the peak of
};

class CandidateFinder {
 public:
  CandidateFinder(const Moment& now, const std::vector<CopiedNodes>& units,
                  const std::vector<double>& node_ms, const std::vector<bool>& is_static)
      : now_(now), units_(units), node_ms_(node_ms), is_static_(is_static) {
    const MemoryTimeline& t = now.timeline;
    for (size_t k = 0; k < t.kernels.size(); ++k) {
      for (const NodePtr& node : t.kernels[k].nodes) kernel_of_[node.get()] = static_cast<int>(k);
    }
    for (const auto& [value, buffer] : t.places) place_[value] = buffer;
    writers_.resize(t.buffers.size());
    for (size_t k = 0; k < t.kernels.size(); ++k) {
      for (int b : t.writes[k]) writers_[b].push_back(static_cast<int>(k));
    }
    joints_.resize(t.buffers.size());
    for (const NodePtr& node : now.graph.nodes()) {
      for (const Value& v : node->inputs()) users_[v].push_back(node.get());
      // Its operands' kernels write it.
      const bool joint = KernelOf(*node) < 0 && node->inputs().size() > 1;
      auto place = place_.find(Value(node, 0));
      if (joint && now.origins.count(node.get()) > 0 && place != place_.end()) {
        joints_[place->second].push_back(node.get());
      }
    }
    for (const Value& v : now.graph.outputs()) is_output_[v] = true;
    FindUseTimes();
    const std::vector<int64_t> live = now.Live();
    peak_ = static_cast<int>(std::max_element(live.begin(), live.end()) - live.begin());
  }

  // The cheapest first.
  std::vector<Candidate> Run() {
    std::vector<Candidate> candidates;
    for (size_t b = 0; b < now_.timeline.buffers.size(); ++b) {
      const BufferLife& life = now_.timeline.buffers[b];
      if (life.first >= peak_ || life.last <= peak_) continue;
      if (auto candidate = ForBuffer(static_cast<int>(b))) {
        candidates.push_back(*std::move(candidate));
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
    return candidates;
  }

 private:
  static constexpr size_t kMaxKernels = 12;  // that one candidate computes again

  int KernelOf(const Node& node) const {
    auto it = kernel_of_.find(&node);
    return it == kernel_of_.end() ? -1 : it->second;
  }
  const std::vector<const Node*>& UsersOf(const Value& v) const {
    static const auto* const none = new std::vector<const Node*>;
    auto it = users_.find(v);
    return it == users_.end() ? *none : it->second;
  }

  // When a node first reads: its kernel, or, of what is another view of its operands, the first
  // kernel that reads that.
  void FindUseTimes() {
    const auto& nodes = now_.graph.nodes();
    const int end = static_cast<int>(now_.timeline.kernels.size());
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

  // The kernels whose results are in buffer b at the peak: all that wrote a part of a
  // concatenation, or the last one. Empty if one of them makes the peak or comes after it.
  std::vector<int> WritersOf(int b) const {
    std::vector<int> writers;
    for (int k : writers_[b]) {
      if (joints_[b].empty() && k > peak_) break;
      if (joints_[b].empty()) writers.clear();
      writers.push_back(k);
    }
    if (!writers.empty() && writers.back() >= peak_) writers.clear();
    return writers;
  }

  std::optional<Candidate> ForBuffer(int b) {
    const std::vector<int> writers = WritersOf(b);
    const auto& reads = now_.timeline.reads[peak_];
    if (writers.empty() || std::find(reads.begin(), reads.end(), b) != reads.end()) {
      return std::nullopt;
    }
    Candidate candidate;
    first_use_ = static_cast<int>(now_.timeline.kernels.size());
    added_.clear();
    num_kernels_ = 0;
    std::vector<Value> results;
    for (int k : writers) {  // a copy has no nodes: the concatenation reads its source
      const std::vector<NodePtr>& nodes = now_.timeline.kernels[k].nodes;
      if (!AddKernel(k, &candidate.unit)) return std::nullopt;
      if (nodes.empty() && joints_[b].empty()) return std::nullopt;
      for (int i = 0; !nodes.empty() && i < nodes.back()->num_outputs(); ++i) {
        results.emplace_back(nodes.back(), i);
      }
    }
    for (const Node* joint : joints_[b]) {
      if (!AddNode(*joint, &candidate.unit)) return std::nullopt;
      results.emplace_back(FindPtr(joint), 0);
    }
    for (const Value& v : results) {
      if (!AddLate(v, &candidate.unit)) return std::nullopt;
    }
    if (candidate.unit.late.empty() || !AddOperands(&candidate.unit)) return std::nullopt;
    if (!FindToken(writers.back(), &candidate.unit)) return std::nullopt;
    double ms = 1e-4;  // even a view costs a little
    for (int n : candidate.unit.nodes) ms += node_ms_[n];
    candidate.score = ms / static_cast<double>(now_.timeline.buffers[b].bytes);
    return candidate;
  }

  bool AddNode(const Node& node, CopiedNodes* unit) {
    auto it = now_.origins.find(&node);
    if (it == now_.origins.end() || it->second.second) return false;  // a second copy, or a barrier
    if (unit->nodes.insert(it->second.first).second) added_.push_back(&node);
    return true;
  }
  bool AddKernel(int kernel, CopiedNodes* unit) {
    if (++num_kernels_ > kMaxKernels) return false;
    for (const NodePtr& node : now_.timeline.kernels[kernel].nodes) {
      if (!AddNode(*node, unit)) return false;
    }
    return true;
  }

  // Those who read `v` after the peak get the second copy; views of it are copied along.
  bool AddLate(const Value& v, CopiedNodes* unit) {
    const int at = now_.origins.at(&v.node()).first;
    for (const Node* user : UsersOf(v)) {
      auto origin = now_.origins.find(user);
      if (origin != now_.origins.end() && unit->nodes.count(origin->second.first) > 0) continue;
      if (origin == now_.origins.end()) {  // a barrier, for some second copies: joined with these
        for (const Node* copy : UsersOf(Value(FindPtr(user), 0))) {
          if (use_time_.at(copy) <= peak_) continue;
          if (!JoinUnitOf(*copy, unit)) return false;
        }
        continue;
      }
      if (origin->second.second) return false;
      const bool is_view = KernelOf(*user) < 0 && user->inputs().size() == 1;
      if (is_view) {
        if (!AddNode(*user, unit)) return false;
        for (int k = 0; k < user->num_outputs(); ++k) {
          if (!AddLate(Value(FindPtr(user), k), unit)) return false;
        }
      } else if (use_time_.at(user) > peak_) {
        unit->late.insert({at, origin->second.first});
        first_use_ = std::min(first_use_, use_time_.at(user));
      }
    }
    return true;
  }

  NodePtr FindPtr(const Node* node) {
    if (ptr_.empty()) {
      for (const NodePtr& n : now_.graph.nodes()) ptr_[n.get()] = n;
    }
    return ptr_.at(node);
  }

  bool JoinUnitOf(const Node& copy, CopiedNodes* unit) {
    auto origin = now_.origins.find(&copy);
    if (origin == now_.origins.end() || !origin->second.second) return false;
    for (const CopiedNodes& other : units_) {
      if (other.nodes.count(origin->second.first) == 0) continue;
      unit->nodes.insert(other.nodes.begin(), other.nodes.end());
      unit->late.insert(other.late.begin(), other.late.end());
      first_use_ = std::min(first_use_, use_time_.at(&copy));
    }
    return true;
  }

  // Operands that are gone by then are computed again too.
  bool AddOperands(CopiedNodes* unit) {
    std::vector<const Node*> pending;
    std::swap(pending, added_);
    std::set<const Node*> seen;
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      if (!seen.insert(node).second) continue;
      for (const Value& v : node->inputs()) {
        const Node& operand = v.node();
        auto origin = now_.origins.find(&operand);
        if (origin == now_.origins.end()) return false;
        if (!operand.is_op() || is_static_[origin->second.first]) continue;
        if (unit->nodes.count(origin->second.first) > 0) {
          pending.push_back(&operand);
          continue;
        }
        if (IsThere(v)) continue;
        const int kernel = KernelOf(operand);
        if (kernel >= 0 ? !AddKernel(kernel, unit) : !AddNode(operand, unit)) return false;
        pending.insert(pending.end(), added_.begin(), added_.end());
        added_.clear();
      }
    }
    return true;
  }

  // Whether `v` waits in memory while the peak is reached, or lies where nothing else comes.
  bool IsThere(const Value& v) const {
    auto place = place_.find(v);
    if (place == place_.end()) return is_output_.count(v) > 0;
    const BufferLife& life = now_.timeline.buffers[place->second];
    if (life.first > peak_ || life.last < peak_) return false;
    if (!joints_[place->second].empty()) return true;  // others wrote other parts
    int made = KernelOf(v.node());
    for (const Node* node = &v.node(); made < 0 && !node->inputs().empty();) {
      node = &node->inputs()[0].node();
      made = KernelOf(*node);
    }
    for (int k : writers_[place->second]) {
      if (k > made && k <= peak_) return false;  // overwritten in place
    }
    return true;
  }

  // The last node that is computed, once, before the second copy is needed.
  bool FindToken(int last_writer, CopiedNodes* unit) {
    for (int k = first_use_ - 1; k > last_writer; --k) {
      for (const NodePtr& node : now_.timeline.kernels[k].nodes) {
        auto origin = now_.origins.find(node.get());
        if (origin == now_.origins.end() || origin->second.second) continue;
        if (unit->nodes.count(origin->second.first) > 0) continue;
        unit->token = origin->second.first;
        unit->token_time = k;
      }
      if (unit->token >= 0) return true;
    }
    return false;
  }

  const Moment& now_;
  const std::vector<CopiedNodes>& units_;
  const std::vector<double>& node_ms_;
  const std::vector<bool>& is_static_;
  absl::flat_hash_map<const Node*, int> kernel_of_, use_time_;
  absl::flat_hash_map<const Node*, NodePtr> ptr_;
  absl::flat_hash_map<Value, int> place_;
  absl::flat_hash_map<Value, std::vector<const Node*>> users_;
  absl::flat_hash_map<Value, bool> is_output_;
  std::vector<std::vector<int>> writers_;         // by buffer
  std::vector<std::vector<const Node*>> joints_;  // by buffer: concatenations in it
  int peak_ = 0;
  // Of the candidate at hand.
  int first_use_ = 0;
  size_t num_kernels_ = 0;
  std::vector<const Node*> added_;
};

// --- The search ---

class Rematerializer {
 public:
  Rematerializer(const Graph& graph, int64_t limit, KernelMeasurer* measurer)
      : graph_(graph), limit_(limit), measurer_(measurer) {
    const auto& nodes = graph.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) position_[nodes[n].get()] = static_cast<int>(n);
    for (const NodePtr& node : nodes) {
      bool is_static = node->kind() != Node::Kind::kInput;
      for (const Value& v : node->inputs()) is_static &= is_static_[position_.at(&v.node())];
      is_static_.push_back(is_static);
    }
  }

  absl::Status Price(CostModel* costs) {
    auto shares = costs->SharesOf(graph_);
    if (!shares.ok()) return shares.status();
    node_ms_.assign(graph_.nodes().size(), 0);
    for (size_t n = 0; n < node_ms_.size(); ++n) {
      if (n < shares->size()) {
        node_ms_[n] = (*shares)[n].ms();
      } else if (graph_.nodes()[n]->is_op()) {
        const auto cost = costs->CostOfOperator(*graph_.nodes()[n]);
        if (cost) node_ms_[n] = cost->ms();
      }
    }
    return absl::OkStatus();
  }

  // Twice: with the limit as the target, and, if that is not reached, on the way there with one
  // target after the other. What is far above the limit everywhere, nothing seems to relieve; what
  // was dropped on the way may have been the wrong thing.
  absl::StatusOr<Rematerialization> Run(const std::function<bool(int64_t)>& progress) {
    auto input = Try({});
    if (!input.ok()) return input.status();
    const int64_t peak = (*input)->timeline.peak_bytes;
    std::optional<Moment> best;
    for (const auto& [start, step] : {std::pair{limit_, limit_ / 16}, {peak, peak / 32}}) {
      target_ = start;
      auto reached = Descend(**input, std::max<int64_t>(step, 1), progress);
      if (!reached.ok()) return reached.status();
      if (!best || reached->timeline.peak_bytes < best->timeline.peak_bytes) {
        best = *std::move(reached);
      }
      if (best->timeline.peak_bytes <= limit_ || stopped_) break;
    }
    Rematerialization result;
    result.peak_bytes = best->timeline.peak_bytes;
    result.graph = best->graph;
    for (const auto& [node, origin] : best->origins) result.recomputed += origin.second;
    return result;
  }

 private:
  // Until the limit is reached, or nothing brings it nearer.
  absl::StatusOr<Moment> Descend(Moment now, int64_t step,
                                 const std::function<bool(int64_t)>& progress) {
    units_.clear();
    while (now.timeline.peak_bytes > limit_) {
      auto next = Best(now);
      if (!next.ok()) return next.status();
      if (next->has_value()) {
        now = **std::move(next);
        stopped_ = progress && !progress(now.timeline.peak_bytes);
        if (stopped_) break;
      } else if (target_ - step > limit_ / 2) {
        target_ -= step;  // below the limit too: gaps between buffers take the rest
      } else {
        break;
      }
    }
    return now;
  }

  // How far the plan is above the target, at all of its kernels.
  double Excess(const Moment& moment) const {
    double excess = 0;
    for (int64_t bytes : moment.Live()) {
      excess += static_cast<double>(std::max<int64_t>(0, bytes - target_));
    }
    return excess;
  }

  // nullopt if the units contradict each other.
  absl::StatusOr<std::optional<Moment>> Try(const std::vector<CopiedNodes>& units) {
    std::optional<Moment> moment;
    auto copied = WithSecondCopies(graph_, position_, is_static_, units);
    if (!copied) return moment;
    auto timeline = measurer_->Timeline(copied->graph);
    if (!timeline.ok()) return timeline.status();
    moment = Moment{std::move(copied->graph), *std::move(timeline), std::move(copied->origins)};
    return moment;
  }

  // The step that lowers the excess most for its time, of the cheapest few.
  absl::StatusOr<std::optional<Moment>> Best(const Moment& now) {
    constexpr int kTries = 8;
    const double excess = Excess(now);
    std::optional<Moment> best;
    std::vector<CopiedNodes> best_units;
    double best_rate = 0;
    int tries = 0;
    for (const Candidate& candidate : CandidateFinder(now, units_, node_ms_, is_static_).Run()) {
      if (tries >= kTries && best) break;
      if (++tries > 4 * kTries) break;
      std::vector<CopiedNodes> units = units_;
      units.push_back(candidate.unit);
      auto moment = Try(units);
      if (!moment.ok()) return moment.status();
      if (!moment->has_value()) continue;
      double ms = 1e-4;
      for (int n : candidate.unit.nodes) ms += node_ms_[n];
      const double rate = (excess - Excess(**moment)) / ms;
      if (rate <= best_rate) continue;
      best_rate = rate;
      best = *std::move(moment);
      best_units = std::move(units);
    }
    if (best) units_ = std::move(best_units);
    return best;
  }

  const Graph& graph_;
  const int64_t limit_;
  int64_t target_ = 0;
  bool stopped_ = false;  // by whoever watches
  KernelMeasurer* const measurer_;
  absl::flat_hash_map<const Node*, int> position_;
  std::vector<bool> is_static_;
  std::vector<double> node_ms_;
  std::vector<CopiedNodes> units_;
};

}  // namespace

absl::StatusOr<Rematerialization> Rematerialize(const Graph& graph, int64_t limit_bytes,
                                                KernelMeasurer* measurer, CostModel* costs,
                                                const std::function<bool(int64_t)>& progress) {
  Rematerializer search(graph, limit_bytes, measurer);
  if (absl::Status s = search.Price(costs); !s.ok()) return s;
  return search.Run(progress);
}

}  // namespace lemma
