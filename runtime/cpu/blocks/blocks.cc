#include "runtime/cpu/blocks/blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "graph/builder.h"
#include "graph/ops/formula.h"
#include "graph/rebuild.h"
#include "runtime/cpu/blocks/block_regions.h"
#include "runtime/cpu/blocks/block_text.h"
#include "runtime/cpu/blocks/carried_dims.h"
#include "runtime/cpu/blocks/separated_regions.h"
#include "runtime/plan/group_work.h"

namespace lemma::cpu {
namespace {

// The most bytes that all blocks may move of values that stay whole: kMostMoved times the bytes of
// the seed, or one byte for each kOperationsPerByte operations, whichever is more.
constexpr double kMostMoved = 8;
constexpr double kOperationsPerByte = 64;

// The indices along each axis, or along each dimension, for one block.
using Ranges = std::vector<Range>;

// Computes regions of a graph in blocks.
class Blocker {
 public:
  Blocker(const Graph& graph, const BlockOptions& options)
      : options_(options), regions_(graph, options) {}

  BlockRegions& regions() { return regions_; }

  // Values of the region that are read outside it, and what computes them in blocks; empty if it
  // cannot be done.
  ValueMap Replacements(const BlockRegion& region, int seed, ValueMap* origin) {
    const UseTable& uses = regions_.uses();
    const int64_t seed_bytes = regions_.ValueOf(seed).type().num_bytes();
    const std::vector<int64_t> sizes = BlockSizes(region, seed_bytes);
    if (sizes.empty()) return {};
    std::vector<int> results;
    for (const int n : region.nodes) {
      const Value v = regions_.ValueOf(n);
      bool outside = uses.IsOutput(v);
      for (const int user : uses.Users(v)) outside = outside || !region.Contains(user);
      if (outside) results.push_back(n);
    }
    Ranges ranges(sizes.size());
    std::vector<Value> made;
    done_.assign(results.size(), Value());
    if (!Emit(region, sizes, results, 0, &ranges, &made, origin)) return {};
    ValueMap replacements;
    for (size_t i = 0; i < results.size(); ++i) {
      replacements[regions_.ValueOf(results[i])] = made[i];
    }
    return replacements;
  }

 private:
  // Bytes that all blocks together read of values outside the region, and add to sums.
  double BytesMoved(const BlockRegion& region, const std::vector<int64_t>& sizes) {
    auto blocks = [&](size_t a) {
      return std::ceil(static_cast<double>(region.extents[a]) / sizes[a]);
    };
    double bytes = 0;
    for (const int n : region.nodes) {
      const Node& node = *regions_.uses().nodes[n];
      for (size_t j = 0; j < node.inputs().size(); ++j) {
        const Value& v = node.inputs()[j];
        if (region.Contains(regions_.uses().NodeOf(v.node()))) continue;
        double all = static_cast<double>(v.type().num_bytes());
        const std::vector<Digit> digits = regions_.DividedDigits(region, n, j);
        for (size_t a = 0; a < sizes.size(); ++a) {
          if (digits[a].dim < 0) all *= blocks(a);
        }
        bytes += all;
      }
      if (!region.IsSum(n)) continue;
      double sums = 1;
      for (size_t a = 0; a < sizes.size(); ++a) {
        if (region.axes.at(n)[a].summed) sums *= blocks(a);
      }
      bytes += 2 * (sums - 1) * static_cast<double>(node.type(0).num_bytes());
    }
    return bytes;
  }

  // Sizes of the blocks by axis, of as few bytes as possible from block_bytes on; empty if there is
  // no use in blocks.
  std::vector<int64_t> BlockSizes(const BlockRegion& region, int64_t bytes) {
    const double most = MostBytesMoved(region, bytes);
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
      if (blocks <= options_.max_blocks && BytesMoved(region, sizes) <= most) return sizes;
    }
    return {};
  }

  double MostBytesMoved(const BlockRegion& region, int64_t bytes) const {
    double flops = 0;
    for (const int n : region.nodes) flops += WorkOfGroup({regions_.uses().nodes[n]}).flops;
    return std::max(kMostMoved * static_cast<double>(bytes), flops / kOperationsPerByte);
  }

  // Computes the results within ranges[0 … axis) for all blocks of the other axes.
  bool Emit(const BlockRegion& region, const std::vector<int64_t>& sizes,
            const std::vector<int>& results, size_t axis, Ranges* ranges, std::vector<Value>* made,
            ValueMap* origin) {
    if (axis == sizes.size()) return EmitBlock(region, *ranges, results, made, origin);
    std::vector<std::vector<Value>> parts(results.size());
    for (int64_t begin = 0; begin < region.extents[axis]; begin += sizes[axis]) {
      (*ranges)[axis] = {begin, std::min(sizes[axis], region.extents[axis] - begin)};
      std::vector<Value> values;
      if (!Emit(region, sizes, results, axis + 1, ranges, &values, origin)) return false;
      for (size_t i = 0; i < results.size(); ++i) {
        if (region.axes.at(results[i])[axis].summed && !parts[i].empty()) {
          // Formula::Add would simplify a sum of equal parts, and CheckBlocks would not know it.
          auto sum = ApplyOp("add", {parts[i][0], values[i]}, {});
          if (!sum.ok()) return false;
          parts[i][0] = sum->front();
          origin->try_emplace(parts[i][0], regions_.ValueOf(results[i]));
        } else {
          parts[i].push_back(values[i]);
        }
        done_[i] = parts[i].back();
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const BlockRegion::Axis& its = region.axes.at(results[i])[axis];
      if (its.summed) {
        made->push_back(parts[i][0]);
        continue;
      }
      made->push_back(Formula(ApplyOp).Concat(std::move(parts[i]), its.index));
      origin->try_emplace(made->back(), regions_.ValueOf(results[i]));
    }
    return true;
  }

  // A value that is there when all results of the blocks before are. Empty if the order in which
  // nodes are executed (runtime/plan/schedule.h) needs no such help, since there is one result.
  Value BlocksBefore(int node, ValueMap* origin) {
    if (done_.size() < 2 || !done_[0]) return Value();
    Value all = done_[0];
    for (size_t i = 1; i < done_.size(); ++i) {
      all = Barrier(all, done_[i]);
      origin->try_emplace(all, regions_.ValueOf(node));
    }
    return all;
  }

  bool EmitBlock(const BlockRegion& region, const Ranges& ranges, const std::vector<int>& results,
                 std::vector<Value>* made, ValueMap* origin) {
    const UseTable& uses = regions_.uses();
    const Value before = BlocksBefore(region.nodes[0], origin);
    absl::flat_hash_map<Value, Value> block;  // of the region's values
    for (const int n : region.nodes) {
      const Node& node = *uses.nodes[n];
      bool waits = !before;
      for (const Value& v : node.inputs()) waits = waits || block.count(v) > 0;
      std::vector<Value> inputs;
      std::vector<Ranges> read;  // by operand and dimension
      for (size_t j = 0; j < node.inputs().size(); ++j) {
        const Value& v = node.inputs()[j];
        const auto indices =
            IndicesOf(regions_.DividedDigits(region, n, j), region.extents, ranges, v.shape());
        if (!indices) return false;
        read.push_back(*indices);
        if (auto inside = block.find(v); inside != block.end()) {
          inputs.push_back(inside->second);
          continue;
        }
        inputs.push_back(PartOf(v, *indices));
        if (!waits && !uses.is_static[uses.NodeOf(v.node())]) {
          inputs.back() = Barrier(inputs.back(), before);
          waits = true;
        }
        if (inputs.back() != v) origin->try_emplace(inputs.back(), regions_.ValueOf(n));
      }
      const auto made_here = IndicesOf(BlockRegions::ResultDigits(region, n), region.extents,
                                       ranges, node.type(0).shape);
      if (!made_here) return false;
      absl::StatusOr<std::vector<Value>> applied =
          ApplyOp(node.op().name, std::move(inputs), AttrsOfBlock(node, *made_here));
      if (!applied.ok() || applied->size() != 1) return false;
      const Value& now = applied->front();
      if (!IsBlockOf(region, n, ranges, *made_here, now)) return false;
      if (!regions_.CarriesAll(region, n) && !MovesBlockOf(node, read[0], *made_here, now)) {
        return false;
      }
      block[regions_.ValueOf(n)] = now;
      origin->try_emplace(now, regions_.ValueOf(n));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      made->push_back(block.at(regions_.ValueOf(results[i])));
      done_[i] = made->back();
    }
    return true;
  }

  static Value PartOf(const Value& v, const Ranges& indices) {
    std::vector<int64_t> starts;
    Shape sizes;
    for (const Range& range : indices) {
      starts.push_back(range.begin);
      sizes.push_back(range.size);
    }
    if (v.shape() == sizes) return v;
    const std::optional<double> number = Formula::Uniform(v);
    if (number && IsFloat(v.dtype())) {  // one value for all blocks, not a table that is cut
      return Formula(ApplyOp).Filled({v.dtype(), std::move(sizes)}, *number);
    }
    return Formula(ApplyOp).Slice(v, std::move(starts), std::move(sizes));
  }

  // The node's attributes, with the block's shape in place of the result's.
  static Attrs AttrsOfBlock(const Node& node, const Ranges& indices) {
    Attrs attrs = node.attrs();
    for (const char* name : {"shape", "sizes"}) {
      auto attr = attrs.find(name);
      if (attr == attrs.end() || !std::holds_alternative<Shape>(attr->second)) continue;
      Shape& shape = std::get<Shape>(attr->second);
      if (shape != node.type(0).shape) continue;
      for (size_t d = 0; d < shape.size(); ++d) shape[d] = indices[d].size;
    }
    return attrs;
  }

  // The extents of the variables of a sum of which a block adds up a part; empty if it is no sum,
  // nullopt if the part is not consecutive.
  std::optional<std::vector<std::pair<int, int64_t>>> PartOfSum(const BlockRegion& region, int n,
                                                                const Ranges& ranges) {
    const std::vector<SummedDim>& summed = BlockRegions::SummedOf(*regions_.uses().nodes[n]);
    Shape extents;
    for (const SummedDim& dim : summed) extents.push_back(dim.extent);
    std::vector<Digit> digits;
    std::vector<bool> divided(summed.size(), false);
    for (const BlockRegion::Axis& axis : region.axes.at(n)) {
      digits.push_back(axis.summed ? Digit{axis.index, axis.stride} : Digit{});
      if (axis.summed) divided[axis.index] = true;
    }
    const auto indices = IndicesOf(digits, region.extents, ranges, extents);
    if (!indices) return std::nullopt;
    std::vector<std::pair<int, int64_t>> parts;
    for (size_t s = 0; s < summed.size(); ++s) {
      if (divided[s]) parts.emplace_back(summed[s].variable, (*indices)[s].size);
    }
    return parts;
  }

  // Whether `now` has the type of a block of the node's result and, over the dimensions that it
  // carries or sums over, the node's definition.
  bool IsBlockOf(const BlockRegion& region, int n, const Ranges& ranges, const Ranges& indices,
                 const Value& now) {
    const Node& node = *regions_.uses().nodes[n];
    TensorType wanted = node.type(0);
    for (size_t d = 0; d < indices.size(); ++d) wanted.shape[d] = indices[d].size;
    const auto extents = PartOfSum(region, n, ranges);
    if (!extents || now.type() != wanted) return false;
    if (!regions_.CarriesAll(region, n)) return extents->empty();  // see MovesBlockOf
    const auto key = std::make_pair(HashApplication(node), HashApplication(now.node()));
    auto [entry, fresh] = compared_.try_emplace(key, false);
    if (!fresh) return entry->second;
    const auto whole = InlinedDefinition(node), block = InlinedDefinition(now.node());
    if (!whole || !block) return false;
    // Over one index, a definition may name it 0.
    std::vector<bool> zero(wanted.shape.size(), false);
    for (const BlockRegion::Axis& axis : region.axes.at(n)) {
      if (!axis.summed) zero[axis.index] = wanted.shape[axis.index] == 1;
    }
    const bool part_of_sum = !extents->empty();
    const ScalarExpr::Kind kind = block->tensors[0].body.kind();
    entry->second =
        (!part_of_sum || kind == ScalarExpr::Kind::kReduce) &&
        BodyAt(*whole, zero, part_of_sum, *extents) == BodyAt(*block, zero, part_of_sum, {});
    return entry->second;
  }

  // Whether `now`, applied to the indices `read` of the node's operand, moves its elements to the
  // indices `made` of the result.
  static bool MovesBlockOf(const Node& node, const Ranges& read, const Ranges& made,
                           const Value& now) {
    const std::optional<MovedDims>& whole = BlockRegions::MovedOf(node);
    const std::optional<MovedDims>& block = BlockRegions::MovedOf(now.node());
    return whole && block && MovesBlock(*whole, read, made, *block);
  }

  const BlockOptions options_;
  BlockRegions regions_;
  std::vector<Value> done_;  // by result: the part or partial sum computed last
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, bool> compared_;  // by both applications
};

// Composes the origins: `added` maps values of `changed`'s graph to values of the graph before.
void AddOrigins(const ValueMap& changed, const ValueMap& added, WideGraph* wide) {
  auto add = [wide](const ValueMap& origins) {
    for (const auto& [now, before] : origins) wide->origin.try_emplace(now, before);
  };
  ValueMap origins;  // not inserted before all are known, so their order does not matter
  for (const auto& [now, before] : added) origins.try_emplace(now, wide->OriginOf(before));
  add(origins);
  origins.clear();
  for (const auto& [before, now] : changed) origins.try_emplace(now, wide->OriginOf(before));
  add(origins);
}

// Whether a region around the value can be divided, or the graph does not compute the value.
bool IsDivisible(Blocker* blocker, const Value& value) {
  const auto& position = blocker->regions().uses().position;
  const auto at = position.find(&value.node());
  if (at == position.end()) return true;
  const int seed = at->second;
  const std::optional<BlockRegion> region = blocker->regions().Around(seed);
  ValueMap ignored;
  return region && region->late.empty() && !blocker->Replacements(*region, seed, &ignored).empty();
}

// Puts the separated regions in their places. If two wait for each other, only the first is kept.
WideGraph WithSeparated(const WideGraph& wide, std::vector<SeparatedRegion>* separated,
                        ValueMap* changed) {
  ValueMap all, origin;
  for (const SeparatedRegion& region : *separated) {
    all.insert(region.replacements.begin(), region.replacements.end());
    origin.insert(region.origin.begin(), region.origin.end());
  }
  WideGraph parts = wide;
  std::optional<Graph> graph = ReplaceValuesEverywhere(wide.graph, all, changed);
  if (!graph) {
    separated->resize(1);
    origin = separated->front().origin;
    changed->clear();
    graph = ReplaceValues(wide.graph, separated->front().replacements, changed);
  }
  parts.graph = *std::move(graph);
  AddOrigins(*changed, origin, &parts);
  return parts;
}

// Separates the regions that depend on themselves through nodes outside them and whose two parts
// can both be divided; false: there is no such region left to try. `tried` has origins of values
// around which regions were sought.
bool SeparateAll(const BlockOptions& options, absl::flat_hash_set<Value>* tried, WideGraph* wide) {
  Blocker blocker(wide->graph, options);
  BlockRegions& regions = blocker.regions();
  absl::flat_hash_set<int> taken;  // nodes of the regions found
  std::vector<SeparatedRegion> found;
  for (const int seed : regions.Seeds()) {
    const Value origin = wide->OriginOf(regions.ValueOf(seed));
    if (taken.count(seed) > 0 || tried->count(origin) > 0) continue;
    const std::optional<BlockRegion> region = regions.Around(seed);
    const bool late = region && !region->late.empty();
    const bool overlaps = late && std::any_of(region->nodes.begin(), region->nodes.end(),
                                              [&](int n) { return taken.count(n) > 0; });
    if (overlaps) continue;  // in a later call
    tried->insert(origin);
    if (!late) continue;
    std::optional<SeparatedRegion> separated = Separated(regions, *region);
    if (!separated) continue;
    taken.insert(region->nodes.begin(), region->nodes.end());
    found.push_back(*std::move(separated));
  }
  const bool any = !found.empty();
  while (!found.empty()) {
    ValueMap changed;
    WideGraph parts = WithSeparated(*wide, &found, &changed);
    Blocker after(parts.graph, options);
    auto now = [&](const Value& v) {
      const auto at = changed.find(v);
      return at == changed.end() ? v : at->second;
    };
    std::vector<SeparatedRegion> good;
    for (const SeparatedRegion& region : found) {
      const bool divisible =
          std::any_of(region.recomputed.begin(), region.recomputed.end(), [&](const auto& pair) {
            return IsDivisible(&after, now(pair.first)) && IsDivisible(&after, now(pair.second));
          });
      if (divisible) good.push_back(region);
    }
    if (good.size() == found.size()) {
      *wide = std::move(parts);
      break;
    }
    found = std::move(good);
  }
  return any;
}

// Puts the blocks of all regions that can be divided in their places; false: there is none. `tried`
// has origins of values around which earlier calls looked for regions.
bool DivideAll(const BlockOptions& options, absl::flat_hash_set<Value>* tried, WideGraph* wide) {
  Blocker blocker(wide->graph, options);
  BlockRegions& regions = blocker.regions();
  absl::flat_hash_set<int> taken;             // nodes of the regions found
  std::vector<ValueMap> found;                // replacements, by region
  std::vector<Value> now_tried, first_tried;  // origins; of the first region alone
  ValueMap added;
  for (const int seed : regions.Seeds()) {
    const Value origin = wide->OriginOf(regions.ValueOf(seed));
    if (taken.count(seed) > 0 || tried->count(origin) > 0) continue;
    const std::optional<BlockRegion> region = regions.Around(seed);
    if (!region || !region->late.empty()) {
      now_tried.push_back(origin);
      continue;
    }
    const bool overlaps = std::any_of(region->nodes.begin(), region->nodes.end(),
                                      [&](int n) { return taken.count(n) > 0; });
    if (overlaps) continue;
    now_tried.push_back(origin);
    ValueMap replacements = blocker.Replacements(*region, seed, &added);
    if (replacements.empty()) continue;
    for (const int n : region->nodes) now_tried.push_back(wide->OriginOf(regions.ValueOf(n)));
    if (found.empty()) first_tried = now_tried;
    taken.insert(region->nodes.begin(), region->nodes.end());
    found.push_back(std::move(replacements));
  }
  if (found.empty()) return false;
  ValueMap all, changed;
  for (const ValueMap& replacements : found) all.insert(replacements.begin(), replacements.end());
  std::optional<Graph> graph = ReplaceValuesEverywhere(wide->graph, all, &changed);
  if (!graph) {  // two regions wait for each other
    graph = ReplaceValues(wide->graph, found[0], &changed);
    now_tried = std::move(first_tried);
  }
  tried->insert(now_tried.begin(), now_tried.end());
  wide->graph = *std::move(graph);
  AddOrigins(changed, added, wide);
  return true;
}

}  // namespace

WideGraph InBlocks(WideGraph wide, const BlockOptions& options) {
  const auto& nodes = wide.graph.nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](const NodePtr& node) {
    return node->is_op() && node->type(0).num_bytes() >= options.large_bytes;
  });
  if (!any) return wide;
  absl::flat_hash_set<Value> separated, divided;
  while (SeparateAll(options, &separated, &wide)) {
  }
  while (DivideAll(options, &divided, &wide)) {
  }
  return wide;
}

}  // namespace lemma::cpu
