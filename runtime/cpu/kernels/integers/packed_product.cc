#include "runtime/cpu/kernels/integers/packed_product.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/plan/layout.h"

namespace lemma::cpu {

using kernels::kPanelColumns;

namespace {

// A run that is cut into parts of equal numbers of groups is read beyond its end by up to one group
// for each part; the last channels of a panel that is not full by up to 63.
constexpr int64_t kMostParts = 32;
constexpr int64_t kReadBehind = 4 * kMostParts;

// The part of a panel that is multiplied at a time: it should stay in the first-level cache beside
// the rows.
constexpr int64_t kPanelBytes = 16 << 10;
constexpr int64_t kPairedPanelBytes = 8 << 10;  // of each of two panels

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

bool PackedProduct::reads_outside() const {
  const WindowSizes& s = sizes_;
  if (patch_is_sampled()) return false;
  return s.before[0] > 0 || s.before[1] > 0 || patch_rows(s.rows) > s.height ||
         patch_width() > s.width;
}

int64_t PackedProduct::PatchBytes(int64_t rows) const {
  const int64_t numbers = patch_rows(rows) * patch_width() * sizes_.channels + kReadBehind;
  return numbers * static_cast<int64_t>(bytes_ ? sizeof(uint8_t) : sizeof(int16_t));
}

template <class T, class Element, class Copy>
void PackedProduct::CopyPixels(const T* image, int64_t begin, int64_t end, Element outside,
                               Element* patch, Copy copy) const {
  const WindowSizes& s = sizes_;
  const int64_t width = patch_width(), rows = patch_rows(end - begin), channels = s.channels;
  std::fill_n(patch + rows * width * channels, kReadBehind, Element{0});
  if (patch_is_sampled()) {
    for (int64_t p = begin; p < end; ++p) {
      const T* row = image + p * s.strides[0] * s.width * channels;
      Element* to = patch + (p - begin) * width * channels;
      if (s.strides[1] == 1) {
        copy(row, width * channels, to);
        continue;
      }
      for (int64_t q = 0; q < width; ++q) {
        copy(row + q * s.strides[1] * channels, channels, to + q * channels);
      }
    }
    return;
  }
  const int64_t left = std::min(s.before[1], width);
  const int64_t inside = std::max<int64_t>(0, std::min(s.width, width - left));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t h = begin * s.strides[0] - s.before[0] + i;
    Element* to = patch + i * width * channels;
    if (h < 0 || h >= s.height) {
      std::fill_n(to, width * channels, outside);
      continue;
    }
    std::fill_n(to, left * channels, outside);
    copy(image + h * s.width * channels, inside * channels, to + left * channels);
    std::fill(to + (left + inside) * channels, to + width * channels, outside);
  }
}

template <class T>
void PackedProduct::FillPatch(const T* image, int zero, int64_t begin, int64_t end,
                              void* patch) const {
  if (bytes_) {
    CopyPixels(image, begin, end, static_cast<uint8_t>(InBytes<T>(zero)),
               static_cast<uint8_t*>(patch),
               [](const T* from, int64_t n, uint8_t* to) { kernels::CopyBytes(from, n, to); });
    return;
  }
  CopyPixels(image, begin, end, int16_t{0}, static_cast<int16_t*>(patch),
             [zero](const T* from, int64_t n, int16_t* to) { kernels::Widen(from, n, zero, to); });
}

template void PackedProduct::FillPatch(const uint8_t*, int, int64_t, int64_t, void*) const;
template void PackedProduct::FillPatch(const int8_t*, int, int64_t, int64_t, void*) const;

absl::StatusOr<PackedProduct> PackedProduct::Pack(const Node& head, const IntegerProduct& product,
                                                  const Tensor& integers, std::optional<int> zero,
                                                  kernels::IntegerIsa isa) {
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
  const bool is_u8 = product.x.source.dtype() == DType::kU8;
  const int zero_in_bytes = !zero ? -1 : is_u8 ? InBytes<uint8_t>(*zero) : InBytes<int8_t>(*zero);
  result.bytes_ =
      isa == kernels::IntegerIsa::kVnni &&
      std::all_of(small->begin(), small->end(), [](int16_t w) { return w >= -128 && w <= 127; }) &&
      (!result.reads_outside() || (zero_in_bytes >= 0 && zero_in_bytes <= 255));
  result.by_channel_ ? result.PackChannels(*small, at) : result.PackPanels(*small, at);
  return result;
}

void PackedProduct::PackPanels(const std::vector<int16_t>& integers, const Strides& at) {
  const WindowSizes& s = sizes_;
  // The numbers of a window's row lie side by side, unless other groups' channels lie between.
  whole_rows_ = s.groups == 1 && (s.dilations[1] == 1 || s.kernel[1] == 1);
  const int64_t size = group_size();
  const int64_t numbers = group_channels_ * (whole_rows_ ? s.kernel[1] : 1);
  const int64_t all_groups = (numbers + size - 1) / size;
  const int64_t group_bytes =
      size * kPanelColumns * static_cast<int64_t>(bytes_ ? sizeof(int8_t) : sizeof(int16_t));
  const int64_t most = bytes_ ? kPairedPanelBytes : kPanelBytes;
  parts_ = std::min((all_groups * group_bytes + most - 1) / most, kMostParts);
  run_groups_ = (all_groups + parts_ - 1) / parts_;
  for (int64_t r = 0; r < s.kernel[0]; ++r) {
    for (int64_t c = 0; c < (whole_rows_ ? 1 : s.kernel[1]); ++c) {
      const int64_t run = (r * s.dilations[0] * patch_width() + c * s.dilations[1]) * s.channels;
      for (int64_t part = 0; part < parts_; ++part)
        runs_.push_back(run + part * size * run_groups_);
    }
  }
  panel_size_ = static_cast<int64_t>(runs_.size()) * run_groups_ * size * kPanelColumns;
  panels_per_group_ = (group_outputs_ + kPanelColumns - 1) / kPanelColumns;
  const int64_t panels = panels_per_group_ * s.groups;
  bytes_ ? byte_panels_.assign(panel_size_ * panels, 0) : panels_.assign(panel_size_ * panels, 0);
  if (bytes_) column_sums_.assign(panels * kPanelColumns, 0);
  for (int64_t o = 0; o < s.outputs; ++o) {
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        const int16_t* from = integers.data() + o * at[0] + r * at[2] + q * at[3];
        for (int64_t c = 0; c < group_channels_; ++c) {
          const int16_t w = from[c * at[1]];
          const int64_t place = PlaceOf(o, c, r, q);
          if (bytes_) {
            byte_panels_[place] = static_cast<int8_t>(w);
            column_sums_[ColumnOf(o)] += w;
          } else {
            panels_[place] = w;
          }
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
  const auto size = static_cast<size_t>(group_size());
  while (runs_.size() % size != 0) runs_.push_back(runs_.back());  // with weight 0
  run_groups_ = static_cast<int64_t>(runs_.size() / size);
  const int64_t together = bytes_ ? kernels::kByteChannels : kPanelColumns;
  const int64_t panels = (s.channels + together - 1) / together;
  panel_size_ = static_cast<int64_t>(runs_.size()) * together;
  bytes_ ? byte_panels_.assign(panel_size_ * panels, 0) : panels_.assign(panel_size_ * panels, 0);
  if (bytes_) column_sums_.assign(panels * together, 0);
  for (int64_t o = 0; o < s.outputs; ++o) {
    for (int64_t r = 0; r < s.kernel[0]; ++r) {
      for (int64_t q = 0; q < s.kernel[1]; ++q) {
        const int16_t w = integers[o * at[0] + r * at[2] + q * at[3]];
        if (bytes_) {
          byte_panels_[PlaceOf(o, 0, r, q)] = static_cast<int8_t>(w);
          column_sums_[o] += w;
        } else {
          panels_[PlaceOf(o, 0, r, q)] = w;
        }
      }
    }
  }
}

int64_t PackedProduct::ColumnOf(int64_t output) const {
  const int64_t group = output / group_outputs_, j = output % group_outputs_;
  return group * panels_per_group_ * kPanelColumns + j;
}

int64_t PackedProduct::PlaceOf(int64_t output, int64_t channel, int64_t row, int64_t column) const {
  if (by_channel_ && bytes_) {
    return output / kernels::kByteChannels * panel_size_ +
           kernels::ByteChannelWeight(row * sizes_.kernel[1] + column,
                                      output % kernels::kByteChannels);
  }
  if (by_channel_) {
    return output / kPanelColumns * panel_size_ +
           kernels::ChannelWeight(row * sizes_.kernel[1] + column, output % kPanelColumns);
  }
  const int64_t at = ColumnOf(output), size = group_size();
  const int64_t run = whole_rows_ ? row : row * sizes_.kernel[1] + column;
  const int64_t i = whole_rows_ ? column * group_channels_ + channel : channel;
  // In a run, a group of numbers of one output is followed by those of the panel's other outputs.
  return at / kPanelColumns * panel_size_ +
         (run * parts_ * run_groups_ + i / size) * size * kPanelColumns +
         size * (at % kPanelColumns) + i % size;
}

int PackedProduct::WeightAt(int64_t output, int64_t channel, int64_t row, int64_t column) const {
  const int64_t place = PlaceOf(output, channel, row, column);
  return bytes_ ? byte_panels_[place] : panels_[place];
}

void PackedProduct::MultiplyByChannel(const int16_t* patch, int64_t rows, int32_t* sums,
                                      int64_t step) const {
  const WindowSizes& s = sizes_;
  const int64_t row_step = (patch_is_sampled() ? 1 : s.strides[0]) * patch_width() * s.channels;
  const int64_t column_step = (patch_is_sampled() ? 1 : s.strides[1]) * s.channels;
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t c = 0; c < s.channels; c += kPanelColumns) {
      kernels::MultiplyChannels(patch + p * row_step + c, s.columns, column_step, runs_.data(),
                                run_groups_, panels_.data() + c / kPanelColumns * panel_size_,
                                sums + p * s.columns * step + c, step);
    }
  }
}

void PackedProduct::MultiplyByByteChannel(const uint8_t* patch, int zero_in_bytes, int64_t rows,
                                          int32_t* sums, int64_t step) const {
  constexpr int64_t kTogether = kernels::kByteChannels;
  const WindowSizes& s = sizes_;
  const int64_t row_step = (patch_is_sampled() ? 1 : s.strides[0]) * patch_width() * s.channels;
  const int64_t column_step = (patch_is_sampled() ? 1 : s.strides[1]) * s.channels;
  for (int64_t c = 0; c < s.channels; c += kTogether) {
    uint32_t start[kTogether];
    for (int64_t i = 0; i < kTogether; ++i) {
      start[i] =
          0u - static_cast<uint32_t>(zero_in_bytes) * static_cast<uint32_t>(column_sums_[c + i]);
    }
    for (int64_t p = 0; p < rows; ++p) {
      kernels::MultiplyByteChannels(patch + p * row_step + c, s.columns, column_step, runs_.data(),
                                    run_groups_, byte_panels_.data() + c / kTogether * panel_size_,
                                    start, std::min(kTogether, s.channels - c),
                                    sums + p * s.columns * step + c, step);
    }
  }
}

void PackedProduct::Multiply(const void* patch, int zero_in_bytes, int64_t begin, int64_t end,
                             int64_t first, int64_t last, int32_t* sums, int64_t step) const {
  if (by_channel_ && bytes_) {
    return MultiplyByByteChannel(static_cast<const uint8_t*>(patch), zero_in_bytes, end - begin,
                                 sums, step);
  }
  if (by_channel_) {
    return MultiplyByChannel(static_cast<const int16_t*>(patch), end - begin, sums, step);
  }
  if (bytes_) {
    return MultiplyByPanel(static_cast<const uint8_t*>(patch), byte_panels_, zero_in_bytes,
                           end - begin, first, last, sums, step);
  }
  MultiplyByPanel(static_cast<const int16_t*>(patch), panels_, 0, end - begin, first, last, sums,
                  step);
}

template <class Element, class Weight>
void PackedProduct::MultiplyByPanel(const Element* patch, const std::vector<Weight>& panels,
                                    int zero_in_bytes, int64_t count, int64_t first, int64_t last,
                                    int32_t* sums, int64_t step) const {
  const WindowSizes& s = sizes_;
  const int64_t row_step = (patch_is_sampled() ? 1 : s.strides[0]) * patch_width() * s.channels;
  const int64_t column_step = (patch_is_sampled() ? 1 : s.strides[1]) * s.channels;
  std::vector<const Element*> rows;
  rows.reserve(count * s.columns);
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t q = 0; q < s.columns; ++q) {
      rows.push_back(patch + p * row_step + q * column_step);
    }
  }
  for (int64_t g = 0; g < s.groups; ++g) {
    const int64_t base = s.groups > 1 ? g * group_outputs_ : 0;
    const int64_t to = s.groups > 1 ? group_outputs_ : last;
    int64_t j = s.groups > 1 ? 0 : first;
    while (j < to) {
      const int64_t panel = g * panels_per_group_ + j / kPanelColumns;
      const int together = bytes_ && j + kPanelColumns < to ? 2 : 1;
      uint32_t start[2 * kPanelColumns] = {};
      for (int64_t c = 0; bytes_ && c < together * kPanelColumns; ++c) {
        start[c] = 0u - static_cast<uint32_t>(zero_in_bytes) *
                            static_cast<uint32_t>(column_sums_[panel * kPanelColumns + c]);
      }
      MultiplyPanels(rows, panels.data() + panel * panel_size_, together, start,
                     sums + base + j - first, step);
      j += together * kPanelColumns;
    }
    for (const Element*& row : rows) row += group_channels_;
  }
}

template <class Element, class Weight>
void PackedProduct::MultiplyPanels(const std::vector<const Element*>& rows, const Weight* panel,
                                   int panels, const uint32_t* start, int32_t* sums,
                                   int64_t step) const {
  const auto count = static_cast<int64_t>(rows.size()), runs = static_cast<int64_t>(runs_.size());
  const int64_t tile_rows = kernels::TileRows();
  const int64_t run_size = run_groups_ * group_size() * kPanelColumns;
  const int64_t together =
      std::max<int64_t>(1, (bytes_ ? kPairedPanelBytes : kPanelBytes) /
                               (run_size * static_cast<int64_t>(sizeof(Weight))));
  for (int64_t r = 0; r < runs; r += together) {
    const kernels::Runs some = {runs_.data() + r, std::min(together, runs - r), run_groups_};
    for (int64_t i = 0; i < count; i += tile_rows) {
      const int64_t tile = std::min(tile_rows, count - i);
      int32_t* to = sums + i * step;
      if constexpr (std::is_same_v<Element, uint8_t>) {
        kernels::MultiplyBytes(rows.data() + i, tile, some, panel + r * run_size, panels,
                               panel_size_, r == 0 ? start : nullptr, to, step);
      } else {
        kernels::MultiplyTile(rows.data() + i, tile, some, panel + r * run_size, r > 0, to, step);
      }
    }
  }
}

}  // namespace lemma::cpu
