// Facts that only the execution of a graph finds.
#ifndef LEMMA_RUNTIME_RUN_FINDINGS_H_
#define LEMMA_RUNTIME_RUN_FINDINGS_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

// The findings of one run of a graph with opaque operators; empty for other graphs.
struct RunFindings {
  // The sizes of results that are known only at run time, by dimension.
  DimValues sizes;
  // By opaque operator: the relative error that it may add to its results, as in
  // runtime/tolerance.h. It is the sum over the graphs that the operator executed: a loop executes
  // its body once per iteration.
  absl::flat_hash_map<const Node*, double> errors;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_RUN_FINDINGS_H_
