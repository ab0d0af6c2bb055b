// Measures the error of a model's outputs.
#ifndef LEMMA_API_QUANTIZATION_OUTPUT_ERRORS_H_
#define LEMMA_API_QUANTIZATION_OUTPUT_ERRORS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "api/quantize.h"
#include "graph/tensor.h"

namespace lemma::api {

// The error of one value, summed over samples.
class ErrorSum {
 public:
  // Another shape, or an element that is not finite on one side alone, makes the error infinite.
  void Add(const Tensor& actual, const Tensor& expected);

  // The square root of the quotient of the sums of squares; 0 if both are 0.
  double relative() const;
  double largest() const { return largest_; }
  double magnitude() const { return magnitude_; }

 private:
  double difference_ = 0, expected_ = 0, largest_ = 0, magnitude_ = 0;
};

// Sums by output, in the order of the outputs.
using ErrorSums = std::vector<ErrorSum>;
void AddErrors(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, size_t count,
               ErrorSums* sums);
double Worst(const ErrorSums& sums);
std::vector<OutputError> Named(const ErrorSums& sums, const std::vector<std::string>& names);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_OUTPUT_ERRORS_H_
