// Regroups the dimensions of a tensor so that another operator can take it.
#ifndef LEMMA_PET_MUTANTS_REGROUP_H_
#define LEMMA_PET_MUTANTS_REGROUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// A reshape to `split`, a transpose by `perm`, and a reshape to `shape`.
struct Regroup {
  Shape split;
  std::vector<int64_t> perm;
  Shape shape;
};
absl::StatusOr<Value> Applied(const Regroup& regroup, const Value& x);

// The ways to regroup `shape`. The first way keeps the shape. It is the only one if no dimension,
// or more than 4 dimensions, have more than one element. For the other ways, dimensions of one
// element are removed. The other dimensions keep their order or, if `permute` is true, take every
// order. Then neighbors are merged in all ways; shapes of rank 2 to 4 are results. If there are at
// most 3 dimensions before they are merged, shapes of rank 1 to 3 are also extended to rank 4, and
// shapes of rank 1 to rank 2, by dimensions of one element, all in front or all behind.
std::vector<Regroup> RegroupsOf(const Shape& shape, bool permute);
// The number of dimensions with more than one element.
int LongDims(const Shape& shape);

// The ways to regroup a tensor of shape `from` to shape `to`. Each undoes a way to regroup a tensor
// of shape `to` to shape `from`.
std::vector<Regroup> RegroupsTo(const Shape& from, const Shape& to);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REGROUP_H_
