// Finds what all threads of a block have in common. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_

#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Sets Variable::uniform, Expr::uniform and ::steady, Statement::diverges, ::exits and
// ::accumulates. A variable is uniform if every value that it gets is, and if it is assigned only
// where the same threads run as at its declaration.
void FindUniform(PrintedKernel* kernel);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
