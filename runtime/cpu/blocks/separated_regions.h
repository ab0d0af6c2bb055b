// Separates a region whose values are needed again much later into two regions
// that can each be computed in blocks (blocks.h). The second region recomputes
// the values of the first that it needs.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_SEPARATED_REGIONS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_SEPARATED_REGIONS_H_

#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/rebuild.h"
#include "runtime/cpu/blocks/block_regions.h"

namespace lemma::cpu {

struct SeparatedRegion {
  ValueMap replacements;  // from the late nodes' values to the values in their places
  ValueMap origin;        // from each copy, and each barrier made for it, to the value copied
  // The recomputed values and their copies, the largest first.
  std::vector<std::pair<Value, Value>> recomputed;
};

// Separates the late nodes of a region (BlockRegion::late) from its other nodes. Late nodes read
// large values of the other nodes: in a step of training, the gradient of attention reads the
// probabilities. In the result, late nodes read copies of these values. The copies are recomputed,
// behind barriers (graph/barrier.h), from values that are in memory as a whole. nullopt if no large
// value has to be recomputed, if recomputing takes more than three tenths of the region's
// operations, or if late nodes depend on each other through nodes outside.
std::optional<SeparatedRegion> Separated(const BlockRegions& regions, const BlockRegion& region);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_SEPARATED_REGIONS_H_
