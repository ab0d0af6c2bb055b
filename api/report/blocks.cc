#include "api/report/blocks.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lemma::api {
namespace {

constexpr int kLongestPeriod = 512;
constexpr int kLeastSaved = 4;  // a block hides at least so many operators
constexpr int kRounds = 3;      // of looking for blocks between the blocks found

// The operators as a sequence.
class Sequence {
 public:
  explicit Sequence(const Graph& graph) {
    for (const NodePtr& node : graph.nodes()) {
      if (!node->is_op()) continue;
      number_[node.get()] = static_cast<int>(ops_.size());
      ops_.push_back(node.get());
    }
    absl::flat_hash_map<std::string, int> tokens;
    for (const Node* op : ops_) {
      token_.push_back(
          tokens.try_emplace(TokenOf(*op), static_cast<int>(tokens.size())).first->second);
    }
    CountCrossings(graph);
  }

  int size() const { return static_cast<int>(ops_.size()); }
  bool LooksEqual(int a, int b) const { return token_[a] == token_[b]; }
  // The number of operators before `i` that an operator from `i` on, or an output, reads.
  int Crossing(int i) const { return crossing_[i]; }

  bool AreIsomorphic(int a, int b, int period) const {
    for (int j = 0; j < period; ++j) {
      if (!LooksEqual(a + j, b + j)) return false;
      const auto &of_a = ops_[a + j]->inputs(), &of_b = ops_[b + j]->inputs();
      for (size_t k = 0; k < of_a.size(); ++k) {
        const int place_a = PlaceIn(of_a[k], a), place_b = PlaceIn(of_b[k], b);
        if (place_a != place_b) return false;
        if (place_a >= 0 && of_a[k].output() != of_b[k].output()) return false;
      }
    }
    return true;
  }

 private:
  // What equal operators of two blocks have in common, besides the operators that they read.
  static std::string TokenOf(const Node& op) {
    std::string token = op.op().key();
    for (const auto& [name, value] : op.attrs()) {
      absl::StrAppend(&token, " ", name, "=", ToString(value));
    }
    for (const TensorType& type : op.types()) absl::StrAppend(&token, " ", type.ToString());
    for (const Value& v : op.inputs()) {
      absl::StrAppend(&token, " ", static_cast<int>(v.node().kind()), v.type().ToString());
    }
    return token;
  }

  // The operand's number, counted from the block's beginning; -1 if it is outside.
  int PlaceIn(const Value& value, int first) const {
    const auto it = number_.find(&value.node());
    return it == number_.end() || it->second < first ? -1 : it->second - first;
  }

  void CountCrossings(const Graph& graph) {
    std::vector<int> last(ops_.size());
    for (int i = 0; i < size(); ++i) {
      last[i] = i;
      for (const Value& v : ops_[i]->inputs()) {
        if (auto it = number_.find(&v.node()); it != number_.end()) last[it->second] = i;
      }
    }
    for (const Value& v : graph.outputs()) {
      if (auto it = number_.find(&v.node()); it != number_.end()) last[it->second] = size();
    }
    crossing_.assign(ops_.size() + 1, 0);
    for (int i = 0; i < size(); ++i) {  // alive in front of the operators i + 1 to last[i]
      if (i + 1 > last[i]) continue;
      ++crossing_[i + 1];
      if (last[i] + 1 <= size()) --crossing_[last[i] + 1];
    }
    for (int i = 1; i <= size(); ++i) crossing_[i] += crossing_[i - 1];
  }

  std::vector<const Node*> ops_;
  absl::flat_hash_map<const Node*, int> number_;
  std::vector<int> token_, crossing_;
};

int Saved(const Block& block) { return block.period * (block.copies - 1); }

// A block in the run of operators from `begin`, each of which looks like the one `period` later
// `length` times in a row.
Block RepeatedFrom(const Sequence& ops, int begin, int period, int length) {
  const int copies = length / period + 1;
  const int slack = length - (copies - 1) * period;
  int best = begin;
  for (int start = begin; start <= begin + slack; ++start) {
    if (ops.Crossing(start) < ops.Crossing(best)) best = start;
  }
  Block block{best, period, 1};
  while (block.copies < copies && ops.AreIsomorphic(best, block.end(), period)) ++block.copies;
  return block;
}

// Blocks between `begin` and `end`, which may overlap.
void AddCandidates(const Sequence& ops, int begin, int end, std::vector<Block>* candidates) {
  for (int period = 1; period <= std::min(kLongestPeriod, (end - begin) / 2); ++period) {
    int length = 0;
    for (int i = end - period - 1; i >= begin - 1; --i) {
      if (i >= begin && ops.LooksEqual(i, i + period)) {
        ++length;
        continue;
      }
      if (length >= period) {
        const Block block = RepeatedFrom(ops, i + 1, period, length);
        if (Saved(block) >= kLeastSaved) candidates->push_back(block);
      }
      length = 0;
    }
  }
}

// The gaps between the blocks, as pairs of first operator and end.
std::vector<std::pair<int, int>> Gaps(const std::vector<Block>& blocks, int size) {
  std::vector<std::pair<int, int>> gaps;
  int from = 0;
  for (const Block& block : blocks) {
    if (block.first > from) gaps.emplace_back(from, block.first);
    from = block.end();
  }
  if (from < size) gaps.emplace_back(from, size);
  return gaps;
}

void SortByPlace(std::vector<Block>* blocks) {
  std::sort(blocks->begin(), blocks->end(),
            [](const Block& a, const Block& b) { return a.first < b.first; });
}

void SortBySaving(std::vector<Block>* blocks) {
  std::stable_sort(blocks->begin(), blocks->end(),
                   [](const Block& a, const Block& b) { return Saved(a) > Saved(b); });
}

std::vector<Block> RepeatedBlocks(const Sequence& ops) {
  std::vector<Block> blocks;
  std::vector<bool> taken(ops.size(), false);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Block> candidates;
    for (const auto& [begin, end] : Gaps(blocks, ops.size())) {
      AddCandidates(ops, begin, end, &candidates);
    }
    SortBySaving(&candidates);
    bool found = false;
    for (const Block& block : candidates) {
      const auto from = taken.begin() + block.first, to = taken.begin() + block.end();
      if (std::find(from, to, true) != to) continue;
      std::fill(from, to, true);
      blocks.push_back(block);
      found = true;
    }
    if (!found) break;
    SortByPlace(&blocks);
  }
  return blocks;
}

// Adds blocks of one copy for the operators between `begin` and `end`, of about `length` operators
// each, cut where few values cross.
void AddRuns(const Sequence& ops, int begin, int end, int length, std::vector<Block>* blocks) {
  while (end - begin > length + length / 2) {
    int cut = begin + length;
    for (int i = begin + length - length / 4; i <= begin + length + length / 4; ++i) {
      if (ops.Crossing(i) < ops.Crossing(cut)) cut = i;
    }
    blocks->push_back({begin, cut - begin, 1});
    begin = cut;
  }
  if (end - begin > 1) blocks->push_back({begin, end - begin, 1});
}

}  // namespace

std::vector<Block> BlocksOf(const Graph& graph, int most_boxes) {
  const Sequence ops(graph);
  std::vector<Block> blocks = RepeatedBlocks(ops);
  if (static_cast<int>(blocks.size()) > most_boxes / 2) {
    SortBySaving(&blocks);
    blocks.resize(most_boxes / 2);
    SortByPlace(&blocks);
  }
  int single = ops.size();
  for (const Block& block : blocks) single -= block.end() - block.first;
  const int room = most_boxes - static_cast<int>(blocks.size());
  if (single <= room) return blocks;
  const int length = std::max(4, 2 * single / std::max(room, 1));
  for (const auto& [begin, end] : Gaps(blocks, ops.size())) {
    AddRuns(ops, begin, end, length, &blocks);
  }
  SortByPlace(&blocks);
  return blocks;
}

}  // namespace lemma::api
