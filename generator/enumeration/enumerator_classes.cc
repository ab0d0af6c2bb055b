// Finds the classes of graphs with equal keys.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "generator/enumeration/enumerator.h"
#include "generator/enumeration/enumerator_visits.h"

namespace lemma::generator {

uint64_t Enumerator::FirstBin() const { return kBins * options_.shard / options_.num_shards; }
uint64_t Enumerator::EndBin() const { return kBins * (options_.shard + 1) / options_.num_shards; }
bool Enumerator::IsOfShard(uint64_t key) const {
  return FirstBin() <= BinOf(key) && BinOf(key) < EndBin();
}

template <class Visit>
void Enumerator::ForEachOutput(const Visited& visited, const Visit& visit) const {
  const NodeSet& set = *visited.set;
  const uint32_t read = set.read | ReadBits(set, *visited.operands);
  for (int i = 0; i < set.size; ++i) {
    for (int o = 0; o < OutputsOf(set.nodes[i]); ++o) {
      if ((read >> OutputValue(i, o) & 1) == 0)
        visit(keys_[ValueOf(set.nodes[i], o)] & ~kColliding);
    }
  }
  for (int o = 0; o < outputs_of_[visited.variant]; ++o) visit(visited.keys[o] & ~kColliding);
}

absl::Status Enumerator::FindGraphs() {
  std::vector<std::array<int64_t, kBins>> counts(options_.threads);
  std::vector<IndecomposableKeys> indecomposable(options_.threads);
  for (auto& count : counts) count.fill(0);
  LEMMA_RETURN_IF_ERROR(
      VisitAllGraphs(Which::kIndecomposable, [&](int thread, const Visited& visited) {
        if (!IsOfShard(visited.key)) return;
        ++counts[thread][BinOf(visited.key)];
        if (visited.num_outputs == 1 || !SkipsDecomposable()) return;
        IndecomposableKeys& here = indecomposable[thread];
        here.keys.push_back(visited.key);
        ForEachOutput(visited, [&](uint64_t key) { here.outputs.insert(key); });
        here.most_outputs = std::max(here.most_outputs, visited.num_outputs);
      }));
  bins_.assign(kBins, 0);
  for (const auto& count : counts) {
    for (uint64_t bin = 0; bin < kBins; ++bin) bins_[bin] += count[bin];
  }
  LEMMA_RETURN_IF_ERROR(FindPartners(std::move(indecomposable)));
  stats_.colliding_graphs = std::accumulate(bins_.begin(), bins_.end(), int64_t{0});
  return ForEachShare([] { return absl::OkStatus(); });
}

absl::Status Enumerator::FindPartners(std::vector<IndecomposableKeys> indecomposable) {
  std::vector<uint64_t> all_keys, all_outputs;
  for (IndecomposableKeys& some : indecomposable) {
    all_keys.insert(all_keys.end(), some.keys.begin(), some.keys.end());
    all_outputs.insert(all_outputs.end(), some.outputs.begin(), some.outputs.end());
    most_partner_outputs_ = std::max(most_partner_outputs_, some.most_outputs);
    some = {};
  }
  if (all_keys.empty()) return absl::OkStatus();
  const KeySet keys(std::move(all_keys)), outputs(std::move(all_outputs));
  partner_.resize(nodes_.size());
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
    partner_[node] =
        OutputsOf(node) == 1 && outputs.Contains(keys_[ValueOf(node, 0)] & ~kColliding);
  }
  std::vector<std::vector<GraphRecord>> found(options_.threads);
  LEMMA_RETURN_IF_ERROR(
      VisitAllGraphs(Which::kDecomposable, [&](int thread, const Visited& visited) {
        if (keys.Contains(visited.key)) found[thread].push_back({visited.key, visited.place});
      }));
  for (std::vector<GraphRecord>& some : found) {
    for (const GraphRecord& record : some) ++bins_[BinOf(record.key)];
    partners_.insert(partners_.end(), some.begin(), some.end());
    some = {};
  }
  partners_.shrink_to_fit();
  return absl::OkStatus();
}

absl::Status Enumerator::FindRecords(uint64_t first_bin, uint64_t end_bin) {
  if (first_bin == first_bin_ && end_bin == end_bin_) return absl::OkStatus();
  // Where each bin's records begin, and the position of its next record.
  std::vector<size_t> starts = {0};
  for (uint64_t bin = first_bin; bin < end_bin; ++bin) {
    starts.push_back(starts.back() + bins_[bin]);
  }
  records_ = {};
  records_.resize(starts.back());
  std::vector<std::atomic<size_t>> nexts(end_bin - first_bin);
  for (size_t i = 0; i < nexts.size(); ++i) nexts[i] = starts[i];
  auto add = [&](const GraphRecord& record) {
    const uint64_t bin = BinOf(record.key);
    if (bin < first_bin || bin >= end_bin) return;
    records_[nexts[bin - first_bin].fetch_add(1, std::memory_order_relaxed)] = record;
  };
  for (const GraphRecord& partner : partners_) add(partner);
  LEMMA_RETURN_IF_ERROR(VisitAllGraphs(Which::kIndecomposable, [&](int, const Visited& visited) {
    add({visited.key, visited.place});
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

// Records and graphs get half of the memory each.
absl::Status Enumerator::ForEachShare(const std::function<absl::Status()>& visit) {
  const int64_t partners = static_cast<int64_t>(partners_.size() * sizeof(GraphRecord));
  const int64_t most = (options_.max_memory - stats_.terms_memory - partners) / 2 /
                       static_cast<int64_t>(sizeof(GraphRecord));
  const bool first_time = stats_.shares == 0;
  const uint64_t end = EndBin();
  for (uint64_t begin = FirstBin(); begin < end;) {
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

absl::StatusOr<std::vector<CompactGraph>> Enumerator::GraphsOf(size_t begin, size_t end) {
  // The records, sorted by place.
  std::vector<std::pair<uint64_t, uint32_t>> wanted;
  wanted.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    wanted.emplace_back(records_[i].place, static_cast<uint32_t>(i - begin));
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<CompactGraph> graphs(end - begin);
  // Places increase within a set, and from set to set of one thread.
  std::vector<size_t> nexts(options_.threads, 0);
  auto visit = [&](int thread, const Visited& visited) {
    size_t& next = nexts[thread];
    auto is_at = [&](size_t i) { return i < wanted.size() && wanted[i].first == visited.place; };
    if (!is_at(next)) {
      next = std::lower_bound(wanted.begin(), wanted.end(), std::make_pair(visited.place, 0u)) -
             wanted.begin();
    }
    if (is_at(next)) graphs[wanted[next++].second] = GraphOf(visited);
  };
  LEMMA_RETURN_IF_ERROR(VisitAllGraphs(Which::kIndecomposable, visit));
  if (!partners_.empty()) LEMMA_RETURN_IF_ERROR(VisitAllGraphs(Which::kDecomposable, visit));
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
