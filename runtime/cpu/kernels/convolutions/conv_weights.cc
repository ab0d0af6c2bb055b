// Runs convolutions whose kernel is larger than their result, such as gradients of weights, with
// oneDNN's backward-weights primitive.
//
//   y[c,k,r,s] = sum(n, p, q) x[c, n, r*a + p*b - top, s*a + q*b - left] * f[k,n,p,q]
//
// is the gradient of the weights [k,c,r,s] of a convolution of [n,c,…] with strides b and dilations
// a, if its results have the gradients f[n,k,p,q]. The library has loops for a small y and long
// sums; a convolution would hold all of f as its filter. If r and s have only one value each, y is
// a product of matrices.
#include <algorithm>
#include <optional>

#include "kernels/lanes/strided_copy.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

// [b, c, h, w] in memory where c is the batch and b the channel of channels-last images.
Strides SwappedChannelsLast(const Shape& shape) {
  return {1, shape[0] * shape[2] * shape[3], shape[0] * shape[3], shape[0]};
}
Shape Swapped(const Shape& shape) { return {shape[1], shape[0], shape[2], shape[3]}; }

// The padding to add at the end of images of height and width `image`, so that a whole number of
// windows fits. Negative: the number of rows or columns that no window reaches.
dnnl::memory::dims EndPadding(const Node& node, const Shape& image) {
  const Shape &f = node.inputs()[1].shape(), &y = node.type(0).shape;
  const auto &a = node.Ints("strides"), &b = node.Ints("dilations"), &pads = node.Ints("pads");
  dnnl::memory::dims end;
  for (size_t i = 0; i < 2; ++i) {
    end.push_back((f[2 + i] - 1) * b[i] + (y[2 + i] - 1) * a[i] + 1 - image[i] - pads[i]);
  }
  return end;
}

Shape ImageOf(const Shape& x) { return {x[2], x[3]}; }

// The value whose first elements in each dimension are `v`, so that the following elements can be
// read, too; nullopt if `v` is no such part.
std::optional<Value> BeginningOf(const Value& v) {
  if (!v.node().is_op() || NodeTraitsOf(v.node()).views.empty()) return std::nullopt;
  const AffineView& view = NodeTraitsOf(v.node()).views[v.output()];
  const Value& whole = v.node().inputs()[view.input];
  if (!view.permutation.empty()) return BeginningOf(whole);
  for (size_t d = 0; d < view.offset.size(); ++d) {
    std::vector<int64_t> own(static_cast<size_t>(view.output_rank), 0);
    if (d >= own.size()) return std::nullopt;
    own[d] = 1;
    if (view.offset[d] != 0 || view.coefficient[d] != own) return std::nullopt;
  }
  return whole;
}

// Height and width of the images in memory if x consists of their first rows and columns and the
// windows reach no others; nullopt otherwise.
std::optional<Shape> CutImage(const Node& node, const Value& x, const Strides& strides) {
  const Shape& shape = x.shape();
  const std::optional<Value> whole = BeginningOf(x);
  if (!whole || strides[0] != 1 || strides[3] != shape[0]) return std::nullopt;
  if (strides[2] % strides[3] != 0 || strides[1] % strides[2] != 0) return std::nullopt;
  const Shape image = {strides[1] / strides[2], strides[2] / strides[3]};
  if (NumElements({shape[0], shape[1], image[0], image[1]}) != whole->type().num_elements()) {
    return std::nullopt;
  }
  const dnnl::memory::dims end = EndPadding(node, image);
  for (size_t i = 0; i < 2; ++i) {
    // As many as the library itself leaves unused: less than a step.
    if (image[i] < shape[2 + i] || end[i] > 0 || -end[i] >= node.Ints("dilations")[i]) {
      return std::nullopt;
    }
  }
  return image;
}

bool Accepts(const Node& node) {
  const Shape &f = node.inputs()[1].shape(), &y = node.type(0).shape;
  if (node.inputs().size() != 2 || node.inputs()[0] == node.inputs()[1]) return false;
  if (node.Int("groups") != 1 || node.type(0).num_elements() == 0) return false;
  const dnnl::memory::dims end = EndPadding(node, ImageOf(node.inputs()[0].shape()));
  if (f[2] * f[3] <= y[2] * y[3] || end[0] < 0 || end[1] < 0) return false;
  for (const Value& v : node.inputs()) {
    if (v.dtype() != DType::kF32 || v.type().num_elements() == 0 || IsStaticValue(v)) return false;
  }
  return true;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  const Value& x = spec.head().inputs()[0];
  for (auto& in : spec.inputs) {
    if (in.value == x && CutImage(spec.head(), x, in.strides)) continue;
    in.strides = SwappedChannelsLast(in.type.shape);
  }
  const Shape& y = spec.outputs[0].type.shape;
  const int64_t area = y[2] * y[3];
  spec.outputs[0].strides = {area, y[0] * area, y[3], 1};  // row-major when seen as [k,c,r,s]
}

class WeightGradientKernel : public Kernel {
 public:
  WeightGradientKernel(const dnnl::convolution_backward_weights::primitive_desc& pd,
                       const dnnl::memory::desc& result, int x, int dy)
      : x_(x),
        dy_(dy),
        primitive_(pd),
        note_(pd.impl_info_str()),
        src_(pd.src_desc(), Engine(), nullptr),
        diff_dst_(pd.diff_dst_desc(), Engine(), nullptr),
        diff_weights_(pd.diff_weights_desc(), Engine(), nullptr),
        result_(result, Engine(), nullptr),
        scratch_(pd.scratchpad_desc(), Engine(), nullptr),
        reorders_(pd.diff_weights_desc() != result) {
    if (reorders_) reorder_ = dnnl::reorder(diff_weights_, result_);
    scratch_size_ = (pd.scratchpad_desc().get_size() + 63) / 64 * 64;
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    return CatchDnnl([&] {
      char* const bytes = static_cast<char*>(scratch);
      src_.set_data_handle(inputs[x_]);
      diff_dst_.set_data_handle(inputs[dy_]);
      result_.set_data_handle(outputs[0]);
      scratch_.set_data_handle(bytes);
      diff_weights_.set_data_handle(reorders_ ? bytes + scratch_size_ : outputs[0]);
      dnnl::stream stream(Engine());
      primitive_.execute(stream, {{DNNL_ARG_SRC, src_},
                                  {DNNL_ARG_DIFF_DST, diff_dst_},
                                  {DNNL_ARG_DIFF_WEIGHTS, diff_weights_},
                                  {DNNL_ARG_SCRATCHPAD, scratch_}});
      if (reorders_) reorder_.execute(stream, diff_weights_, result_);
      stream.wait();
      return absl::OkStatus();
    });
  }

  size_t scratch_bytes() const override {
    return scratch_size_ + (reorders_ ? diff_weights_.get_desc().get_size() : 0);
  }
  std::string note() const override { return note_; }

 private:
  const int x_, dy_;  // inputs
  dnnl::convolution_backward_weights primitive_;
  std::string note_;
  dnnl::memory src_, diff_dst_, diff_weights_, result_, scratch_;
  bool reorders_;
  dnnl::reorder reorder_;
  size_t scratch_size_ = 0;
};

// Whether the result has one element per pair of channels, and no window reaches beyond an image.
bool IsProduct(const Node& node) {
  const Shape& y = node.type(0).shape;
  const auto& pads = node.Ints("pads");
  return y[2] * y[3] == 1 &&
         std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
}

// Multiplies two matrices [pixels, channels]: f, and the part of x that the windows see, which is
// gathered first unless it is every pixel.
class ProductKernel : public Kernel {
 public:
  ProductKernel(const Node& node, const Shape& images, int x, int dy, int threads)
      : x_(x), dy_(dy), threads_(threads) {
    const Shape &f = node.inputs()[1].shape(), &y = node.type(0).shape;
    const auto& b = node.Ints("dilations");
    const int64_t pixels = f[1] * f[2] * f[3], c = y[0], k = y[1];
    gathers_ = Shape{f[1], c, f[2], f[3]} != images;
    if (gathers_) {
      const int64_t row = images[3] * c;
      gathered_ = {{f[1], f[2] * f[3] * c, images[2] * row},
                   {f[2], f[3] * c, b[0] * row},
                   {f[3], c, b[1] * c},
                   {c, 1, 1}};
      gathered_bytes_ = (static_cast<size_t>(pixels * c) * sizeof(float) + 63) / 64 * 64;
    }
    const auto left = Desc({k, pixels}, {1, k}), right = Desc({pixels, c}, {c, 1});
    const dnnl::matmul::desc desc(left, right, Desc({k, c}, {c, 1}));
    const dnnl::matmul::primitive_desc pd(desc, CallerScratch(), Engine());
    note_ = pd.impl_info_str();
    product_ = dnnl::matmul(pd);
    left_ = dnnl::memory(pd.src_desc(), Engine(), nullptr);
    right_ = dnnl::memory(pd.weights_desc(), Engine(), nullptr);
    result_ = dnnl::memory(pd.dst_desc(), Engine(), nullptr);
    scratch_ = dnnl::memory(pd.scratchpad_desc(), Engine(), nullptr);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    return CatchDnnl([&] {
      dnnl::stream stream(Engine());
      if (gathers_) StridedCopy(scratch, inputs[x_], sizeof(float), gathered_, threads_);
      left_.set_data_handle(inputs[dy_]);
      right_.set_data_handle(gathers_ ? scratch : inputs[x_]);
      result_.set_data_handle(outputs[0]);
      scratch_.set_data_handle(static_cast<char*>(scratch) + gathered_bytes_);
      product_.execute(stream, {{DNNL_ARG_SRC, left_},
                                {DNNL_ARG_WEIGHTS, right_},
                                {DNNL_ARG_DST, result_},
                                {DNNL_ARG_SCRATCHPAD, scratch_}});
      stream.wait();
      return absl::OkStatus();
    });
  }

  size_t scratch_bytes() const override { return gathered_bytes_ + scratch_.get_desc().get_size(); }
  std::string note() const override { return note_; }

 private:
  const int x_, dy_;  // inputs
  const int threads_;
  bool gathers_ = false;
  std::vector<CopyAxis> gathered_;
  dnnl::memory left_, right_, result_, scratch_;
  dnnl::matmul product_;
  size_t gathered_bytes_ = 0;
  std::string note_;
};

Built Build(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const Node& node = spec.head();
    const int x = spec.InputIndex(node.inputs()[0]), dy = spec.InputIndex(node.inputs()[1]);
    Shape images = Swapped(spec.inputs[x].type.shape), image = ImageOf(images);
    if (const auto cut = CutImage(node, node.inputs()[0], spec.inputs[x].strides)) {
      image = *cut;
      images = {images[0], images[1], image[0], image[1]};
    }
    if (IsProduct(node)) {
      return std::make_unique<ProductKernel>(node, images, x, dy, spec.threads);
    }
    const auto src = ChannelsLastDesc(images);
    const auto diff_dst = ChannelsLastDesc(Swapped(spec.inputs[dy].type.shape));
    const Shape ws = Swapped(spec.outputs[0].type.shape);
    const auto &a = node.Ints("strides"), &b = node.Ints("dilations"), &pads = node.Ints("pads");
    const dnnl::memory::dims dilations = {a[0] - 1, a[1] - 1}, begin = {pads[0], pads[1]};
    dnnl::memory::dims end = EndPadding(node, image);
    for (auto& e : end) e = std::max<dnnl::memory::dim>(e, 0);
    const auto direct = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, direct, src,
                                                  AnyDesc(ws), diff_dst, b, dilations, begin, end);
    const dnnl::convolution_forward::primitive_desc hint(forward, Engine());
    const dnnl::convolution_backward_weights::desc desc(direct, src, AnyDesc(ws), diff_dst, b,
                                                        dilations, begin, end);
    const dnnl::convolution_backward_weights::primitive_desc pd(desc, CallerScratch(), Engine(),
                                                                hint);
    return std::make_unique<WeightGradientKernel>(pd, Desc(ws, RowMajorStrides(ws)), x, dy);
  });
}

}  // namespace

KernelDef MakeConvWeightsKernel() {
  KernelDef def;
  def.name = "conv weights";
  def.ops = {"conv2d"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
