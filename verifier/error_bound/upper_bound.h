// Upper bounds of magnitudes as sums of products of sizes and positive parameters. Internal to the
// prover.
#ifndef LEMMA_VERIFIER_ERROR_BOUND_UPPER_BOUND_H_
#define LEMMA_VERIFIER_ERROR_BOUND_UPPER_BOUND_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lemma::prover {

// A product of powers: the exponent of each factor, by name. Exponents are not 0. The name of a
// size begins with "n:"; sizes are at least 1. Other names are of parameters, which are positive.
using Powers = std::map<std::string, int>;

// A sum of products, each with a positive coefficient. The empty sum is 0. An infinite coefficient
// bounds nothing. The operations below round coefficients up, so their result is never below the
// exact one.
struct UpperBound {
  std::map<Powers, double> terms;

  static UpperBound Number(double value);  // infinite, which bounds nothing, if negative or NaN
  // A power of one factor, named as in Powers; `exponent` is not 0.
  static UpperBound Of(const std::string& factor, int exponent = 1);
  UpperBound DividedBy(int64_t number) const;  // infinite if `number` is not positive
  // For people: "0.5*s + n".
  std::string ToString() const;
};
UpperBound operator+(const UpperBound& a, const UpperBound& b);
UpperBound operator*(const UpperBound& a, const UpperBound& b);

// An upper bound of `a` and of `b`. If one of the two is known to be at least
// as large as the other, the result is the larger one.
UpperBound Larger(const UpperBound& a, const UpperBound& b);

// Whether `bound` is at most `limit` for all sizes from 1 on and all positive parameters. The
// coefficients of `limit` must not exceed the intended ones (DifferenceBound::AsLimit). False means
// only that no proof was found.
bool AtMost(const UpperBound& bound, const UpperBound& limit);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ERROR_BOUND_UPPER_BOUND_H_
