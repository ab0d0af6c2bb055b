#include "runtime/cuda/plan_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma::cuda {
namespace {

// The contents of a buffer: a value of the graph, or a temporary of a step.
struct Content {
  const Node* node = nullptr;  // nullptr: a temporary of a step
  int number = -1;             // the node's output, or the step; -1: nothing
  int slot = -1;               // of the step

  bool operator==(const Content& other) const {
    return node == other.node && number == other.number && slot == other.slot;
  }
};

class Checker {
 public:
  Checker(const Graph& graph, const CudaPlan& plan) : graph_(graph), plan_(plan) {
    for (const CudaStep& step : plan_.steps) {
      for (const NodePtr& node : step.nodes) computed_.insert(node.get());
    }
    statics_.insert(plan_.statics.begin(), plan_.statics.end());
  }

  absl::Status Run() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (absl::Status s = CheckInside(static_cast<int>(b)); !s.ok()) return s;
    }
    if (absl::Status s = CheckStart(); !s.ok()) return s;
    if (absl::Status s = CheckOrder(); !s.ok()) return s;
    return CheckContents();
  }

 private:
  absl::Status Fault(size_t launch, const std::string& what) const {
    return absl::InternalError(absl::StrCat(
        "launch ", launch, " (", plan_.steps[plan_.launches[launch].step].operators, "): ", what));
  }

  bool IsUsed(int buffer) const {
    return plan_.buffers[buffer].first <= plan_.buffers[buffer].last;
  }

  absl::Status CheckInside(int b) const {
    const Buffer& buffer = plan_.buffers[b];
    const int64_t end = buffer.offset + buffer.type.num_bytes();
    const int64_t size = buffer.kind == Buffer::Kind::kStatic ? plan_.memory.weight_bytes
                         : buffer.kind == Buffer::Kind::kHost ? plan_.memory.host_bytes
                                                              : plan_.memory.planned_bytes;
    if (!IsUsed(b) || (buffer.offset >= 0 && end <= size)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("buffer ", b, " of ", buffer.type.ToString(),
                                            " leaves its memory of ", size, " bytes"));
  }

  static int MemoryOf(const Buffer& buffer) {
    return buffer.kind == Buffer::Kind::kStatic ? 1 : buffer.kind == Buffer::Kind::kHost ? 2 : 0;
  }

  bool Overlap(int a, int b) const {
    const Buffer &x = plan_.buffers[a], &y = plan_.buffers[b];
    return MemoryOf(x) == MemoryOf(y) && x.offset < y.offset + y.type.num_bytes() &&
           y.offset < x.offset + x.type.num_bytes();
  }

  // Whether the values that are there before the first launch have places of their own, and the
  // state is the graph's.
  absl::Status CheckStart() const {
    std::vector<int> there = plan_.inputs;
    there.insert(there.end(), plan_.static_buffers.begin(), plan_.static_buffers.end());
    there.erase(std::remove_if(there.begin(), there.end(), [&](int b) { return !IsUsed(b); }),
                there.end());
    const auto place = [&](int b) {
      return std::make_pair(MemoryOf(plan_.buffers[b]), plan_.buffers[b].offset);
    };
    std::sort(there.begin(), there.end(), [&](int a, int b) { return place(a) < place(b); });
    int last = -1;  // among those that have elements
    for (int b : there) {
      if (plan_.buffers[b].type.num_bytes() == 0) continue;
      if (last >= 0 && (last == b || Overlap(last, b))) {
        return absl::InternalError(absl::StrCat("buffers ", last, " and ", b,
                                                " are both there at the start, in one place"));
      }
      last = b;
    }
    const std::vector<StatePair> state = StatePairs(graph_);
    const auto same = [](const StatePair& a, const StatePair& b) {
      return a.input == b.input && a.output == b.output;
    };
    if (!std::equal(state.begin(), state.end(), plan_.state.begin(), plan_.state.end(), same)) {
      return absl::InternalError("the state is not the graph's");
    }
    return absl::OkStatus();
  }

  // Whether launches `a` and `b` must not run at the same time.
  bool Conflict(size_t a, size_t b) const {
    const Launch &first = plan_.launches[a], &second = plan_.launches[b];
    const std::vector<int> x = plan_.Arguments(first), y = plan_.Arguments(second);
    const size_t reads_x = plan_.NumReads(first), reads_y = plan_.NumReads(second);
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < y.size(); ++j) {
        const bool writes = i >= reads_x || j >= reads_y;
        const bool parts =
            i >= reads_x && j >= reads_y && x[i] == y[j] && first.step == second.step;
        if (writes && !parts && Overlap(x[i], y[j])) return true;
      }
    }
    return false;
  }

  absl::Status CheckOrder() const {
    const size_t n = plan_.launches.size();
    std::vector<std::vector<bool>> before(n);
    for (size_t l = 0; l < n; ++l) {
      before[l].assign(l, false);
      for (int direct : plan_.launches[l].after) {
        if (direct < 0 || static_cast<size_t>(direct) >= l) {
          return Fault(l, absl::StrCat("waits for launch ", direct));
        }
        before[l][direct] = true;
        for (int earlier = 0; earlier < direct; ++earlier) {
          if (before[direct][earlier]) before[l][earlier] = true;
        }
      }
      for (size_t earlier = 0; earlier < l; ++earlier) {
        if (before[l][earlier] || !Conflict(earlier, l)) continue;
        return Fault(
            l, absl::StrCat("touches the memory of launch ", earlier, " and does not wait for it"));
      }
    }
    return absl::OkStatus();
  }

  // The value whose memory `v` shares: reshapes and barriers share their operand's.
  absl::StatusOr<Content> Canonical(Value v) const {
    while (v.node().is_op() && computed_.count(&v.node()) == 0 && statics_.count(v) == 0) {
      const Node& node = v.node();
      bool keeps = IsBarrier(node) || v.type().num_elements() == 0;
      if (!keeps) {
        absl::StatusOr<Definition> definition = DefinitionOf(node);
        keeps = definition.ok() && codegen::KeepsOrder(*definition);
      }
      const bool narrow = IsWidening(node);  // kernels read the narrow value
      if (node.inputs().empty() ||
          (!narrow && (!keeps || v.type().num_bytes() != node.inputs()[0].type().num_bytes()))) {
        return absl::InternalError(absl::StrCat(node.op().name, " is computed by no step"));
      }
      v = node.inputs()[0];
    }
    return Content{&v.node(), v.output(), -1};
  }

  // The contents of each slot after a step.
  absl::StatusOr<std::vector<Content>> SlotsOf(int s) const {
    const CudaStep& step = plan_.steps[s];
    std::vector<Content> slots;
    if (step.program == nullptr) {  // a copy
      absl::StatusOr<Content> from = Canonical(step.nodes[0]->inputs()[0]);
      if (!from.ok()) return from.status();
      return std::vector<Content>{*from, Content{step.nodes[0].get(), 0, -1}};
    }
    std::vector<StepPart> parts = step.parts;
    if (parts.empty()) parts = {{step.nodes.size(), step.program->slots.size()}};
    size_t first_node = 0, output = 0;
    for (const StepPart& part : parts) {
      const absl::Span<const NodePtr> nodes(&step.nodes[first_node], part.nodes);
      const size_t first_slot = slots.size(), end = first_slot + part.slots;
      const std::vector<Value> operands = OperandsOf(nodes);
      if (operands.size() > part.slots) {
        return absl::InternalError(absl::StrCat(step.operators, " has too few slots"));
      }
      for (const Value& v : operands) {
        absl::StatusOr<Content> content = Canonical(v);
        if (!content.ok()) return content.status();
        slots.push_back(*content);
      }
      while (slots.size() < end) slots.push_back({nullptr, s, static_cast<int>(slots.size())});
      for (int k = 0; output < step.program->outputs.size(); ++output, ++k) {
        const size_t slot = step.program->outputs[output];
        if (slot >= end) break;
        slots[slot] = {nodes.back().get(), k, -1};
      }
      first_node += part.nodes;
    }
    return slots;
  }

  absl::Status CheckContents() {
    contents_.assign(plan_.buffers.size(), Content());
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      contents_[plan_.inputs[i]] = {&graph_.inputs()[i].node(), graph_.inputs()[i].output(), -1};
    }
    for (size_t i = 0; i < plan_.statics.size(); ++i) {
      contents_[plan_.static_buffers[i]] = {&plan_.statics[i].node(), plan_.statics[i].output(),
                                            -1};
    }
    std::vector<Content> slots;
    int known = -1;
    for (size_t l = 0; l < plan_.launches.size(); ++l) {
      const Launch& launch = plan_.launches[l];
      if (launch.step != known) {
        absl::StatusOr<std::vector<Content>> made = SlotsOf(launch.step);
        if (!made.ok()) return made.status();
        slots = *std::move(made);
        known = launch.step;
      }
      if (absl::Status s = Simulate(l, slots); !s.ok()) return s;
    }
    for (size_t k = 0; k < plan_.outputs.size(); ++k) {
      absl::StatusOr<Content> expected = Canonical(graph_.outputs()[k]);
      if (!expected.ok()) return expected.status();
      if (!Holds(plan_.outputs[k], *expected)) {
        return absl::InternalError(absl::StrCat("output ", k, " is not there in the end"));
      }
      const DType stored = plan_.buffers[plan_.outputs[k]].type.dtype;
      if (stored == graph_.outputs()[k].dtype()) continue;
      return absl::InternalError(absl::StrCat("output ", k, " is stored in ", Name(stored)));
    }
    return absl::OkStatus();
  }

  // Every buffer holds a tensor without elements.
  bool Holds(int buffer, const Content& content) const {
    return contents_[buffer] == content || plan_.buffers[buffer].type.num_elements() == 0;
  }

  absl::Status Simulate(size_t l, const std::vector<Content>& slots) {
    const Launch& launch = plan_.launches[l];
    const CudaStep& step = plan_.steps[launch.step];
    std::vector<int> reads = {0}, writes = {1};
    const bool copies = plan_.IsCopy(launch);
    if (!copies) {
      reads = plan_.KernelOf(launch).reads;
      writes = plan_.KernelOf(launch).writes;
    }
    // A slot has the type that the kernel accesses; a copy does not change it.
    const auto check_type = [&](int slot) {
      const DType stored = plan_.buffers[step.buffers[slot]].type.dtype;
      const DType used = copies ? step.nodes[0]->type(0).dtype : step.program->slots[slot].dtype;
      if (stored == used) return absl::OkStatus();
      return Fault(l, absl::StrCat("argument ", slot, " is stored in ", Name(stored), ", not in ",
                                   Name(used)));
    };
    for (int slot : reads) {
      const int buffer = step.buffers[slot];
      if (buffer < 0 || !Holds(buffer, slots[slot])) {
        return Fault(l, absl::StrCat("argument ", slot, " is not in memory"));
      }
      if (absl::Status s = check_type(slot); !s.ok()) return s;
    }
    // What the kernels do not write has to be there.
    const int kept = copies ? -1 : step.program->kept;
    if (kept >= 0) {
      const int buffer = step.buffers[kept];
      if (buffer < 0 || buffer != step.buffers[step.program->outputs[0]] ||
          !Holds(buffer, slots[kept])) {
        return Fault(l, absl::StrCat("its result is not in the memory of argument ", kept));
      }
    }
    for (int slot : writes) {
      const int written = step.buffers[slot];
      if (written < 0 || plan_.buffers[written].kind == Buffer::Kind::kStatic) {
        return Fault(l, "writes where it may not");
      }
      if (absl::Status s = check_type(slot); !s.ok()) return s;
      for (size_t b = 0; b < contents_.size(); ++b) {
        const int other = static_cast<int>(b);
        if (other != written && IsUsed(other) && Overlap(written, other)) contents_[b] = Content();
      }
      contents_[written] = slots[slot];
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const CudaPlan& plan_;
  absl::flat_hash_set<const Node*> computed_;
  absl::flat_hash_set<Value> statics_;
  std::vector<Content> contents_;  // by buffer
};

// The place of element (i, j) of batch `p`.
int64_t PlaceOf(const codegen::GemmMatrix& matrix, int64_t p, int64_t i, int64_t j) {
  const int64_t first = matrix.offset + p * matrix.batch_stride;
  return matrix.transposed ? first + i * matrix.leading + j : first + i + j * matrix.leading;
}

// InvalidArgument if it leaves a tensor.
absl::StatusOr<Tensor> Multiply(const codegen::GemmCall& call,
                                const std::vector<std::vector<double>>& arguments,
                                const TensorType& type) {
  const auto at = [&](int argument, int64_t place) {
    const std::vector<double>& values = arguments[argument];
    return place >= 0 && place < static_cast<int64_t>(values.size()) ? values[place] : std::nan("");
  };
  std::vector<double> result(type.num_elements(), std::nan(""));
  for (int64_t p = 0; p < call.batch; ++p) {
    for (int64_t i = 0; i < call.m; ++i) {
      for (int64_t j = 0; j < call.n; ++j) {
        double sum = call.c.argument < 0 ? 0 : at(call.c.argument, PlaceOf(call.c, p, i, j));
        if (call.bias_argument >= 0) sum += at(call.bias_argument, call.bias_offset + i);
        for (int64_t k = 0; k < call.k; ++k) {
          sum += at(call.a.argument, PlaceOf(call.a, p, i, k)) *
                 at(call.b.argument, PlaceOf(call.b, p, k, j));
        }
        const int64_t place = PlaceOf(call.d, p, i, j);
        if (place < 0 || place >= type.num_elements()) {
          return absl::InvalidArgumentError("writes outside its result");
        }
        result[place] = sum;
      }
    }
  }
  return Tensor::FromDoubles(type, result);
}

// The results of the step's nodes, each rounded to its type.
absl::StatusOr<Tensor> ByDefinition(const CudaStep& step, const std::vector<Value>& operands,
                                    const std::vector<Tensor>& inputs) {
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < operands.size(); ++i) values[operands[i]] = inputs[i];
  for (const NodePtr& node : step.nodes) {
    std::vector<Tensor> read;
    for (const Value& v : node->inputs()) read.push_back(values.at(v));
    auto results = EvaluateNode(*node, read);
    if (!results.ok()) return results.status();
    for (int k = 0; k < node->num_outputs(); ++k) values[Value(node, k)] = (*results)[k];
  }
  return values.at(Value(step.nodes.back(), 0));
}

// Checks a step that is one kernel and a product.
absl::Status CheckProduct(const CudaStep& step, uint64_t seed) {
  const codegen::GridKernel& kernel = step.program->kernels[0];
  const std::vector<Value> operands = OperandsOf(step.nodes);
  std::vector<Tensor> inputs;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (const Value& v : operands) {
    std::vector<double> values(v.type().num_elements());
    for (double& x : values) x = normal(random);
    inputs.push_back(*Tensor::FromDoubles(v.type(), values));
  }
  std::vector<std::vector<double>> arguments;
  for (int slot : kernel.reads) arguments.push_back(inputs[slot].ToDoubles());
  const auto expected = ByDefinition(step, operands, inputs);
  if (!expected.ok()) return expected.status();
  if (kernel.gemm->d.argument != static_cast<int>(kernel.reads.size())) {
    return absl::InternalError(absl::StrCat(step.signature, ": the product goes elsewhere"));
  }
  const auto actual = Multiply(*kernel.gemm, arguments, expected->type());
  if (!actual.ok())
    return absl::InternalError(absl::StrCat(step.signature, ": ", actual.status().message()));
  double tolerance = 0;
  for (const NodePtr& node : step.nodes) tolerance += AddedError(*node);
  const Difference difference = Compare(*actual, *expected, tolerance);
  if (difference.within) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(step.signature,
                   ": the product that the library is asked for is off: ", difference.ToString()));
}

}  // namespace

absl::StatusOr<ProductCheck> CheckProducts(const CudaPlan& plan, uint64_t seed) {
  ProductCheck result;
  absl::flat_hash_set<std::string> known;
  for (const CudaStep& step : plan.steps) {
    if (step.program == nullptr || step.program->kernels.size() != 1) continue;
    if (!step.program->kernels[0].gemm.has_value()) continue;
    ++result.launches;
    if (!known.insert(step.signature).second) continue;
    ++result.different;
    if (absl::Status s = CheckProduct(step, seed); !s.ok()) return s;
  }
  return result;
}

absl::Status CheckPlan(const Graph& graph, const CudaPlan& plan) {
  return Checker(graph, plan).Run();
}

}  // namespace lemma::cuda
