// Finds the values that are equal in all threads of a block, and the statements at which threads
// may branch differently. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_

#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Sets Variable::uniform, Expr::uniform and ::steady, Statement::diverges, ::exits and
// ::accumulates (printed_kernel.h). A variable is uniform if every value assigned to it is uniform,
// and if it is assigned only where the same threads run as at its declaration.
void FindUniform(PrintedKernel* kernel);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
