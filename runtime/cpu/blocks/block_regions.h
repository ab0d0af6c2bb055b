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
#include "runtime/cpu/blocks/moved_dims.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {

// Values that are computed together, by blocks of some dimensions: the axes. Nodes are positions in
// the order of BlockRegions::uses().
struct BlockRegion {
  // An axis as a node has it: a dimension of its result or, if `summed`, of its operands, along
  // which it adds up (SummedDimsOf). If a reshape merges dimensions, several axes are digits of one
  // dimension.
  struct Axis {
    bool summed = false;
    int index = 0;       // the dimension, or the position in SummedDimsOf
    int64_t stride = 1;  // the axis is the digit of this stride

    bool operator==(const Axis& o) const {
      return summed == o.summed && index == o.index && stride == o.stride;
    }
  };

  std::vector<int> nodes;                            // ascending
  absl::flat_hash_map<int, std::vector<Axis>> axes;  // by node; each node has all axes
  std::vector<int64_t> extents;                      // by axis
  // Nodes of the region that depend on it through a node outside. The outside
  // node has to be computed after other nodes of the region and before these
  // nodes, so one block cannot contain all of them.
  std::vector<int> late;

  bool Contains(int node) const { return axes.count(node) > 0; }
  // Whether the node's result is a sum over the blocks of some axis.
  bool IsSum(int node) const;
};

// By dimension: the indices of a tensor of `shape` for which each axis a is in
// ranges[a]. Axis a has extents[a] values and is the digit digits[a] of an
// index (of no index if the digit's dim is -1). nullopt if the indices are not
// consecutive.
std::optional<std::vector<Range>> IndicesOf(const std::vector<Digit>& digits,
                                            const std::vector<int64_t>& extents,
                                            const std::vector<Range>& ranges, const Shape& shape);

class BlockRegions {
 public:
  BlockRegions(const Graph& graph, const BlockOptions& options)
      : options_(options), graph_(graph), uses_(graph) {}

  // The region around a node of Seeds(), if there is one that gains something. The axes are in this
  // order: the outer digits of a dimension come before its inner digits and, where this leaves a
  // choice, axes that no node sums over come first.
  std::optional<BlockRegion> Around(int seed);

  // The nodes with large results, the largest first.
  std::vector<int> Seeds() const;

  // By axis: the digit of operand `input` of the region's node `node` that the
  // axis divides; the digit's dim is -1 if the axis divides none.
  std::vector<Digit> DividedDigits(const BlockRegion& region, int node, size_t input);
  // The digits of the node's result; none for axes that the node sums over.
  static std::vector<Digit> ResultDigits(const BlockRegion& region, int node);
  // Whether the node sums over each axis or carries its dimension (carried_dims.h). False for a
  // node, such as a reshape, that has an axis only because it moves elements.
  bool CarriesAll(const BlockRegion& region, int node);

  // Whether the result of node `n` is too large to be kept whole beside the
  // region that was found last.
  bool IsLarge(int n) const { return IsCandidate(n, floor_); }

  // SummedDimsOf and MovedDimsOf, cached (kept.h).
  static const std::vector<SummedDim>& SummedOf(const Node& node);
  static const std::optional<MovedDims>& MovedOf(const Node& node);

  const UseTable& uses() const { return uses_; }
  Value ValueOf(int n) const { return Value(uses_.nodes[n], 0); }

 private:
  // An axis that some node does not have. If `inner` > 1, two digits in place of the axis may be
  // tried, the inner one of this extent.
  struct Lost {
    int axis = -1;  // -1: none
    int64_t inner = 0;
  };

  bool IsCandidate(int n, int64_t bytes) const;
  const CarriedDims& Carried(int n);
  const std::vector<SummedDim>& Summed(int n) { return SummedOf(*uses_.nodes[n]); }
  bool IsCarried(int n, const BlockRegion::Axis& axis);
  std::optional<Digit> DividedDigit(int n, const BlockRegion::Axis& axis, int64_t extent,
                                    size_t input, int64_t* inner);
  std::optional<BlockRegion::Axis> AxisIn(int user, const Value& v, const Digit& digit,
                                          int64_t extent, int64_t* inner);
  std::optional<std::vector<BlockRegion::Axis>> AxesIn(int n, const BlockRegion& region);
  std::optional<BlockRegion> Find(int seed, std::vector<BlockRegion::Axis> axes,
                                  std::vector<int64_t> extents);
  int FindLateNodes(BlockRegion* region) const;
  Lost Grow(int seed, BlockRegion* region);
  bool DividesWeights(int n, const BlockRegion::Axis& axis, int64_t extent);
  Lost Add(int n, std::vector<BlockRegion::Axis> axes, BlockRegion* region, std::vector<int>* work);
  static void SortNodes(BlockRegion* region);
  void AddSmallNodes(BlockRegion* region);
  Lost InconsistentAxis(const BlockRegion& region);
  Lost Order(const BlockRegion& region, std::vector<size_t>* order);

  const BlockOptions options_;
  const Graph graph_;
  const UseTable uses_;
  // A value of the region with at least this many counted bytes (CountedBytes) is read only inside
  // the region, unless it is a sum or an output of the graph.
  int64_t floor_ = 0;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_REGIONS_H_
