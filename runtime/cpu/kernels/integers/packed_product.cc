#include "runtime/cpu/kernels/integers/packed_product.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/plan/layout.h"

namespace lemma::cpu {

using kernels::kPanelColumns;
using kernels::kTileRows;

namespace {

// A run that is cut into parts of equal numbers of pairs is read beyond its end by up to two
// numbers for each part; the last channels of a panel that is not full by up to 15.
constexpr int64_t kMostParts = 32;
constexpr int64_t kReadBehind = 2 * kMostParts;

// The part of a panel that is multiplied at a time: it should stay in the first-level cache beside
// the rows.
constexpr int64_t kPanelBytes = 16 << 10;

template <class T>
bool Convert(absl::Span<const T> from, std::vector<int16_t>* to) {
  to->resize(from.size());
  bool small = true;
  for (size_t i = 0; i < from.size(); ++i) {
    const T clipped = std::clamp(from[i], T{-255}, T{255});
    (*to)[i] = static_cast<int16_t>(clipped);
    small = small && static_cast<T>((*to)[i]) == from[i];
  }
  return small;
}

// The elements, if they are integers from -255 to 255.
std::optional<std::vector<int16_t>> SmallIntegers(const Tensor& t) {
  std::vector<int16_t> small;
  if (t.dtype() == DType::kF32) {
    for (const float w : t.data<float>()) {
      if (std::isnan(w)) return std::nullopt;
    }
    return Convert(t.data<float>(), &small) ? std::make_optional(std::move(small)) : std::nullopt;
  }
  const std::vector<double> all = t.ToDoubles();
  for (const double w : all) {
    if (std::isnan(w)) return std::nullopt;
  }
  return Convert<double>(all, &small) ? std::make_optional(std::move(small)) : std::nullopt;
}

}  // namespace

WindowSizes SizesOf(const Node& head) {
  WindowSizes s;
  const Shape &x = head.inputs()[0].shape(), &w = head.inputs()[1].shape(), &y = head.type(0).shape;
  if (HeadOf(head) == ProductHead::kMatrices) {
    s.channels = x.back();
    s.height = s.rows = NumElements(x) / s.channels;
    s.outputs = w.back();
    return s;
  }
  s.images = x[0];
  s.channels = x[1];
  s.height = x[2];
  s.width = x[3];
  s.outputs = y[1];
  s.rows = y[2];
  s.columns = y[3];
  s.groups = head.Int("groups");
  for (int d = 0; d < 2; ++d) {
    s.kernel[d] = w[2 + d];
    s.strides[d] = head.Ints("strides")[d];
    s.dilations[d] = head.Ints("dilations")[d];
    s.before[d] = head.Ints("pads")[d];
  }
  return s;
}

bool PackedProduct::patch_is_sampled() const {
  return sizes_.kernel[0] * sizes_.kernel[1] == 1 && sizes_.before[0] == 0 &&
         sizes_.before[1] == 0 && (sizes_.rows - 1) * sizes_.strides[0] < sizes_.height &&
         (sizes_.columns - 1) * sizes_.strides[1] < sizes_.width;
}

int64_t PackedProduct::patch_width() const {
  if (patch_is_sampled()) return sizes_.columns;
  return (sizes_.columns - 1) * sizes_.strides[1] + (sizes_.kernel[1] - 1) * sizes_.dilations[1] +
         1;
}

int64_t PackedProduct::patch_rows(int64_t rows) const {
  if (patch_is_sampled()) return rows;
  return (rows - 1) * sizes_.strides[0] + (sizes_.kernel[0] - 1) * sizes_.dilations[0] + 1;
}

int64_t PackedProduct::PatchSize(int64_t rows) const {
  return patch_rows(rows) * patch_width() * sizes_.channels + kReadBehind;
}

template <class T>
void PackedProduct::FillPatch(const T* image, int zero, int64_t begin, int64_t end,
                              int16_t* patch) const {
  const WindowSizes& s = sizes_;
  const int64_t width = patch_width(), rows = patch_rows(end - begin), channels = s.channels;
  std::fill_n(patch + rows * width * channels, kReadBehind, int16_t{0});
  if (patch_is_sampled()) {
    for (int64_t p = begin; p < end; ++p) {
      const T* row = image + p * s.strides[0] * s.width * channels;
      int16_t* to = patch + (p - begin) * width * channels;
      if (s.strides[1] == 1) {
        kernels::Widen(row, width * channels, zero, to);
        continue;
      }
      for (int64_t q = 0; q < width; ++q) {
        kernels::Widen(row + q * s.strides[1] * channels, channels, zero, to + q * channels);
      }
    }
    return;
  }
  const int64_t left = std::min(s.before[1], width);
  const int64_t inside = std::max<int64_t>(0, std::min(s.width, width - left));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t h = begin * s.strides[0] - s.before[0] + i;
    int16_t* to = patch + i * width * channels;
    if (h < 0 || h >= s.height) {
      std::fill_n(to, width * channels, int16_t{0});
      continue;
    }
    std::fill_n(to, left * channels, int16_t{0});
    kernels::Widen(image + h * s.width * channels, inside * channels, zero, to + left * channels);
    std::fill(to + (left + inside) * channels, to + width * channels, int16_t{0});
  }
}

template void PackedProduct::FillPatch(const uint8_t*, int, int64_t, int64_t, int16_t*) const;
template void PackedProduct::FillPatch(const int8_t*, int, int64_t, int64_t, int16_t*) const;

absl::StatusOr<PackedProduct> PackedProduct::Pack(const Node& head, const IntegerProduct& product,
                                                  const Tensor& integers) {
  PackedProduct result;
  const WindowSizes& s = result.sizes_ = SizesOf(head);
  result.group_channels_ = s.channels / s.groups;
  result.group_outputs_ = s.outputs / s.groups;
  const std::optional<std::vector<int16_t>> small = SmallIntegers(integers);
  if (!small) return absl::UnimplementedError("a weight that is no small integer");
  // Strides of [output, channel, row, column] in `integers`.
  const Strides row_major = RowMajorStrides(integers.shape());
  Strides at(4, 0);
  const bool conv = HeadOf(head) == ProductHead::kConvolution;
  const int head_dims[4] = {conv ? 0 : 1, conv ? 1 : 0, 2, 3};
  for (int d = 0; d < (conv ? 4 : 2); ++d) at[d] = row_major[product.permutation[head_dims[d]]];
  result.by_channel_ = s.groups > 1 && s.groups == s.channels && s.outputs == s.channels;
  result.by_channel_ ? result.PackChannels(*small, at) : result.PackPanels(*small, at);
  return result;
}

void PackedProduct::PackPanels(const std::vector<int16_t>& integers, const Strides& at) {
  const WindowSizes& s = sizes_;
  // The numbers of a window's row lie side by side, unless other groups' channels lie between.
  whole_rows_ = s.groups == 1 && (s.dilations[1] == 1 || s.kernel[1] == 1);
  const int64_t all_pairs = (group_channels_ * (whole_rows_ ? s.kernel[1] : 1) + 1) / 2;
  constexpr int64_t kPairBytes = 2 * kPanelColumns * sizeof(int16_t);
  parts_ = std::min((all_pairs * kPairBytes + kPanelBytes - 1) / kPanelBytes, kMostParts);
  pairs_ = (all_pairs + parts_ - 1) / parts_;
  for (int64_t r = 0; r < s.kernel[0]; ++r) {
    for (int64_t c = 0; c < (whole_rows_ ? 1 : s.kernel[1]); ++c) {
      const int64_t run = (r * s.dilations[0] * patch_width() + c * s.dilations[1]) * s.channels;
      for (int64_t part = 0; part < parts_; ++part) runs_.push_back(run + part * 2 * pairs_);
    }
  }
  panel_size_ = static_cast<int64_t>(runs_.size()) * pairs_ * 2 * kPanelColumns;
  panels_per_group_ = (group_outputs_ + kPanelColumns - 1) / kPanelColumns;
  panels_.assign(panel_size_ * panels_per_group_ * s.groups, 0);
  for (int64_t o = 0; o < s.outputs; ++o) {
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        // In a run, a pair of channels is followed by those of the panel's other outputs.
        const int64_t first = whole_rows_ ? q * group_channels_ : 0;
        int16_t* to = panels_.data() + PlaceOf(o, 0, r, q) - (first % 2);
        const int16_t* from = integers.data() + o * at[0] + r * at[2] + q * at[3];
        for (int64_t c = 0; c < group_channels_; ++c) {
          const int64_t i = first % 2 + c;
          to[i / 2 * 2 * kPanelColumns + i % 2] = from[c * at[1]];
        }
      }
    }
  }
}

void PackedProduct::PackChannels(const std::vector<int16_t>& integers, const Strides& at) {
  const WindowSizes& s = sizes_;
  for (int64_t r = 0; r < s.kernel[0]; ++r) {
    for (int64_t q = 0; q < s.kernel[1]; ++q) {
      runs_.push_back((r * s.dilations[0] * patch_width() + q * s.dilations[1]) * s.channels);
    }
  }
  if (runs_.size() % 2 != 0) runs_.push_back(runs_.back());  // with weight 0
  pairs_ = static_cast<int64_t>(runs_.size()) / 2;
  panel_size_ = pairs_ * 2 * kPanelColumns;
  panels_.assign(panel_size_ * ((s.channels + kPanelColumns - 1) / kPanelColumns), 0);
  for (int64_t o = 0; o < s.outputs; ++o) {
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        panels_[PlaceOf(o, 0, r, q)] = integers[o * at[0] + r * at[2] + q * at[3]];
      }
    }
  }
}

int64_t PackedProduct::PlaceOf(int64_t output, int64_t channel, int64_t row, int64_t column) const {
  if (by_channel_) {
    return output / kPanelColumns * panel_size_ +
           kernels::ChannelWeight(row * sizes_.kernel[1] + column, output % kPanelColumns);
  }
  const int64_t group = output / group_outputs_, j = output % group_outputs_;
  const int64_t run = whole_rows_ ? row : row * sizes_.kernel[1] + column;
  const int64_t i = whole_rows_ ? column * group_channels_ + channel : channel;
  return (group * panels_per_group_ + j / kPanelColumns) * panel_size_ +
         (run * parts_ * pairs_ + i / 2) * 2 * kPanelColumns + 2 * (j % kPanelColumns) + i % 2;
}

int PackedProduct::WeightAt(int64_t output, int64_t channel, int64_t row, int64_t column) const {
  return panels_[PlaceOf(output, channel, row, column)];
}

void PackedProduct::MultiplyByChannel(const int16_t* patch, int64_t rows, int32_t* sums,
                                      int64_t step) const {
  const WindowSizes& s = sizes_;
  const int64_t row_step = (patch_is_sampled() ? 1 : s.strides[0]) * patch_width() * s.channels;
  const int64_t column_step = (patch_is_sampled() ? 1 : s.strides[1]) * s.channels;
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t c = 0; c < s.channels; c += kPanelColumns) {
      kernels::MultiplyChannels(patch + p * row_step + c, s.columns, column_step, runs_.data(),
                                pairs_, panels_.data() + c / kPanelColumns * panel_size_,
                                sums + p * s.columns * step + c, step);
    }
  }
}

void PackedProduct::Multiply(const int16_t* patch, int64_t begin, int64_t end, int64_t first,
                             int64_t last, int32_t* sums, int64_t step) const {
  if (by_channel_) return MultiplyByChannel(patch, end - begin, sums, step);
  const WindowSizes& s = sizes_;
  const int64_t row_step = (patch_is_sampled() ? 1 : s.strides[0]) * patch_width() * s.channels;
  const int64_t column_step = (patch_is_sampled() ? 1 : s.strides[1]) * s.channels;
  std::vector<const int16_t*> rows;
  rows.reserve((end - begin) * s.columns);
  for (int64_t p = 0; p < end - begin; ++p) {
    for (int64_t q = 0; q < s.columns; ++q) {
      rows.push_back(patch + p * row_step + q * column_step);
    }
  }
  for (int64_t g = 0; g < s.groups; ++g) {
    const int64_t base = s.groups > 1 ? g * group_outputs_ : 0;
    const int64_t to = s.groups > 1 ? group_outputs_ : last;
    for (int64_t j = s.groups > 1 ? 0 : first; j < to; j += kPanelColumns) {
      const int16_t* panel =
          panels_.data() + (g * panels_per_group_ + j / kPanelColumns) * panel_size_;
      MultiplyPanel(rows, panel, sums + base + j - first, step);
    }
    for (const int16_t*& row : rows) row += group_channels_;
  }
}

void PackedProduct::MultiplyPanel(const std::vector<const int16_t*>& rows, const int16_t* panel,
                                  int32_t* sums, int64_t step) const {
  const auto count = static_cast<int64_t>(rows.size()), runs = static_cast<int64_t>(runs_.size());
  const int64_t run_size = pairs_ * 2 * kPanelColumns;
  const int64_t together =
      std::max<int64_t>(1, kPanelBytes / (run_size * static_cast<int64_t>(sizeof(int16_t))));
  for (int64_t r = 0; r < runs; r += together) {
    const kernels::Runs some = {runs_.data() + r, std::min(together, runs - r), pairs_};
    for (int64_t i = 0; i < count; i += kTileRows) {
      kernels::MultiplyTile(rows.data() + i, std::min(kTileRows, count - i), some,
                            panel + r * run_size, r > 0, sums + i * step, step);
    }
  }
}

}  // namespace lemma::cpu
