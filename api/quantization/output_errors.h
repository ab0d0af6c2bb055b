// Measures how much a model's outputs differ from expected outputs.
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
  // Adds a sample. The error becomes infinite if the shapes differ, or if two elements differ and
  // one of them is not finite. Two NaN count as equal.
  void Add(const Tensor& actual, const Tensor& expected);

  // sqrt(sum (actual - expected)^2 / sum expected^2) over all elements of all samples; 0 if there
  // is no difference, infinite if there is one and all expected elements are 0. Expected elements
  // that are not finite count neither in the second sum nor in magnitude().
  double relative() const;
  double largest() const { return largest_; }      // the largest |actual - expected|
  double magnitude() const { return magnitude_; }  // the largest |expected|

 private:
  double difference_ = 0, expected_ = 0, largest_ = 0, magnitude_ = 0;
};

// Sums by output, in the order of the outputs.
using ErrorSums = std::vector<ErrorSum>;
// Adds the errors of the first `count` outputs of one sample to *sums, which is resized to `count`
// elements.
void AddErrors(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, size_t count,
               ErrorSums* sums);
// The largest relative error; 0 if there are no sums.
double Worst(const ErrorSums& sums);
// The errors for a report (api/quantize.h); `names` are the names of the outputs.
std::vector<OutputError> Named(const ErrorSums& sums, const std::vector<std::string>& names);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_OUTPUT_ERRORS_H_
