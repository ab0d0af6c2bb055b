// Turns operations behind a convolution or matrix product into oneDNN's post-operations.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/packed_weights.h"

namespace lemma::cpu {
namespace {

using dnnl::algorithm;

// The most post-operations that oneDNN accepts for one primitive.
constexpr int kMaxPostOps = 32;

// The operand of an application of two operands that is not `v`.
const Value& Other(const Node& node, const Value& v) {
  return node.inputs()[0] == v ? node.inputs()[1] : node.inputs()[0];
}

// Whether operand `i` has one element per channel, which the output's elements of it read.
bool IsPerChannel(const Node& node, size_t i, int channel) {
  const Shape& shape = node.type(0).shape;
  if (node.inputs()[i].type().num_elements() != shape[channel]) return false;
  for (const int d : NodeTraitsOf(node).element->dims[i]) {
    if (d != channel && shape[d] != 1) return false;
  }
  return true;
}

bool Reads(const ScalarExpr& e, TensorId input) {
  if (e.kind() == ScalarExpr::Kind::kRead) return e.tensor() == input;
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return Reads(arg, input); });
}

// Whether `e` is a * x + b, where x is the element of `input` and a and b do not depend on it.
bool IsAffine(const ScalarExpr& e, TensorId input) {
  if (!Reads(e, input) || e.kind() == ScalarExpr::Kind::kRead) return true;
  if (e.kind() != ScalarExpr::Kind::kApply) return false;
  const std::vector<ScalarExpr>& args = e.args();
  switch (e.fn()) {
    case ScalarFn::kNeg:
      return IsAffine(args[0], input);
    case ScalarFn::kAdd:
    case ScalarFn::kSub:
      return IsAffine(args[0], input) && IsAffine(args[1], input);
    case ScalarFn::kMul:
      return (!Reads(args[0], input) && IsAffine(args[1], input)) ||
             (!Reads(args[1], input) && IsAffine(args[0], input));
    case ScalarFn::kDiv:
      return !Reads(args[1], input) && IsAffine(args[0], input);
    default:
      return false;
  }
}

// Whether `user` scales and shifts the channels of `v`, its first operand, by known vectors. With
// one vector only, two post-operations do not pay.
bool IsChannelAffine(const Node& user, const Value& v, int channel) {
  if (user.inputs().size() < 3 || user.inputs()[0] != v) return false;
  for (size_t i = 1; i < user.inputs().size(); ++i) {
    if (!IsStaticValue(user.inputs()[i]) || !IsPerChannel(user, i, channel)) return false;
  }
  return IsAffine(NodeTraitsOf(user).element->body, 0);
}

// oneDNN up to 2.6 keeps one set of parameters per algorithm of a primitive, and uses the first
// one's wherever that algorithm occurs again.
bool Clash(const Eltwise& a, const Eltwise& b) {
  return a.algorithm == b.algorithm && (a.alpha != b.alpha || a.beta != b.beta);
}

// Whether oneDNN has fast code for a sum with a tensor behind another post-operation, in a
// convolution and in a matrix product. Where it has none, as with AVX2 in version 2.6, its
// reference code is a hundred times slower. Asks the library once.
bool TakesLateSums() {
  static const bool takes = [] {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0, 0);
    ops.append_sum(1.0f);
    dnnl::primitive_attr attr = CallerScratch();
    attr.set_post_ops(ops);
    const Shape image = {1, 32, 14, 14}, filter = {32, 32, 3, 3};
    const dnnl::memory::desc x = ChannelsLastDesc(image), rows = Desc({14, 32}, {32, 1});
    try {
      const dnnl::convolution_forward::desc conv(dnnl::prop_kind::forward_inference,
                                                 algorithm::convolution_direct, x, AnyDesc(filter),
                                                 x, {1, 1}, {0, 0}, {1, 1}, {1, 1});
      const dnnl::matmul::desc product(rows, AnyDesc({32, 32}), rows);
      for (const std::string& code :
           {std::string(
                dnnl::convolution_forward::primitive_desc(conv, attr, Engine()).impl_info_str()),
            std::string(dnnl::matmul::primitive_desc(product, attr, Engine()).impl_info_str())}) {
        if (code.rfind("ref", 0) == 0) return false;
      }
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return takes;
}

// The position of the first node behind the head.
size_t FirstBehind(const CpuKernelSpec& spec) { return static_cast<size_t>(spec.head_at) + 1; }

// The largest number of post-operations for an application.
int MostPostOps(PostOpKind how) { return how == PostOpKind::kChannelAffine ? 2 : 1; }

}  // namespace

absl::Status AffineCoefficients(const Node& node, absl::Span<const Tensor> parameters, int channel,
                                std::vector<float>* scale, std::vector<float>* shift) {
  std::vector<TensorType> types = node.input_types();
  const int64_t channels = types[0].shape[channel];
  types[0].shape.assign(types[0].shape.size(), 1);
  types[0].shape[channel] = channels;
  absl::StatusOr<Definition> definition = Define(node.op(), types, node.attrs());
  if (!definition.ok()) return definition.status();
  absl::StatusOr<LoopProgram> program = CompileLoops(*definition);
  if (!program.ok()) return program.status();
  std::vector<double> at[2];
  for (int point = 0; point < 2; ++point) {
    std::vector<double> x(channels, point);
    at[point].resize(channels);
    const Strides row = RowMajorStrides(types[0].shape);
    std::vector<TensorView> in = {{x.data(), DType::kF64, row}};
    for (const Tensor& t : parameters)
      in.push_back({t.raw(), t.dtype(), RowMajorStrides(t.shape())});
    MutableTensorView out{at[point].data(), DType::kF64, row};
    if (absl::Status s = Run<double>(*program, in, {out}); !s.ok()) return s;
  }
  for (int64_t c = 0; c < channels; ++c) {
    scale->push_back(static_cast<float>(at[1][c] - at[0][c]));
    shift->push_back(static_cast<float>(at[0][c]));
    // With an infinite mean or scale, the function is not scale * x + shift.
    if (std::isfinite(scale->back()) && std::isfinite(shift->back())) continue;
    return absl::UnimplementedError("parameters of a channel that are not finite");
  }
  return absl::OkStatus();
}

PostOpKind PostOpKindOf(const Node& user, const Value& v, int channel) {
  if (!NodeTraitsOf(user).element || user.type(0) != v.type()) return PostOpKind::kNo;
  if (EltwiseOf(user, v)) return PostOpKind::kEltwise;
  if (IsChannelAffine(user, v, channel)) return PostOpKind::kChannelAffine;
  if (!IsSumOfTwo(user)) return PostOpKind::kNo;
  const Value& other = Other(user, v);
  if (other.type() == v.type() && !IsStaticValue(other)) return PostOpKind::kSum;
  const size_t at = user.inputs()[0] == other ? 0 : 1;
  return IsPerChannel(user, at, channel) ? PostOpKind::kBias : PostOpKind::kNo;
}

bool FusesBehind(const CpuKernelSpec& spec, const Node& user, int channel, bool may_bias) {
  if (spec.last().type(0).dtype == DType::kBF16) return false;
  // oneDNN rounds results to bf16 only if the factors are bf16 too. It would take the tensor of a
  // sum to be bf16 then.
  if (RoundsToBf16(user)) {
    for (size_t n = FirstBehind(spec); n < spec.nodes.size(); ++n) {
      const Value before(spec.nodes[n - 1], 0);
      if (PostOpKindOf(*spec.nodes[n], before, channel) == PostOpKind::kSum) return false;
    }
    return spec.def->reads_bf16 && MultipliesBf16(spec.head());
  }
  const PostOpKind how = PostOpKindOf(user, Value(spec.nodes.back(), 0), channel);
  if (how == PostOpKind::kNo) return false;
  if (how == PostOpKind::kBias) return may_bias && spec.ends_with_head();
  int post_ops = MostPostOps(how);
  const std::optional<Eltwise> own = EltwiseOf(user, Value(spec.nodes.back(), 0));
  for (size_t n = FirstBehind(spec); n < spec.nodes.size(); ++n) {
    const Value before(spec.nodes[n - 1], 0);
    const PostOpKind fused = PostOpKindOf(*spec.nodes[n], before, channel);
    const std::optional<Eltwise> other = EltwiseOf(*spec.nodes[n], before);
    if (own && other && Clash(*own, *other)) return false;
    // Only one operand can be read from the output's own memory.
    if (how == PostOpKind::kSum && fused == PostOpKind::kSum) return false;
    if (how == PostOpKind::kSum && fused != PostOpKind::kBias && !TakesLateSums()) return false;
    post_ops += MostPostOps(fused);
  }
  return post_ops <= kMaxPostOps;
}

absl::StatusOr<Epilogue> MakeEpilogue(const CpuKernelSpec& spec, const StaticValues& statics,
                                      int channel, const dnnl::memory::desc& per_channel,
                                      bool takes_no_bias) {
  Epilogue e;
  auto append_fixed = [&](algorithm a, std::vector<float> values) {
    e.operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(e.ops.len()) | DNNL_ARG_SRC_1, -1,
                          per_channel, std::move(values)});
    e.ops.append_binary(a, per_channel);
  };
  const size_t first = FirstBehind(spec);
  for (size_t n = first; n < spec.nodes.size(); ++n) {
    const Node& node = *spec.nodes[n];
    const Value before(spec.nodes[n - 1], 0);
    if (RoundsToBf16(node)) continue;  // the primitive's result has this type
    if (n + 1 < spec.nodes.size()) {
      if (const auto f = EltwiseOfPair(before, node, *spec.nodes[n + 1])) {
        e.ops.append_eltwise(1.0f, f->algorithm, f->alpha, f->beta);
        ++n;
        continue;
      }
    }
    switch (PostOpKindOf(node, before, channel)) {
      case PostOpKind::kEltwise: {
        const Eltwise f = *EltwiseOf(node, before);
        e.ops.append_eltwise(1.0f, f.algorithm, f.alpha, f.beta);
        break;
      }
      case PostOpKind::kBias: {
        const int input = spec.InputIndex(Other(node, before));
        if (n == first && !takes_no_bias) {
          e.bias = input;
          break;
        }
        e.operands.push_back(
            {DNNL_ARG_ATTR_MULTIPLE_POST_OP(e.ops.len()) | DNNL_ARG_SRC_1, input, per_channel, {}});
        e.ops.append_binary(algorithm::binary_add, per_channel);
        break;
      }
      case PostOpKind::kSum:
        e.sum = spec.InputIndex(Other(node, before));
        e.ops.append_sum(1.0f);
        break;
      case PostOpKind::kChannelAffine: {
        std::vector<Tensor> parameters;
        for (size_t i = 1; i < node.inputs().size(); ++i) {
          parameters.push_back(statics[spec.InputIndex(node.inputs()[i])]);
        }
        std::vector<float> scale, shift;
        if (absl::Status s = AffineCoefficients(node, parameters, channel, &scale, &shift);
            !s.ok()) {
          return s;
        }
        append_fixed(algorithm::binary_mul, std::move(scale));
        append_fixed(algorithm::binary_add, std::move(shift));
        break;
      }
      case PostOpKind::kNo:
        return absl::InternalError(absl::StrCat(node.op().name, " was fused, but does not follow"));
    }
  }
  return e;
}

void BindEpilogue(const Epilogue& epilogue, DnnlKernel* kernel) {
  for (const Epilogue::Operand& operand : epilogue.operands) {
    if (operand.input < 0) {
      kernel->BindFixed(operand.arg, CopyOf(operand.fixed, operand.desc));
    } else {
      kernel->BindInput(operand.arg, operand.input, operand.desc);
    }
  }
}

void BindEpilogueSum(const CpuKernelSpec& spec, const Epilogue& epilogue, DnnlKernel* kernel) {
  if (epilogue.sum < 0) return;
  const auto& in = spec.inputs[epilogue.sum];
  kernel->StartFrom(epilogue.sum, SpanOf(in.type.shape, in.strides) * sizeof(float));
}

dnnl::primitive_attr EpilogueAttributes(const Epilogue& epilogue) {
  dnnl::primitive_attr attr = CallerScratch();
  attr.set_post_ops(epilogue.ops);
  return attr;
}

void BindBias(const CpuKernelSpec& spec, const StaticValues& statics, int input,
              const dnnl::memory::desc& desc, DnnlKernel* kernel) {
  if (input < 0) return;
  if (spec.inputs[input].is_static) {
    kernel->BindFixed(DNNL_ARG_BIAS,
                      PackedWeight(spec.inputs[input].value, statics[input], desc, desc), input,
                      desc);
  } else {
    kernel->BindInput(DNNL_ARG_BIAS, input, desc);
  }
}

void BindWeights(const CpuKernelSpec& spec, const StaticValues& statics, int input,
                 const dnnl::memory::desc& from, const dnnl::memory::desc& to, DnnlKernel* kernel) {
  if (spec.inputs[input].is_static) {
    kernel->BindFixed(DNNL_ARG_WEIGHTS,
                      PackedWeight(spec.inputs[input].value, statics[input], from, to), input,
                      from);
  } else {
    kernel->BindReordered(DNNL_ARG_WEIGHTS, input, from, to);
  }
}

int FusedSum(const CpuKernelSpec& spec, int channel) {
  for (size_t n = FirstBehind(spec); n < spec.nodes.size(); ++n) {
    Value before(spec.nodes[n - 1], 0);
    if (PostOpKindOf(*spec.nodes[n], before, channel) == PostOpKind::kSum) {
      return spec.InputIndex(Other(*spec.nodes[n], before));
    }
  }
  return -1;
}

}  // namespace lemma::cpu
