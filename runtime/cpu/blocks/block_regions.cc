#include "runtime/cpu/blocks/block_regions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/ops/formula.h"
#include "runtime/cpu/blocks/cascades.h"
#include "runtime/cpu/blocks/kept.h"

namespace lemma::cpu {

bool BlockRegion::IsSum(int node) const {
  const std::vector<Axis>& its = axes.at(node);
  return std::any_of(its.begin(), its.end(), [](const Axis& axis) { return axis.summed; });
}

namespace {

// The axes whose digits belong to dimension d, the outer digits first.
std::vector<size_t> AxesOfDim(const std::vector<Digit>& digits, size_t d) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < digits.size(); ++a) {
    if (digits[a].dim == static_cast<int>(d)) axes.push_back(a);
  }
  std::sort(axes.begin(), axes.end(),
            [&](size_t a, size_t b) { return digits[a].stride > digits[b].stride; });
  return axes;
}

// Whether, of the digits of each dimension, the outer ones have the outer loops: the first axes.
// Only then do blocks, put together loop by loop, lie in the order of the indices.
bool AreInLoopOrder(const std::vector<Digit>& digits, const Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::vector<size_t> axes = AxesOfDim(digits, d);
    if (!std::is_sorted(axes.begin(), axes.end())) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Range>> IndicesOf(const std::vector<Digit>& digits,
                                            const std::vector<int64_t>& extents,
                                            const std::vector<Range>& ranges, const Shape& shape) {
  std::vector<Range> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::vector<size_t> axes = AxesOfDim(digits, d);
    Range now{0, shape[d]};
    int64_t unit = shape[d];
    bool several = false;  // whether an outer digit has several values
    for (const size_t a : axes) {
      if (digits[a].stride * extents[a] != unit) return std::nullopt;
      unit = digits[a].stride;
      if (several) {
        if (ranges[a].size != extents[a]) return std::nullopt;
        continue;
      }
      now = {now.begin + ranges[a].begin * unit, ranges[a].size * unit};
      several = ranges[a].size > 1;
    }
    indices.push_back(now);
  }
  return indices;
}

std::optional<BlockRegion> BlockRegions::Around(int seed) {
  const Value v = ValueOf(seed);
  floor_ = std::max(options_.large_bytes, CountedBytes(v.type()) / 4);
  std::vector<BlockRegion::Axis> axes;
  std::vector<int64_t> extents;
  for (int d = 0; d < v.type().rank(); ++d) {
    if (v.shape()[d] <= 1) continue;
    axes.push_back({false, d});
    extents.push_back(v.shape()[d]);
  }
  std::optional<BlockRegion> found = Find(seed, std::move(axes), std::move(extents));
  if (!found) return std::nullopt;
  // A sum over blocks is complete too late for a node that needs it. Over whole lines it is not.
  std::optional<BlockRegion> other = found;
  while (other) {
    const int delaying = FindLateNodes(&*other);
    if (other->late.empty()) return other;
    if (delaying < 0) break;
    axes = other->axes.at(seed);
    extents = other->extents;
    axes.erase(axes.begin() + delaying);
    extents.erase(extents.begin() + delaying);
    other = Find(seed, std::move(axes), std::move(extents));
  }
  FindLateNodes(&*found);
  return found;
}

// The region with these axes of the seed, or with fewer or their digits.
std::optional<BlockRegion> BlockRegions::Find(int seed, std::vector<BlockRegion::Axis> axes,
                                              std::vector<int64_t> extents) {
  while (!axes.empty()) {
    BlockRegion region;
    region.axes[seed] = axes;
    region.extents = extents;
    Lost lost = Grow(seed, &region);
    std::vector<size_t> order;
    if (lost.axis < 0) {
      SortNodes(&region);
      lost = InconsistentAxis(region);
    }
    if (lost.axis < 0) lost = Order(region, &order);
    if (lost.axis >= 0) {
      const int a = lost.axis;
      if (lost.inner > 1 && lost.inner < extents[a] && extents[a] % lost.inner == 0) {
        BlockRegion::Axis outer = axes[a];
        outer.stride *= lost.inner;
        axes.insert(axes.begin() + a, outer);
        extents.insert(extents.begin() + a, extents[a] / lost.inner);
        extents[a + 1] = lost.inner;
      } else {
        axes.erase(axes.begin() + a);
        extents.erase(extents.begin() + a);
      }
      continue;
    }
    const bool pays = region.nodes.size() > 1 &&
                      (!options_.only_cascades || HasCascade(uses_, region.nodes, floor_));
    if (!pays) return std::nullopt;
    for (auto& [node, its] : region.axes) {
      const std::vector<BlockRegion::Axis> before = its;
      for (size_t a = 0; a < order.size(); ++a) its[a] = before[order[a]];
    }
    for (size_t a = 0; a < order.size(); ++a) region.extents[a] = extents[order[a]];
    AddSmallNodes(&region);
    return region;
  }
  return std::nullopt;
}

std::vector<int> BlockRegions::Seeds() const {
  std::vector<int> seeds;
  for (size_t n = 0; n < uses_.nodes.size(); ++n) {
    const int at = static_cast<int>(n);
    if (IsCandidate(at, options_.large_bytes) &&
        ValueOf(at).type().num_bytes() >= options_.large_bytes) {
      seeds.push_back(at);
    }
  }
  std::stable_sort(seeds.begin(), seeds.end(), [&](int a, int b) {
    return ValueOf(a).type().num_bytes() > ValueOf(b).type().num_bytes();
  });
  return seeds;
}

std::vector<Digit> BlockRegions::DividedDigits(const BlockRegion& region, int node, size_t input) {
  std::vector<Digit> digits;
  const std::vector<BlockRegion::Axis>& axes = region.axes.at(node);
  for (size_t a = 0; a < axes.size(); ++a) {
    int64_t inner = 0;
    digits.push_back(
        DividedDigit(node, axes[a], region.extents[a], input, &inner).value_or(Digit{}));
  }
  return digits;
}

std::vector<Digit> BlockRegions::ResultDigits(const BlockRegion& region, int node) {
  std::vector<Digit> digits;
  for (const BlockRegion::Axis& axis : region.axes.at(node)) {
    digits.push_back(axis.summed ? Digit{} : Digit{axis.index, axis.stride});
  }
  return digits;
}

bool BlockRegions::CarriesAll(const BlockRegion& region, int node) {
  const std::vector<BlockRegion::Axis>& axes = region.axes.at(node);
  return std::all_of(axes.begin(), axes.end(), [&](const BlockRegion::Axis& axis) {
    return axis.summed || IsCarried(node, axis);
  });
}

// Sets region->late. Returns an axis whose sum delays a late node; -1: none.
int BlockRegions::FindLateNodes(BlockRegion* region) const {
  region->late.clear();
  // Nodes that depend on the region through one outside it; the axis whose sum they wait for, or
  // -1.
  absl::flat_hash_map<int, int> behind;
  int delaying = -1;
  auto summed_axis = [&](int n) {
    const std::vector<BlockRegion::Axis>& axes = region->axes.at(n);
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].summed) return static_cast<int>(a);
    }
    return -1;
  };
  for (int n = region->nodes.front(); n <= region->nodes.back(); ++n) {
    const bool inside = region->Contains(n);
    bool depends = false;
    int axis = -1;
    for (const Value& v : uses_.nodes[n]->inputs()) {
      const int from = uses_.NodeOf(v.node());
      const auto known = behind.find(from);
      const bool leaves = !inside && region->Contains(from);
      if (known == behind.end() && !leaves) continue;
      depends = true;
      if (known != behind.end() && axis < 0) axis = known->second;
      if (leaves && axis < 0) axis = summed_axis(from);
    }
    if (!depends) continue;
    behind[n] = axis;
    if (!inside) continue;
    region->late.push_back(n);
    if (delaying < 0) delaying = axis;
  }
  return delaying;
}

// Whether the node is computed at run time and its only result, of at least `bytes` bytes, is not
// an output of the graph.
bool BlockRegions::IsCandidate(int n, int64_t bytes) const {
  const Node& node = *uses_.nodes[n];
  return node.is_op() && !uses_.is_static[n] && node.num_outputs() == 1 &&
         CountedBytes(node.type(0)) >= bytes && !uses_.IsOutput(ValueOf(n));
}

const CarriedDims& BlockRegions::Carried(int n) {
  return KeptOf<CarriedDims, CarriedDimsOf>(*uses_.nodes[n]);
}

const std::vector<SummedDim>& BlockRegions::SummedOf(const Node& node) {
  return KeptOf<std::vector<SummedDim>, SummedDimsOf>(node);
}

const std::optional<MovedDims>& BlockRegions::MovedOf(const Node& node) {
  return KeptOf<std::optional<MovedDims>, MovedDimsOf>(node);
}

// Whether the node carries the dimension of the axis, all its digits.
bool BlockRegions::IsCarried(int n, const BlockRegion::Axis& axis) {
  return !Carried(n).empty() && !Carried(n)[axis.index].empty();
}

// The digit of operand `input` that the axis divides; its dim is -1 if the axis divides none.
// nullopt if the node does not have the axis; *inner as in DigitOfInput.
std::optional<Digit> BlockRegions::DividedDigit(int n, const BlockRegion::Axis& axis,
                                                int64_t extent, size_t input, int64_t* inner) {
  if (axis.summed) return Digit{Summed(n)[axis.index].dims[input], axis.stride};
  if (IsCarried(n, axis)) return Digit{Carried(n)[axis.index][input], axis.stride};
  const std::optional<MovedDims>& moved = MovedOf(*uses_.nodes[n]);
  if (!moved) return std::nullopt;
  return DigitOfInput(*moved, {axis.index, axis.stride}, extent, inner);
}

// The axis of node `user` that divides the digit of operand v; nullopt: the node neither carries it
// nor sums over it.
std::optional<BlockRegion::Axis> BlockRegions::AxisIn(int user, const Value& v, const Digit& digit,
                                                      int64_t extent, int64_t* inner) {
  const std::vector<Value>& inputs = uses_.nodes[user]->inputs();
  auto reads = [&](const std::vector<int>& dims) {
    if (dims.empty()) return false;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == v && dims[j] != digit.dim) return false;
    }
    return true;
  };
  const CarriedDims& carried = Carried(user);
  for (size_t d = 0; d < carried.size(); ++d) {
    if (reads(carried[d])) return BlockRegion::Axis{false, static_cast<int>(d), digit.stride};
  }
  const std::vector<SummedDim>& summed = Summed(user);
  for (size_t s = 0; s < summed.size(); ++s) {
    if (!reads(summed[s].dims)) continue;
    // Each block adds to the whole sum, so the sum has to be small.
    if (uses_.nodes[user]->type(0).num_bytes() > v.type().num_bytes() / 2) continue;
    return BlockRegion::Axis{true, static_cast<int>(s), digit.stride};
  }
  const std::optional<MovedDims>& moved = MovedOf(*uses_.nodes[user]);
  if (!moved) return std::nullopt;
  const std::optional<Digit> moved_to = DigitOfResult(*moved, digit, extent, inner);
  if (!moved_to) return std::nullopt;
  return BlockRegion::Axis{false, moved_to->dim, moved_to->stride};
}

// Adds the nodes that must be computed together with the large values of the region. Returns an
// axis that some of them does not have.
BlockRegions::Lost BlockRegions::Grow(int seed, BlockRegion* region) {
  std::vector<int> work = {seed};
  const std::vector<int64_t>& extents = region->extents;
  for (size_t next = 0; next < work.size(); ++next) {
    const int n = work[next];
    const std::vector<BlockRegion::Axis> axes = region->axes.at(n);
    const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
    std::vector<std::vector<Digit>> digits(inputs.size());  // by operand and axis
    for (size_t a = 0; a < axes.size(); ++a) {
      int64_t inner = 0;
      const bool has = axes[a].summed || IsCarried(n, axes[a]) || !inputs.empty();
      for (size_t j = 0; has && j < inputs.size(); ++j) {
        const auto digit = DividedDigit(n, axes[a], extents[a], j, &inner);
        if (!digit) return {static_cast<int>(a), inner};
        digits[j].push_back(*digit);
      }
      if (!has || DividesWeights(n, axes[a], extents[a])) return {static_cast<int>(a)};
    }
    const Value v = ValueOf(n);
    if (IsCandidate(n, floor_) && !region->IsSum(n)) {
      for (const int user : uses_.Users(v)) {
        std::vector<BlockRegion::Axis> its;
        for (size_t a = 0; a < axes.size(); ++a) {
          int64_t inner = 0;
          const std::optional<BlockRegion::Axis> axis =
              AxisIn(user, v, {axes[a].index, axes[a].stride}, extents[a], &inner);
          if (!axis) return {static_cast<int>(a), inner};
          its.push_back(*axis);
        }
        const Lost lost = Add(user, std::move(its), region, &work);
        if (lost.axis >= 0) return lost;
      }
    }
    for (size_t j = 0; j < inputs.size(); ++j) {
      const int from = uses_.NodeOf(inputs[j].node());
      if (!IsCandidate(from, floor_)) continue;
      std::vector<BlockRegion::Axis> its(axes.size());
      bool whole = false;
      for (size_t a = 0; a < axes.size(); ++a) {
        its[a] = {false, digits[j][a].dim, digits[j][a].stride};
        whole = whole || its[a].index < 0;
      }
      if (whole) continue;
      const Lost lost = Add(from, std::move(its), region, &work);
      if (lost.axis >= 0) return lost;
    }
  }
  return {};
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
    const std::vector<BlockRegion::Axis>& there = region.axes.at(from);
    for (size_t a = 0; a < there.size(); ++a) {
      int64_t inner = 0;
      const Digit digit{there[a].index, there[a].stride};
      const auto here = AxisIn(n, v, digit, region.extents[a], &inner);
      if (!here || here->summed || DividesWeights(n, *here, region.extents[a])) return std::nullopt;
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
    auto axes = AxesIn(n, *region);
    if (!axes) continue;
    region->axes.emplace(n, *std::move(axes));
    // Order knows only the large nodes.
    const Node& node = *uses_.nodes[n];
    bool ordered = AreInLoopOrder(ResultDigits(*region, n), node.type(0).shape);
    for (size_t j = 0; ordered && j < node.inputs().size(); ++j) {
      ordered = AreInLoopOrder(DividedDigits(*region, n, j), node.inputs()[j].shape());
    }
    if (!ordered) region->axes.erase(n);
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
        fits = fits && DividedDigits(*region, user, j) == ResultDigits(*region, n);
      }
    }
    if (!read || !fits) region->axes.erase(n);
  }
  SortNodes(region);
}

// Whether blocks of the axis would divide the weights of a product, which are packed.
bool BlockRegions::DividesWeights(int n, const BlockRegion::Axis& axis, int64_t extent) {
  const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
  for (size_t j = 0; j < inputs.size(); ++j) {
    if (!uses_.is_static[uses_.NodeOf(inputs[j].node())] || Formula::Uniform(inputs[j])) continue;
    int64_t inner = 0;
    if (DividedDigit(n, axis, extent, j, &inner).value_or(Digit{}).dim < 0) continue;
    const std::vector<bool>& reduces = ReductionsIn(*uses_.nodes[n]).of_input;
    if (j < reduces.size() && reduces[j]) return true;
  }
  return false;
}

BlockRegions::Lost BlockRegions::Add(int n, std::vector<BlockRegion::Axis> axes,
                                     BlockRegion* region, std::vector<int>* work) {
  auto [entry, fresh] = region->axes.try_emplace(n, axes);
  if (fresh) work->push_back(n);
  for (size_t a = 0; a < axes.size(); ++a) {
    if (!(entry->second[a] == axes[a])) return {static_cast<int>(a)};
  }
  return {};
}

// An axis at which some node reads values of the region, small ones too, not at the digits of their
// own axes, so that its block needs more than one block of its operands. Nothing of the region can
// read a sum over all blocks.
BlockRegions::Lost BlockRegions::InconsistentAxis(const BlockRegion& region) {
  for (const int n : region.nodes) {
    const std::vector<Value>& inputs = uses_.nodes[n]->inputs();
    for (size_t j = 0; j < inputs.size(); ++j) {
      const auto from = region.axes.find(uses_.NodeOf(inputs[j].node()));
      if (from == region.axes.end()) continue;
      const std::vector<Digit> digits = DividedDigits(region, n, j);
      for (size_t a = 0; a < digits.size(); ++a) {
        const BlockRegion::Axis& its = from->second[a];
        if (its.summed || digits[a] != Digit{its.index, its.stride}) return {static_cast<int>(a)};
      }
    }
  }
  return {};
}

// Orders the axes: those that no node sums over first, and of the digits of one dimension the outer
// ones. Returns an axis that prevents this, or that is a digit below one that is no axis.
BlockRegions::Lost BlockRegions::Order(const BlockRegion& region, std::vector<size_t>* order) {
  const size_t count = region.extents.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
  // Adds what the digits of a tensor, by axis, ask for; returns an axis whose outer digit is
  // missing.
  auto add = [&](const std::vector<Digit>& digits, const Shape& sizes) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      const std::vector<size_t> axes = AxesOfDim(digits, d);
      int64_t unit = sizes[d];
      for (size_t i = 0; i < axes.size(); ++i) {
        if (digits[axes[i]].stride * region.extents[axes[i]] != unit) {
          return static_cast<int>(axes[i]);
        }
        unit = digits[axes[i]].stride;
        if (i > 0) before[axes[i - 1]][axes[i]] = true;
      }
    }
    return -1;
  };
  std::vector<bool> is_summed(count, false);
  for (const int n : region.nodes) {
    const Node& node = *uses_.nodes[n];
    const std::vector<BlockRegion::Axis>& axes = region.axes.at(n);
    if (const int lost = add(ResultDigits(region, n), node.type(0).shape); lost >= 0) return {lost};
    for (size_t j = 0; j < node.inputs().size(); ++j) {
      const int lost = add(DividedDigits(region, n, j), node.inputs()[j].shape());
      if (lost >= 0) return {lost};
    }
    for (size_t a = 0; a < count; ++a) is_summed[a] = is_summed[a] || axes[a].summed;
  }
  std::vector<size_t> wanted(count);
  std::iota(wanted.begin(), wanted.end(), 0);
  std::stable_partition(wanted.begin(), wanted.end(), [&](size_t a) { return !is_summed[a]; });
  std::vector<bool> placed(count, false);
  while (order->size() < count) {
    const auto next = std::find_if(wanted.begin(), wanted.end(), [&](size_t a) {
      for (size_t b = 0; b < count; ++b) {
        if (before[b][a] && !placed[b]) return false;
      }
      return !placed[a];
    });
    if (next == wanted.end()) {
      const auto stuck = std::find(placed.begin(), placed.end(), false);
      return {static_cast<int>(stuck - placed.begin())};
    }
    placed[*next] = true;
    order->push_back(*next);
  }
  return {};
}

}  // namespace lemma::cpu
