#include "runtime/cpu/blocks/cascades.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/cpu/blocks/kept.h"

namespace lemma::cpu {
namespace {

// A set of small numbers.
class Bits {
 public:
  void Set(size_t i) {
    if (words_.size() <= i / 64) words_.resize(i / 64 + 1, 0);
    words_[i / 64] |= uint64_t{1} << (i % 64);
  }
  void Add(const Bits& o) {
    if (words_.size() < o.words_.size()) words_.resize(o.words_.size(), 0);
    for (size_t i = 0; i < o.words_.size(); ++i) words_[i] |= o.words_[i];
  }
  bool Meets(const Bits& o) const {
    for (size_t i = 0; i < std::min(words_.size(), o.words_.size()); ++i) {
      if ((words_[i] & o.words_[i]) != 0) return true;
    }
    return false;
  }

 private:
  std::vector<uint64_t> words_;
};

// The nodes and, behind their reductions, those that only compute further.
std::vector<int> WithUsers(const UseTable& uses, std::vector<int> nodes) {
  absl::flat_hash_set<int> known(nodes.begin(), nodes.end());
  const size_t most = 4 * nodes.size() + 16;
  for (size_t next = 0; next < nodes.size() && nodes.size() < most; ++next) {
    const Node& node = *uses.nodes[nodes[next]];
    for (int i = 0; i < node.num_outputs(); ++i) {
      for (const int user : uses.Users(Value(uses.nodes[nodes[next]], i))) {
        if (known.count(user) > 0 || ReductionsIn(*uses.nodes[user]).any) continue;
        known.insert(user);
        nodes.push_back(user);
      }
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

int64_t CountedBytes(const TensorType& type) {
  return std::max(type.num_bytes(), 4 * type.num_elements());
}

const Reductions& ReductionsIn(const Node& node) { return KeptOf<Reductions, ReductionsOf>(node); }

bool HasCascade(const UseTable& uses, const std::vector<int>& nodes, int64_t large) {
  for (const int n : nodes) {
    if (ReductionsIn(*uses.nodes[n]).beside) return true;
  }
  // By node: the large values that it depends on, without and through a reduction.
  struct Sources {
    Bits plain, reduced;
  };
  absl::flat_hash_map<int, Sources> sources;
  absl::flat_hash_map<int, size_t> number;  // of a large value
  auto of = [&](int n) {
    Sources its;
    if (const auto known = sources.find(n); known != sources.end()) its = known->second;
    if (CountedBytes(uses.nodes[n]->type(0)) >= large) {
      its.plain.Set(number.try_emplace(n, number.size()).first->second);
    }
    return its;
  };
  for (const int n : WithUsers(uses, nodes)) {
    const std::vector<Value>& inputs = uses.nodes[n]->inputs();
    std::vector<Sources> read;
    read.reserve(inputs.size());
    for (const Value& v : inputs) read.push_back(of(uses.NodeOf(v.node())));
    for (size_t a = 0; a < inputs.size(); ++a) {
      for (size_t b = 0; b < inputs.size(); ++b) {
        if (inputs[b].type().num_elements() >= inputs[a].type().num_elements()) continue;
        if (read[b].reduced.Meets(read[a].plain) || read[b].reduced.Meets(read[a].reduced)) {
          return true;
        }
      }
    }
    Sources& its = sources[n];
    const bool reduces = ReductionsIn(*uses.nodes[n]).any;
    for (const Sources& from : read) {
      (reduces ? its.reduced : its.plain).Add(from.plain);
      if (!reduces) its.reduced.Add(from.reduced);
    }
  }
  return false;
}

}  // namespace lemma::cpu
