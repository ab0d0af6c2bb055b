// Graphs as sets of nodes: their enumeration, their keys, and the classes of equal keys.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "generator/enumerator.h"
#include "generator/enumerator_sets.h"
#include "graph/expr/parallel.h"
#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

// A place: size, number of the set, and number of the node or, above all of those, of the new term.
constexpr int kLocalBits = 28, kSizeShift = 61;
constexpr uint64_t kTermPlace = uint64_t{1} << (kLocalBits - 1);
constexpr uint64_t kHot = 1;
// Keys are divided into shares by their leading bits.
constexpr int kBinBits = 12;
constexpr uint64_t kBins = uint64_t{1} << kBinBits;
static_assert(kBins == kMostKeyRanges);
constexpr int kEvery = 1 << 30;

uint64_t BinOf(uint64_t key) { return key >> (64 - kBinBits); }

}  // namespace

int Enumerator::LocalValue(const NodeSet& set, int value) const {
  if (value < num_inputs()) return InputValue(value);
  const int node = NodeOf(value);
  int i = 0;
  while (i < set.size && set.nodes[i] != node) ++i;
  return OutputValue(i, OutputOf(value));
}

uint32_t Enumerator::ReadBits(const NodeSet& set, const Operands& operands) const {
  uint32_t bits = 0;
  for (int v : operands) {
    if (v >= num_inputs()) bits |= 1u << LocalValue(set, v);
  }
  return bits;
}

template <class Visit>
void Enumerator::VisitExtensions(const NodeSet& set, absl::Span<const NodeRun> runs, int size,
                                 bool hot_only, Cursor* cursor, const Visit& visit) {
  // The set's outputs.
  struct Output {
    uint32_t bit;
    uint64_t key;
  };
  std::array<Output, kMostOps * kMostOutputs> outputs;
  int num_outputs = 0, cold = 0;
  uint64_t sum = 0;
  for (int i = 0; i < set.size; ++i) {
    for (int o = 0; o < OutputsOf(set.nodes[i]); ++o) {
      const uint32_t bit = 1u << OutputValue(i, o);
      if (set.read & bit) continue;
      const uint64_t key = keys_[ValueOf(set.nodes[i], o)];
      outputs[num_outputs++] = {bit, key};
      sum += key & ~kHot;
      cold += (key & kHot) == 0;
    }
  }
  Visited visited;
  visited.set = &set;
  const uint64_t place = static_cast<uint64_t>(size) << kSizeShift | cursor->set++ << kLocalBits;
  auto add = [&](uint64_t sum_of_keys, bool hot) {
    visited.key = sum + sum_of_keys;
    int still_cold = cold;
    if (const uint32_t read = ReadBits(set, *visited.operands); read != 0) {
      for (int i = 0; i < num_outputs; ++i) {
        if ((outputs[i].bit & read) == 0) continue;
        visited.key -= outputs[i].key & ~kHot;
        still_cold -= (outputs[i].key & kHot) == 0;
      }
    }
    hot = hot && still_cold == 0;
    if (hot || !hot_only) visit(visited, hot);
  };
  const bool hopeless = hot_only && cold > kMostOperands;
  const int least = set.size == 0 ? 0 : set.nodes[set.size - 1] + 1;
  for (const NodeRun& run : runs) {
    if (hopeless || (hot_only && run.on_nothing && cold > 0)) continue;
    for (int node = std::max(run.begin, least); node < run.end; ++node) {
      if (hot_only && !hot_[node]) continue;
      if (Missing(set.mask | masks_[node]) != 0) continue;
      visited.place = place | static_cast<uint64_t>(node);
      visited.instance = nodes_[node].instance;
      visited.operands = &nodes_[node].operands;
      visited.keys = &keys_[ValueOf(node, 0)];
      add(sums_[node], hot_[node] != 0);
    }
  }
  if (size < options_.max_ops) return;
  visited.place = place | kTermPlace;
  ForEachNewTerm(set, false, [&](const NewTerm& term) {
    visited.keys = &last_keys_[cursor->last];
    visited.instance = term.application->instance;
    visited.operands = &term.operands;
    const size_t n = term.application->types.size();
    cursor->last += n;
    ++visited.place;
    uint64_t sum_of_keys = 0, hot = kHot;
    for (size_t o = 0; o < n; ++o) {
      sum_of_keys += visited.keys[o] & ~kHot;
      hot &= visited.keys[o];
    }
    if (visited.keys[0] != 0 && (hot != 0 || !hot_only)) add(sum_of_keys, hot != 0);
    return absl::OkStatus();
  }).IgnoreError();
}

template <class Visit>
absl::Status Enumerator::VisitGraphs(int size, bool hot_only, int first_begin, int first_end,
                                     Cursor cursor, const Visit& visit) {
  return ForEachSet(size - 1, first_begin, first_end,
                    [&](const NodeSet& set, absl::Span<const NodeRun> runs) {
                      VisitExtensions(set, runs, size, hot_only, &cursor, visit);
                      return absl::OkStatus();
                    });
}

template <class Visit>
absl::Status Enumerator::VisitAllGraphs(bool hot_only, const Visit& visit) {
  auto visit_first = [&](const Visited& visited, bool hot) { visit(0, visited, hot); };
  for (int size = 1; size < options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, hot_only, 0, kEvery, {}, visit_first));
  }
  if (options_.max_ops == 1) return VisitGraphs(1, hot_only, 0, kEvery, {}, visit_first);
  // Sets by their first node.
  std::atomic<int> next = 0;
  std::vector<absl::Status> statuses(options_.threads);
  ParallelFor(options_.threads, options_.threads, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      auto visit_here = [&](const Visited& visited, bool hot) {
        visit(static_cast<int>(thread), visited, hot);
      };
      int first;
      while (statuses[thread].ok() && (first = next++) < static_cast<int>(cursors_.size())) {
        statuses[thread] =
            VisitGraphs(options_.max_ops, hot_only, first, first + 1, cursors_[first], visit_here);
      }
    }
  });
  for (const absl::Status& status : statuses) LEMMA_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status Enumerator::CountGraphs() {
  struct Counts {
    std::array<int64_t, kMostOps + 1> graphs = {};
    std::array<int64_t, kBins> hot = {};
  };
  std::vector<Counts> counts(options_.threads);
  LEMMA_RETURN_IF_ERROR(VisitAllGraphs(false, [&](int thread, const Visited& visited, bool hot) {
    ++counts[thread].graphs[visited.place >> kSizeShift];
    if (hot) ++counts[thread].hot[BinOf(visited.key)];
  }));
  bins_.assign(kBins, 0);
  for (const Counts& some : counts) {
    for (int size = 1; size <= options_.max_ops; ++size) {
      stats_.graphs_of_size[size] += some.graphs[size];
      stats_.graphs += some.graphs[size];
    }
    for (uint64_t bin = 0; bin < kBins; ++bin) bins_[bin] += some.hot[bin];
  }
  stats_.hot_graphs = std::accumulate(bins_.begin(), bins_.end(), int64_t{0});
  return ForEachShare([] { return absl::OkStatus(); });
}

absl::Status Enumerator::FindRecords(uint64_t first_bin, uint64_t end_bin) {
  if (first_bin == first_bin_ && end_bin == end_bin_) return absl::OkStatus();
  // Where each bin's records begin, and where its next one goes.
  std::vector<size_t> starts = {0};
  for (uint64_t bin = first_bin; bin < end_bin; ++bin) {
    starts.push_back(starts.back() + bins_[bin]);
  }
  records_ = {};
  records_.resize(starts.back());
  std::vector<std::atomic<size_t>> nexts(end_bin - first_bin);
  for (size_t i = 0; i < nexts.size(); ++i) nexts[i] = starts[i];
  LEMMA_RETURN_IF_ERROR(VisitAllGraphs(true, [&](int, const Visited& visited, bool) {
    const uint64_t bin = BinOf(visited.key);
    if (first_bin <= bin && bin < end_bin) {
      const size_t place = nexts[bin - first_bin].fetch_add(1, std::memory_order_relaxed);
      records_[place] = {visited.key, visited.place};
    }
  }));
  ParallelFor(options_.threads, static_cast<int64_t>(nexts.size()),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  std::sort(records_.begin() + starts[i], records_.begin() + starts[i + 1],
                            [](const GraphRecord& a, const GraphRecord& b) {
                              return std::tie(a.key, a.place) < std::tie(b.key, b.place);
                            });
                }
              });
  size_t kept = 0;
  for (size_t i = 0; i < records_.size();) {
    size_t j = i;
    while (j < records_.size() && records_[j].key == records_[i].key) ++j;
    if (j - i > 1) kept = std::copy(&records_[i], &records_[j], &records_[kept]) - &records_[0];
    i = j;
  }
  records_.resize(kept);
  first_bin_ = first_bin;
  end_bin_ = end_bin;
  return absl::OkStatus();
}

// Half of the memory is for records, half for graphs.
absl::Status Enumerator::ForEachShare(const std::function<absl::Status()>& visit) {
  const int64_t most =
      (options_.max_memory - stats_.terms_memory) / 2 / static_cast<int64_t>(sizeof(GraphRecord));
  const bool first_time = stats_.shares == 0;
  const uint64_t end = kBins * (options_.shard + 1) / options_.num_shards;
  for (uint64_t begin = kBins * options_.shard / options_.num_shards; begin < end;) {
    uint64_t next = begin;
    for (int64_t count = 0; next < end; ++next) {
      count += static_cast<int64_t>(bins_[next]);
      if (count > most) break;
    }
    if (next == begin) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the terms take ", stats_.terms_memory, " bytes; what is left of the ",
                       options_.max_memory, " allowed does not hold a share of the graphs"));
    }
    LEMMA_RETURN_IF_ERROR(FindRecords(begin, next));
    if (first_time) {
      ++stats_.shares;
      stats_.members += static_cast<int64_t>(records_.size());
      for (size_t i = 0; i < records_.size(); ++i) {
        stats_.classes += i == 0 || records_[i].key != records_[i - 1].key;
      }
    }
    LEMMA_RETURN_IF_ERROR(visit());
    begin = next;
  }
  return absl::OkStatus();
}

CompactGraph Enumerator::GraphOf(const NodeSet& set, int instance, const Operands& operands,
                                 const uint64_t* keys) const {
  CompactGraph graph;
  auto add = [&](int op, const Operands& read) {
    CompactGraph::Op& added = graph.ops[graph.num_ops++];
    added.instance = static_cast<uint8_t>(op);
    for (int k = 0; k < kMostOperands; ++k) {
      if (read[k] != kNone) added.operands[k] = static_cast<int8_t>(LocalValue(set, read[k]));
    }
  };
  for (int i = 0; i < set.size; ++i)
    add(nodes_[set.nodes[i]].instance, nodes_[set.nodes[i]].operands);
  add(instance, operands);
  const uint32_t read = set.read | ReadBits(set, operands);
  std::array<std::pair<uint64_t, int8_t>, kMostOps * kMostOutputs> outputs;
  int count = 0;
  for (int i = 0; i < graph.num_ops; ++i) {
    for (int o = 0; o < outputs_of_[graph.ops[i].instance]; ++o) {
      const int value = OutputValue(i, o);
      if (read >> value & 1) continue;
      const uint64_t key = i < set.size ? keys_[ValueOf(set.nodes[i], o)] : keys[o];
      outputs[count++] = {key, static_cast<int8_t>(value)};
    }
  }
  std::sort(outputs.begin(), outputs.begin() + count);
  for (int i = 0; i < count; ++i) graph.outputs[graph.num_outputs++] = outputs[i].second;
  return graph;
}

CompactGraph Enumerator::GraphOf(const Visited& visited) const {
  return GraphOf(*visited.set, visited.instance, *visited.operands, visited.keys);
}

absl::Status Enumerator::ForEachGraph(const std::function<void(const TermGraph&)>& visit) {
  auto visit_graph = [&](const Visited& visited, bool) { visit(Expanded(GraphOf(visited))); };
  for (int size = 1; size <= options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, false, 0, kEvery, {}, visit_graph));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CompactGraph>> Enumerator::GraphsOf(size_t begin, size_t end) {
  // Records by their places, and by the leading bits of these.
  std::vector<std::pair<uint64_t, uint32_t>> wanted;
  wanted.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    wanted.emplace_back(records_[i].place, static_cast<uint32_t>(i - begin));
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<CompactGraph> graphs(end - begin);
  // Places rise as long as a thread stays in a set, and from set to set.
  std::vector<size_t> nexts(options_.threads, 0);
  LEMMA_RETURN_IF_ERROR(VisitAllGraphs(true, [&](int thread, const Visited& visited, bool) {
    size_t& next = nexts[thread];
    auto is_at = [&](size_t i) { return i < wanted.size() && wanted[i].first == visited.place; };
    if (!is_at(next)) {
      next = std::lower_bound(wanted.begin(), wanted.end(), std::make_pair(visited.place, 0u)) -
             wanted.begin();
    }
    if (is_at(next)) graphs[wanted[next++].second] = GraphOf(visited);
  }));
  return graphs;
}

absl::Status Enumerator::ForEachClass(
    const std::function<absl::Status(absl::Span<const CompactGraph>)>& visit) {
  const size_t most = std::max<int64_t>(
      1, (options_.max_memory - stats_.terms_memory) / 2 /
             static_cast<int64_t>(sizeof(CompactGraph) + sizeof(std::pair<uint64_t, uint32_t>)));
  auto end_of_class = [&](size_t i) {
    const uint64_t key = records_[i].key;
    while (i < records_.size() && records_[i].key == key) ++i;
    return i;
  };
  return ForEachShare([&]() -> absl::Status {
    for (size_t begin = 0; begin < records_.size();) {
      size_t end = end_of_class(begin);
      for (size_t next = end; next < records_.size(); end = next) {
        next = end_of_class(end);
        if (next - begin > most) break;
      }
      LEMMA_ASSIGN_OR_RETURN(const std::vector<CompactGraph> graphs, GraphsOf(begin, end));
      for (size_t i = begin; i < end;) {
        const size_t next = end_of_class(i);
        LEMMA_RETURN_IF_ERROR(visit(absl::MakeConstSpan(graphs).subspan(i - begin, next - i)));
        i = next;
      }
      begin = end;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<Enumerator::Class>> Enumerator::Classes() {
  std::vector<Class> classes;
  LEMMA_RETURN_IF_ERROR(ForEachClass([&](absl::Span<const CompactGraph> members) {
    Class& one = classes.emplace_back();
    for (const CompactGraph& member : members) one.members.push_back(Expanded(member));
    return absl::OkStatus();
  }));
  return classes;
}

}  // namespace lemma::generator
