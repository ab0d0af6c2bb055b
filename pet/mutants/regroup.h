// Tensors seen with other dimensions: what lets another operator take them.
#ifndef LEMMA_PET_MUTANTS_REGROUP_H_
#define LEMMA_PET_MUTANTS_REGROUP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// Reshape, transpose, reshape.
struct Regroup {
  Shape split;
  std::vector<int64_t> perm;
  Shape shape;
};
absl::StatusOr<Value> Applied(const Regroup& regroup, const Value& x);

// The shape as it is; then its dimensions, less those of one element, in every order, or in their
// own where `permute` is false, neighbours grouped into 2 to 4; with ones in front or behind up to
// rank 4, or 2, where there are at most 3 of more than one element. Of more than 4: as it is alone.
std::vector<Regroup> RegroupsOf(const Shape& shape, bool permute);
// Dimensions of more than one element.
int LongDims(const Shape& shape);

// The ways to get from one shape to another as those above are undone.
std::vector<Regroup> RegroupsTo(const Shape& from, const Shape& to);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REGROUP_H_
