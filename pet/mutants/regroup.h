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

// The ways to regroup `shape`. A dimension is long if it has more than one element. The first way
// keeps the shape. It is the only way unless 1 to 4 dimensions are long. The other ways are made as
// follows:
//   1. Dimensions of one element are removed.
//   2. The long dimensions keep their order or, if `permute` is true, take every order.
//   3. Neighbors are merged in all ways: [2, 3, 5] becomes [2, 3, 5], [6, 5], [2, 15] or [30]. Each
//      shape of rank 2 to 4 is a result.
//   4. If at most 3 dimensions are long, dimensions of one element are added, all in front or all
//      behind. A shape of rank 1 becomes results of rank 2 and 4, a shape of rank 2 or 3 becomes
//      results of rank 4.
std::vector<Regroup> RegroupsOf(const Shape& shape, bool permute);
// The number of dimensions with more than one element.
int LongDims(const Shape& shape);

// The ways to regroup a tensor of shape `from` to shape `to`. Each undoes a way to regroup a tensor
// of shape `to` to shape `from`.
std::vector<Regroup> RegroupsTo(const Shape& from, const Shape& to);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REGROUP_H_
