#include "graph/ops/convolution/window.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {

IndexExpr WindowAxis::OutputSize(bool ceil_mode) const {
  IndexExpr room = size + pad_begin + pad_end - Reach();
  if (!ceil_mode) return FloorDiv(room, stride) + 1;
  return Min(CeilDiv(room, stride) + 1, CeilDiv(size + pad_begin, stride));
}

bool WindowAxis::NeverPads(bool ceil_mode) const {
  return !ceil_mode && pad_begin.AsConst() == 0 && pad_end.AsConst() == 0;
}

std::vector<AttrSpec> WindowAttrs() {
  using Ints = std::vector<int64_t>;
  return {{"strides", AttrKind::kInts, Ints{1, 1}, true, "step of the window: height, width"},
          {"pads", AttrKind::kInts, Ints{0, 0, 0, 0}, true, "padding: top, left, bottom, right"},
          {"dilations", AttrKind::kInts, Ints{1, 1}, true,
           "distance between a window's elements: height, width"}};
}

absl::StatusOr<Windows> ReadWindows(OpContext& c, const IndexExpr& kernel_height,
                                    const IndexExpr& kernel_width) {
  LEMMA_REQUIRE(c, c.rank(0) == 4, "input must be [N,C,H,W], not of rank ", c.rank(0));
  const Idx &strides = c.Sizes("strides"), &pads = c.Sizes("pads"), &dil = c.Sizes("dilations");
  LEMMA_REQUIRE(c, strides.size() == 2, "strides must be [height, width], not ", strides.size(),
                " numbers");
  LEMMA_REQUIRE(c, pads.size() == 4, "pads must be [top, left, bottom, right], not ", pads.size(),
                " numbers");
  LEMMA_REQUIRE(c, dil.size() == 2, "dilations must be [height, width], not ", dil.size(),
                " numbers");
  Windows windows = {WindowAxis{c.Dim(0, 2), kernel_height, strides[0], dil[0], pads[0], pads[2]},
                     WindowAxis{c.Dim(0, 3), kernel_width, strides[1], dil[1], pads[1], pads[3]}};
  for (const WindowAxis& w : windows) {
    const char* axis = &w == &windows[0] ? "height" : "width";
    LEMMA_REQUIRE(c, Ge(w.kernel, 1), axis, " of the kernel is ", w.kernel.ToString(),
                  ", it must be positive");
    LEMMA_REQUIRE(c, Ge(w.stride, 1), axis, " stride is ", w.stride.ToString(),
                  ", it must be positive");
    LEMMA_REQUIRE(c, Ge(w.dilation, 1), axis, " dilation is ", w.dilation.ToString(),
                  ", it must be positive");
    LEMMA_REQUIRE(c, Ge(w.pad_begin, 0) && Ge(w.pad_end, 0), axis, " padding is ",
                  w.pad_begin.ToString(), " and ", w.pad_end.ToString(),
                  ", it must not be negative");
  }
  return windows;
}

absl::Status RequireFit(OpContext& c, const Windows& windows) {
  for (const WindowAxis& w : windows) {
    IndexExpr padded = w.size + w.pad_begin + w.pad_end;
    LEMMA_REQUIRE(c, Ge(padded, w.Reach()), "the window's ",
                  &w == &windows[0] ? "height " : "width ", w.Reach().ToString(),
                  " exceeds the padded input's ", padded.ToString());
  }
  return absl::OkStatus();
}

OnnxWindow OnnxWindow::Axes(int begin, int end) const {
  auto part = [](const std::vector<int64_t>& v, int from, int to) {
    return std::vector<int64_t>(v.begin() + from, v.begin() + to);
  };
  OnnxWindow w{part(kernel, begin, end), part(strides, begin, end), part(dilations, begin, end),
               part(pads, begin, end)};
  std::vector<int64_t> ends = part(pads, rank() + begin, rank() + end);
  w.pads.insert(w.pads.end(), ends.begin(), ends.end());
  return w;
}

OnnxWindow OnnxWindow::WithUnitAxis() const {
  OnnxWindow w = *this;
  w.kernel.insert(w.kernel.begin(), 1);
  w.strides.insert(w.strides.begin(), 1);
  w.dilations.insert(w.dilations.begin(), 1);
  w.pads.insert(w.pads.begin() + rank(), 0);
  w.pads.insert(w.pads.begin(), 0);
  return w;
}

int64_t OnnxWindow::Reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }

std::optional<std::pair<int64_t, int64_t>> SamePadding(int64_t size, int64_t reach,
                                                       int64_t stride) {
  const IndexExpr x = ToExpr(size), windows = CeilDiv(x, stride);
  IndexExpr total = (windows - 1) * stride + reach - x;
  // Windows of one element never leave the tensor; others do if they meet or overlap.
  if (reach == 1) total = 0;
  if (reach != 1 && reach < stride) return std::nullopt;
  const IndexExpr less = FloorDiv(total, 2);
  const auto a = ToSize(less), b = ToSize(total - less);
  if (!a || !b) return std::nullopt;
  return std::pair(*a, *b);
}

std::pair<std::string, OnnxAttr> OnnxPadding(const Shape& input, const OnnxWindow& window) {
  if (!IsSymbolic(window.pads)) return {"pads", window.pads};
  bool upper = true, lower = true;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const auto same = SamePadding(input[i + 2], window.Reach(i), window.strides[i]);
    const std::pair pads(window.pads[i], window.pads[window.kernel.size() + i]);
    upper = upper && same && pads == *same;
    lower = lower && same && pads == std::pair(same->second, same->first);
  }
  if (upper) return {"auto_pad", "SAME_UPPER"};
  if (lower) return {"auto_pad", "SAME_LOWER"};
  return {"pads", window.pads};
}

Attrs OnnxWindow::ToAttrs() const {
  return {{"strides", strides}, {"pads", pads}, {"dilations", dilations}};
}

absl::StatusOr<std::vector<int64_t>> KernelOfWeight(const OnnxImport& node, const Shape& weight,
                                                    size_t most) {
  if (weight.size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", ToString(weight), " must have rank 3 or more"));
  }
  if (weight.size() > most + 2)
    return node.Unsupported(absl::StrCat(weight.size() - 2, " spatial axes"));
  std::vector<int64_t> kernel(weight.begin() + 2, weight.end());
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> declared, node.Ints("kernel_shape", kernel));
  if (declared != kernel) {
    return absl::InvalidArgumentError(absl::StrCat("kernel_shape ", ToString(declared),
                                                   " does not fit the weight ", ToString(weight)));
  }
  return kernel;
}

absl::StatusOr<OnnxWindow> ReadOnnxWindow(const OnnxImport& node, const Shape& input,
                                          std::vector<int64_t> kernel) {
  size_t rank = kernel.size();
  if (input.size() != rank + 2) {
    return absl::InvalidArgumentError(absl::StrCat("input ", ToString(input), " must have ",
                                                   rank + 2, " dimensions for a kernel of ", rank));
  }
  std::vector<int64_t> ones(rank, 1);
  LEMMA_ASSIGN_OR_RETURN(auto strides, node.Ints("strides", ones));
  LEMMA_ASSIGN_OR_RETURN(auto dilations, node.Ints("dilations", ones));
  LEMMA_ASSIGN_OR_RETURN(auto pads, node.Ints("pads", std::vector<int64_t>(2 * rank, 0)));
  LEMMA_ASSIGN_OR_RETURN(std::string auto_pad, node.String("auto_pad", "NOTSET"));
  OnnxWindow w{std::move(kernel), strides, dilations, pads};
  if (w.strides.size() != rank || w.dilations.size() != rank || w.pads.size() != 2 * rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("strides [", absl::StrJoin(w.strides, ","), "], dilations [",
                     absl::StrJoin(w.dilations, ","), "] and pads [", absl::StrJoin(w.pads, ","),
                     "] must have ", rank, ", ", rank, " and ", 2 * rank, " entries"));
  }
  if (auto_pad == "NOTSET" || auto_pad.empty()) return w;
  w.pads.assign(2 * rank, 0);
  if (auto_pad == "VALID") return w;
  if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    return absl::InvalidArgumentError(absl::StrCat(
        "auto_pad is ", auto_pad, ", it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER"));
  }
  for (size_t i = 0; i < rank; ++i) {
    if (w.strides[i] < 1) return absl::InvalidArgumentError("strides must be positive");
    if (IsSymbolic(input[i + 2])) {
      const auto pads = SamePadding(input[i + 2], w.Reach(i), w.strides[i]);
      if (!pads) {
        return node.Unsupported(absl::StrCat("auto_pad ", auto_pad, " with a stride of ",
                                             w.strides[i], ", windows of ", w.Reach(i),
                                             " and a symbolic size"));
      }
      w.pads[i] = auto_pad == "SAME_UPPER" ? pads->first : pads->second;
      w.pads[rank + i] = auto_pad == "SAME_UPPER" ? pads->second : pads->first;
      continue;
    }
    int64_t size = input[i + 2], reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    int64_t out = (size + w.strides[i] - 1) / w.strides[i];
    int64_t total = std::max<int64_t>(0, (out - 1) * w.strides[i] + reach - size);
    int64_t less = total / 2, more = total - less;
    bool upper = auto_pad == "SAME_UPPER";
    w.pads[i] = upper ? less : more;
    w.pads[rank + i] = upper ? more : less;
  }
  return w;
}

}  // namespace lemma::ops
