// Copies tensors between layouts.
#ifndef LEMMA_KERNELS_LANES_STRIDED_COPY_H_
#define LEMMA_KERNELS_LANES_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

namespace lemma {

struct CopyAxis {
  int64_t extent, to_stride, from_stride;  // strides in elements
};

// For every tuple i of indices, one per axis: to[sum(i*to_stride)] = from[sum(i*from_stride)].
// `element_size` is 1, 2, 4 or 8 bytes. Source strides may be zero or negative. No memory that is
// written may overlap memory that is read. `threads`: the most threads to use.
void StridedCopy(void* to, const void* from, int64_t element_size, std::vector<CopyAxis> axes,
                 int threads);

}  // namespace lemma

#endif  // LEMMA_KERNELS_LANES_STRIDED_COPY_H_
