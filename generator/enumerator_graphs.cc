// Graphs as sets of nodes: their enumeration, their keys, and the classes of equal keys.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "generator/enumerator.h"
#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

// A place: size, number of the set, and number of the node or, above all of those, of the new term.
constexpr int kLocalBits = 22, kSizeShift = 60;
constexpr int64_t kSetsBetweenChecks = 4096;

}  // namespace

uint64_t Enumerator::PackedKey(const NodeSet& set, unsigned subset) {
  uint64_t key = 0;
  for (int i = 0; i < set.size; ++i) {
    if (subset >> i & 1) key = key << 21 | static_cast<uint64_t>(set.nodes[i] + 1);
  }
  return key;
}

template <class Visit>
void Enumerator::ForEachRun(const NodeSet& set, bool proper, const Visit& visit) const {
  struct Run {
    int begin, end;
    unsigned subset;
  };
  std::array<Run, 1 << kMostOps> runs;
  int count = 0;
  const unsigned all = (1u << set.size) - 1;
  const int last = set.size == 0 ? kNone : set.nodes[set.size - 1];
  for (unsigned subset = 0; subset <= all; ++subset) {
    if (proper && subset == all) break;
    auto it = runs_.find(PackedKey(set, subset));
    if (it == runs_.end()) continue;
    const int begin = std::max(it->second.first, last + 1);
    const int end = it->second.first + it->second.second;
    if (begin < end) runs[count++] = {begin, end, subset};
  }
  std::sort(runs.begin(), runs.begin() + count,
            [](const Run& a, const Run& b) { return a.begin < b.begin; });
  for (int i = 0; i < count; ++i) visit(runs[i].subset, runs[i].begin, runs[i].end);
}

absl::Status Enumerator::ExtendSet(NodeSet* set, int size,
                                   const std::function<absl::Status(const NodeSet&)>& visit) {
  if (set->size == size) return visit(*set);
  absl::Status status;
  ForEachRun(*set, false, [&](unsigned, int begin, int end) {
    const uint64_t mask = set->mask;
    for (int node = begin; node < end && status.ok(); ++node) {
      set->mask = mask | nodes_[node].mask;
      if (!Completable(set->mask, set->size + 1)) continue;
      set->nodes[set->size++] = node;
      status = ExtendSet(set, size, visit);
      --set->size;
    }
    set->mask = mask;
  });
  return status;
}

absl::Status Enumerator::ForEachSet(int size,
                                    const std::function<absl::Status(const NodeSet&)>& visit) {
  NodeSet set;
  int64_t count = 0;
  return ExtendSet(&set, size, [&](const NodeSet& s) -> absl::Status {
    if (++count % kSetsBetweenChecks == 0) LEMMA_RETURN_IF_ERROR(CheckInterrupted());
    return visit(s);
  });
}

template <class Visit>
absl::Status Enumerator::VisitExtensions(const NodeSet& set, int size, uint64_t place,
                                         bool hot_only, size_t* last, const Visit& visit) {
  // The set's outputs.
  std::array<int, kMostOps * kMostOutputs> outputs;
  int num_outputs = 0, cold = 0;
  uint64_t sum = 0;
  for (int i = 0; i < set.size; ++i) {
    for (int o = 0; o < OutputsOf(set.nodes[i]); ++o) {
      const int value = ValueOf(set.nodes[i], o);
      bool read = false;
      for (int j = i + 1; j < set.size; ++j) {
        for (int v : nodes_[set.nodes[j]].operands) read |= v == value;
      }
      if (read) continue;
      outputs[num_outputs++] = value;
      sum += keys_[value];
      cold += (keys_[value] & 1) ? 0 : 1;
    }
  }
  Visited visited;
  visited.set = &set;
  auto add = [&](const std::array<int, kMostOperands>& operands, bool reads_set,
                 const uint64_t* keys, int num_keys) {
    uint64_t key = sum;
    int still_cold = cold;
    for (int k = 0; k < kMostOperands && reads_set; ++k) {
      const int v = operands[k];
      if (v < num_inputs() || (k == 1 && v == operands[0])) continue;
      for (int i = 0; i < num_outputs; ++i) {
        if (outputs[i] != v) continue;
        key -= keys_[v];
        still_cold -= (keys_[v] & 1) ? 0 : 1;
      }
    }
    for (int o = 0; o < num_keys; ++o) {
      key += keys[o];
      still_cold += (keys[o] & 1) ? 0 : 1;
    }
    visited.key = key;
    visited.hot = still_cold == 0;
    visit(visited);
  };
  const bool last_level = size == options_.max_ops;
  ForEachRun(set, last_level, [&](unsigned subset, int begin, int end) {
    if (hot_only && subset == 0 && cold > 0) return;  // they read nothing of the set
    for (int node = begin; node < end; ++node) {
      if (hot_only && (keys_[ValueOf(node, 0)] & 1) == 0) continue;
      if (!IsPrefix(set.mask | nodes_[node].mask)) continue;
      visited.node = node;
      visited.place = place | static_cast<uint64_t>(node);
      add(nodes_[node].operands, subset != 0, &keys_[ValueOf(node, 0)], OutputsOf(node));
    }
  });
  if (!last_level) return absl::OkStatus();
  visited.node = kNone;
  int number = 0;
  return ForEachNewTerm(set, [&](const NewTerm& term) -> absl::Status {
    const uint64_t* keys = &last_keys_[*last];
    const int num_keys = static_cast<int>(term.application->types.size());
    *last += num_keys;
    visited.place = place + (uint64_t{1} << (kLocalBits - 1)) + static_cast<uint64_t>(number++);
    if (keys[0] == 0 || (hot_only && (keys[0] & 1) == 0)) return absl::OkStatus();
    visited.term = &term;
    visited.term_keys = keys;
    add(term.operands, true, keys, num_keys);
    return absl::OkStatus();
  });
}

template <class Visit>
absl::Status Enumerator::VisitGraphs(int size, bool hot_only, const Visit& visit) {
  uint64_t ordinal = 0;
  size_t last = 0;
  return ForEachSet(size - 1, [&](const NodeSet& set) {
    const uint64_t place = static_cast<uint64_t>(size) << kSizeShift | ordinal++ << kLocalBits;
    return VisitExtensions(set, size, place, hot_only, &last, visit);
  });
}

void Enumerator::MarkHot() {
  std::vector<uint64_t> all = last_keys_;
  all.insert(all.end(), keys_.begin(), keys_.end());
  std::sort(all.begin(), all.end());
  absl::flat_hash_set<uint64_t> hot;
  for (size_t i = 0; i < all.size();) {
    size_t j = i;
    while (j < all.size() && all[j] == all[i]) ++j;
    if (all[i] != 0) {
      ++stats_.distinct;
      if (j - i > 1) hot.insert(all[i]);
    }
    i = j;
  }
  all = {};
  for (std::vector<uint64_t>* keys : {&keys_, &last_keys_}) {
    for (uint64_t& key : *keys) key |= hot.contains(key) ? 1 : 0;
  }
}

absl::Status Enumerator::FindShare(uint64_t share, uint64_t shares) {
  std::vector<GraphRecord> records;
  for (int size = 1; size <= options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, true, [&](const Visited& visited) {
      if (visited.hot && (visited.key >> 1) % shares == share) {
        records.push_back({visited.key, visited.place});
      }
    }));
  }
  AddClasses(std::move(records));
  return absl::OkStatus();
}

void Enumerator::AddClasses(std::vector<GraphRecord> records) {
  std::sort(records.begin(), records.end(), [](const GraphRecord& a, const GraphRecord& b) {
    return std::tie(a.key, a.place) < std::tie(b.key, b.place);
  });
  for (size_t i = 0; i < records.size();) {
    size_t j = i;
    while (j < records.size() && records[j].key == records[i].key) ++j;
    if (j - i > 1) {
      ++stats_.classes;
      stats_.members += static_cast<int64_t>(j - i);
      if (stats_.members <= options_.max_records) {
        records_.insert(records_.end(), records.begin() + i, records.begin() + j);
      }
    }
    i = j;
  }
}

absl::Status Enumerator::FindRecords() {
  std::vector<GraphRecord> records;
  for (int size = 1; size <= options_.max_ops; ++size) {
    int64_t& count = stats_.graphs_of_size[size];
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, false, [&](const Visited& visited) {
      ++count;
      if (!visited.hot) return;
      if (++stats_.hot_graphs <= options_.max_records) {
        records.push_back({visited.key, visited.place});
      } else {
        records.clear();
      }
    }));
    stats_.graphs += count;
  }
  if (stats_.hot_graphs <= options_.max_records) {
    AddClasses(std::move(records));
    return absl::OkStatus();
  }
  records = {};
  const uint64_t shares = (stats_.hot_graphs + options_.max_records - 1) / options_.max_records;
  for (uint64_t share = 0; share < shares; ++share) {
    LEMMA_RETURN_IF_ERROR(FindShare(share, shares));
  }
  if (stats_.members > options_.max_records) records_ = {};
  return absl::OkStatus();
}

absl::Status Enumerator::Run() {
  if (options_.max_ops < 1 || options_.max_ops > kMostOps) {
    return absl::InvalidArgumentError(
        absl::StrCat("graphs of 1 to ", kMostOps, " operators can be enumerated"));
  }
  AddInputs();
  for (int size = 1; size < options_.max_ops; ++size) LEMMA_RETURN_IF_ERROR(AddNodes(size));
  LEMMA_RETURN_IF_ERROR(EvaluateLastLevel());
  MarkHot();
  return FindRecords();
}

TermGraph Enumerator::GraphOf(const NodeSet& set, int instance,
                              const std::array<int, kMostOperands>& operands,
                              absl::Span<const uint64_t> keys) const {
  TermGraph graph;
  auto local = [&](int v) {
    if (v < num_inputs()) return InputValue(v);
    const auto end = set.nodes.begin() + set.size;
    const auto it = std::find(set.nodes.begin(), end, NodeOf(v));
    return OutputValue(static_cast<int>(it - set.nodes.begin()), (v - num_inputs()) % kMostOutputs);
  };
  auto add = [&](int op, const std::array<int, kMostOperands>& read) {
    Term& term = graph.ops.emplace_back();
    term.instance = op;
    for (int v : read) {
      if (v != kNone) term.operands.push_back(local(v));
    }
  };
  for (int i = 0; i < set.size; ++i)
    add(nodes_[set.nodes[i]].instance, nodes_[set.nodes[i]].operands);
  add(instance, operands);
  std::vector<std::pair<uint64_t, int>> outputs;
  for (int i = 0; i <= set.size; ++i) {
    for (int o = 0; o < set_->instances()[graph.ops[i].instance].num_outputs; ++o) {
      const int value = OutputValue(i, o);
      const bool read = std::any_of(graph.ops.begin(), graph.ops.end(), [&](const Term& term) {
        return std::count(term.operands.begin(), term.operands.end(), value) > 0;
      });
      if (read) continue;
      const uint64_t key = i < set.size                        ? keys_[ValueOf(set.nodes[i], o)]
                           : o < static_cast<int>(keys.size()) ? keys[o]
                                                               : 0;
      outputs.emplace_back(key, value);
    }
  }
  std::sort(outputs.begin(), outputs.end());
  for (const auto& [key, value] : outputs) graph.outputs.push_back(value);
  return graph;
}

TermGraph Enumerator::GraphOf(const Visited& visited) const {
  if (visited.node == kNone) {
    return GraphOf(*visited.set, visited.term->application->instance, visited.term->operands,
                   {visited.term_keys, visited.term->application->types.size()});
  }
  const Node& node = nodes_[visited.node];
  return GraphOf(*visited.set, node.instance, node.operands,
                 {&keys_[ValueOf(visited.node, 0)], static_cast<size_t>(OutputsOf(visited.node))});
}

absl::Status Enumerator::ForEachGraph(const std::function<void(const TermGraph&)>& visit) {
  for (int size = 1; size <= options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(
        VisitGraphs(size, false, [&](const Visited& visited) { visit(GraphOf(visited)); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Enumerator::Class>> Enumerator::Classes() {
  if (stats_.members > options_.max_records) {
    return absl::ResourceExhaustedError(
        absl::StrCat(stats_.members, " graphs share their values with others; ",
                     options_.max_records, " can be compared. Try fewer operators"));
  }
  std::vector<std::pair<uint64_t, int>> wanted;  // places and their classes
  int count = 0;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (i > 0 && records_[i].key != records_[i - 1].key) ++count;
    wanted.emplace_back(records_[i].place, count);
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<Class> classes(records_.empty() ? 0 : count + 1);
  size_t next = 0;
  for (int size = 1; size <= options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, true, [&](const Visited& visited) {
      if (next == wanted.size() || wanted[next].first != visited.place) return;
      classes[wanted[next++].second].members.push_back(GraphOf(visited));
    }));
  }
  return classes;
}

absl::Status Enumerator::ForEachClass(
    const std::function<absl::Status(absl::Span<const CompactGraph>)>& visit) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Class> classes, Classes());
  std::vector<CompactGraph> members;
  for (const Class& one : classes) {
    members.clear();
    for (const TermGraph& member : one.members) members.push_back(Compacted(member));
    LEMMA_RETURN_IF_ERROR(visit(members));
  }
  return absl::OkStatus();
}

}  // namespace lemma::generator
