// Cleans up loop nests. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_

#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Removes nodes that the root does not need and recounts uses.
void Compact(Nest* nest);

// Merges two adjacent axes into one if the whole nest depends on them only through outer * extent +
// inner. MergeAxes works in place on `axes`, which is &nest->axes or a list of some of its
// elements; MergeReductionAxes works on the axes of each reduction.
void MergeAxes(Nest* nest, std::vector<int>* axes);
void MergeReductionAxes(Nest* nest);

// Recomputes Node::deps, Node::dep_list and Cond::deps from the nodes.
void RecomputeDeps(Nest* nest);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
