// Facts about a graph that are known only when it is executed.
#ifndef LEMMA_RUNTIME_RUN_FINDINGS_H_
#define LEMMA_RUNTIME_RUN_FINDINGS_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

// The findings of one run of a graph with opaque operators; empty for other graphs.
struct RunFindings {
  // By symbolic dimension: its size in this run, if the dimension is the size of a result that only
  // the run could determine.
  DimValues sizes;
  // By opaque operator of the executed graph: the relative error that it may add to its results, as
  // in runtime/tolerance.h. It is the sum of the tolerances of all graphs that the operator
  // executed: a loop executes its body once per iteration.
  absl::flat_hash_map<const Node*, double> errors;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_RUN_FINDINGS_H_
