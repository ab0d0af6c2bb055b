// Derives tables of operators by running their definitions.
#include <algorithm>

#include "base/hash.h"
#include "base/status_macros.h"
#include "generator/enumeration/kernel.h"

namespace lemma::generator {
namespace {

constexpr int kMostElements = 1 << 16;  // limit for operands of tables
constexpr int kLeastCompared = 64;      // elements
constexpr int kFieldBits = 60, kDoubleBits = 52;

Field RowValue(const NodeProgram& form, int row, const std::vector<Field>& x) {
  Field sum;
  for (int j = form.RowBegin(row); j < form.row_end[row]; ++j) {
    const NodeProgram::Entry& e = form.entries[j];
    sum = sum + (form.kind == NodeProgram::Kind::kBilinear ? x[e.a] * x[e.b] : x[e.a]);
  }
  return form.coefficient * sum;
}

void SetRows(std::vector<std::vector<NodeProgram::Entry>> rows, NodeProgram* form) {
  for (const auto& row : rows) {
    form->entries.insert(form->entries.end(), row.begin(), row.end());
    form->row_end.push_back(static_cast<int>(form->entries.size()));
  }
  form->entries.shrink_to_fit();
}

}  // namespace

std::vector<Field> KernelCompiler::Random(int n) {
  std::vector<Field> x(n);
  for (Field& v : x) v = Field::FromRaw((state_ = Mix64(state_ + 1)) % Field::kPrime);
  return x;
}

template <class Number>
absl::StatusOr<std::vector<Number>> KernelCompiler::Evaluate(const NodeProgram& form,
                                                             const std::vector<Number>& x) {
  const Node& node = *form.node;
  std::shared_ptr<LoopProgram>& program = programs_[&node];
  if (program == nullptr) {
    LEMMA_ASSIGN_OR_RETURN(Definition definition,
                           Define(node.op(), node.input_types(), node.attrs()));
    LEMMA_ASSIGN_OR_RETURN(LoopProgram compiled, CompileLoops(definition));
    program = std::make_shared<LoopProgram>(std::move(compiled));
  }
  std::vector<Number> y(form.num_elements);
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    inputs.push_back(
        {x.data() + form.operand_offset[i], std::nullopt, DenseStrides(node.inputs()[i].shape())});
  }
  std::vector<MutableTensorView> outputs;
  Number* out = y.data();
  for (const TensorType& type : node.types()) {
    outputs.push_back({out, std::nullopt, DenseStrides(type.shape)});
    out += type.num_elements();
  }
  LEMMA_RETURN_IF_ERROR(lemma::Run<Number>(*program, inputs, outputs));
  return y;
}

absl::StatusOr<bool> KernelCompiler::Agrees(const NodeProgram& form) {
  // A function that tests signs passes half of the trials with a single element.
  const int trials = std::max(2, kLeastCompared / std::max(1, form.num_elements));
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Field> x = Random(form.operand_offset.back());
    // Boolean operands must show both values.
    for (size_t k = 0; k < form.node->inputs().size(); ++k) {
      if (form.node->inputs()[k].dtype() != DType::kBool) continue;
      for (int i = form.operand_offset[k]; i < form.operand_offset[k + 1]; ++i) {
        x[i] = Field(static_cast<int64_t>(x[i].raw() & 1));
      }
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> y, Evaluate(form, x));
    for (int i = 0; i < form.num_elements; ++i) {
      if (RowValue(form, i, x) != y[i]) return false;
    }
  }
  return true;
}

// If all coefficients equal one number c, then inputs 2^0, 2^1, … give c times a sum whose binary
// digits show which elements it contains.
absl::StatusOr<bool> KernelCompiler::ProbeLinear(NodeProgram* form) {
  const int n = form->operand_offset.back();
  if (n == 0 || n > kMostElements) return false;
  std::vector<Field> x(n);
  Field c;
  for (int i : {0, n - 1, n / 2, n / 3}) {
    x[i] = Field(1);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> y, Evaluate(*form, x));
    x[i] = Field();
    for (const Field& v : y) c = c == Field() ? v : c;
    if (c != Field()) break;
  }
  if (c == Field() || c.is_special()) return false;
  const Field inverse = c.Inverse();
  std::vector<std::vector<NodeProgram::Entry>> rows(form->num_elements);
  for (int begin = 0; begin < n; begin += kFieldBits) {
    const int end = std::min(n, begin + kFieldBits);
    for (int i = begin; i < end; ++i) x[i] = Field(int64_t{1} << (i - begin));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> y, Evaluate(*form, x));
    std::fill(x.begin() + begin, x.begin() + end, Field());
    for (int k = 0; k < form->num_elements; ++k) {
      if (y[k].is_special()) return false;
      const uint64_t digits = (y[k] * inverse).raw();
      if (end - begin < 64 && digits >> (end - begin) != 0) return false;
      for (int i = begin; i < end; ++i) {
        if (digits >> (i - begin) & 1) rows[k].push_back({i, 0});
      }
    }
  }
  form->kind = NodeProgram::Kind::kLinear;
  form->coefficient = c;
  SetRows(std::move(rows), form);
  return Agrees(*form);
}

// If each element of the result has at most one product with each element of the smaller operand,
// and all coefficients are 1: number the larger operand's elements from 1, let some of the smaller
// one's be powers of a base, and the digits of the result show which elements are multiplied.
absl::StatusOr<bool> KernelCompiler::ProbeBilinear(NodeProgram* form) {
  if (form->operand_offset.size() != 3) return false;
  const int middle = form->operand_offset[1], n = form->operand_offset[2];
  if (n == 0 || n > kMostElements) return false;
  const bool first_is_small = middle < n - middle;
  const int small = first_is_small ? 0 : middle, small_end = first_is_small ? middle : n;
  const int large = first_is_small ? middle : 0, large_end = first_is_small ? n : middle;
  int bits = 1;
  while ((1 << bits) <= large_end - large) ++bits;
  const int at_once = kDoubleBits / bits;
  std::vector<double> x(n);
  for (int i = large; i < large_end; ++i) x[i] = i - large + 1;
  std::vector<std::vector<NodeProgram::Entry>> rows(form->num_elements);
  for (int begin = small; begin < small_end; begin += at_once) {
    const int end = std::min(small_end, begin + at_once);
    for (int j = begin; j < end; ++j)
      x[j] = static_cast<double>(int64_t{1} << (bits * (j - begin)));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<double> y, Evaluate(*form, x));
    std::fill(x.begin() + begin, x.begin() + end, 0.0);
    for (int k = 0; k < form->num_elements; ++k) {
      if (!(y[k] >= 0 && y[k] < static_cast<double>(int64_t{1} << kDoubleBits))) return false;
      int64_t digits = static_cast<int64_t>(y[k]);
      for (int j = begin; digits != 0 && j < end; ++j, digits >>= bits) {
        const int number = static_cast<int>(digits & ((int64_t{1} << bits) - 1));
        if (number > large_end - large) return false;
        if (number > 0) rows[k].push_back({large + number - 1, j});
      }
      if (digits != 0) return false;
    }
  }
  form->kind = NodeProgram::Kind::kBilinear;
  SetRows(std::move(rows), form);
  return Agrees(*form);
}

absl::StatusOr<bool> KernelCompiler::ProbeElementwise(NodeProgram* form) {
  const int n = form->operand_offset.back();
  if (form->node->inputs().size() != 1 || form->node->num_outputs() != 1 ||
      n != form->num_elements) {
    return false;
  }
  std::vector<Field> x = Random(n);
  LEMMA_ASSIGN_OR_RETURN(std::vector<Field> y, Evaluate(*form, x));
  // Changes every other element: the results at unchanged elements must stay the same.
  std::vector<Field> changed = x;
  const std::vector<Field> other = Random(n);
  for (int i = 0; i < n; i += 2) changed[i] = other[i];
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Field> partly, Evaluate(*form, changed));
  for (int i = 1; i < n; i += 2) {
    if (partly[i] != y[i]) return false;
  }
  // One function for all elements, whatever the shape.
  const TensorType flat{form->node->type(0).dtype, {n}};
  auto definition = Define(form->node->op(), {flat}, form->node->attrs());
  if (!definition.ok() || definition->TypeOf(definition->outputs[0]).rank() != 1) return false;
  LEMMA_ASSIGN_OR_RETURN(LoopProgram program, CompileLoops(*definition));
  std::reverse(x.begin(), x.end());
  std::vector<Field> reversed(n);
  const TensorView in = {x.data(), std::nullopt, {1}};
  const MutableTensorView out = {reversed.data(), std::nullopt, {1}};
  LEMMA_RETURN_IF_ERROR(lemma::Run<Field>(program, {in}, {out}));
  std::reverse(y.begin(), y.end());
  if (y != reversed) return false;
  form->kind = NodeProgram::Kind::kElementwise;
  return true;
}

absl::StatusOr<const NodeProgram*> KernelCompiler::ProgramOf(const NodePtr& node) {
  std::unique_ptr<NodeProgram>& form = node_programs_[node.get()];
  if (form != nullptr) return form.get();
  auto made = std::make_unique<NodeProgram>();
  made->node = node;
  made->operand_offset = {0};
  for (const Value& v : node->inputs()) {
    made->operand_offset.push_back(made->operand_offset.back() +
                                   static_cast<int>(v.type().num_elements()));
  }
  for (const TensorType& type : node->types()) {
    made->num_elements += static_cast<int>(type.num_elements());
  }
  using Probe = absl::StatusOr<bool> (KernelCompiler::*)(NodeProgram*);
  for (Probe probe : {&KernelCompiler::ProbeLinear, &KernelCompiler::ProbeBilinear,
                      &KernelCompiler::ProbeElementwise}) {
    made->kind = NodeProgram::Kind::kProgram;
    LEMMA_ASSIGN_OR_RETURN(const bool found, (this->*probe)(made.get()));
    if (found) break;
    made->kind = NodeProgram::Kind::kProgram;
    made->entries.clear();
    made->row_end.clear();
    made->coefficient = Field(1);
  }
  form = std::move(made);
  return form.get();
}

}  // namespace lemma::generator
