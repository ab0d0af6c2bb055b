#include "runtime/cpu/blocks/block_regions.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace lemma::cpu {
namespace {

// Keeps what `read` reads off a definition, for all graphs: a search plans many graphs of the same
// applications.
template <typename T, T (*read)(const Node&)>
const T& Known(const Node& node) {
  static thread_local absl::flat_hash_map<uint64_t, std::unique_ptr<T>> known;
  std::unique_ptr<T>& entry = known[HashApplication(node)];
  if (entry == nullptr) entry = std::make_unique<T>(read(node));
  return *entry;
}

}  // namespace

bool BlockRegion::IsSum(int node) const {
  const std::vector<Axis>& its = axes.at(node);
  return std::any_of(its.begin(), its.end(), [](const Axis& axis) { return axis.summed; });
}

std::optional<BlockRegion> BlockRegions::Around(int seed) {
  const Value v = ValueOf(seed);
  floor_ = std::max(options_.large_bytes, v.type().num_bytes() / 4);
  std::vector<BlockRegion::Axis> axes;
  for (int d = 0; d < v.type().rank(); ++d) {
    if (v.shape()[d] > 1) axes.push_back({false, d});
  }
  while (!axes.empty()) {
    BlockRegion region;
    region.axes[seed] = axes;
    int lost = Grow(seed, &region);
    if (lost < 0) {
      SortNodes(&region);
      lost = InconsistentAxis(region);
    }
    if (lost >= 0) {
      axes.erase(axes.begin() + lost);
      continue;
    }
    if (!Pays(region)) return std::nullopt;
    std::vector<size_t> order(axes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(), [&](size_t a) {
      return std::none_of(region.nodes.begin(), region.nodes.end(),
                          [&](int n) { return region.axes.at(n)[a].summed; });
    });
    for (auto& [node, its] : region.axes) {
      const std::vector<BlockRegion::Axis> before = its;
      for (size_t a = 0; a < order.size(); ++a) its[a] = before[order[a]];
    }
    for (const size_t a : order) region.extents.push_back(v.shape()[axes[a].index]);
    AddSmallNodes(&region);
    return region;
  }
  return std::nullopt;
}

std::vector<int> BlockRegions::Seeds() const {
  std::vector<int> seeds;
  for (size_t n = 0; n < uses_.nodes.size(); ++n) {
    if (IsCandidate(static_cast<int>(n), options_.large_bytes))
      seeds.push_back(static_cast<int>(n));
  }
  std::stable_sort(seeds.begin(), seeds.end(), [&](int a, int b) {
    return ValueOf(a).type().num_bytes() > ValueOf(b).type().num_bytes();
  });
  return seeds;
}

int BlockRegions::DividedDim(const BlockRegion& region, int node, size_t axis, size_t input) {
  return DividedDim(node, region.axes.at(node)[axis], input);
}

std::vector<int> BlockRegions::LateNodes(const BlockRegion& region) const {
  std::vector<int> late;
  absl::flat_hash_set<int> behind;  // nodes that depend on the region through one outside it
  for (int n = region.nodes.front(); n <= region.nodes.back(); ++n) {
    const bool inside = region.Contains(n);
    for (const Value& v : uses_.nodes[n]->inputs()) {
      const int from = uses_.NodeOf(v.node());
      if (behind.count(from) > 0 || (!inside && region.Contains(from))) behind.insert(n);
    }
    if (inside && behind.count(n) > 0) late.push_back(n);
  }
  return late;
}

// Whether the node is computed at run time and its only result, of at least `bytes` bytes, is not
// an output of the graph.
bool BlockRegions::IsCandidate(int n, int64_t bytes) const {
  const Node& node = *uses_.nodes[n];
  return node.is_op() && !uses_.is_static[n] && node.num_outputs() == 1 &&
         node.type(0).num_bytes() >= bytes && !uses_.IsOutput(ValueOf(n));
}

const CarriedDims& BlockRegions::Carried(int n) {
  return Known<CarriedDims, CarriedDimsOf>(*uses_.nodes[n]);
}

const std::vector<SummedDim>& BlockRegions::SummedOf(const Node& node) {
  return Known<std::vector<SummedDim>, SummedDimsOf>(node);
}

int BlockRegions::DividedDim(int n, const BlockRegion::Axis& axis, size_t input) {
  return axis.summed ? Summed(n)[axis.index].dims[input] : Carried(n)[axis.index][input];
}

// The axis of node `user` that divides dimension `dim` of operand v; nullopt: the node neither
// carries the dimension nor sums over it.
std::optional<BlockRegion::Axis> BlockRegions::AxisIn(int user, const Value& v, int dim) {
  const std::vector<Value>& inputs = uses_.nodes[user]->inputs();
  auto reads = [&](const std::vector<int>& dims) {
    if (dims.empty()) return false;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == v && dims[j] != dim) return false;
    }
    return true;
  };
  const CarriedDims& carried = Carried(user);
  for (size_t d = 0; d < carried.size(); ++d) {
    if (reads(carried[d])) return BlockRegion::Axis{false, static_cast<int>(d)};
  }
  const std::vector<SummedDim>& summed = Summed(user);
  for (size_t s = 0; s < summed.size(); ++s) {
    if (!reads(summed[s].dims)) continue;
    // Each block adds to the whole sum, so the sum has to be small.
    if (uses_.nodes[user]->type(0).num_bytes() > v.type().num_bytes() / 2) continue;
    return BlockRegion::Axis{true, static_cast<int>(s)};
  }
  return std::nullopt;
}

// Adds the nodes that must be computed together with the large values of the region. Returns the
// index of an axis that some of it does not have; -1: none.
int BlockRegions::Grow(int seed, BlockRegion* region) {
  std::vector<int> work = {seed};
  for (size_t next = 0; next < work.size(); ++next) {
    const int n = work[next];
    const std::vector<BlockRegion::Axis> axes = region->axes.at(n);
    for (size_t a = 0; a < axes.size(); ++a) {
      const bool has =
          axes[a].summed || (!Carried(n).empty() && !Carried(n)[axes[a].index].empty());
      if (!has || DividesWeights(n, axes[a])) return static_cast<int>(a);
    }
    const Value v = ValueOf(n);
    if (IsCandidate(n, floor_) && !region->IsSum(n)) {
      for (const int user : uses_.Users(v)) {
        std::vector<BlockRegion::Axis> its;
        for (size_t a = 0; a < axes.size(); ++a) {
          const std::optional<BlockRegion::Axis> axis = AxisIn(user, v, axes[a].index);
          if (!axis) return static_cast<int>(a);
          its.push_back(*axis);
        }
        if (const int lost = Add(user, std::move(its), region, &work); lost >= 0) return lost;
      }
    }
    const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
    for (size_t j = 0; j < inputs.size(); ++j) {
      const int from = uses_.NodeOf(inputs[j].node());
      if (!IsCandidate(from, floor_)) continue;
      std::vector<BlockRegion::Axis> its(axes.size());
      for (size_t a = 0; a < axes.size(); ++a) its[a].index = DividedDim(n, axes[a], j);
      if (std::any_of(its.begin(), its.end(), [](const auto& axis) { return axis.index < 0; })) {
        continue;  // stays whole
      }
      if (const int lost = Add(from, std::move(its), region, &work); lost >= 0) return lost;
    }
  }
  return -1;
}

void BlockRegions::SortNodes(BlockRegion* region) {
  region->nodes.clear();
  for (const auto& [node, its] : region->axes) region->nodes.push_back(node);
  std::sort(region->nodes.begin(), region->nodes.end());
}

// The axes of a node outside the region, if it has all of them and reads the region's values at the
// dimensions of their own axes.
std::optional<std::vector<BlockRegion::Axis>> BlockRegions::AxesIn(int n,
                                                                   const BlockRegion& region) {
  const Node& node = *uses_.nodes[n];
  if (!node.is_op() || node.num_outputs() != 1) return std::nullopt;
  std::optional<std::vector<BlockRegion::Axis>> axes;
  for (const Value& v : node.inputs()) {
    const int from = uses_.NodeOf(v.node());
    if (!region.Contains(from)) continue;
    if (region.IsSum(from)) return std::nullopt;
    std::vector<BlockRegion::Axis> its;
    for (const BlockRegion::Axis& axis : region.axes.at(from)) {
      const std::optional<BlockRegion::Axis> here = AxisIn(n, v, axis.index);
      if (!here || here->summed || DividesWeights(n, *here)) return std::nullopt;
      its.push_back(*here);
    }
    if (axes && !(*axes == its)) return std::nullopt;
    axes = std::move(its);
  }
  return axes;
}

// Adds nodes with small results on paths from the region back to it, if they have the axes. An
// example is an operator between the sum of each row and its use beside the row.
void BlockRegions::AddSmallNodes(BlockRegion* region) {
  const int first = region->nodes.front(), last = region->nodes.back();
  const BlockRegion large = *region;
  for (int n = first; n <= last; ++n) {
    if (region->Contains(n)) continue;
    if (auto axes = AxesIn(n, *region)) region->axes.emplace(n, *std::move(axes));
  }
  for (int n = last; n >= first; --n) {
    if (large.Contains(n) || !region->Contains(n)) continue;
    bool read = false, fits = true;
    for (const int user : uses_.Users(ValueOf(n))) {
      if (!region->Contains(user)) continue;
      read = true;
      const std::vector<Value>& inputs = uses_.nodes[user]->inputs();
      for (size_t j = 0; j < inputs.size(); ++j) {
        if (inputs[j] != ValueOf(n)) continue;
        for (size_t a = 0; a < region->extents.size(); ++a) {
          fits = fits && DividedDim(*region, user, a, j) == region->axes.at(n)[a].index;
        }
      }
    }
    if (!read || !fits) region->axes.erase(n);
  }
  SortNodes(region);
}

// Whether blocks of the axis would divide the weights of a product, which are packed.
bool BlockRegions::DividesWeights(int n, const BlockRegion::Axis& axis) {
  const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
  for (size_t j = 0; j < inputs.size(); ++j) {
    if (DividedDim(n, axis, j) < 0 || !uses_.is_static[uses_.NodeOf(inputs[j].node())]) continue;
    if (!pointwise_.Of(*uses_.nodes[n]).pointwise) return true;
  }
  return false;
}

int BlockRegions::Add(int n, std::vector<BlockRegion::Axis> axes, BlockRegion* region,
                      std::vector<int>* work) {
  auto [entry, fresh] = region->axes.try_emplace(n, axes);
  if (fresh) work->push_back(n);
  for (size_t a = 0; a < axes.size(); ++a) {
    if (!(entry->second[a] == axes[a])) return static_cast<int>(a);
  }
  return -1;
}

// Whether some value is reduced, or cut, and read again beside the result. The reduction may be an
// operator of its own.
bool BlockRegions::Pays(const BlockRegion& region) const {
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

// An axis at which some node reads values of the region, small ones too, not at the dimensions of
// their own axes, so that its block needs more than one block of its operands; or -1. Nothing of
// the region can read a sum over all blocks.
int BlockRegions::InconsistentAxis(const BlockRegion& region) {
  for (const int n : region.nodes) {
    const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
    for (size_t j = 0; j < inputs.size(); ++j) {
      const auto from = region.axes.find(uses_.NodeOf(inputs[j].node()));
      if (from == region.axes.end()) continue;
      for (size_t a = 0; a < from->second.size(); ++a) {
        const BlockRegion::Axis& its = from->second[a];
        if (its.summed || DividedDim(region, n, a, j) != its.index) return static_cast<int>(a);
      }
    }
  }
  return -1;
}

}  // namespace lemma::cpu
