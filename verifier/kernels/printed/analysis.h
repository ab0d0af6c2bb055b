// Finds the values that are equal in all threads of a block, and the statements at which threads
// may branch differently. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_

#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Sets these fields (printed_kernel.h): Variable::uniform; Expr::uniform and Expr::steady;
// Statement::diverges, Statement::exits and Statement::accumulates. A variable is uniform if
//   * it has no dimensions, is not shared, and has none of the types kElement, kWord and kRow;
//   * it is declared with a value, and each value assigned to it is uniform;
//   * it is assigned only where the same threads run as at its declaration.
// No other variable is uniform.
void FindUniform(PrintedKernel* kernel);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_ANALYSIS_H_
