// Cleans up loop nests: removes unused nodes and merges axes. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_

#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Removes the nodes and conditions that neither the root nor Nest::out needs, and calls
// RecomputeDeps.
void Compact(Nest* nest);

// These functions merge two adjacent axes into one if the whole nest depends on them only through
// outer * extent + inner. MergeAxes removes merged axes from `*axes`, which is nest->axes or
// another list of axes of the nest. If it is another list, nest->axes stays as it is, and the
// caller must update it. MergeReductionAxes merges axes of constant extents in each reduction.
void MergeAxes(Nest* nest, std::vector<int>* axes);
void MergeReductionAxes(Nest* nest);

// Recomputes IndexLeaf::deps, Cond::deps, Node::deps, Node::dep_list and Node::uses.
void RecomputeDeps(Nest* nest);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
