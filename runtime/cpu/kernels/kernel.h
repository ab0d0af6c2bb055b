// Kernels of the CPU back end, and their registration.
//
// A KernelDef says which operator it computes, in which layouts, and what it fuses behind it; it
// builds a Kernel from a spec. To add one: a function that returns a KernelDef in a file of this
// folder, and its line in kernels.inc.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/measure.h"
#include "runtime/plan/layout.h"

namespace lemma::cpu {

struct KernelDef;

// One kernel to be: fused applications, operands before users, and where their operands lie.
struct CpuKernelSpec : KernelSpec {
  struct Operand {
    Value value;  // empty: the source or target of a bare copy of type `type`
    TensorType type;
    Strides strides;
    bool is_static = false;  // known when the kernel is built, in row-major order
  };
  const KernelDef* def = nullptr;
  std::vector<NodePtr> nodes;
  std::vector<Operand> inputs;   // distinct values
  std::vector<Operand> outputs;  // of the last node
  // Inputs whose memory output 0 may take over, layouts permitting, the best first.
  std::vector<int> in_place;
  int threads = 1;

  const Node& head() const { return *nodes.front(); }
  const Node& last() const { return *nodes.back(); }
  // The input that `v` is; -1 if none.
  int InputIndex(const Value& v) const;
  std::string Signature() const;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Pointers to the first elements, in the order of the spec. Those of static inputs are ignored by
  // kernels that pack them.
  virtual absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                           void* scratch) = 0;
  virtual size_t scratch_bytes() const { return 0; }
  // Memory kept between runs besides the static values themselves.
  virtual size_t packed_bytes() const { return 0; }
  // The part of that which runs only read: weights in the layout that the kernel wants.
  virtual std::vector<absl::Span<const char>> PackedWeights() const { return {}; }
  // Whether it reads static input i at run time.
  virtual bool NeedsStatic(int) const { return true; }
  virtual std::string note() const { return ""; }
  // The kernel that does the work where this one only guards it.
  virtual const Kernel* library() const { return this; }
};

// Values of static inputs, by index into spec.inputs; empty handles for the others.
using StaticValues = std::vector<Tensor>;

struct KernelDef {
  std::string name;
  std::vector<std::string> ops;  // heads
  // Whether this kernel takes the application as a head.
  bool (*accepts)(const Node& node) = nullptr;
  // Whether `user`, the only user of the last node's output, may be fused behind it.
  bool (*fuses)(const CpuKernelSpec& spec, const Node& user) = nullptr;
  // Completes a spec whose inputs have the strides of their values: replaces those it cannot take
  // and sets strides of the outputs and in_place. `wanted`: strides that the users of output 0
  // would like; empty if they do not care. Only a kernel that can write any strides honours strides
  // that are not dense.
  void (*layouts)(CpuKernelSpec& spec, const Strides& wanted) = nullptr;
  // Whether output 0 may be written with `strides`, which have gaps in the order of its own; and
  // whether operand `operand` of nodes[node] may be read with gaps. Absent: never.
  bool (*strided_output)(const CpuKernelSpec& spec, const Strides& strides) = nullptr;
  bool (*strided_input)(const std::vector<NodePtr>& nodes, int node, int operand) = nullptr;
  absl::StatusOr<std::unique_ptr<Kernel>> (*build)(const CpuKernelSpec& spec,
                                                   const StaticValues& statics) = nullptr;
};

// The spec's kernel, or its nodes' definition where a library has no such kernel. Errors name it.
absl::StatusOr<std::unique_ptr<Kernel>> BuildKernel(const CpuKernelSpec& spec,
                                                    const StaticValues& statics);

// What the spec's operators compute, and what it reads and writes: what is between fused operators
// counts for no bytes. 0 flops where a definition cannot be counted.
Work WorkOf(const CpuKernelSpec& spec);

// The kernel of its own for an application; nullptr if its definition has to be run.
const KernelDef* FindKernel(const Node& node);

// Whether `sigmoid` and `product` are sigmoid(v) and v * sigmoid(v): a kernel that fuses
// activations takes both behind v.
bool IsSwishPair(const Value& v, const Node& sigmoid, const Node& product);

// Whether the application gives the same elements, in row-major order, another shape.
bool IsReshape(const Node& node);

// How many of `threads` threads pay for a kernel that passes over so many floats once.
int ThreadsFor(int64_t floats, int threads);

// Fused element-wise applications, and any single other, by their definitions.
const KernelDef& PointwiseKernel();
const KernelDef& DefinitionKernel();
// Copies input 0 to output 0 in another layout; has no nodes.
const KernelDef& CopyKernel();
// A reshape, a view or a concatenation that copies what it lays out anew.
const KernelDef& LayoutKernel();
// `library`, which must have one input and one output, for inputs that `takes` finds it to be right
// for; the definition of the spec's nodes for others.
absl::StatusOr<std::unique_ptr<Kernel>> WithDefinition(
    const CpuKernelSpec& spec, std::unique_ptr<Kernel> library,
    std::function<bool(const float* input)> takes);
// The copy for any element type and any strides.
absl::StatusOr<std::unique_ptr<Kernel>> CopyByDefinition(const CpuKernelSpec& spec);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_
