// Visits the enumerated graphs, each as a set of nodes and one more node. Only for the .cc files of
// enumerator.h.
#ifndef LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_VISITS_H_
#define LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_VISITS_H_

#include <algorithm>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "generator/enumeration/enumerator.h"
#include "generator/enumeration/enumerator_sets.h"

namespace lemma::generator {

// A graph is a set of nodes and a last node. Its place packs its size, the number of the set, and
// the number of the last node. New terms, which are not stored as nodes, are numbered after all
// stored nodes.
constexpr int kLocalBits = 28, kSizeShift = 61;
constexpr uint64_t kTermPlace = uint64_t{1} << (kLocalBits - 1);
constexpr int kEvery = 1 << 30;  // end of a range of nodes that includes every node
// The leading bits of a key select its bin; shares are ranges of bins.
constexpr int kBinBits = 12;
constexpr uint64_t kBins = uint64_t{1} << kBinBits;
static_assert(kBins == kMostKeyRanges);
inline uint64_t BinOf(uint64_t key) { return key >> (64 - kBinBits); }

template <class Visit>
void Enumerator::VisitExtensions(const NodeSet& set, absl::Span<const NodeRun> runs, int size,
                                 Which which, Cursor* cursor, const Visit& visit) {
  // Outputs of the set.
  struct Output {
    uint32_t bit;
    // Whether no other term has the output's key; if `which` is kDecomposable, whether no
    // indecomposable graph with several outputs has an output with this key. A graph with a unique
    // output is left out, except if `which` is kAll.
    bool is_unique;
    uint64_t key;
  };
  std::array<Output, kMostOps * kMostOutputs> outputs;
  int num_outputs = 0, num_unique = 0;
  uint64_t sum = 0;
  const uint64_t place = static_cast<uint64_t>(size) << kSizeShift | cursor->set++ << kLocalBits;
  const bool decomposable_only = which == Which::kDecomposable;
  if (decomposable_only && set.two_outputs) return;
  for (int i = 0; i < set.size; ++i) {
    for (int o = 0; o < OutputsOf(set.nodes[i]); ++o) {
      const uint32_t bit = 1u << OutputValue(i, o);
      if (set.read & bit) continue;
      const uint64_t key = keys_[ValueOf(set.nodes[i], o)];
      const bool is_unique = decomposable_only ? !partner_[set.nodes[i]] : (key & kColliding) == 0;
      outputs[num_outputs++] = {bit, is_unique, key};
      sum += key & ~kColliding;
      num_unique += is_unique;
    }
  }
  const bool colliding_only = which != Which::kAll;
  Visited visited;
  visited.set = &set;
  const bool divide = SkipsDecomposable();
  auto add = [&](uint64_t sum_of_keys, bool last_is_colliding) {
    visited.key = sum + sum_of_keys;
    visited.num_outputs = num_outputs + outputs_of_[visited.variant];
    int still_unique = num_unique;
    if (const uint32_t read = ReadBits(set, *visited.operands); read != 0) {
      for (int i = 0; i < num_outputs; ++i) {
        if ((outputs[i].bit & read) == 0) continue;
        visited.key -= outputs[i].key & ~kColliding;
        --visited.num_outputs;
        still_unique -= outputs[i].is_unique;
      }
    }
    if (colliding_only && (!last_is_colliding || still_unique > 0)) return;
    visited.decomposable =
        divide && visited.num_outputs > 1 && !set.two_outputs && outputs_of_[visited.variant] == 1;
    if (which == (visited.decomposable ? Which::kIndecomposable : Which::kDecomposable)) return;
    visit(visited);
  };
  const bool hopeless =
      (colliding_only && num_unique > kMostOperands) ||
      (decomposable_only && num_outputs + 1 - kMostOperands > most_partner_outputs_);
  const std::vector<uint8_t>& colliding = decomposable_only ? partner_ : colliding_;
  // A graph of max_ops operators that ends in a stored node has another output, because the node
  // and the nodes that it rests on are fewer than max_ops operators. So the graph is decomposable
  // unless one of its nodes has two outputs.
  const bool all_decomposable = divide && size == options_.max_ops && !set.two_outputs;
  const int least = set.size == 0 ? 0 : set.nodes[set.size - 1] + 1;
  for (const NodeRun& run : runs) {
    if (hopeless || (colliding_only && run.on_nothing && num_unique > 0)) continue;
    if (decomposable_only && run.on_nothing && num_outputs >= most_partner_outputs_) continue;
    if (which == Which::kIndecomposable && all_decomposable && !run.two_outputs) continue;
    for (int node = std::max(run.begin, least); node < run.end; ++node) {
      if (colliding_only && !colliding[node]) continue;
      if (Missing(set.mask | masks_[node]) != 0) continue;
      visited.place = place | static_cast<uint64_t>(node);
      visited.variant = nodes_[node].variant;
      visited.operands = &nodes_[node].operands;
      visited.keys = &keys_[ValueOf(node, 0)];
      add(sums_[node], colliding[node] != 0);
    }
  }
  // A graph that ends in a new term is not decomposable: if no node has two outputs, the term reads
  // every output of the set, so the graph has one output.
  if (size < options_.max_ops || decomposable_only) return;
  visited.place = place | kTermPlace;
  ForEachNewApplication(set, false, [&](const NewApplication& term) {
    visited.keys = &last_keys_[cursor->last];
    visited.variant = term.application->variant;
    visited.operands = &term.operands;
    const size_t n = term.application->types.size();
    cursor->last += n;
    ++visited.place;
    uint64_t sum_of_keys = 0, all_colliding = kColliding;
    for (size_t o = 0; o < n; ++o) {
      sum_of_keys += visited.keys[o] & ~kColliding;
      all_colliding &= visited.keys[o];
    }
    if (visited.keys[0] != 0 && (all_colliding != 0 || !colliding_only))
      add(sum_of_keys, all_colliding != 0);
    return absl::OkStatus();
  }).IgnoreError();
}

template <class Visit>
absl::Status Enumerator::VisitGraphs(int size, Which which, int first_begin, int first_end,
                                     Cursor cursor, const Visit& visit) {
  return ForEachSet(size - 1, first_begin, first_end,
                    [&](const NodeSet& set, absl::Span<const NodeRun> runs) {
                      VisitExtensions(set, runs, size, which, &cursor, visit);
                      return absl::OkStatus();
                    });
}

template <class Visit>
absl::Status Enumerator::VisitAllGraphs(Which which, const Visit& visit) {
  auto visit_first = [&](const Visited& visited) { visit(0, visited); };
  for (int size = 1; size < options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, which, 0, kEvery, {}, visit_first));
  }
  if (options_.max_ops == 1) return VisitGraphs(1, which, 0, kEvery, {}, visit_first);
  // Threads take sets by their first node.
  std::atomic<int> next = 0;
  std::vector<absl::Status> statuses(options_.threads);
  ParallelFor(options_.threads, options_.threads, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      auto visit_here = [&](const Visited& visited) { visit(static_cast<int>(thread), visited); };
      int first;
      while (statuses[thread].ok() && (first = next++) < static_cast<int>(cursors_.size())) {
        statuses[thread] =
            VisitGraphs(options_.max_ops, which, first, first + 1, cursors_[first], visit_here);
      }
    }
  });
  for (const absl::Status& status : statuses) LEMMA_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_VISITS_H_
