// The functions that generated kernels call: the text of kernels/codegen/prelude.cuh and of the
// files that it includes, embedded by the build.
#ifndef LEMMA_KERNELS_CODEGEN_PRELUDE_H_
#define LEMMA_KERNELS_CODEGEN_PRELUDE_H_

namespace lemma::codegen {

extern const char kPrelude[];

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_PRELUDE_H_
