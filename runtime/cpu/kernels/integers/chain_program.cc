#include "runtime/cpu/kernels/integers/chain_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "runtime/cpu/kernels/integers/operands.h"

namespace lemma::cpu {

using kernels::ChainResult;
using kernels::ChainStep;
using kernels::IsVector;
using Kind = ChainStep::Kind;

class ChainProgram::Compiler {
 public:
  Compiler(const CpuKernelSpec& spec, Value start, int channel)
      : spec_(spec), shape_(start.shape()), main_(std::move(start)), channel_(channel) {}

  std::optional<ChainProgram> Run(absl::Span<const NodePtr> nodes) {
    if (main_.dtype() == DType::kU8 || main_.dtype() == DType::kI8) {
      if (!PushLoad(main_.dtype() == DType::kU8 ? Kind::kLoadU8 : Kind::kLoadI8, main_)) return {};
      Push(Kind::kTakeOther);
    } else if (main_.dtype() != DType::kF32) {
      return std::nullopt;
    }
    for (const NodePtr& node : nodes) {
      const auto& in = node->inputs();
      if (std::count(in.begin(), in.end(), main_) == 0) continue;  // of another operand
      if (std::count(in.begin(), in.end(), main_) > 1 || !AddNode(node)) return std::nullopt;
      main_ = Value(node, 0);
    }
    if (main_.node_ptr() != nodes.back()) return std::nullopt;
    while (MergeSteps()) {
    }
    switch (main_.dtype()) {
      case DType::kU8:
        program_.result_ = ChainResult::kU8;
        break;
      case DType::kI8:
        program_.result_ = ChainResult::kI8;
        break;
      default:
        program_.result_ = ChainResult::kF32;
    }
    return std::move(program_);
  }

 private:
  bool AddNode(const NodePtr& node) {
    const NodeTraits& traits = NodeTraitsOf(*node);
    if (!traits.pointwise || !traits.element || node->num_outputs() != 1) return false;
    const DType to = node->type(0).dtype;
    const bool narrow = to == DType::kU8 || to == DType::kI8;
    if (!narrow && to != DType::kF32) return false;
    ScalarExpr body = traits.element->body;
    while (body.kind() == ScalarExpr::Kind::kApply &&
           (body.fn() == StoredAs(to) || (narrow && body.fn() == ScalarFn::kTrunc))) {
      body = ScalarExpr(body.args()[0]);
    }
    if (!narrow && main_.dtype() == DType::kF32) return AddBody(*node, body);
    // A conversion from or to integers of 8 bits.
    if (body.kind() != ScalarExpr::Kind::kRead || node->inputs().size() != 1) return false;
    if (!narrow) return true;
    if (main_.dtype() != DType::kF32) return false;
    ChainStep& step = Push(Kind::kNarrow);
    step.low = to == DType::kU8 ? 0 : -128;
    step.high = to == DType::kU8 ? 255 : 127;
    return true;
  }

  bool IsMain(const Node& node, const ScalarExpr& e) const {
    return e.kind() == ScalarExpr::Kind::kRead && node.inputs()[e.tensor()] == main_;
  }
  bool ReadsMain(const Node& node, const ScalarExpr& e) const {
    return IsMain(node, e) ||
           std::any_of(e.args().begin(), e.args().end(),
                       [&](const ScalarExpr& arg) { return ReadsMain(node, arg); });
  }

  bool AddBody(const Node& node, const ScalarExpr& e) {
    if (IsMain(node, e)) return true;
    if (e.kind() != ScalarExpr::Kind::kApply) return false;
    if (e.fn() == StoredAs(DType::kF32)) return AddBody(node, e.args()[0]);
    if (e.fn() == ScalarFn::kRound) {
      if (!AddBody(node, e.args()[0])) return false;
      Push(Kind::kRound);
      return true;
    }
    if (e.args().size() != 2) return false;
    const bool first = ReadsMain(node, e.args()[0]), second = ReadsMain(node, e.args()[1]);
    const bool commutes = Info(e.fn()).commutative();
    if (first == second || (!first && !commutes)) return false;
    return AddBody(node, e.args()[first ? 0 : 1]) && Combine(node, e.fn(), e.args()[first ? 1 : 0]);
  }

  // x = fn(x, other).
  bool Combine(const Node& node, ScalarFn fn, const ScalarExpr& other) {
    if (other.kind() == ScalarExpr::Kind::kConst) {
      // As arithmetic in float reads it.
      const auto number = static_cast<float>(other.value());
      const std::optional<Kind> kind = WithNumber(fn);
      if (!kind || std::isnan(number)) return false;
      Push(*kind).number = number;
      return true;
    }
    if (other.kind() != ScalarExpr::Kind::kRead) return false;
    const Value& v = node.inputs()[other.tensor()];
    if (v.type().num_elements() == 1) {
      const std::optional<Kind> kind = WithNumber(fn);
      // A bound that is NaN only when the model runs would be overlooked.
      if (!kind || *kind == Kind::kMin || *kind == Kind::kMax) return false;
      return PushNumber(*kind, v, false);
    }
    const std::optional<Kind> kind = WithOther(fn);
    if (!kind || !LoadOther(v)) return false;
    Push(*kind);
    return true;
  }

  static std::optional<Kind> WithNumber(ScalarFn fn) {
    switch (fn) {
      case ScalarFn::kAdd:
        return Kind::kAdd;
      case ScalarFn::kSub:
        return Kind::kSubtract;
      case ScalarFn::kMul:
        return Kind::kMultiply;
      case ScalarFn::kDiv:
        return Kind::kDivide;
      case ScalarFn::kMin:
        return Kind::kMin;
      case ScalarFn::kMax:
        return Kind::kMax;
      default:
        return std::nullopt;
    }
  }
  static std::optional<Kind> WithOther(ScalarFn fn) {
    switch (fn) {
      case ScalarFn::kAdd:
        return Kind::kAddOther;
      case ScalarFn::kSub:
        return Kind::kSubtractOther;
      case ScalarFn::kMul:
        return Kind::kMultiplyOther;
      default:
        return std::nullopt;
    }
  }

  // y = v, which has the result's shape or is a vector of the columns.
  bool LoadOther(const Value& v) {
    if (v.shape() == shape_ && v.dtype() == DType::kF32 && spec_.InputIndex(v) >= 0) {
      return PushLoad(Kind::kLoadF32, v);
    }
    if (v.shape() == shape_) return LoadIntegers(v, Kind::kLoadU8, Kind::kLoadI8);
    const int behind = static_cast<int>(shape_.size()) - v.type().rank();
    for (int d = 0; d < v.type().rank(); ++d) {
      if (v.shape()[d] != 1 && d + behind != channel_) return false;
    }
    if (v.dtype() != DType::kF32 || behind < 0) return false;
    program_.has_vectors_ = true;
    if (spec_.InputIndex(v) >= 0) return PushLoad(Kind::kLoadVector, v);
    return LoadIntegers(v, Kind::kLoadVectorU8, Kind::kLoadVectorI8);
  }

  // y = v, which is computed from integers of v's shape.
  bool LoadIntegers(const Value& v, Kind load_unsigned, Kind load_signed) {
    const std::optional<IntegerOperand> operand = IntegerOperandOf(v);
    if (!operand || v.dtype() != DType::kF32 || operand->source.shape() != v.shape()) return false;
    const bool is_unsigned = operand->source.dtype() == DType::kU8;
    if (!PushLoad(is_unsigned ? load_unsigned : load_signed, operand->source)) return false;
    if (operand->zero && !PushNumber(Kind::kSubtract, operand->zero, true)) return false;
    for (auto scale = operand->scales.rbegin(); scale != operand->scales.rend(); ++scale) {
      if (!PushNumber(Kind::kMultiply, *scale, true)) return false;
    }
    return true;
  }

  // Puts steps that follow each other into one with the same result; false if there are none.
  bool MergeSteps() {
    std::vector<ChainStep>& steps = program_.steps_;
    auto follows = [&](size_t at, std::initializer_list<Kind> kinds) {
      if (at + kinds.size() > steps.size()) return false;
      for (const Kind kind : kinds) {
        if (steps[at].kind != kind || steps[at].on_other) return false;
        ++at;
      }
      return true;
    };
    for (size_t i = 0; i < steps.size(); ++i) {
      if (follows(i, {Kind::kMax, Kind::kMin})) {
        steps[i].kind = Kind::kClip;
        steps[i].low = steps[i].number;
        steps[i].high = steps[i + 1].number;
        Drop(i + 1, 1);
        return true;
      }
      if (follows(i, {Kind::kClip, Kind::kNarrow}) && steps[i].low >= steps[i + 1].low &&
          steps[i].high <= steps[i + 1].high && steps[i].low <= steps[i].high &&
          steps[i].low == std::trunc(steps[i].low) && steps[i].high == std::trunc(steps[i].high) &&
          steps[i].low <= 0 && steps[i].high >= 0) {  // NaN becomes 0 behind the clip
        steps[i].kind = Kind::kNarrow;
        Drop(i + 1, 1);
        return true;
      }
      if (follows(i, {Kind::kDivide, Kind::kRound, Kind::kNarrow})) {
        steps[i].kind = Kind::kQuantize;
        steps[i].low = steps[i + 2].low;
        steps[i].high = steps[i + 2].high;
        Drop(i + 1, 2);
        return true;
      }
      if (follows(i, {Kind::kDivide, Kind::kRound, Kind::kAdd, Kind::kNarrow})) {
        steps[i].kind = Kind::kQuantize;
        steps[i].offset = steps[i + 2].number;
        steps[i].low = steps[i + 3].low;
        steps[i].high = steps[i + 3].high;
        for (Source& source : program_.sources_) {
          if (source.step != static_cast<int>(i) + 2) continue;
          source.step = static_cast<int>(i);
          source.is_offset = true;
        }
        Drop(i + 1, 3);
        return true;
      }
    }
    return false;
  }

  // Removes steps without sources.
  void Drop(size_t from, int count) {
    program_.steps_.erase(program_.steps_.begin() + static_cast<int64_t>(from),
                          program_.steps_.begin() + static_cast<int64_t>(from) + count);
    for (Source& source : program_.sources_) {
      if (source.step >= static_cast<int>(from)) source.step -= count;
    }
  }

  ChainStep& Push(Kind kind) {
    program_.steps_.push_back({});
    program_.steps_.back().kind = kind;
    return program_.steps_.back();
  }
  bool PushLoad(Kind kind, const Value& v) {
    Push(kind);
    return AddSource(v);
  }
  bool PushNumber(Kind kind, const Value& v, bool on_other) {
    if (v.dtype() != DType::kF32) return false;
    Push(kind).on_other = on_other;
    return AddSource(v);
  }
  bool AddSource(const Value& v) {
    const int input = spec_.InputIndex(v);
    program_.sources_.push_back({static_cast<int>(program_.steps_.size()) - 1, input, v.dtype()});
    return input >= 0;
  }

  const CpuKernelSpec& spec_;
  const Shape shape_;
  Value main_;
  int channel_;
  ChainProgram program_;
};

std::optional<ChainProgram> ChainProgram::Compile(const CpuKernelSpec& spec, const Value& start,
                                                  absl::Span<const NodePtr> nodes, int channel) {
  return Compiler(spec, start, channel).Run(nodes);
}

bool ChainProgram::IsLoaded(const Source& source) const {
  const Kind kind = steps_[static_cast<size_t>(source.step)].kind;
  return kind == Kind::kLoadU8 || kind == Kind::kLoadI8 || kind == Kind::kLoadF32;
}

bool ChainProgram::IsGate(const Source& source) const {
  const Kind kind = steps_[static_cast<size_t>(source.step)].kind;
  return kind == Kind::kLoadVectorU8 || kind == Kind::kLoadVectorI8;
}

std::vector<ChainStep> ChainProgram::Bound(absl::Span<void* const> inputs,
                                           const Block& block) const {
  std::vector<ChainStep> steps = steps_;
  for (const Source& source : sources_) {
    ChainStep& step = steps[source.step];
    const auto* at = static_cast<const char*>(inputs[source.input]);
    if (IsLoaded(source)) {
      step.data_step = block.row_steps[source.input];
      const int64_t first = block.row * step.data_step + block.column;
      step.data = at == nullptr ? at : at + first * SizeOf(source.dtype);
    } else if (IsVector(step.kind)) {
      step.data = at == nullptr ? at : at + block.column * SizeOf(source.dtype);
    } else {
      (source.is_offset ? step.offset : step.number) = *reinterpret_cast<const float*>(at);
    }
  }
  return steps;
}

void ChainProgram::Run(absl::Span<void* const> inputs, const Block& block, const float* x,
                       int64_t x_step, void* y, int64_t y_step) const {
  std::vector<ChainStep> steps = Bound(inputs, block);
  int64_t rows = block.rows, columns = block.columns;
  bool has_gaps = has_vectors_ || (x != nullptr && x_step != columns);
  for (const ChainStep& step : steps) {
    has_gaps = has_gaps || (step.data != nullptr && step.data_step != columns);
  }
  if (!has_gaps && rows > 1) {
    if (columns == y_step) {
      columns *= rows;
      rows = 1;
    } else if (columns % kernels::kChainColumns != 0) {
      RunTogether(std::move(steps), x, rows, columns, y, y_step);
      return;
    }
  }
  kernels::ApplyChain(x, x_step, rows, columns, steps.data(), static_cast<int>(steps.size()),
                      result_, y, y_step);
}

void ChainProgram::RunTogether(std::vector<ChainStep> steps, const float* x, int64_t rows,
                               int64_t columns, void* y, int64_t y_step) const {
  constexpr int64_t kBufferBytes = 8 << 10;
  alignas(64) char buffer[kBufferBytes];
  const int64_t bytes = result_ == ChainResult::kF32 ? 4 : 1;
  const int64_t most = kBufferBytes / (columns * bytes);
  if (most < 2) {  // long rows
    kernels::ApplyChain(x, columns, rows, columns, steps.data(), static_cast<int>(steps.size()),
                        result_, y, y_step);
    return;
  }
  auto* to = static_cast<char*>(y);
  for (int64_t begin = 0; begin < rows; begin += most) {
    const int64_t count = std::min(most, rows - begin), elements = count * columns;
    kernels::ApplyChain(x, elements, 1, elements, steps.data(), static_cast<int>(steps.size()),
                        result_, buffer, elements);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to + (begin + i) * y_step * bytes, buffer + i * columns * bytes,
                  static_cast<size_t>(columns * bytes));
    }
    if (x != nullptr) x += elements;
    for (const Source& source : sources_) {
      ChainStep& step = steps[source.step];
      if (step.data == nullptr) continue;  // a number
      step.data = static_cast<const char*>(step.data) + elements * SizeOf(source.dtype);
    }
  }
}

}  // namespace lemma::cpu
