// Clean-up of loop nests. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_

#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Drops what the root does not need and recounts uses.
void Compact(Nest* nest);

// Makes one axis of two adjacent ones wherever the whole nest depends on them only through
// outer * extent + inner: of `axes`, in place, which are among nest->axes or these themselves; or
// of each reduction.
void MergeAxes(Nest* nest, std::vector<int>* axes);
void MergeReductionAxes(Nest* nest);

// Sets Node::deps, Node::dep_list and Cond::deps from what the nodes mention.
void RecomputeDeps(Nest* nest);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_MERGE_H_
