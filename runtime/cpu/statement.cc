#include "runtime/cpu/statement.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "runtime/cpu/integer_statement.h"
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/row_softmax.h"

namespace lemma::cpu {
namespace {

using dnnl::algorithm;
using Ints = std::vector<int64_t>;

struct Place {
  Shape shape;
  Strides strides;
};

// The dimensions and strides of a descriptor, if it has them.
absl::StatusOr<Place> PlaceOf(const dnnl::memory::desc& desc) {
  if (desc.data.format_kind != dnnl_blocked || desc.data.format_desc.blocking.inner_nblks != 0) {
    return absl::UnimplementedError("an operand has a layout of the library's own");
  }
  Place place;
  for (int d = 0; d < desc.data.ndims; ++d) {
    place.shape.push_back(desc.data.dims[d]);
    place.strides.push_back(desc.data.format_desc.blocking.strides[d]);
  }
  return place;
}

std::vector<int64_t> Permutation(const std::vector<int>& order) {
  return std::vector<int64_t>(order.begin(), order.end());
}

template <class List>
List Permuted(const List& list, const std::vector<int>& order) {
  List result;
  result.reserve(order.size());
  for (int d : order) result.push_back(list[d]);
  return result;
}

// The elements of `v`, located in memory by `from`, as a tensor located by `to`: in the order of
// memory both have the same dimensions, possibly split or merged.
absl::StatusOr<Value> Seen(Value v, const Place& from, const Place& to, GraphBuilder* builder) {
  const std::vector<int> order = DimOrder(from.shape, from.strides);
  const std::vector<int> wanted = DimOrder(to.shape, to.strides);
  const Shape in_memory = Permuted(to.shape, wanted);
  auto strides =
      ReshapedView(Permuted(from.shape, order), Permuted(from.strides, order), in_memory);
  if (NumElements(from.shape) != NumElements(to.shape) || !strides ||
      !SameLayout(in_memory, *strides, Permuted(to.strides, wanted))) {
    return absl::InternalError("a descriptor does not fit its operand's place in memory");
  }
  LEMMA_ASSIGN_OR_RETURN(v, builder->Op("transpose", {v}, {{"perm", Permutation(order)}}));
  LEMMA_ASSIGN_OR_RETURN(v, builder->Op("reshape", {v}, {{"shape", Ints(in_memory)}}));
  std::vector<int64_t> back(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) back[wanted[i]] = static_cast<int64_t>(i);
  return builder->Op("transpose", {v}, {{"perm", back}});
}

class StatementReader {
 public:
  StatementReader(const CpuKernelSpec& spec, const DnnlKernel& kernel)
      : spec_(spec), kernel_(kernel), builder_("statement") {}

  absl::StatusOr<Graph> Run() {
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      inputs_.push_back(builder_.Input(absl::StrCat("x", i), spec_.inputs[i].type));
    }
    for (const DnnlKernel::Argument& a : kernel_.arguments()) {
      LEMMA_RETURN_IF_ERROR(CheckPassed(a));
    }
    LEMMA_ASSIGN_OR_RETURN(Value result, Primitive());
    LEMMA_ASSIGN_OR_RETURN(result, Epilogue(result));
    const DnnlKernel::Argument* out = Find(DNNL_ARG_DST);
    if (out == nullptr || !out->is_output) return absl::InternalError("nothing is bound to dst");
    LEMMA_ASSIGN_OR_RETURN(Place from, PlaceOf(out->desc));
    if (IsBf16(out->desc)) {
      LEMMA_ASSIGN_OR_RETURN(result,
                             builder_.Op("cast", {result}, {{"dtype", std::string("bf16")}}));
    }
    const CpuKernelSpec::Operand& y = spec_.outputs[out->index];
    LEMMA_ASSIGN_OR_RETURN(result, Seen(result, from, {y.type.shape, y.strides}, &builder_));
    builder_.Output("y", result);
    return std::move(builder_).Build();
  }

 private:
  const_dnnl_primitive_desc_t Descriptor() const {
    return kernel_.primitive().get_primitive_desc();
  }

  template <class Desc>
  const Desc& Query(dnnl_query_t what) const {
    const Desc* desc = nullptr;
    dnnl::error::wrap_c_api(dnnl_primitive_desc_query(Descriptor(), what, 0, &desc),
                            "no such descriptor");
    return *desc;
  }

  // The primitive finds argument `arg` in the layout that its descriptor says, and of the shape
  // that the operand has in memory: a reorder between the two changes no element.
  absl::Status CheckPassed(const DnnlKernel::Argument& a) const {
    const auto* wanted = dnnl_primitive_desc_query_md(Descriptor(), dnnl_query_exec_arg_md, a.arg);
    const dnnl::memory::desc passed = kernel_.PassedAs(a.arg);
    if (wanted == nullptr || passed != dnnl::memory::desc(*wanted)) {
      return absl::InternalError(absl::StrCat("argument ", a.arg, " is passed in another layout"));
    }
    if (passed.dims() != a.desc.dims()) {
      return absl::InternalError(absl::StrCat("argument ", a.arg, " is passed in another shape"));
    }
    return absl::OkStatus();
  }

  const DnnlKernel::Argument* Find(int arg) const {
    for (const DnnlKernel::Argument& a : kernel_.arguments()) {
      if (a.arg == arg) return &a;
    }
    return nullptr;
  }

  // The operand bound to `arg`, as the primitive sees it.
  absl::StatusOr<Value> Argument(int arg) {
    const DnnlKernel::Argument* a = Find(arg);
    if (a == nullptr || a->is_output) {
      return absl::InternalError(absl::StrCat("nothing is bound to argument ", arg));
    }
    LEMMA_ASSIGN_OR_RETURN(Place to, PlaceOf(a->desc));
    if (a->index < 0) {
      const auto* numbers = static_cast<const float*>(a->memory.get_data_handle());
      std::vector<double> values(numbers, numbers + NumElements(to.shape));
      return builder_.Constant(*Tensor::FromDoubles({DType::kF32, to.shape}, values));
    }
    const CpuKernelSpec::Operand& in = spec_.inputs[a->index];
    LEMMA_ASSIGN_OR_RETURN(Value v,
                           Seen(inputs_[a->index], {in.type.shape, in.strides}, to, &builder_));
    if (IsBf16(a->desc) != (in.type.dtype == DType::kBF16)) {
      return absl::InternalError(absl::StrCat("argument ", arg, " is passed in another type"));
    }
    const bool rounds = !IsBf16(a->desc) && IsBf16(kernel_.PassedAs(arg));
    if (rounds) {
      LEMMA_ASSIGN_OR_RETURN(v, builder_.Op("cast", {v}, {{"dtype", std::string("bf16")}}));
    }
    return v.dtype() == DType::kBF16 ? builder_.Op("cast", {v}, {{"dtype", std::string("f32")}})
                                     : v;
  }

  static bool IsBf16(const dnnl::memory::desc& desc) {
    return desc.data_type() == dnnl::memory::data_type::bf16;
  }

  absl::StatusOr<Value> Primitive() {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_primitive_desc_query(Descriptor(), dnnl_query_primitive_kind, 0, &kind);
    switch (kind) {
      case dnnl_convolution:
        return Convolution();
      case dnnl_deconvolution:
        return Deconvolution();
      case dnnl_matmul:
        return Product();
      case dnnl_pooling_v2:
        return Pooling();
      case dnnl_softmax_v2:
        return Softmax();
      case dnnl_layer_normalization:
        return LayerNorm();
      case dnnl_lrn:
        return Lrn();
      case dnnl_reorder:
        return Argument(DNNL_ARG_FROM);
      default:
        return absl::UnimplementedError(absl::StrCat("there is no reading of primitive ", kind));
    }
  }

  static Ints Pair(const dnnl_dims_t dims, int64_t more = 0) {
    return {dims[0] + more, dims[1] + more};
  }
  static Ints Pads(const dnnl_dims_t padding[2]) {
    return {padding[0][0], padding[0][1], padding[1][0], padding[1][1]};
  }

  // Adds the bias per channel.
  absl::StatusOr<Value> WithBias(Value y, bool has_bias) {
    if (!has_bias) return y;
    LEMMA_ASSIGN_OR_RETURN(Value bias, Argument(DNNL_ARG_BIAS));
    Shape shape = bias.shape();
    if (y.type().rank() == 4 && bias.type().rank() == 1) shape = {1, shape[0], 1, 1};
    LEMMA_ASSIGN_OR_RETURN(bias, builder_.Op("reshape", {bias}, {{"shape", Ints(shape)}}));
    return builder_.Op("add", {y, bias});
  }

  absl::StatusOr<Value> Convolution() {
    const auto& c = Query<dnnl_convolution_desc_t>(dnnl_query_convolution_d);
    if (c.prop_kind != dnnl_forward_inference || c.src_desc.ndims != 4) {
      return absl::UnimplementedError("a convolution that is no forward one of images");
    }
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    LEMMA_ASSIGN_OR_RETURN(Value w, Argument(DNNL_ARG_WEIGHTS));
    int64_t groups = 1;
    if (w.type().rank() == 5) {
      const Shape& s = w.shape();
      groups = s[0];
      const Ints merged = {s[0] * s[1], s[2], s[3], s[4]};
      LEMMA_ASSIGN_OR_RETURN(w, builder_.Op("reshape", {w}, {{"shape", merged}}));
    }
    LEMMA_ASSIGN_OR_RETURN(Value y, builder_.Op("conv2d", {x, w},
                                                {{"strides", Pair(c.strides)},
                                                 {"dilations", Pair(c.dilates, 1)},
                                                 {"pads", Pads(c.padding)},
                                                 {"groups", groups}}));
    return WithBias(y, c.bias_desc.ndims != 0);
  }

  absl::StatusOr<Value> Deconvolution() {
    const auto& c = Query<dnnl_deconvolution_desc_t>(dnnl_query_deconvolution_d);
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    LEMMA_ASSIGN_OR_RETURN(Value w, Argument(DNNL_ARG_WEIGHTS));
    int64_t groups = 1;
    Ints perm = {1, 0, 2, 3};
    if (w.type().rank() == 5) {
      groups = w.shape()[0];
      perm = {0, 2, 1, 3, 4};
    }
    LEMMA_ASSIGN_OR_RETURN(w, builder_.Op("transpose", {w}, {{"perm", perm}}));
    if (groups > 1) {
      const Shape& s = w.shape();
      const Ints merged = {s[0] * s[1], s[2], s[3], s[4]};
      LEMMA_ASSIGN_OR_RETURN(w, builder_.Op("reshape", {w}, {{"shape", merged}}));
    }
    // The library allows rows of the result that no window reaches.
    const Ints pads = Pads(c.padding);
    Ints more(2);
    for (int i = 0; i < 2; ++i) {
      const int64_t reach = (w.shape()[2 + i] - 1) * (c.dilates[i] + 1) + 1;
      const int64_t reached = (x.shape()[2 + i] - 1) * c.strides[i] + reach - pads[i] - pads[2 + i];
      more[i] = c.dst_desc.dims[2 + i] - reached;
    }
    LEMMA_ASSIGN_OR_RETURN(Value y, builder_.Op("conv_transpose2d", {x, w},
                                                {{"strides", Pair(c.strides)},
                                                 {"dilations", Pair(c.dilates, 1)},
                                                 {"pads", pads},
                                                 {"output_padding", more},
                                                 {"groups", groups}}));
    return WithBias(y, c.bias_desc.ndims != 0);
  }

  absl::StatusOr<Value> Product() {
    const auto& m = Query<dnnl_matmul_desc_t>(dnnl_query_matmul_d);
    LEMMA_ASSIGN_OR_RETURN(Value a, Argument(DNNL_ARG_SRC));
    LEMMA_ASSIGN_OR_RETURN(Value b, Argument(DNNL_ARG_WEIGHTS));
    LEMMA_ASSIGN_OR_RETURN(Value y, builder_.Op("matmul", {a, b}));
    return WithBias(y, m.bias_desc.ndims != 0);
  }

  absl::StatusOr<Value> Pooling() {
    const auto& p = Query<dnnl_pooling_v2_desc_t>(dnnl_query_pooling_v2_d);
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    Ints pads = Pads(p.padding);
    // Negative padding stands for a part at the end that no window reaches.
    for (int64_t& pad : pads) pad = std::max<int64_t>(pad, 0);
    Attrs attrs = {{"kernel", Pair(p.kernel)},
                   {"strides", Pair(p.strides)},
                   {"dilations", Pair(p.dilation, 1)},
                   {"pads", pads}};
    if (p.alg_kind == dnnl_pooling_max) return builder_.Op("max_pool2d", {x}, attrs);
    attrs["count_include_pad"] = int64_t{p.alg_kind == dnnl_pooling_avg_include_padding ? 1 : 0};
    return builder_.Op("avg_pool2d", {x}, attrs);
  }

  absl::StatusOr<Value> Softmax() {
    const auto& s = Query<dnnl_softmax_v2_desc_t>(dnnl_query_softmax_v2_d);
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    const bool log = s.alg_kind == dnnl_softmax_log;
    return builder_.Op(log ? "log_softmax" : "softmax", {x}, {{"axis", int64_t{s.softmax_axis}}});
  }

  absl::StatusOr<Value> LayerNorm() {
    const auto& n = Query<dnnl_layer_normalization_desc_t>(dnnl_query_layer_normalization_d);
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    LEMMA_ASSIGN_OR_RETURN(Value scale, Argument(DNNL_ARG_SCALE));
    LEMMA_ASSIGN_OR_RETURN(Value shift, Argument(DNNL_ARG_SHIFT));
    return builder_.Op("layer_norm", {x, scale, shift},
                       {{"axis", int64_t{-1}}, {"epsilon", double{n.layer_norm_epsilon}}});
  }

  absl::StatusOr<Value> Lrn() {
    const auto& n = Query<dnnl_lrn_desc_t>(dnnl_query_lrn_d);
    LEMMA_ASSIGN_OR_RETURN(Value x, Argument(DNNL_ARG_SRC));
    return builder_.Op("lrn", {x},
                       {{"size", int64_t{n.local_size}},
                        {"alpha", double{n.lrn_alpha}},
                        {"beta", double{n.lrn_beta}},
                        {"bias", double{n.lrn_k}}});
  }

  absl::StatusOr<Value> Eltwise(const Value& y, algorithm kind, float alpha, float beta) {
    auto op = [&](const char* name, Attrs attrs = {}) {
      return builder_.Op(name, {y}, std::move(attrs));
    };
    switch (kind) {
      case algorithm::eltwise_relu:
        return alpha == 0 ? op("relu") : op("leaky_relu", {{"alpha", double{alpha}}});
      case algorithm::eltwise_clip:
        return op("clip", {{"min", double{alpha}}, {"max", double{beta}}});
      case algorithm::eltwise_elu:
        return op("elu", {{"alpha", double{alpha}}});
      case algorithm::eltwise_logistic:
        return op("sigmoid");
      case algorithm::eltwise_tanh:
        return op("tanh");
      case algorithm::eltwise_gelu_erf:
        return op("gelu");
      case algorithm::eltwise_gelu_tanh:
        return op("gelu_tanh");
      case algorithm::eltwise_hardswish:
        return op("hard_swish");
      case algorithm::eltwise_swish:
        if (alpha == 1) return op("silu");
        break;
      case algorithm::eltwise_linear:
        if (beta == 0) return op("scalar_mul", {{"alpha", double{alpha}}});
        break;
      default:
        break;
    }
    return absl::UnimplementedError(
        absl::StrCat("there is no reading of the post-operation ", static_cast<int>(kind)));
  }

  absl::StatusOr<Value> Epilogue(Value y) {
    const_dnnl_primitive_attr_t attributes = nullptr;
    const_dnnl_post_ops_t raw = nullptr;
    dnnl_primitive_desc_get_attr(Descriptor(), &attributes);
    dnnl_primitive_attr_get_post_ops(attributes, &raw);
    dnnl::post_ops ops;
    ops.reset(const_cast<dnnl_post_ops_t>(raw), /*weak=*/true);
    for (int i = 0; i < ops.len(); ++i) {
      switch (ops.kind(i)) {
        case dnnl::primitive::kind::eltwise: {
          float scale = 1, alpha = 0, beta = 0;
          algorithm kind = algorithm::undef;
          ops.get_params_eltwise(i, scale, kind, alpha, beta);
          LEMMA_ASSIGN_OR_RETURN(y, Eltwise(y, kind, alpha, beta));
          if (scale != 1) {
            LEMMA_ASSIGN_OR_RETURN(y, builder_.Op("scalar_mul", {y}, {{"alpha", double{scale}}}));
          }
          break;
        }
        case dnnl::primitive::kind::sum: {
          LEMMA_ASSIGN_OR_RETURN(y, WithSum(y, ops, i));
          break;
        }
        case dnnl::primitive::kind::binary: {
          algorithm kind = algorithm::undef;
          dnnl::memory::desc desc;
          ops.get_params_binary(i, kind, desc);
          const bool sum = kind == algorithm::binary_add;
          if (!sum && kind != algorithm::binary_mul) {
            return absl::UnimplementedError("there is no reading of a binary post-operation");
          }
          LEMMA_ASSIGN_OR_RETURN(Value operand,
                                 Argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1));
          LEMMA_ASSIGN_OR_RETURN(y, builder_.Op(sum ? "add" : "mul", {y, operand}));
          break;
        }
        default:
          return absl::UnimplementedError("there is no reading of a post-operation");
      }
    }
    return y;
  }

  // Adds the former contents of the output's memory.
  absl::StatusOr<Value> WithSum(Value y, const dnnl::post_ops& ops, int i) {
    float scale = 1;
    ops.get_params_sum(i, scale);
    const int input = kernel_.start_from();
    const DnnlKernel::Argument* out = Find(DNNL_ARG_DST);
    if (scale != 1 || input < 0 || out == nullptr) {
      return absl::InternalError("a sum adds what nothing has written");
    }
    const CpuKernelSpec::Operand& in = spec_.inputs[input];
    LEMMA_ASSIGN_OR_RETURN(Place to, PlaceOf(out->desc));
    LEMMA_ASSIGN_OR_RETURN(Value before,
                           Seen(inputs_[input], {in.type.shape, in.strides}, to, &builder_));
    return builder_.Op("add", {y, before});
  }

  const CpuKernelSpec& spec_;
  const DnnlKernel& kernel_;
  GraphBuilder builder_;
  std::vector<Value> inputs_;
};

}  // namespace

namespace {

absl::StatusOr<Graph> StatementOfRows(const CpuKernelSpec& spec, const SoftmaxMatrix& matrix) {
  GraphBuilder builder("statement");
  std::vector<Value> inputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    inputs.push_back(builder.Input(absl::StrCat("x", i), spec.inputs[i].type));
  }
  const CpuKernelSpec::Operand &x = spec.inputs[static_cast<size_t>(matrix.input)],
                               &y = spec.outputs[0];
  Place rows = {{matrix.rows, matrix.columns}, {matrix.columns, 1}};
  if (matrix.addend) {
    rows.shape.clear();
    for (const RowAddend::Dim& dim : matrix.addend->dims) rows.shape.push_back(dim.size);
    rows.shape.push_back(matrix.columns);
    rows.strides = RowMajorStrides(rows.shape);
  }
  LEMMA_ASSIGN_OR_RETURN(Value v, Seen(inputs[static_cast<size_t>(matrix.input)],
                                       {x.type.shape, x.strides}, rows, &builder));
  if (matrix.addend) {
    const auto index = static_cast<size_t>(matrix.addend->input);
    const CpuKernelSpec::Operand& addend = spec.inputs[index];
    Place to;
    for (const RowAddend::Dim& dim : matrix.addend->dims) {
      to.shape.push_back(dim.is_broadcast ? 1 : dim.size);
      to.strides.push_back(dim.stride);
    }
    to.shape.push_back(matrix.columns);
    to.strides.push_back(1);
    LEMMA_ASSIGN_OR_RETURN(Value added,
                           Seen(inputs[index], {addend.type.shape, addend.strides}, to, &builder));
    LEMMA_ASSIGN_OR_RETURN(v, builder.Op("add", {v, added}));
  }
  const auto last = static_cast<int64_t>(rows.shape.size()) - 1;
  LEMMA_ASSIGN_OR_RETURN(v, builder.Op("softmax", {v}, {{"axis", last}}));
  LEMMA_ASSIGN_OR_RETURN(v, Seen(v, rows, {y.type.shape, y.strides}, &builder));
  builder.Output("y", v);
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<Graph> StatementOf(const CpuKernelSpec& spec, const Kernel& kernel) {
  if (const auto parts = PartsOf(kernel)) return IntegerStatementOf(spec, *parts);
  if (const auto* weights = WeightsOf(kernel)) return WeightOnlyStatementOf(spec, *weights);
  if (const auto matrix = SoftmaxMatrixOf(kernel)) return StatementOfRows(spec, *matrix);
  const auto* library = dynamic_cast<const DnnlKernel*>(kernel.library());
  if (library == nullptr) return absl::UnimplementedError("no kernel of the library");
  return CatchDnnl(
      [&]() -> absl::StatusOr<Graph> { return StatementReader(spec, *library).Run(); });
}

namespace {

// Whether input `i` is a static f32 weight that the kernel reads as bf16 numbers.
bool ReadsAsBf16(const CpuKernelSpec& spec, size_t i) {
  if (!spec.def->reads_bf16 || !spec.inputs[i].is_static ||
      spec.inputs[i].type.dtype != DType::kF32) {
    return false;
  }
  return spec.OperandIndex(1) == static_cast<int>(i) && spec.operand(0).type.dtype == DType::kBF16;
}

}  // namespace

absl::StatusOr<Graph> MeaningOf(const CpuKernelSpec& spec, const StaticValues& statics) {
  GraphBuilder builder("meaning");
  absl::flat_hash_map<Value, Value> made;
  std::vector<Value> inputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    inputs.push_back(builder.Input(absl::StrCat("x", i), spec.inputs[i].type));
    if (!spec.inputs[i].value) continue;
    const bool number = !statics[i].empty_handle() && statics[i].size() == 1;
    made[spec.inputs[i].value] = number ? builder.Constant(statics[i]) : inputs.back();
    if (number || !ReadsAsBf16(spec, i) || !HoldsBf16(statics[i])) continue;
    // Rounding changes none of its elements.
    Value v = inputs.back();
    for (const char* dtype : {"bf16", "f32"}) {
      LEMMA_ASSIGN_OR_RETURN(v, builder.Op("cast", {v}, {{"dtype", std::string(dtype)}}));
    }
    made[spec.inputs[i].value] = v;
  }
  if (spec.nodes.empty()) {  // a copy
    builder.Output("y", inputs[0]);
    return std::move(builder).Build();
  }
  for (const NodePtr& node : spec.nodes) {
    std::vector<Value> operands;
    for (const Value& v : node->inputs()) operands.push_back(made.at(v));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> outputs,
                           builder.Ops(node->op().name, operands, node->attrs()));
    for (int k = 0; k < node->num_outputs(); ++k) made[Value(node, k)] = outputs[k];
  }
  for (int k = 0; k < spec.last().num_outputs(); ++k) {
    builder.Output(absl::StrCat("y", k), made.at(Value(spec.nodes.back(), k)));
  }
  return std::move(builder).Build();
}

}  // namespace lemma::cpu
