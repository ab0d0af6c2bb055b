#include "runtime/cpu/blocks.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/expr/substitute.h"
#include "graph/ops/formula.h"
#include "graph/rebuild.h"
#include "runtime/cpu/carried_dims.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {
namespace {

// The bytes that all blocks may read of what stays whole, in sizes of the largest value.
constexpr double kMostReads = 8;

// The body of a definition where the output's index in each dimension of `zero` is 0.
std::string BodyAt(const Definition& definition, const std::vector<bool>& zero) {
  ExprSubstitution at;
  const TensorExpr& tensor = definition.tensors[0];
  for (size_t d = 0; d < zero.size(); ++d) {
    if (zero[d]) at.vars[tensor.axes[d].var] = 0;
  }
  return Substitute(tensor.body, at).ToString();
}

// A part of the dimensions of the values of a region: an index range for each axis.
struct Range {
  int64_t begin = 0, size = 0;
};

// Values that are computed together. An axis is a dimension that each of them has.
struct Region {
  std::vector<int> nodes;                           // positions, ascending
  absl::flat_hash_map<int, std::vector<int>> dims;  // by node: the dimension of each axis
  std::vector<int64_t> extents;                     // of the axes
};

class Blocker {
 public:
  Blocker(const Graph& graph, const BlockOptions& options)
      : options_(options), graph_(graph), uses_(graph) {}

  // The region around the node, if there is one.
  std::optional<Region> RegionOf(int seed) {
    const Value v = ValueOf(seed);
    floor_ = std::max(options_.large_bytes, v.type().num_bytes() / 4);
    std::vector<int> axes;
    for (int d = 0; d < v.type().rank(); ++d) {
      if (v.shape()[d] > 1) axes.push_back(d);
    }
    while (!axes.empty()) {
      Region region;
      region.dims[seed] = axes;
      const int lost = Grow(seed, &region);
      if (lost >= 0) {
        axes.erase(axes.begin() + lost);
        continue;
      }
      for (const auto& [node, dims] : region.dims) region.nodes.push_back(node);
      std::sort(region.nodes.begin(), region.nodes.end());
      for (const int d : axes) region.extents.push_back(v.shape()[d]);
      if (!Pays(region) || !IsConvex(region) || !IsConsistent(region)) return std::nullopt;
      return region;
    }
    return std::nullopt;
  }

  // Values of the region that are read outside it, and what computes them in blocks; empty if it
  // cannot be done.
  ValueMap Replacements(const Region& region, int seed, ValueMap* origin) {
    const std::vector<int64_t> sizes = BlockSizes(region, ValueOf(seed).type().num_bytes());
    const double seed_bytes = static_cast<double>(ValueOf(seed).type().num_bytes());
    if (sizes.empty() || BytesRead(region, sizes) > kMostReads * seed_bytes) return {};
    std::vector<int> results;
    for (const int n : region.nodes) {
      const Value v = ValueOf(n);
      bool outside = uses_.IsOutput(v);
      for (const int user : uses_.Users(v)) outside = outside || region.dims.count(user) == 0;
      if (outside) results.push_back(n);
    }
    std::vector<Range> ranges(sizes.size());
    std::vector<Value> made;
    if (!Emit(region, sizes, results, 0, &ranges, &made, origin)) return {};
    ValueMap replacements;
    for (size_t i = 0; i < results.size(); ++i) replacements[ValueOf(results[i])] = made[i];
    return replacements;
  }

  // Positions of the nodes with large results, the largest first.
  std::vector<int> Seeds() const {
    std::vector<int> seeds;
    for (size_t n = 0; n < uses_.nodes.size(); ++n) {
      if (IsCandidate(static_cast<int>(n), options_.large_bytes)) {
        seeds.push_back(static_cast<int>(n));
      }
    }
    std::stable_sort(seeds.begin(), seeds.end(), [&](int a, int b) {
      return ValueOf(a).type().num_bytes() > ValueOf(b).type().num_bytes();
    });
    return seeds;
  }

  Value ValueOf(int n) const { return Value(uses_.nodes[n], 0); }

 private:
  // Whether the node is computed at run time and its only result, of at least `bytes` bytes, is not
  // an output of the graph.
  bool IsCandidate(int n, int64_t bytes) const {
    const Node& node = *uses_.nodes[n];
    return node.is_op() && !uses_.is_static[n] && node.num_outputs() == 1 &&
           node.type(0).num_bytes() >= bytes && !uses_.IsOutput(ValueOf(n));
  }

  const CarriedDims& Carried(int n) {
    // A search plans many graphs of the same applications.
    static thread_local absl::flat_hash_map<uint64_t, std::unique_ptr<CarriedDims>> known;
    std::unique_ptr<CarriedDims>& carried = known[HashApplication(*uses_.nodes[n])];
    if (carried == nullptr) {
      carried = std::make_unique<CarriedDims>(CarriedDimsOf(*uses_.nodes[n]));
    }
    return *carried;
  }

  // The dimension of node `user`'s result that carries dimension `dim` of its operand v; -1: none.
  int CarryingDim(int user, const Value& v, int dim) {
    const CarriedDims& carried = Carried(user);
    const std::vector<Value>& inputs = uses_.nodes[user]->inputs();
    for (size_t d = 0; d < carried.size(); ++d) {
      bool all = !carried[d].empty();
      for (size_t j = 0; j < inputs.size(); ++j) {
        all = all && (inputs[j] != v || carried[d][j] == dim);
      }
      if (all) return static_cast<int>(d);
    }
    return -1;
  }

  // Adds to the region what must be computed with its large values. Returns the index of an axis
  // that some of it does not have; -1: none.
  int Grow(int seed, Region* region) {
    std::vector<int> work = {seed};
    for (size_t next = 0; next < work.size(); ++next) {
      const int n = work[next];
      const std::vector<int> dims = region->dims.at(n);
      const CarriedDims& carried = Carried(n);
      for (size_t a = 0; a < dims.size(); ++a) {
        if (carried.empty() || carried[dims[a]].empty() || CutsWeights(n, dims[a])) {
          return static_cast<int>(a);
        }
      }
      const Value v = ValueOf(n);
      if (IsCandidate(n, floor_)) {
        for (const int user : uses_.Users(v)) {
          std::vector<int> its;
          for (size_t a = 0; a < dims.size(); ++a) {
            its.push_back(CarryingDim(user, v, dims[a]));
            if (its.back() < 0) return static_cast<int>(a);
          }
          if (const int lost = Add(user, std::move(its), region, &work); lost >= 0) return lost;
        }
      }
      const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
      for (size_t j = 0; j < inputs.size(); ++j) {
        const int from = uses_.NodeOf(inputs[j].node());
        if (!IsCandidate(from, floor_)) continue;
        std::vector<int> its;
        for (const int d : dims) its.push_back(carried[d][j]);
        if (std::count(its.begin(), its.end(), -1) > 0) continue;  // stays whole
        if (const int lost = Add(from, std::move(its), region, &work); lost >= 0) return lost;
      }
    }
    return -1;
  }

  // Whether blocks of dimension `dim` would divide the weights of a product, which are packed.
  bool CutsWeights(int n, int dim) {
    const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (Carried(n)[dim][j] < 0 || !uses_.is_static[uses_.NodeOf(inputs[j].node())]) continue;
      if (!pointwise_.Of(*uses_.nodes[n]).pointwise) return true;
    }
    return false;
  }

  // Bytes that all blocks together read of values outside the region.
  double BytesRead(const Region& region, const std::vector<int64_t>& sizes) {
    double bytes = 0;
    for (const int n : region.nodes) {
      const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
      for (size_t j = 0; j < inputs.size(); ++j) {
        if (region.dims.count(uses_.NodeOf(inputs[j].node())) > 0) continue;
        double all = static_cast<double>(inputs[j].type().num_bytes());
        for (size_t a = 0; a < sizes.size(); ++a) {
          const bool whole = Carried(n)[region.dims.at(n)[a]][j] < 0;
          if (whole) all *= std::ceil(static_cast<double>(region.extents[a]) / sizes[a]);
        }
        bytes += all;
      }
    }
    return bytes;
  }

  int Add(int n, std::vector<int> dims, Region* region, std::vector<int>* work) {
    auto [entry, fresh] = region->dims.try_emplace(n, dims);
    if (fresh) work->push_back(n);
    for (size_t a = 0; a < dims.size(); ++a) {
      if (entry->second[a] != dims[a]) return static_cast<int>(a);
    }
    return -1;
  }

  // Whether some value is reduced along dimensions that are no axes and read again beside the
  // result. The reduction may be an operator of its own.
  bool Pays(const Region& region) {
    if (region.nodes.size() < 2) return false;
    if (!options_.only_cascades) return true;
    for (const int n : region.nodes) {
      if (ReadsBesideReduction(*uses_.nodes[n])) return true;
      // x and what was made of x by a reduction meet in an operator.
      for (const Value& a : uses_.nodes[n]->inputs()) {
        for (const Value& b : uses_.nodes[n]->inputs()) {
          const int from = uses_.NodeOf(b.node());
          if (a == b || !uses_.nodes[from]->is_op()) continue;
          const auto& made_of = uses_.nodes[from]->inputs();
          if (std::find(made_of.begin(), made_of.end(), a) == made_of.end()) continue;
          if (b.type().num_elements() < a.type().num_elements()) return true;
        }
      }
    }
    return false;
  }

  // Whether each node reads the region's values at the dimensions of their own axes, small values
  // too, so that its block needs the block of its operands and no more.
  bool IsConsistent(const Region& region) {
    for (const int n : region.nodes) {
      const std::vector<int>& dims = region.dims.at(n);
      const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
      for (size_t j = 0; j < inputs.size(); ++j) {
        const auto from = region.dims.find(uses_.NodeOf(inputs[j].node()));
        if (from == region.dims.end()) continue;
        for (size_t a = 0; a < dims.size(); ++a) {
          if (Carried(n)[dims[a]][j] != from->second[a]) return false;
        }
      }
    }
    return true;
  }

  // Whether nothing outside the region lies between two of its nodes.
  bool IsConvex(const Region& region) const {
    absl::flat_hash_set<int> behind;  // nodes outside that depend on the region
    for (int n = region.nodes.front(); n <= region.nodes.back(); ++n) {
      const bool inside = region.dims.count(n) > 0;
      for (const Value& v : uses_.nodes[n]->inputs()) {
        const int from = uses_.NodeOf(v.node());
        if (behind.count(from) > 0 && inside) return false;
        if (behind.count(from) > 0 || (!inside && region.dims.count(from) > 0)) behind.insert(n);
      }
    }
    return true;
  }

  // Sizes of the blocks by axis; empty if there is no use in blocks.
  std::vector<int64_t> BlockSizes(const Region& region, int64_t bytes) const {
    for (int64_t wanted = options_.block_bytes; wanted <= bytes / 2; wanted *= 2) {
      std::vector<int64_t> sizes = region.extents;
      int64_t now = bytes, blocks = 1;
      for (size_t a = 0; a < sizes.size() && now > wanted; ++a) {
        int64_t size = std::max<int64_t>(1, sizes[a] * wanted / now);
        if (size > 16) size = size / 16 * 16;
        now = now / sizes[a] * size;
        blocks *= (sizes[a] + size - 1) / size;
        sizes[a] = size;
      }
      if (now > 2 * wanted) return {};
      if (blocks <= options_.max_blocks) return sizes;
    }
    return {};
  }

  // Computes the results within ranges[0 … axis) for all blocks of the other axes.
  bool Emit(const Region& region, const std::vector<int64_t>& sizes,
            const std::vector<int>& results, size_t axis, std::vector<Range>* ranges,
            std::vector<Value>* made, ValueMap* origin) {
    if (axis == sizes.size()) return EmitBlock(region, *ranges, results, made, origin);
    std::vector<std::vector<Value>> parts(results.size());
    for (int64_t begin = 0; begin < region.extents[axis]; begin += sizes[axis]) {
      (*ranges)[axis] = {begin, std::min(sizes[axis], region.extents[axis] - begin)};
      std::vector<Value> values;
      if (!Emit(region, sizes, results, axis + 1, ranges, &values, origin)) return false;
      for (size_t i = 0; i < results.size(); ++i) parts[i].push_back(values[i]);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const int dim = region.dims.at(results[i])[axis];
      made->push_back(Formula(ApplyOp).Concat(std::move(parts[i]), dim));
      origin->try_emplace(made->back(), ValueOf(results[i]));
    }
    return true;
  }

  bool EmitBlock(const Region& region, const std::vector<Range>& ranges,
                 const std::vector<int>& results, std::vector<Value>* made, ValueMap* origin) {
    absl::flat_hash_map<Value, Value> block;  // of the region's values
    for (const int n : region.nodes) {
      const Node& node = *uses_.nodes[n];
      const std::vector<int>& dims = region.dims.at(n);
      std::vector<Value> inputs;
      for (size_t j = 0; j < node.inputs().size(); ++j) {
        const Value& v = node.inputs()[j];
        if (auto inside = block.find(v); inside != block.end()) {
          inputs.push_back(inside->second);
          continue;
        }
        std::vector<int64_t> starts(v.shape().size(), 0);
        Shape part = v.shape();
        for (size_t a = 0; a < dims.size(); ++a) {
          const int d = Carried(n)[dims[a]][j];
          if (d < 0) continue;
          starts[d] = ranges[a].begin;
          part[d] = ranges[a].size;
        }
        inputs.push_back(Formula(ApplyOp).Slice(v, std::move(starts), std::move(part)));
        if (inputs.back() != v) origin->try_emplace(inputs.back(), ValueOf(n));
      }
      absl::StatusOr<std::vector<Value>> applied =
          ApplyOp(node.op().name, std::move(inputs), node.attrs());
      if (!applied.ok() || applied->size() != 1) return false;
      const Value& now = applied->front();
      if (!IsBlockOf(node, dims, ranges, now)) return false;
      block[ValueOf(n)] = now;
      origin->try_emplace(now, ValueOf(n));
    }
    for (const int n : results) made->push_back(block.at(ValueOf(n)));
    return true;
  }

  // Whether `now` has the type of a block of the node's result, and the node's definition.
  bool IsBlockOf(const Node& node, const std::vector<int>& dims, const std::vector<Range>& ranges,
                 const Value& now) {
    TensorType wanted = node.type(0);
    for (size_t a = 0; a < dims.size(); ++a) wanted.shape[dims[a]] = ranges[a].size;
    if (now.type() != wanted) return false;
    const auto key = std::make_pair(HashApplication(node), HashApplication(now.node()));
    auto [entry, fresh] = compared_.try_emplace(key, false);
    if (!fresh) return entry->second;
    const auto whole = InlinedDefinition(node), block = InlinedDefinition(now.node());
    if (!whole || !block) return false;
    // Over one index, a definition may name it 0.
    std::vector<bool> zero(wanted.shape.size(), false);
    for (const int d : dims) zero[d] = wanted.shape[d] == 1;
    entry->second = BodyAt(*whole, zero) == BodyAt(*block, zero);
    return entry->second;
  }

  const BlockOptions options_;
  const Graph graph_;
  const UseTable uses_;
  int64_t floor_ = 0;  // a value of the region that takes as many bytes is read only inside
  NodeTraitsCache pointwise_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, bool> compared_;  // by both applications
};

// Composes the origins: `added` maps values of `changed`'s graph to values of the graph before.
void AddOrigins(const ValueMap& changed, const ValueMap& added, WideGraph* wide) {
  auto add = [wide](const Value& now, const Value& before) {
    wide->origin.try_emplace(now, wide->OriginOf(before));
  };
  for (const auto& [now, before] : added) add(now, before);
  for (const auto& [before, now] : changed) add(now, before);
}

}  // namespace

WideGraph InBlocks(WideGraph wide, const BlockOptions& options) {
  const auto& nodes = wide.graph.nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](const NodePtr& node) {
    return node->is_op() && node->type(0).num_bytes() >= options.large_bytes;
  });
  if (!any) return wide;
  absl::flat_hash_set<Value> tried;  // values of the given graph
  for (bool changed = true; changed;) {
    changed = false;
    Blocker blocker(wide.graph, options);
    for (const int seed : blocker.Seeds()) {
      if (!tried.insert(wide.OriginOf(blocker.ValueOf(seed))).second) continue;
      const std::optional<Region> region = blocker.RegionOf(seed);
      if (!region) continue;
      ValueMap added;
      const ValueMap replacements = blocker.Replacements(*region, seed, &added);
      if (replacements.empty()) continue;
      ValueMap rebuilt;
      wide.graph = ReplaceValues(wide.graph, replacements, &rebuilt);
      AddOrigins(rebuilt, added, &wide);
      changed = true;
      break;
    }
  }
  return wide;
}

}  // namespace lemma::cpu
