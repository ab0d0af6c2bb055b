// Describes how an application's definition reads its inputs, for fusion.
// Internal to runtime/cuda/fusion.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_

#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma::cuda {

// The properties of an application's definition that fusion needs.
struct ReadTraits {
  bool reduces = false;     // whether there is a reduction
  bool multiplies = false;  // whether a reduction is a sum of products
  int functions = 0;        // the number of scalar functions in the definition
  // By input: the number of reads. A read counts once for each combination of values of the
  // variables in its index, so a broadcast element counts once. Open sizes count as 1.
  std::vector<double> reads;
  // By input: whether it is read at an index that a tensor holds, as in a gather; all true if a
  // local is read so.
  std::vector<bool> at_loads;
};

ReadTraits ReadTraitsOf(const Definition& definition);

// How many places of `e` read the tensor.
int CountReads(const ScalarExpr& e, TensorId tensor);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_
