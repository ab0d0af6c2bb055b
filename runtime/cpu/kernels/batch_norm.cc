// Batch normalization with known statistics as a kernel of its own, with the bounds and the
// quantization that follow it, channels last. If it ends with integers, it may also begin with
// integers, and compute their numbers itself.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/known_chain.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/integers/requantization/requantize.h"
#include "runtime/cpu/kernels/integers/tiles.h"
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
  const Value v(spec.nodes.back(), 0);
  if (spec.nodes.size() == 1 && BoundsOf(user, v).has_value()) return true;
  return MayBeKnownStep(v, user);
}

// The bounds behind the normalization, if there are any.
std::optional<Bounds> BoundsOf(const CpuKernelSpec& spec) {
  const auto behind = static_cast<size_t>(spec.head_at) + 1;
  if (behind == spec.nodes.size()) return std::nullopt;
  return BoundsOf(*spec.nodes[behind], Value(spec.head_node(), 0));
}

// How many of the spec's nodes end with the bounds or, if there are none, the normalization.
size_t FrontOf(const CpuKernelSpec& spec) {
  return static_cast<size_t>(spec.head_at) + (BoundsOf(spec) ? 2 : 1);
}

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }
bool ReadsIntegers(const std::vector<NodePtr>& nodes) {
  return IsByte(nodes.back()->type(0).dtype);
}

// Channels are innermost, and the pixels of all images are evenly spaced.
bool IsMatrix(const Shape& s, const Strides& strides, int64_t* step) {
  auto view =
      ReshapedView({s[0], s[2], s[3]}, {strides[0], strides[2], strides[3]}, {s[0] * s[2] * s[3]});
  if (!view || (s[1] > 1 && strides[1] != 1)) return false;
  *step = (*view)[0];
  return true;
}

// What follows the bounds is worth a pass of its own unless it ends with integers.
size_t Takes(const CpuKernelSpec& spec) {
  return IsByte(spec.last().type(0).dtype) ? spec.nodes.size() : FrontOf(spec);
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  auto& x = spec.inputs[0];
  int64_t step = 0;
  if (!IsMatrix(x.type.shape, x.strides, &step)) x.strides = ChannelsLast(x.type.shape);
  spec.outputs[0].strides = ChannelsLast(x.type.shape);
  if (spec.outputs[0].type == x.type) spec.in_place = {0};
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
  std::vector<kernels::ChainStep> numbers;     // from the integers that are read; empty: reads f32
  std::optional<KnownChain> chain;             // behind the bounds
  std::vector<kernels::ChainStep> steps;       // all, if the kernel ends with integers
  std::optional<kernels::Requantization> all;  // computes the same as `steps`, faster

  // Sets `steps` and `all`.
  void Join() {
    if (!chain || chain->result_bytes() != 1) return;
    using Kind = kernels::ChainStep::Kind;
    steps = numbers;
    for (const auto& [values, kind] :
         {std::pair(&scale, Kind::kMultiplyOther), std::pair(&shift, Kind::kAddOther)}) {
      steps.push_back({Kind::kLoadVector});
      steps.back().data = values->data();
      steps.push_back({kind});
    }
    if (bounds.low != -kInfinity) {
      steps.push_back({Kind::kMax});
      steps.back().number = bounds.low;
    }
    if (bounds.high != kInfinity) {
      steps.push_back({Kind::kMin});
      steps.back().number = bounds.high;
    }
    steps.insert(steps.end(), chain->steps().begin(), chain->steps().end());
    if (kernels::BestIntegerIsa() != kernels::IntegerIsa::kVnni) return;
    all = kernels::Requantization::Of(kernels::Requantization::Start::kFloats, nullptr, nullptr,
                                      static_cast<int64_t>(scale.size()), steps);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const auto* x = static_cast<const float*>(inputs[0]);
    const auto* integers = static_cast<const char*>(inputs[0]);
    const int64_t columns = static_cast<int64_t>(scale.size());
    const auto affine = [&](int64_t row, int64_t count, float* y, int64_t step) {
      kernels::ChannelAffine(x + row * x_step, x_step, scale.data(), shift.data(), bounds.low,
                             bounds.high, count, columns, y, step);
    };
    const int many = ThreadsFor(rows * columns, threads);
    if (!chain) {
      auto* y = static_cast<float*>(outputs[0]);
      ParallelFor(many, rows, [&](int64_t begin, int64_t end) {
        affine(begin, end - begin, y + begin * y_step, y_step);
      });
      return absl::OkStatus();
    }
    if (all) {
      ParallelFor(many, rows, [&](int64_t begin, int64_t end) {
        kernels::Requantization::Rows part;
        part.rows = end - begin;
        part.columns = columns;
        part.x = numbers.empty() ? static_cast<const void*>(x + begin * x_step)
                                 : integers + begin * x_step;
        part.x_step = x_step;
        part.y = static_cast<char*>(outputs[0]) + begin * y_step;
        part.y_step = y_step;
        all->Run(part);
      });
      return absl::OkStatus();
    }
    if (!numbers.empty()) {
      ParallelFor(many, rows, [&](int64_t begin, int64_t end) {
        std::vector<kernels::ChainStep> own = steps;
        own[0].data = integers + begin * x_step;
        own[0].data_step = x_step;
        kernels::ApplyChain(nullptr, 0, end - begin, columns, own.data(),
                            static_cast<int>(own.size()), chain->result(),
                            static_cast<char*>(outputs[0]) + begin * y_step, y_step);
      });
      return absl::OkStatus();
    }
    const int64_t block = block_rows(), workers = std::min<int64_t>(many, rows);
    ParallelFor(many, workers, [&](int64_t first, int64_t last) {
      for (int64_t worker = first; worker < last; ++worker) {
        float* values = static_cast<float*>(scratch) + worker * block * columns;
        const int64_t end = rows * (worker + 1) / workers;
        for (int64_t row = rows * worker / workers; row < end; row += block) {
          const int64_t count = std::min(block, end - row);
          affine(row, count, values, columns);
          chain->Run(values, count, columns,
                     static_cast<char*>(outputs[0]) + row * y_step * chain->result_bytes(), y_step);
        }
      }
    });
    return absl::OkStatus();
  }
  size_t scratch_bytes() const override {
    return chain ? threads * block_rows() * scale.size() * sizeof(float) : 0;
  }
  size_t packed_bytes() const override { return scale.size() * 2 * sizeof(float); }
  std::vector<absl::Span<const char>> PackedWeights() const override {
    auto bytes = [](const std::vector<float>& v) {
      return absl::MakeSpan(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
    };
    return {bytes(scale), bytes(shift)};
  }
  bool NeedsStatic(int) const override { return false; }

 private:
  // Rows whose floats stay in the first-level cache.
  int64_t block_rows() const {
    constexpr int64_t kFloats = 4096;
    return std::clamp<int64_t>(kFloats / static_cast<int64_t>(scale.size()), 1, rows);
  }
};

// The steps from the integers of `operand` to its numbers. The first one loads them. Empty if its
// zero or scales are no inputs of the kernel.
std::vector<kernels::ChainStep> NumbersOf(const IntegerOperand& operand, const CpuKernelSpec& spec,
                                          const StaticValues& statics) {
  using Kind = kernels::ChainStep::Kind;
  const bool is_signed = operand.source.dtype() == DType::kI8;
  std::vector<kernels::ChainStep> steps(2);
  steps[0].kind = is_signed ? Kind::kLoadI8 : Kind::kLoadU8;
  steps[1].kind = Kind::kTakeOther;
  bool known = true;
  const auto add = [&](Kind kind, const Value& number) {
    const int input = spec.InputIndex(number);
    known = known && input >= 0;
    if (!known) return;
    steps.push_back({kind});
    steps.back().number = static_cast<float>(statics[input].AtDouble(0));
  };
  if (operand.zero) add(Kind::kSubtract, operand.zero);
  for (size_t i = operand.scales.size(); i-- > 0;) add(Kind::kMultiply, operand.scales[i]);
  return known ? steps : std::vector<kernels::ChainStep>();
}

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
  const size_t front = FrontOf(spec);
  kernel->bounds = BoundsOf(spec).value_or(Bounds());
  if (spec.head_at > 0) {
    const std::optional<IntegerOperand> operand = IntegerOperandOf(node.inputs()[0]);
    if (operand) kernel->numbers = NumbersOf(*operand, spec, statics);
    if (kernel->numbers.empty()) {
      return absl::UnimplementedError("what precedes is no known function of integers");
    }
  }
  if (spec.nodes.size() > front) {
    kernel->chain = KnownChain::Compile(spec, Value(spec.nodes[front - 1], 0), statics);
    if (!kernel->chain) return absl::UnimplementedError("what follows is no chain");
    kernel->Join();
  }
  return kernel;
}

}  // namespace

KernelDef MakeBatchNormKernel() {
  KernelDef def;
  def.name = "batch norm";
  def.ops = {"batch_norm"};
  def.accepts = Accepts;
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.takes = Takes;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.strided_input = StridedInput;
  def.build = Build;
  def.reads_integers = ReadsIntegers;
  return def;
}

}  // namespace lemma::cpu
