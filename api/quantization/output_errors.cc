#include "api/quantization/output_errors.h"

#include <cmath>
#include <limits>

namespace lemma::api {

void ErrorSum::Add(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape()) {
    difference_ = largest_ = std::numeric_limits<double>::infinity();
    return;
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) {
      if (std::isfinite(e)) {
        expected_ += e * e;
        magnitude_ = std::max(magnitude_, std::abs(e));
      }
      continue;
    }
    const double d = std::isfinite(a) && std::isfinite(e) ? std::abs(a - e)
                                                          : std::numeric_limits<double>::infinity();
    difference_ += d * d;
    largest_ = std::max(largest_, d);
    if (!std::isfinite(e)) continue;
    expected_ += e * e;
    magnitude_ = std::max(magnitude_, std::abs(e));
  }
}

double ErrorSum::relative() const {
  if (difference_ == 0) return 0;
  return expected_ == 0 ? std::numeric_limits<double>::infinity()
                        : std::sqrt(difference_ / expected_);
}

void AddErrors(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, size_t count,
               ErrorSums* sums) {
  sums->resize(count);
  for (size_t i = 0; i < count; ++i) (*sums)[i].Add(actual[i], expected[i]);
}

double Worst(const ErrorSums& sums) {
  double worst = 0;
  for (const ErrorSum& sum : sums) worst = std::max(worst, sum.relative());
  return worst;
}

std::vector<OutputError> Named(const ErrorSums& sums, const std::vector<std::string>& names) {
  std::vector<OutputError> errors;
  for (size_t i = 0; i < sums.size(); ++i) {
    OutputError error;
    error.name = names[i];
    error.relative = sums[i].relative();
    error.snr_db = -20 * std::log10(error.relative);
    error.largest = sums[i].largest();
    errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace lemma::api
