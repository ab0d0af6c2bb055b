#include "runtime/cpu/kernels/integers/chain_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "runtime/cpu/kernels/integers/operands.h"

namespace lemma::cpu {

using kernels::ChainResult;
using kernels::ChainStep;
using kernels::IsVector;
using Kind = ChainStep::Kind;

// Compiles recursively, from the last node to the start. A chain has two registers, x and `other`:
// where a value is read twice, it is kept in `other` while steps change x, or the other way round.
class ChainProgram::Compiler {
 public:
  Compiler(const CpuKernelSpec& spec, Value start, absl::Span<const NodePtr> nodes, int channel)
      : spec_(spec), shape_(start.shape()), start_(std::move(start)), channel_(channel) {
    for (const NodePtr& node : nodes) {
      const auto& in = node->inputs();
      if (std::any_of(in.begin(), in.end(), [&](const Value& v) { return ReadsStart(v); })) {
        behind_.insert(Value(node, 0));
        order_.emplace_back(node, 0);
      }
    }
  }

  std::optional<ChainProgram> Run(const Value& last) {
    if (start_.dtype() == DType::kU8 || start_.dtype() == DType::kI8) {
      const Kind load = start_.dtype() == DType::kU8 ? Kind::kLoadU8 : Kind::kLoadI8;
      if (!PushLoad(load, start_)) return std::nullopt;
      Push(Kind::kTakeOther);
    } else if (start_.dtype() != DType::kF32) {
      return std::nullopt;
    }
    gives_floats_ = last.dtype() == DType::kF32;
    if (!AddValue(last, start_, false)) return std::nullopt;
    while (MergeSteps()) {
    }
    switch (last.dtype()) {
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
  // Adds steps that compute `v`, when `base` is in the register that they change.
  bool AddValue(const Value& v, const Value& base, bool on_other) {
    return v == base || (behind_.contains(v) && AddNode(v.node(), base, on_other));
  }

  bool AddNode(const Node& node, const Value& base, bool on_other) {
    const NodeTraits& traits = NodeTraitsOf(node);
    if (!traits.pointwise || !traits.element || node.num_outputs() != 1) return false;
    if (node.type(0).shape != shape_) return false;
    const DType to = node.type(0).dtype;
    const bool narrow = to == DType::kU8 || to == DType::kI8;
    if (!narrow && to != DType::kF32) return false;
    ScalarExpr body = traits.element->body;
    while (body.kind() == ScalarExpr::Kind::kApply &&
           (body.fn() == StoredAs(to) || (narrow && body.fn() == ScalarFn::kTrunc))) {
      body = ScalarExpr(body.args()[0]);
    }
    const bool from_floats =
        std::all_of(node.inputs().begin(), node.inputs().end(),
                    [&](const Value& v) { return !ReadsStart(v) || v.dtype() == DType::kF32; });
    if (!narrow && from_floats) return AddBody(node, body, base, on_other);
    // A conversion from or to integers of 8 bits.
    if (body.kind() != ScalarExpr::Kind::kRead || node.inputs().size() != 1) return false;
    if (!AddValue(node.inputs()[0], base, on_other)) return false;
    if (!narrow) return true;
    if (!from_floats) return false;
    ChainStep& step = Push(Kind::kNarrow, on_other);
    step.low = to == DType::kU8 ? 0 : -128;
    step.high = to == DType::kU8 ? 255 : 127;
    return true;
  }

  bool ReadsStart(const Value& v) const { return v == start_ || behind_.contains(v); }
  bool ReadsStart(const Node& node, const ScalarExpr& e) const {
    if (e.kind() == ScalarExpr::Kind::kRead) return ReadsStart(node.inputs()[e.tensor()]);
    return std::any_of(e.args().begin(), e.args().end(),
                       [&](const ScalarExpr& arg) { return ReadsStart(node, arg); });
  }

  bool AddBody(const Node& node, const ScalarExpr& e, const Value& base, bool on_other) {
    if (e.kind() == ScalarExpr::Kind::kRead) {
      return AddValue(node.inputs()[e.tensor()], base, on_other);
    }
    if (e.kind() != ScalarExpr::Kind::kApply) return false;
    const absl::Span<const ScalarExpr> args = e.args();
    if (e.fn() == StoredAs(DType::kF32)) return AddBody(node, args[0], base, on_other);
    if (e.fn() == ScalarFn::kRound) {
      if (!AddBody(node, args[0], base, on_other)) return false;
      Push(Kind::kRound, on_other);
      return true;
    }
    if (args.size() == 1) {
      return AddBody(node, args[0], base, on_other) && AddFunction(e.fn(), on_other);
    }
    if (e.fn() == ScalarFn::kWhere) return AddWhere(node, e, base, on_other);
    if (args.size() != 2) return false;
    const bool first = ReadsStart(node, args[0]), second = ReadsStart(node, args[1]);
    if (first && second) return AddJoin(node, e, base, on_other);
    return AddBody(node, args[first ? 0 : 1], base, on_other) &&
           Combine(node, e.fn(), args[first ? 1 : 0], first, on_other);
  }

  bool AddFunction(ScalarFn fn, bool on_other) {
    switch (fn) {
      case ScalarFn::kNeg:
        Push(Kind::kMultiply, on_other).number = -1;
        return true;
      case ScalarFn::kAbs:
        Push(Kind::kScaleNegative, on_other).number = -1;
        Push(Kind::kAdd, on_other).number = 0;  // -0 becomes 0
        return true;
      case ScalarFn::kExp:
      case ScalarFn::kLog:
      case ScalarFn::kSqrt:
      case ScalarFn::kErf:
      case ScalarFn::kTanh:
        Push(Kind::kFunction, on_other).function = fn;
        return true;
      default:
        return false;
    }
  }

  // x = fn(a, b), both of which depend on one value.
  bool AddJoin(const Node& node, const ScalarExpr& e, const Value& base, bool on_other) {
    const std::optional<Kind> kind = WithOther(e.fn());
    if (!kind || on_other || keeps_) return false;
    const Value common = CommonOf(node, e);
    if (!AddValue(common, base, false)) return false;
    Push(Kind::kKeep);
    keeps_ = true;
    const bool added =
        AddBody(node, e.args()[1], common, true) && AddBody(node, e.args()[0], common, false);
    keeps_ = false;
    if (!added || (*kind == Kind::kDivideOther && ZeroMayChangeSign())) return false;
    Push(*kind);
    return true;
  }

  // The last value through which alone `e` depends on the start.
  Value CommonOf(const Node& node, const ScalarExpr& e) const {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      absl::flat_hash_set<Value> past;  // what depends on the start in other ways
      const auto passes = [&](const Value& v) { return v == start_ || past.contains(v); };
      for (const Value& v : order_) {
        const auto& in = v.node().inputs();
        if (v != *it && std::any_of(in.begin(), in.end(), passes)) past.insert(v);
      }
      if (!Reads(node, e, passes)) return *it;
    }
    return start_;
  }
  template <class Test>
  static bool Reads(const Node& node, const ScalarExpr& e, const Test& test) {
    if (e.kind() == ScalarExpr::Kind::kRead) return test(node.inputs()[e.tensor()]);
    return std::any_of(e.args().begin(), e.args().end(),
                       [&](const ScalarExpr& arg) { return Reads(node, arg, test); });
  }

  // x < 0 ? f(x) : x.
  bool AddWhere(const Node& node, const ScalarExpr& e, const Value& base, bool on_other) {
    const ScalarExpr &test = e.args()[0], &negative = e.args()[1], &same = e.args()[2];
    const auto is_read = [](const ScalarExpr& r) { return r.kind() == ScalarExpr::Kind::kRead; };
    if (test.kind() != ScalarExpr::Kind::kApply || test.fn() != ScalarFn::kLess) return false;
    const ScalarExpr &left = test.args()[0], &right = test.args()[1];
    if (!is_read(left) || !is_read(same) || left.tensor() != same.tensor()) return false;
    if (right.kind() != ScalarExpr::Kind::kConst || right.value() != 0) return false;
    const Value x = node.inputs()[same.tensor()];
    if (!ReadsStart(x) || !AddValue(x, base, on_other)) return false;
    if (negative.kind() == ScalarExpr::Kind::kApply && negative.fn() == ScalarFn::kMul) {
      for (const int i : {0, 1}) {
        const ScalarExpr &factor = negative.args()[i], &scaled = negative.args()[1 - i];
        if (!is_read(scaled) || scaled.tensor() != same.tensor()) continue;
        if (ReadsStart(node, factor)) continue;
        return CombineAs(node, Kind::kScaleNegative, Kind::kScaleNegativeOther, factor, on_other);
      }
    }
    if (on_other || keeps_) return false;
    Push(Kind::kKeep);
    keeps_ = true;
    const bool added = AddBody(node, negative, x, true);
    keeps_ = false;
    Push(Kind::kSelectOther);
    return added;
  }

  // x = fn(x, other), or fn(other, x) if not `is_first`.
  bool Combine(const Node& node, ScalarFn fn, const ScalarExpr& other, bool is_first,
               bool on_other) {
    if (!is_first && !Info(fn).commutative()) {
      if (fn == ScalarFn::kDiv && ZeroMayChangeSign()) return false;
      if (fn != ScalarFn::kSub && fn != ScalarFn::kDiv) return false;
      const Kind kind = fn == ScalarFn::kSub ? Kind::kSubtractFrom : Kind::kDivideFrom;
      return CombineAs(node, kind, std::nullopt, other, on_other);
    }
    if (!CombineAs(node, WithNumber(fn), WithOther(fn), other, on_other)) return false;
    return (fn != ScalarFn::kMin && fn != ScalarFn::kMax) || GivesTheSignOfZero(is_first, on_other);
  }

  // The last step is the smaller or the larger of x and a number. Whether it gives the zero that
  // the definition gives, as far as readers of the result can see it: of two zeros, the second.
  // Adds a step where this makes it so.
  bool GivesTheSignOfZero(bool is_first, bool on_other) {
    if (!gives_floats_) return true;
    const size_t last = program_.steps_.size() - 1;
    const float number = program_.steps_[last].number;
    if (HasSource(last)) return false;
    if (number != 0) return true;
    if (!is_first || std::signbit(number)) return false;
    Push(Kind::kAdd, on_other).number = 0;  // -0 becomes 0
    return true;
  }

  // Adds a step with the operand `other`: of one kind if it is a single number, of another if it
  // has elements.
  bool CombineAs(const Node& node, std::optional<Kind> with_number, std::optional<Kind> with_other,
                 const ScalarExpr& other, bool on_other) {
    if (other.kind() == ScalarExpr::Kind::kConst) {
      // As arithmetic in float reads it.
      const auto number = static_cast<float>(other.value());
      if (!with_number || std::isnan(number)) return false;
      Push(*with_number, on_other).number = number;
      return true;
    }
    if (other.kind() != ScalarExpr::Kind::kRead) return false;
    const Value& v = node.inputs()[other.tensor()];
    if (v.type().num_elements() == 1) {
      return with_number && PushNumber(*with_number, v, on_other);
    }
    if (!with_other || on_other || keeps_ || !LoadOther(v)) return false;
    if (*with_other == Kind::kDivideOther && ZeroMayChangeSign()) return false;
    Push(*with_other);
    return true;
  }

  // Whether a step may have given 0 where its definition gives -0, or the other way round, which a
  // division by it would show.
  bool ZeroMayChangeSign() const {
    for (size_t i = 0; i < program_.steps_.size(); ++i) {
      const ChainStep& s = program_.steps_[i];
      if ((s.kind == Kind::kMin || s.kind == Kind::kMax) && (s.number == 0 || HasSource(i))) {
        return true;
      }
    }
    return false;
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
      case ScalarFn::kDiv:
        return Kind::kDivideOther;
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
      if (follows(i, {Kind::kMax, Kind::kMin}) && !HasSource(i) && !HasSource(i + 1)) {
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

  // Whether an input of the spec is an operand of step i.
  bool HasSource(size_t i) const {
    return std::any_of(program_.sources_.begin(), program_.sources_.end(),
                       [&](const Source& s) { return s.step == static_cast<int>(i); });
  }

  ChainStep& Push(Kind kind, bool on_other = false) {
    program_.steps_.push_back({});
    program_.steps_.back().kind = kind;
    program_.steps_.back().on_other = on_other;
    return program_.steps_.back();
  }
  bool PushLoad(Kind kind, const Value& v) {
    Push(kind);
    return AddSource(v);
  }
  bool PushNumber(Kind kind, const Value& v, bool on_other) {
    if (v.dtype() != DType::kF32) return false;
    Push(kind, on_other);
    return AddSource(v);
  }
  bool AddSource(const Value& v) {
    const int input = spec_.InputIndex(v);
    program_.sources_.push_back({static_cast<int>(program_.steps_.size()) - 1, input, v.dtype()});
    return input >= 0;
  }

  const CpuKernelSpec& spec_;
  const Shape shape_;
  const Value start_;
  const int channel_;
  bool gives_floats_ = false;          // whether the chain's result is f32
  absl::flat_hash_set<Value> behind_;  // what depends on the start
  std::vector<Value> order_;           // the same, operands before users
  bool keeps_ = false;                 // whether `other` holds a value that a later step reads
  ChainProgram program_;
};

std::optional<ChainProgram> ChainProgram::Compile(const CpuKernelSpec& spec, const Value& start,
                                                  absl::Span<const NodePtr> nodes, int channel) {
  return Compiler(spec, start, nodes, channel).Run(Value(nodes.back(), 0));
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
      const bool is_bound = step.kind == Kind::kMin || step.kind == Kind::kMax;
      if (is_bound && std::isnan(step.number)) step.kind = Kind::kMultiply;  // all become NaN
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
