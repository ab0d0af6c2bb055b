#include "tests/verifier/campaign/judge_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/statusor.h"

namespace lemma {
namespace {

class Source {
 public:
  Source(Inputs kind, const std::vector<double>& constants, std::mt19937_64* random)
      : kind_(kind), constants_(constants), random_(*random) {}

  void StartTensor() {
    sign_ = Below(2) == 0 ? -1 : 1;
    positions_ = Below(2) == 0;
    drawn_ = 0;
  }

  double Real() {
    switch (kind_) {
      case Inputs::kPositive:
        return 0.25 + Unit() * 1.5;
      case Inputs::kSigned:
        return Unit() * 4 - 2;
      case Inputs::kWhole:
        return Small();
      case Inputs::kZero:
        return 0;
      case Inputs::kSparse:
        return Below(4) == 0 ? Small() : 0;
      case Inputs::kOneSign:
        return sign_ * static_cast<double>(1 + Below(4));
      case Inputs::kMonotonic:
        return sign_ * static_cast<double>(++drawn_);
      case Inputs::kConstants:
        return NearConstant();
      case Inputs::kDyadic:
        return Dyadic();
      case Inputs::kSpecial:
        return Below(4) == 0 ? Special(kSpecials) : Unit() * 4 - 2;
      case Inputs::kDyadicSpecial:
        return Below(4) == 0 ? Special(4) : Dyadic();
    }
    return 0;
  }

  int64_t Integer(DType dtype) {
    if (dtype == DType::kBool) return Below(2);
    if (kind_ == Inputs::kZero) return 0;
    int64_t x = static_cast<int64_t>(Below(positions_ ? 2 : 4));
    if (!positions_ && Below(3) == 0)
      x = static_cast<int64_t>(std::clamp(NearConstant(), -1e4, 1e4));
    if (!positions_ && Below(2) == 0) x = -x;
    if (kind_ >= Inputs::kSpecial && !positions_ && Below(3) == 0) x = Limit(dtype);
    if (dtype == DType::kU8) return std::abs(x) % 256;
    if (dtype == DType::kI8) return std::clamp<int64_t>(x, -128, 127);
    return IsUnsigned(dtype) ? std::max(x, -x) : x;
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double Small() { return static_cast<double>(Below(7)) - 3; }

  double NearConstant() {
    if (constants_.empty() || Below(4) == 0) return Small();
    const double c = constants_[Below(constants_.size())];
    if (!std::isfinite(c)) return Small();
    const double near[] = {c, c - 1, c + 1, 2 * c, -c, c / 2};
    return near[Below(std::size(near))];
  }

  double Dyadic() { return (static_cast<double>(Below(255)) - 127) / 64; }

  static constexpr uint64_t kSpecials = 12;
  // One of the first `most` special numbers.
  double Special(uint64_t most) {
    static constexpr double kSpecial[kSpecials] = {
        INFINITY, -INFINITY, NAN, -0.0, 0.0, 1e-41, 3e38, -3e38, 6e4, 0x1p-149, 0x1p24, -1.5};
    return kSpecial[Below(most)];
  }

  int64_t Limit(DType dtype) {
    if (Below(2) == 0) return LeastInteger(dtype);
    return dtype == DType::kU64 ? std::numeric_limits<int64_t>::max() : LargestInteger(dtype);
  }

  const Inputs kind_;
  const std::vector<double>& constants_;
  std::mt19937_64& random_;
  double sign_ = 1;
  bool positions_ = false;
  int64_t drawn_ = 0;
};

}  // namespace

std::vector<Tensor> DrawInputs(const Graph& graph, Inputs kind, bool wide,
                               const std::vector<double>& constants, std::mt19937_64* random) {
  Source source(kind, constants, random);
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    TensorType type = v.type();
    source.StartTensor();
    absl::StatusOr<Tensor> tensor;
    if (IsFloat(type.dtype)) {
      if (wide) type.dtype = DType::kF64;
      std::vector<double> data(static_cast<size_t>(type.num_elements()));
      for (double& x : data) x = source.Real();
      tensor = Tensor::FromDoubles(type, data);
    } else {
      std::vector<int64_t> data(static_cast<size_t>(type.num_elements()));
      for (int64_t& x : data) x = source.Integer(type.dtype);
      tensor = Tensor::FromInts(type, data);
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> Moved(const std::vector<Tensor>& inputs, std::mt19937_64* random) {
  std::vector<Tensor> moved;
  for (const Tensor& input : inputs) {
    moved.push_back(input);
    if (!IsFloat(input.dtype())) continue;
    std::vector<double> data = input.ToDoubles();
    for (double& x : data) x += 1e-9 * (static_cast<double>((*random)() >> 11) * 0x1p-53 - 0.5);
    moved.back() = *Tensor::FromDoubles(input.type(), data);
  }
  return moved;
}

}  // namespace lemma
