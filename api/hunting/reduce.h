// Reduces a subject that shows a fault to a small subject that still shows the fault.
#ifndef LEMMA_API_HUNTING_REDUCE_H_
#define LEMMA_API_HUNTING_REDUCE_H_

#include <cstdint>
#include <functional>

#include "api/hunting/subject.h"
#include "base/deadline.h"

namespace lemma::hunt {

struct ReduceOptions {
  int64_t most_tests = 4000;  // limit on calls of `shows_fault`
  // Whether a finding like this subject is already known. May be empty. Called once, with the
  // smallest subject so far, when no single operator can be removed any more or a limit has been
  // reached before that. If it returns true, the reduction ends.
  std::function<bool(const Subject&)> is_known;
  Deadline deadline;
};

// Makes `subject` smaller step by step, each time only if `shows_fault` returns true for the
// smaller subject: fewer outputs, operators, operands and inputs, smaller sizes, simpler
// attributes, simpler values, the usual ONNX operator set. An operator's result may become an input
// or a weight with the value that the definitions give. Ends when no single step is possible any
// more, or when a limit is reached. Returns `subject` itself if the definitions give it no values.
// Equal subjects give equal results, unless the deadline ends the reduction.
Subject Reduced(const Subject& subject, const std::function<bool(const Subject&)>& shows_fault,
                const ReduceOptions& options);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_REDUCE_H_
