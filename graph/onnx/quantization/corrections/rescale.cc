// Cross-layer equalization and smoothing: QuantizableModel::Equalized and Smoothed.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/quantization/corrections/channel_links.h"
#include "graph/onnx/quantization/corrections/channel_scales.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"

namespace lemma {
namespace {

// More rounds over all pairs; a scale that moves along a chain of n products needs about n rounds.
constexpr int kRounds = 40;

// Reads the constants of the links, and returns those links whose constants are all finite.
absl::StatusOr<std::vector<ChannelLink>> ReadLinks(std::vector<ChannelLink> links,
                                                   ChannelScales* scales) {
  std::vector<ChannelLink> finite;
  for (ChannelLink& link : links) {
    bool is_finite = true;
    for (const auto* operands : {&link.makers, &link.readers}) {
      for (const ScaledOperand& operand : *operands) {
        LEMMA_ASSIGN_OR_RETURN(const bool here, scales->Read(operand));
        is_finite = is_finite && here;
      }
    }
    if (is_finite) finite.push_back(std::move(link));
  }
  return finite;
}

// The exponent of the power of two that is nearest, as a ratio, to the number; 0 if there is none.
int NearestExponent(double number) {
  const double exponent = std::nearbyint(std::log2(number));
  return std::isfinite(exponent) ? static_cast<int>(std::clamp(exponent, -126.0, 126.0)) : 0;
}

std::vector<double> LargestWeights(const ChannelScales& scales, const ChannelLink& link) {
  std::vector<double> largest(static_cast<size_t>(link.channels));
  for (const ScaledOperand& reader : link.readers) {
    const std::vector<double> here = scales.Largest(reader, link.channels);
    for (size_t c = 0; c < largest.size(); ++c) largest[c] = std::max(largest[c], here[c]);
  }
  return largest;
}

// The largest |element| of the first weight by channel, with its BatchNormalization.
absl::StatusOr<std::vector<double>> LargestMade(const ModelIndex& index,
                                                const ChannelScales& scales,
                                                const ChannelLink& link) {
  std::vector<double> largest = scales.Largest(link.weight, link.channels);
  if (!link.norm_scale) return largest;
  const std::vector<double> factors = scales.Largest(*link.norm_scale, link.channels);
  LEMMA_ASSIGN_OR_RETURN(const Tensor variance, index.Constant(link.norm_variance));
  for (size_t c = 0; c < largest.size(); ++c) {
    const double deviation =
        std::sqrt(variance.AtDouble(static_cast<int64_t>(c)) + link.norm_epsilon);
    largest[c] *= factors[c] / deviation;
  }
  return largest;
}

double Scaled(double number, int exponent) { return std::ldexp(number, exponent); }

// The largest of numbers[c] * 2^(sign * exponents[c]) over the channels of `chosen`.
double LargestScaled(const std::vector<double>& numbers, const std::vector<int>& exponents,
                     int sign, const std::function<bool(size_t)>& chosen) {
  double largest = 0;
  for (size_t c = 0; c < numbers.size(); ++c) {
    if (chosen(c)) largest = std::max(largest, Scaled(numbers[c], sign * exponents[c]));
  }
  return largest;
}

// A channel whose partner is 0 everywhere may have any scale. It must not be larger than all
// others, whose range it would widen: the exponents of such channels are set so that
// numbers[c] * 2^(sign * exponents[c]) is at most the largest of the others.
void ScaleDead(const std::vector<double>& numbers, const std::vector<double>& partners, int sign,
               std::vector<int>* exponents) {
  const double largest =
      LargestScaled(numbers, *exponents, sign, [&](size_t c) { return partners[c] != 0; });
  if (largest == 0) return;
  for (size_t c = 0; c < numbers.size(); ++c) {
    if (partners[c] != 0 || numbers[c] <= largest) continue;
    const double halvings = std::ceil(std::log2(numbers[c] / largest));
    (*exponents)[c] = -sign * static_cast<int>(std::min(halvings, 126.0));
  }
}

// Whether a channel that cannot be scaled as wanted would be the largest: the others would have
// become smaller in vain.
bool IsInVain(const std::vector<double>& numbers, const std::vector<int>& wanted,
              const std::vector<int>& limited, int sign) {
  const auto is_free = [&](size_t c) { return wanted[c] == limited[c]; };
  const double free = LargestScaled(numbers, limited, sign, is_free);
  return LargestScaled(numbers, limited, sign, [&](size_t c) { return !is_free(c); }) > free;
}

void Count(const std::vector<int>& exponents, RescaledModel* result) {
  const auto changed =
      std::count_if(exponents.begin(), exponents.end(), [](int e) { return e != 0; });
  result->values += changed > 0 ? 1 : 0;
  result->channels += changed;
}

}  // namespace

absl::StatusOr<RescaledModel> QuantizableModel::WithScales(const ChannelScales& scales) const {
  std::vector<std::string> notes;
  ModelEditor editor(*impl_->index);
  LEMMA_RETURN_IF_ERROR(scales.Write(&editor));
  auto impl = std::make_shared<Impl>();
  impl->path = impl_->path;
  impl->folder = impl_->folder;
  impl->proto = editor.Finish(&notes);
  impl->FindAll();
  if (impl->operators.size() != impl_->operators.size()) {
    return absl::InternalError(absl::StrCat(path(), ": new constants change the operators"));
  }
  return RescaledModel{QuantizableModel(std::move(impl)), 0, 0, std::move(notes)};
}

absl::StatusOr<RescaledModel> QuantizableModel::Equalized(const std::vector<bool>& allowed) const {
  ChannelScales scales(*impl_->index);
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<ChannelLink> links,
      ReadLinks(EqualizableLinks(*impl_->index, impl_->operators, allowed), &scales));
  std::vector<std::vector<int>> totals;
  for (const ChannelLink& link : links) {
    totals.emplace_back(static_cast<size_t>(link.channels));
    LEMMA_ASSIGN_OR_RETURN(const bool finite, scales.Read(link.weight));
    if (!finite) totals.back().clear();  // quantization will refuse the weight
  }
  bool changes = true;
  for (int round = 0; round < kRounds && changes; ++round) {
    changes = false;
    for (size_t i = 0; i < links.size(); ++i) {
      if (totals[i].empty()) continue;
      LEMMA_ASSIGN_OR_RETURN(const std::vector<double> first,
                             LargestMade(*impl_->index, scales, links[i]));
      const std::vector<double> second = LargestWeights(scales, links[i]);
      std::vector<int> exponents(first.size());
      for (size_t c = 0; c < first.size(); ++c) {
        exponents[c] = NearestExponent(std::sqrt(first[c] / second[c]));
      }
      ScaleDead(first, second, -1, &exponents);
      ScaleDead(second, first, 1, &exponents);
      const std::vector<int> wanted = exponents;
      scales.Limit(links[i].makers, links[i].readers, &exponents);
      if (IsInVain(first, wanted, exponents, -1) || IsInVain(second, wanted, exponents, 1))
        continue;
      scales.Move(links[i].makers, links[i].readers, exponents);
      for (size_t c = 0; c < first.size(); ++c) {
        changes = changes || exponents[c] != 0;
        totals[i][c] += exponents[c];
      }
    }
  }
  LEMMA_ASSIGN_OR_RETURN(RescaledModel result, WithScales(scales));
  for (const std::vector<int>& exponents : totals) Count(exponents, &result);
  return result;
}

std::map<std::string, int64_t> QuantizableModel::SmoothableValues(
    const std::vector<bool>& allowed) const {
  std::map<std::string, int64_t> values;
  for (const ChannelLink& link : SmoothableLinks(*impl_->index, impl_->operators, allowed)) {
    values[link.value] = link.channels;
  }
  return values;
}

absl::StatusOr<RescaledModel> QuantizableModel::Smoothed(
    const std::vector<bool>& allowed, double alpha,
    const std::map<std::string, std::vector<double>>& largest) const {
  ChannelScales scales(*impl_->index);
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<ChannelLink> links,
      ReadLinks(SmoothableLinks(*impl_->index, impl_->operators, allowed), &scales));
  std::vector<std::vector<int>> moved;
  for (const ChannelLink& link : links) {
    const auto seen = largest.find(link.value);
    if (seen == largest.end() || static_cast<int64_t>(seen->second.size()) != link.channels) {
      continue;
    }
    const std::vector<double> weights = LargestWeights(scales, link);
    std::vector<int> exponents(weights.size());
    for (size_t c = 0; c < weights.size(); ++c) {
      if (seen->second[c] == 0 || weights[c] == 0) continue;
      exponents[c] =
          NearestExponent(std::pow(seen->second[c], alpha) / std::pow(weights[c], 1 - alpha));
    }
    ScaleDead(seen->second, weights, -1, &exponents);
    const std::vector<int> wanted = exponents;
    scales.Limit(link.makers, link.readers, &exponents);
    if (IsInVain(seen->second, wanted, exponents, -1)) continue;
    scales.Move(link.makers, link.readers, exponents);
    moved.push_back(std::move(exponents));
  }
  LEMMA_ASSIGN_OR_RETURN(RescaledModel result, WithScales(scales));
  for (const std::vector<int>& exponents : moved) Count(exponents, &result);
  return result;
}

}  // namespace lemma
