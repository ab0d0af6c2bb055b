#include "runtime/cpu/integer_statement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"

namespace lemma::cpu {
namespace {

using kernels::ChainResult;
using kernels::ChainStep;
using Kind = ChainStep::Kind;
using Ints = std::vector<int64_t>;

// The result of the last of `nodes`, applied to the values of *made in place of its keys; `start`
// if there are none.
absl::StatusOr<Value> Applied(absl::Span<const NodePtr> nodes, const Value& start,
                              absl::flat_hash_map<Value, Value>* made, GraphBuilder* builder) {
  Value last = start;
  for (const NodePtr& node : nodes) {
    std::vector<Value> operands;
    for (const Value& v : node->inputs()) operands.push_back(made->at(v));
    LEMMA_ASSIGN_OR_RETURN(last, builder->Op(node->op().name, operands, node->attrs()));
    (*made)[Value(node, 0)] = last;
  }
  return last;
}

class IntegerStatementReader {
 public:
  IntegerStatementReader(const CpuKernelSpec& spec, const IntegerProductParts& parts)
      : spec_(spec), parts_(parts), builder_("statement") {}

  absl::StatusOr<Graph> Run() {
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      inputs_.push_back(builder_.Input(absl::StrCat("x", i), spec_.inputs[i].type));
    }
    LEMMA_RETURN_IF_ERROR(CheckPlaces());
    LEMMA_ASSIGN_OR_RETURN(Value y, Sum());
    LEMMA_ASSIGN_OR_RETURN(y, Scaled(y));
    for (const IntegerProductParts::Part& part : parts_.parts) {
      LEMMA_ASSIGN_OR_RETURN(y, part.chain != nullptr ? Chain(y, *part.chain) : Nodes(y, part));
    }
    builder_.Output("y", y);
    return std::move(builder_).Build();
  }

 private:
  bool is_conv() const { return spec_.outputs[0].type.rank() == 4 && sizes_are_of_images(); }
  bool sizes_are_of_images() const {
    const Shape& y = spec_.outputs[0].type.shape;
    const WindowSizes& s = parts_.product->sizes();
    return spec_.head().inputs()[1].type().rank() == 4 && y[1] == s.outputs && y[2] == s.rows;
  }

  // The kernel reads images and full operands channels innermost and without gaps, and writes its
  // result in the same order, rows of channels evenly spaced.
  absl::Status CheckPlaces() const {
    auto strides_of = [&](const Shape& shape) {
      return is_conv() ? ChannelsLast(shape) : RowMajorStrides(shape);
    };
    auto lies = [&](const CpuKernelSpec::Operand& o) {
      return SameLayout(o.type.shape, o.strides, strides_of(o.type.shape));
    };
    const CpuKernelSpec::Operand& out = spec_.outputs[0];
    const Shape& shape = out.type.shape;
    bool all = DimOrder(shape, out.strides) == DimOrder(shape, strides_of(shape)) &&
               RowStepOf(shape, out.strides, parts_.product->sizes().outputs) == parts_.row_step &&
               lies(spec_.inputs[parts_.source]);
    for (const CpuKernelSpec::Operand& in : spec_.inputs) {
      if (in.type.shape == spec_.outputs[0].type.shape) all = all && lies(in);
    }
    return all ? absl::OkStatus()
               : absl::InternalError("an operand of a product of integers lies elsewhere");
  }

  absl::StatusOr<Value> As(const Value& v, DType dtype) {
    if (v.dtype() == dtype) return v;
    return builder_.Op("cast", {v}, {{"dtype", std::string(Name(dtype))}});
  }
  absl::StatusOr<Value> Reshaped(const Value& v, Shape shape) {
    return builder_.Op("reshape", {v}, {{"shape", Ints(std::move(shape))}});
  }
  absl::StatusOr<Value> Number(int input) { return Reshaped(inputs_[input], {}); }
  // One number for each output, broadcast over the result.
  Shape PerOutput() const {
    const int64_t outputs = parts_.product->sizes().outputs;
    return is_conv() ? Shape{outputs, 1, 1} : Shape{outputs};
  }
  Value Constant(Shape shape, const std::vector<double>& values, DType dtype = DType::kF32) {
    return builder_.Constant(*Tensor::FromDoubles({dtype, std::move(shape)}, values));
  }

  absl::StatusOr<Value> Sum() {
    const WindowSizes& s = parts_.product->sizes();
    const DType number = parts_.is_float ? DType::kF32 : DType::kI32;
    LEMMA_ASSIGN_OR_RETURN(Value x, As(inputs_[parts_.source], number));
    if (parts_.zero >= 0) {
      LEMMA_ASSIGN_OR_RETURN(Value zero, Number(parts_.zero));
      LEMMA_ASSIGN_OR_RETURN(x, builder_.Op("sub", {x, zero}));
    }
    const int64_t channels = s.channels / s.groups;
    std::vector<double> w;
    if (!is_conv()) {
      for (int64_t k = 0; k < channels; ++k) {
        for (int64_t o = 0; o < s.outputs; ++o) w.push_back(parts_.product->WeightAt(o, k, 0, 0));
      }
      return builder_.Op("matmul", {x, Constant({channels, s.outputs}, w, number)});
    }
    for (int64_t o = 0; o < s.outputs; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t r = 0; r < s.kernel[0]; ++r) {
          for (int64_t q = 0; q < s.kernel[1]; ++q) {
            w.push_back(parts_.product->WeightAt(o, c, r, q));
          }
        }
      }
    }
    Ints pads = {s.before[0], s.before[1]};
    const int64_t size[2] = {s.height, s.width}, windows[2] = {s.rows, s.columns};
    for (int d = 0; d < 2; ++d) {
      const int64_t reach =
          (windows[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] + 1;
      pads.push_back(std::max<int64_t>(0, reach - size[d] - s.before[d]));
    }
    return builder_.Op("conv2d",
                       {x, Constant({s.outputs, channels, s.kernel[0], s.kernel[1]}, w, number)},
                       {{"strides", Ints(s.strides, s.strides + 2)},
                        {"dilations", Ints(s.dilations, s.dilations + 2)},
                        {"pads", pads},
                        {"groups", s.groups}});
  }

  absl::StatusOr<Value> Scaled(Value y) {
    if (!parts_.weight_scale.empty()) {
      std::vector<double> scale(parts_.weight_scale.begin(), parts_.weight_scale.end());
      const Shape shape = scale.size() == 1 ? Shape{} : PerOutput();
      LEMMA_ASSIGN_OR_RETURN(y, builder_.Op("mul", {y, Constant(shape, scale)}));
    }
    for (const int input : parts_.scales) {
      LEMMA_ASSIGN_OR_RETURN(Value scale, Number(input));
      LEMMA_ASSIGN_OR_RETURN(y, builder_.Op("mul", {y, scale}));
    }
    if (parts_.bias < 0) return y;
    LEMMA_ASSIGN_OR_RETURN(Value bias, Reshaped(inputs_[parts_.bias], PerOutput()));
    return builder_.Op("add", {y, bias});
  }

  absl::StatusOr<Value> Chain(Value x, const ChainProgram& chain) {
    Value y;
    for (size_t n = 0; n < chain.steps().size(); ++n) {
      const ChainStep& step = chain.steps()[n];
      int input = -1, offset = -1;
      for (const ChainProgram::Source& source : chain.sources()) {
        if (source.step == static_cast<int>(n)) (source.is_offset ? offset : input) = source.input;
      }
      Value& changed = step.on_other ? y : x;
      switch (step.kind) {
        case Kind::kLoadU8:
        case Kind::kLoadI8:
        case Kind::kLoadF32: {
          LEMMA_ASSIGN_OR_RETURN(y, As(inputs_[input], DType::kF32));
          break;
        }
        case Kind::kLoadVector:
        case Kind::kLoadVectorU8:
        case Kind::kLoadVectorI8: {
          LEMMA_ASSIGN_OR_RETURN(y, Reshaped(inputs_[input], PerOutput()));
          LEMMA_ASSIGN_OR_RETURN(y, As(y, DType::kF32));
          break;
        }
        case Kind::kKeep: {
          y = x;
          break;
        }
        case Kind::kTakeOther: {
          x = y;
          break;
        }
        case Kind::kAddOther:
        case Kind::kSubtractOther:
        case Kind::kMultiplyOther:
        case Kind::kDivideOther:
        case Kind::kScaleNegativeOther: {
          LEMMA_ASSIGN_OR_RETURN(x, builder_.Op(NameOf(step.kind), {x, y}));
          break;
        }
        case Kind::kSelectOther: {
          LEMMA_ASSIGN_OR_RETURN(const Value negative, builder_.Op("less", {x, Constant({}, {0})}));
          LEMMA_ASSIGN_OR_RETURN(x, builder_.Op("where", {negative, y, x}));
          break;
        }
        case Kind::kFunction: {
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op(Info(step.function).name, {changed}));
          break;
        }
        case Kind::kSubtractFrom:
        case Kind::kDivideFrom: {
          LEMMA_ASSIGN_OR_RETURN(Value number, NumberOr(input, step.number));
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op(NameOf(step.kind), {number, changed}));
          break;
        }
        case Kind::kRound: {
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op("round", {changed}));
          break;
        }
        case Kind::kClip: {
          LEMMA_ASSIGN_OR_RETURN(changed, Clipped(changed, step));
          break;
        }
        case Kind::kNarrow: {
          LEMMA_ASSIGN_OR_RETURN(changed, Narrowed(changed, step));
          break;
        }
        case Kind::kQuantize: {
          LEMMA_ASSIGN_OR_RETURN(Value scale, NumberOr(input, step.number));
          LEMMA_ASSIGN_OR_RETURN(Value zero, NumberOr(offset, step.offset));
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op("div", {changed, scale}));
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op("round", {changed}));
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op("add", {changed, zero}));
          LEMMA_ASSIGN_OR_RETURN(changed, Narrowed(changed, step));
          break;
        }
        default: {
          LEMMA_ASSIGN_OR_RETURN(Value number, NumberOr(input, step.number));
          LEMMA_ASSIGN_OR_RETURN(changed, builder_.Op(NameOf(step.kind), {changed, number}));
        }
      }
    }
    if (chain.result() == ChainResult::kF32) return x;
    return As(x, chain.result() == ChainResult::kU8 ? DType::kU8 : DType::kI8);
  }

  absl::StatusOr<Value> NumberOr(int input, float number) {
    if (input >= 0) return Number(input);
    return Constant({}, {number});
  }
  absl::StatusOr<Value> Clipped(const Value& x, const ChainStep& step) {
    return builder_.Op("clip", {x}, {{"min", double{step.low}}, {"max", double{step.high}}});
  }
  absl::StatusOr<Value> Narrowed(const Value& x, const ChainStep& step) {
    LEMMA_ASSIGN_OR_RETURN(Value y, Clipped(x, step));
    LEMMA_ASSIGN_OR_RETURN(y, As(y, step.low < 0 ? DType::kI8 : DType::kU8));
    return As(y, DType::kF32);
  }

  static const char* NameOf(Kind kind) {
    switch (kind) {
      case Kind::kAdd:
      case Kind::kAddOther:
        return "add";
      case Kind::kSubtract:
      case Kind::kSubtractFrom:
      case Kind::kSubtractOther:
        return "sub";
      case Kind::kMultiply:
      case Kind::kMultiplyOther:
        return "mul";
      case Kind::kDivide:
      case Kind::kDivideFrom:
      case Kind::kDivideOther:
        return "div";
      case Kind::kMin:
        return "min";
      case Kind::kMax:
        return "max";
      case Kind::kScaleNegative:
      case Kind::kScaleNegativeOther:
        return "prelu";
      default:
        return "";
    }
  }

  // Nodes that run by their definitions.
  absl::StatusOr<Value> Nodes(const Value& start, const IntegerProductParts::Part& part) {
    absl::flat_hash_map<Value, Value> made = {{part.start, start}};
    for (size_t i = 0; i < inputs_.size(); ++i) made.try_emplace(spec_.inputs[i].value, inputs_[i]);
    return Applied(part.nodes, start, &made, &builder_);
  }

  const CpuKernelSpec& spec_;
  const IntegerProductParts& parts_;
  GraphBuilder builder_;
  std::vector<Value> inputs_;
};

}  // namespace

absl::StatusOr<Graph> IntegerStatementOf(const CpuKernelSpec& spec,
                                         const IntegerProductParts& parts) {
  return IntegerStatementReader(spec, parts).Run();
}

absl::StatusOr<Graph> WeightOnlyStatementOf(const CpuKernelSpec& spec,
                                            const kernels::NarrowWeights& weights) {
  for (const auto* operands : {&spec.inputs, &spec.outputs}) {
    for (const CpuKernelSpec::Operand& o : *operands) {
      if (!SameLayout(o.type.shape, o.strides, RowMajorStrides(o.type.shape))) {
        return absl::InternalError("an operand of a weight-only product lies elsewhere");
      }
    }
  }
  GraphBuilder builder("statement");
  absl::flat_hash_map<Value, Value> made;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    made[spec.inputs[i].value] = builder.Input(absl::StrCat("x", i), spec.inputs[i].type);
  }
  std::vector<double> w;
  for (int64_t k = 0; k < weights.depth(); ++k) {
    for (int64_t j = 0; j < weights.columns(); ++j) w.push_back(weights.At(k, j));
  }
  LEMMA_ASSIGN_OR_RETURN(
      const Tensor weight,
      Tensor::FromDoubles({DType::kF32, {weights.depth(), weights.columns()}}, w));
  const Value product(spec.head_node(), 0);
  LEMMA_ASSIGN_OR_RETURN(const Value sum, builder.Op("matmul", {made.at(spec.head().inputs()[0]),
                                                                builder.Constant(weight)}));
  made[product] = sum;
  std::vector<NodePtr> behind;
  if (spec.nodes.back() != spec.head_node()) behind = NodesBehind(product, spec.nodes);
  LEMMA_ASSIGN_OR_RETURN(const Value y, Applied(behind, sum, &made, &builder));
  builder.Output("y", y);
  return std::move(builder).Build();
}

}  // namespace lemma::cpu
