// Which loop becomes the lanes. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_

#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Chooses the lane variables of `nest` by estimated time and fills in all that is said to be set
// by scheduling. A nest has at most one lane among its axes; a reduction that does not depend on
// it makes one of its own axes the lane of its body.
void Schedule(Nest* nest);

// The same, choosing among the given lanes: some of nest->axes, or -1.
void ScheduleAmong(Nest* nest, const std::vector<int>& lanes);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_
