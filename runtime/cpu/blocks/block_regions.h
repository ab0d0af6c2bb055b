// Finds the parts of a graph that can be computed block by block (blocks.h).
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_REGIONS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "runtime/cpu/blocks/blocks.h"
#include "runtime/cpu/blocks/carried_dims.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {

// Values that are computed together, by blocks of some dimensions: the axes. Nodes are positions in
// the order of BlockRegions::uses().
struct BlockRegion {
  // An axis as a node has it: a dimension of its result or, if `summed`, of its operands, along
  // which it adds up (SummedDimsOf).
  struct Axis {
    bool summed = false;
    int index = 0;  // the dimension, or the position in SummedDimsOf

    bool operator==(const Axis& o) const { return summed == o.summed && index == o.index; }
  };

  std::vector<int> nodes;                            // ascending
  absl::flat_hash_map<int, std::vector<Axis>> axes;  // by node; each node has all axes
  std::vector<int64_t> extents;                      // by axis

  bool Contains(int node) const { return axes.count(node) > 0; }
  // Whether the node's result is a sum over the blocks of some axis.
  bool IsSum(int node) const;
};

class BlockRegions {
 public:
  BlockRegions(const Graph& graph, const BlockOptions& options)
      : options_(options), graph_(graph), uses_(graph) {}

  // The region around a node of Seeds(), if there is one that gains something. Its axes that no
  // node sums over come first.
  std::optional<BlockRegion> Around(int seed);

  // The nodes with large results, the largest first.
  std::vector<int> Seeds() const;

  // The dimension of operand `input` of a node of the region that the axis divides; -1: none.
  int DividedDim(const BlockRegion& region, int node, size_t axis, size_t input);

  // Nodes of the region that depend on a node outside it that depends on the region. Before they
  // can be computed, something outside must be, so they are no part of one region with the others.
  std::vector<int> LateNodes(const BlockRegion& region) const;

  // Whether the result is too large to be kept whole beside the region last found.
  bool IsLarge(int n) const { return IsCandidate(n, floor_); }

  // SummedDimsOf, kept.
  static const std::vector<SummedDim>& SummedOf(const Node& node);

  const UseTable& uses() const { return uses_; }
  Value ValueOf(int n) const { return Value(uses_.nodes[n], 0); }

 private:
  bool IsCandidate(int n, int64_t bytes) const;
  const CarriedDims& Carried(int n);
  const std::vector<SummedDim>& Summed(int n) { return SummedOf(*uses_.nodes[n]); }
  int DividedDim(int n, const BlockRegion::Axis& axis, size_t input);
  std::optional<BlockRegion::Axis> AxisIn(int user, const Value& v, int dim);
  std::optional<std::vector<BlockRegion::Axis>> AxesIn(int n, const BlockRegion& region);
  int Grow(int seed, BlockRegion* region);
  bool DividesWeights(int n, const BlockRegion::Axis& axis);
  int Add(int n, std::vector<BlockRegion::Axis> axes, BlockRegion* region, std::vector<int>* work);
  static void SortNodes(BlockRegion* region);
  void AddSmallNodes(BlockRegion* region);
  bool Pays(const BlockRegion& region) const;
  int InconsistentAxis(const BlockRegion& region);

  const BlockOptions options_;
  const Graph graph_;
  const UseTable uses_;
  int64_t floor_ = 0;  // a value of the region that takes as many bytes is read only inside
  NodeTraitsCache pointwise_;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_REGIONS_H_
