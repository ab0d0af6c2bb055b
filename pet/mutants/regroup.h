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

// The ways to regroup `shape`; the first one keeps it. Dimensions of one element are removed. If
// more than 4 remain, the first way is the only one. Otherwise the remaining ones, in every order
// or (`permute` false) in their own, are merged with neighbours into 2 to 4 dimensions. If at most
// 3 remain, results of lower rank are also filled up with ones, in front or behind: to rank 4, and
// from rank 1 to rank 2.
std::vector<Regroup> RegroupsOf(const Shape& shape, bool permute);
// The number of dimensions of more than one element.
int LongDims(const Shape& shape);

// The ways from one shape to another that undo such a regrouping.
std::vector<Regroup> RegroupsTo(const Shape& from, const Shape& to);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REGROUP_H_
