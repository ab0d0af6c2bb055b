// Chooses the loops that are vectorized (the lanes) by estimated time. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_

#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

// Chooses the lane variables of `nest` and fills in all fields that are "set by scheduling". A nest
// has at most one lane among its axes, which becomes the last axis. A reduction that does not
// depend on this lane may use one of its own axes as the lane of its body.
void Schedule(Nest* nest);

// The same, but chooses the nest's lane among `lanes`. An element of `lanes` is one of nest->axes,
// or -1 for no lane.
void ScheduleAmong(Nest* nest, const std::vector<int>& lanes);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_SCHEDULE_H_
