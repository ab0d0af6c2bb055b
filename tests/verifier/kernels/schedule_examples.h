// Small graphs whose CUDA kernels together use the schedules by element, by row and by tile
// (kernels/codegen/grid_program.h).
#ifndef LEMMA_TESTS_VERIFIER_KERNELS_SCHEDULE_EXAMPLES_H_
#define LEMMA_TESTS_VERIFIER_KERNELS_SCHEDULE_EXAMPLES_H_

#include <vector>

#include "graph/graph.h"

namespace lemma {

struct ScheduleExample {
  const char* name;
  const char* text;  // the graph in the text form
};

std::vector<ScheduleExample> ScheduleExamples();
Graph GraphOfExample(const ScheduleExample& example);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_KERNELS_SCHEDULE_EXAMPLES_H_
