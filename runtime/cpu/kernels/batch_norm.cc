// Batch normalization with known statistics as a kernel of its own, with the bounds that follow it,
// channels last.
#include <limits>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/vectorized/channel_affine.h"

namespace lemma::cpu {
namespace {

constexpr int kChannel = 1;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool Accepts(const Node& node) {
  return node.type(0).dtype == DType::kF32 && node.type(0).rank() == 4 &&
         node.type(0).num_elements() > 0 &&
         PostOpKindOf(node, node.inputs()[0], kChannel) == PostOpKind::kChannelAffine;
}

struct Bounds {
  float low = -kInfinity, high = kInfinity;
};
std::optional<Bounds> BoundsOf(const Node& node, const Value& v) {
  const std::optional<Eltwise> f = EltwiseOf(node, v);
  if (!f) return std::nullopt;
  if (f->algorithm == dnnl::algorithm::eltwise_clip) return Bounds{f->alpha, f->beta};
  const bool relu = f->algorithm == dnnl::algorithm::eltwise_relu && f->alpha == 0;
  return relu ? std::optional<Bounds>(Bounds{0.0f, kInfinity}) : std::nullopt;
}

bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  return spec.nodes.size() == 1 && BoundsOf(user, Value(spec.nodes[0], 0)).has_value();
}

// Channels are innermost, and the pixels of all images are evenly spaced.
bool IsMatrix(const Shape& s, const Strides& strides, int64_t* step) {
  auto view =
      ReshapedView({s[0], s[2], s[3]}, {strides[0], strides[2], strides[3]}, {s[0] * s[2] * s[3]});
  if (!view || (s[1] > 1 && strides[1] != 1)) return false;
  *step = (*view)[0];
  return true;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  auto& x = spec.inputs[0];
  int64_t step = 0;
  if (!IsMatrix(x.type.shape, x.strides, &step)) x.strides = ChannelsLast(x.type.shape);
  spec.outputs[0].strides = ChannelsLast(x.type.shape);
  spec.in_place = {0};
}

bool StridedOutput(const CpuKernelSpec& spec, const Strides& strides) {
  int64_t step = 0;
  return IsMatrix(spec.outputs[0].type.shape, strides, &step);
}
bool StridedInput(const std::vector<NodePtr>&, int node, int operand) {
  return node == 0 && operand == 0;
}

class BatchNorm : public Kernel {
 public:
  std::vector<float> scale, shift;
  Bounds bounds;
  int64_t rows = 0, x_step = 0, y_step = 0;
  int threads = 1;

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const float* x = static_cast<const float*>(inputs[0]);
    float* y = static_cast<float*>(outputs[0]);
    const int64_t columns = static_cast<int64_t>(scale.size());
    ParallelFor(ThreadsFor(rows * columns, threads), rows, [&](int64_t begin, int64_t end) {
      kernels::ChannelAffine(x + begin * x_step, x_step, scale.data(), shift.data(), bounds.low,
                             bounds.high, end - begin, columns, y + begin * y_step, y_step);
    });
    return absl::OkStatus();
  }
  size_t packed_bytes() const override { return scale.size() * 2 * sizeof(float); }
  std::vector<absl::Span<const char>> PackedWeights() const override {
    auto bytes = [](const std::vector<float>& v) {
      return absl::MakeSpan(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
    };
    return {bytes(scale), bytes(shift)};
  }
  bool NeedsStatic(int) const override { return false; }
};

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  const Node& node = spec.head();
  const Shape& shape = spec.inputs[0].type.shape;
  auto kernel = std::make_unique<BatchNorm>();
  kernel->threads = spec.threads;
  if (!IsMatrix(shape, spec.inputs[0].strides, &kernel->x_step) ||
      !IsMatrix(shape, spec.outputs[0].strides, &kernel->y_step)) {
    return absl::InternalError("a batch normalization got other strides");
  }
  std::vector<Tensor> parameters;
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    parameters.push_back(statics[spec.InputIndex(node.inputs()[i])]);
  }
  absl::Status s = AffineCoefficients(node, parameters, kChannel, &kernel->scale, &kernel->shift);
  if (!s.ok()) return s;
  kernel->rows = shape[0] * shape[2] * shape[3];
  if (spec.nodes.size() > 1) kernel->bounds = *BoundsOf(*spec.nodes[1], Value(spec.nodes[0], 0));
  return kernel;
}

}  // namespace

KernelDef MakeBatchNormKernel() {
  KernelDef def;
  def.name = "batch norm";
  def.ops = {"batch_norm"};
  def.accepts = Accepts;
  def.fuses = Fuses;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.strided_input = StridedInput;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
