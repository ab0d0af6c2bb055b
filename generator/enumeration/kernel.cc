#include "generator/enumeration/kernel.h"

#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "base/status_macros.h"

namespace lemma::generator {
namespace {

// Products are below 2^122, so 32 of them can be added without overflow.
constexpr int kTermsBetweenReductions = 32;

// The program for a one-dimensional operand.
absl::StatusOr<LoopProgram> FlatProgram(const Node& node, int size) {
  const TensorType type{node.type(0).dtype, {size}};
  LEMMA_ASSIGN_OR_RETURN(Definition definition, Define(node.op(), {type}, node.attrs()));
  return CompileLoops(definition);
}

// The needed elements of a node, and their place in scratch memory.
struct Needed {
  std::vector<int> elements;
  int at = 0;
  int PlaceOf(int element) const {
    return at + static_cast<int>(std::lower_bound(elements.begin(), elements.end(), element) -
                                 elements.begin());
  }
};

int OffsetOf(const Value& value) {
  int offset = 0;
  for (int i = 0; i < value.output(); ++i) {
    offset += static_cast<int>(value.node().type(i).num_elements());
  }
  return offset;
}

}  // namespace

absl::StatusOr<Kernel> KernelCompiler::Compile(const Graph& graph,
                                               const std::vector<std::vector<int>>& wanted) {
  Kernel kernel;
  absl::flat_hash_map<const Node*, Needed> needed;
  auto need = [&](const Value& v, int element) {
    needed[v.node_ptr().get()].elements.push_back(OffsetOf(v) + element);
  };
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int element : wanted[i]) need(graph.outputs()[i], element);
  }
  // Users come before operands, so all needed elements of a node are known when it is reached.
  const std::vector<NodePtr>& nodes = graph.nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const NodePtr& node = *it;
    std::vector<int>& elements = needed[node.get()].elements;
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    if (elements.empty() || !node->is_op()) continue;
    LEMMA_ASSIGN_OR_RETURN(const NodeProgram* form, ProgramOf(node));
    auto need_flat = [&](int flat) {
      const auto& offsets = form->operand_offset;
      const int operand = static_cast<int>(std::upper_bound(offsets.begin(), offsets.end(), flat) -
                                           offsets.begin() - 1);
      need(node->inputs()[operand], flat - offsets[operand]);
    };
    switch (form->kind) {
      case NodeProgram::Kind::kLinear:
      case NodeProgram::Kind::kBilinear:
        for (int element : std::vector<int>(elements)) {
          for (int j = form->RowBegin(element); j < form->row_end[element]; ++j) {
            need_flat(form->entries[j].a);
            if (form->kind == NodeProgram::Kind::kBilinear) need_flat(form->entries[j].b);
          }
        }
        break;
      case NodeProgram::Kind::kElementwise:
        for (int element : std::vector<int>(elements)) need_flat(element);
        break;
      case NodeProgram::Kind::kProgram:
        for (int flat = 0; flat < form->operand_offset.back(); ++flat) need_flat(flat);
        needed[node.get()].elements.resize(form->num_elements);
        std::iota(needed[node.get()].elements.begin(), needed[node.get()].elements.end(), 0);
    }
  }
  auto source = [&](const Value& v, int element) -> Kernel::Source {
    const bool operand = v.node().kind() == Node::Kind::kInput;
    const int bank = operand ? v.node().input_index() : Kernel::kMostOperands;
    const int offset =
        operand ? element : needed[v.node_ptr().get()].PlaceOf(OffsetOf(v) + element);
    return static_cast<Kernel::Source>(bank) << Kernel::kBankShift |
           static_cast<Kernel::Source>(offset);
  };
  for (const NodePtr& node : nodes) {
    Needed& n = needed[node.get()];
    if (n.elements.empty() || node->kind() == Node::Kind::kInput) continue;
    n.at = kernel.scratch_size_;
    kernel.scratch_size_ += static_cast<int>(n.elements.size());
    if (node->has_payload()) {
      for (size_t i = 0; i < n.elements.size(); ++i) {
        kernel.constants_.emplace_back(n.at + static_cast<int>(i),
                                       Field::FromDouble(node->payload().AtDouble(n.elements[i])));
      }
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(const NodeProgram* form, ProgramOf(node));
    auto flat_source = [&](int flat) {
      const auto& offsets = form->operand_offset;
      const int operand = static_cast<int>(std::upper_bound(offsets.begin(), offsets.end(), flat) -
                                           offsets.begin() - 1);
      return source(node->inputs()[operand], flat - offsets[operand]);
    };
    Kernel::Step step;
    step.kind = form->kind;
    step.out = n.at;
    step.size = static_cast<int>(n.elements.size());
    if (form->is_table()) {
      step.coefficient = form->coefficient;
      step.copy = form->kind == NodeProgram::Kind::kLinear && form->coefficient == Field(1);
      for (int element : n.elements) {
        step.copy = step.copy && form->row_end[element] == form->RowBegin(element) + 1;
        for (int j = form->RowBegin(element); j < form->row_end[element]; ++j) {
          step.a.push_back(flat_source(form->entries[j].a));
          if (form->kind == NodeProgram::Kind::kBilinear) {
            step.b.push_back(flat_source(form->entries[j].b));
          }
        }
        step.row_end.push_back(static_cast<int>(step.a.size()));
      }
    } else {
      const bool flat = form->kind == NodeProgram::Kind::kElementwise;
      step.argument_at = kernel.scratch_size_;
      if (flat) {
        for (int element : n.elements) step.arguments.push_back(flat_source(element));
        LEMMA_ASSIGN_OR_RETURN(LoopProgram program, FlatProgram(*node, step.size));
        step.program = std::make_shared<LoopProgram>(std::move(program));
        step.operand_sizes = step.output_sizes = {step.size};
        step.operand_strides = step.output_strides = {{1}};
      } else {
        for (int i = 0; i < form->operand_offset.back(); ++i)
          step.arguments.push_back(flat_source(i));
        step.program = programs_.at(node.get());
        for (const Value& v : node->inputs()) {
          step.operand_sizes.push_back(static_cast<int>(v.type().num_elements()));
          step.operand_strides.push_back(DenseStrides(v.shape()));
        }
        for (const TensorType& type : node->types()) {
          step.output_sizes.push_back(static_cast<int>(type.num_elements()));
          step.output_strides.push_back(DenseStrides(type.shape));
        }
      }
      kernel.scratch_size_ += static_cast<int>(step.arguments.size());
    }
    kernel.steps_.push_back(std::move(step));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (int element : wanted[i]) kernel.gather_.push_back(source(graph.outputs()[i], element));
  }
  return kernel;
}

void Kernel::RunTable(const Step& step, const Field* const* banks, Field* scratch) {
  Field* out = scratch + step.out;
  const Source* a = step.a.data();
  if (step.copy) {
    for (int i = 0; i < step.size; ++i) out[i] = At(banks, a[i]);
    return;
  }
  const bool bilinear = step.kind == NodeProgram::Kind::kBilinear;
  const bool unit = step.coefficient == Field(1);
  const Source* b = step.b.data();
  for (int i = 0, j = 0; i < step.size; ++i) {
    unsigned __int128 sum = 0;
    while (j < step.row_end[i]) {
      const int end = std::min(step.row_end[i], j + kTermsBetweenReductions);
      if (bilinear) {
        for (; j < end; ++j) {
          sum += static_cast<unsigned __int128>(At(banks, a[j]).raw()) * At(banks, b[j]).raw();
        }
      } else {
        for (; j < end; ++j) sum += At(banks, a[j]).raw();
      }
      sum = Field::Reduce(sum);
    }
    const Field value = Field::FromRaw(static_cast<uint64_t>(sum));
    out[i] = unit ? value : step.coefficient * value;
  }
}

void Kernel::Run(absl::Span<const Field* const> operands, Field* out,
                 std::vector<Field>* memory) const {
  if (static_cast<int>(memory->size()) < scratch_size_) memory->resize(scratch_size_);
  Field* scratch = memory->data();
  const Field* banks[kMostOperands + 1] = {nullptr, nullptr, scratch};
  for (size_t i = 0; i < operands.size(); ++i) banks[i] = operands[i];
  for (const auto& [place, value] : constants_) scratch[place] = value;
  for (const Step& step : steps_) {
    if (step.program == nullptr) {
      RunTable(step, banks, scratch);
    } else {
      RunProgram(step, banks, scratch);
    }
  }
  for (const Source& s : gather_) *out++ = At(banks, s);
}

void Kernel::RunProgram(const Step& step, const Field* const* banks, Field* scratch) {
  Field* argument = scratch + step.argument_at;
  for (const Source& s : step.arguments) *argument++ = At(banks, s);
  absl::InlinedVector<TensorView, 2> inputs;
  absl::InlinedVector<MutableTensorView, 2> outputs;
  argument = scratch + step.argument_at;
  for (size_t i = 0; i < step.operand_sizes.size(); ++i) {
    inputs.push_back({argument, std::nullopt, step.operand_strides[i]});
    argument += step.operand_sizes[i];
  }
  Field* result = scratch + step.out;
  for (size_t i = 0; i < step.output_sizes.size(); ++i) {
    outputs.push_back({result, std::nullopt, step.output_strides[i]});
    result += step.output_sizes[i];
  }
  // The program was compiled and run during probing; other values cannot make it fail.
  lemma::Run<Field>(*step.program, inputs, outputs).IgnoreError();
}

}  // namespace lemma::generator
