// Reduces a subject that shows a fault to a small one that still shows it.
#ifndef LEMMA_API_HUNTING_REDUCE_H_
#define LEMMA_API_HUNTING_REDUCE_H_

#include <cstdint>
#include <functional>

#include "api/hunting/subject.h"
#include "base/deadline.h"

namespace lemma::hunt {

struct ReduceOptions {
  int64_t most_tests = 4000;  // calls of the test
  // May be empty. Called when no operator can be removed alone; true ends the reduction.
  std::function<bool(const Subject&)> is_known;
  Deadline deadline;
};

// Makes `subject` smaller as long as `shows_fault` says that the smaller one still shows the fault:
// fewer outputs, operators, operands and inputs, smaller sizes, simpler attributes, simpler values.
// Values that are cut off become inputs or weights, with the values that the definitions give.
// Repeats until nothing can be removed alone, or a limit is reached. Returns `subject` itself if
// the definitions give it no values. Equal subjects give equal results, time limits aside.
Subject Reduced(const Subject& subject, const std::function<bool(const Subject&)>& shows_fault,
                const ReduceOptions& options);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_REDUCE_H_
