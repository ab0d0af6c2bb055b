#include "api/hunting/simpler.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <variant>

namespace lemma::hunt {
namespace {

constexpr int64_t kMostParts = 32;  // of a tensor that become simple alone

std::vector<int64_t> SimplerInts(int64_t value) {
  std::vector<int64_t> simpler;
  if (value == INT64_MIN) return {0, 1, value / 2};
  for (int64_t candidate : {int64_t{0}, int64_t{1}, std::abs(value), value / 2, value - 1}) {
    if (Complexity(static_cast<double>(candidate)) < Complexity(static_cast<double>(value))) {
      simpler.push_back(candidate);
    }
  }
  return simpler;
}

std::vector<double> SimplerDoubles(double value) {
  std::vector<double> simpler;
  for (double candidate : {0.0, 1.0, 0.5, std::round(value), std::round(value * 8) / 8}) {
    if (Complexity(candidate) < Complexity(value)) simpler.push_back(candidate);
  }
  return simpler;
}

// Lists with one entry less, or with one simpler entry.
template <typename T, typename Simpler>
void AddLists(const std::vector<T>& list, const Simpler& simpler, std::vector<AttrValue>* all) {
  for (size_t i = 0; i < list.size(); ++i) {
    std::vector<T> shorter = list;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    all->push_back(std::move(shorter));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    for (const T& entry : simpler(list[i])) {
      std::vector<T> other = list;
      other[i] = entry;
      all->push_back(std::move(other));
    }
  }
}

double TotalComplexity(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += Complexity(value);
  return sum;
}

}  // namespace

double Complexity(double number) {
  if (number == 0) return std::signbit(number) ? 1.5 : 0;
  if (number == 1) return 1;
  const double sign = number < 0 ? 0.5 : 0;
  if (!std::isfinite(number)) return 1e6;
  const double magnitude = std::min(std::fabs(number), 1e4);
  if (number == std::round(number)) return 2 + magnitude + sign;
  // Fractions with few binary digits before others.
  return (number * 8 == std::round(number * 8) ? 2e4 : 4e4) + magnitude + sign;
}

std::vector<AttrValue> SimplerAttrs(const AttrValue& value, const AttrSpec& spec) {
  std::vector<AttrValue> all;
  if (spec.default_value) {
    if (*spec.default_value == value) return all;
    all.push_back(*spec.default_value);
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    for (int64_t simpler : SimplerInts(*number)) all.push_back(simpler);
  } else if (const auto* real = std::get_if<double>(&value)) {
    for (double simpler : SimplerDoubles(*real)) all.push_back(simpler);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    AddLists(*ints, SimplerInts, &all);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    AddLists(*reals, SimplerDoubles, &all);
  }
  return all;
}

std::vector<Tensor> SimplerTensors(const Tensor& tensor) {
  std::vector<Tensor> all;
  const std::vector<double> values = tensor.ToDoubles();
  const double complexity = TotalComplexity(values);
  const auto add = [&](const std::vector<double>& candidate) {
    auto simpler = Tensor::FromDoubles(tensor.type(), candidate);
    // As stored: a narrow type may have changed it.
    if (simpler.ok() && TotalComplexity(simpler->ToDoubles()) < complexity) {
      all.push_back(*std::move(simpler));
    }
  };
  const auto add_each = [&](auto&& changed) {
    std::vector<double> candidate = values;
    for (double& value : candidate) value = changed(value);
    add(candidate);
  };
  add_each([](double) { return 0; });
  add_each([](double) { return 1; });
  add_each([](double v) { return std::isfinite(v) ? v : 0; });
  add_each([](double v) { return v > 0 ? 1 : 0; });
  add_each([](double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; });
  add_each([](double v) { return std::isfinite(v) ? std::round(v) : v; });
  add_each([](double v) { return std::isfinite(v) ? std::round(v * 8) / 8 : v; });
  const auto size = static_cast<int64_t>(values.size());
  const int64_t parts = std::min(size, kMostParts);
  for (int64_t count = 2; count < 2 * parts; count *= 2) {
    const int64_t pieces = std::min(count, parts);
    for (int64_t part = 0; part < pieces; ++part) {
      for (double simple : {0.0, 1.0}) {
        std::vector<double> candidate = values;
        std::fill(candidate.begin() + part * size / pieces,
                  candidate.begin() + (part + 1) * size / pieces, simple);
        add(candidate);
      }
    }
  }
  return all;
}

}  // namespace lemma::hunt
