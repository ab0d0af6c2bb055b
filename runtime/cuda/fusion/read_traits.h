// How an application's definition reads its inputs, as fusion needs to know. Internal to
// runtime/cuda/fusion.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_

#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma::cuda {

// The properties of an application's definition that fusion needs.
struct ReadTraits {
  bool reduces = false;
  bool multiplies = false;     // sums of products
  int functions = 0;           // scalar functions per element, if there are no reductions
  std::vector<double> reads;   // for each input: the number of elements read, with repetitions
  std::vector<bool> at_loads;  // for each input: whether an index that it is read at is loaded
};

ReadTraits ReadTraitsOf(const Definition& definition);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_READ_TRAITS_H_
