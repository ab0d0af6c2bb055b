// Kernels of the CPU back end, and their registration.
//
// A KernelDef says which operators it computes, in which layouts, and which applications it fuses
// behind them; it builds a Kernel from a spec. To add a kernel, write a function that returns a
// KernelDef in a file of this folder, and add its line to kernels.inc.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/convolutions/winograd_use.h"
#include "runtime/measure.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cpu {

struct KernelDef;

// The description of one kernel: applications of operators that it computes together, and the types
// and layouts of its operands and results.
struct CpuKernelSpec : KernelSpec {
  struct Operand {
    Value value;  // empty for the output of a copy, which has no nodes
    TensorType type;
    Strides strides;         // in elements
    bool is_static = false;  // its elements are known when the kernel is built, in row-major order
  };
  const KernelDef* def = nullptr;
  std::vector<NodePtr> nodes;    // operands before users
  int head_at = 0;               // index of the head in `nodes`; nodes before it compute operands
  std::vector<Operand> inputs;   // distinct values
  std::vector<Operand> outputs;  // of the last node
  // Indices of inputs whose memory output 0 may reuse if layouts permit, the best first.
  std::vector<int> in_place;
  int threads = 1;
  WinogradUse winograd = WinogradUse::kWhereFaster;
  // Set when a kernel is built only to be timed: its static values are made up, so nothing packed
  // from them is shared with other kernels.
  bool is_made_up = false;

  const NodePtr& head_node() const { return nodes[static_cast<size_t>(head_at)]; }
  const Node& head() const { return *head_node(); }
  const Node& last() const { return *nodes.back(); }
  // The index of the input `v`; -1 if `v` is no input.
  int InputIndex(const Value& v) const;
  // The index of the input that is the head's operand `k`, or that the node in front of the head
  // widens to this operand (KernelDef::reads_bf16).
  int OperandIndex(size_t k) const;
  const Operand& operand(size_t k) const { return inputs[static_cast<size_t>(OperandIndex(k))]; }
  // Whether no node is fused behind the head.
  bool ends_with_head() const { return nodes.size() == static_cast<size_t>(head_at) + 1; }
  // As PlannedKernel::signature (runtime/measure.h).
  std::string Signature() const;
};

// Not thread-safe: runs must follow each other.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // `inputs` and `outputs` point to the first elements, in the order of the spec; `scratch` points
  // to scratch_bytes() bytes. The pointer of a static input is ignored unless NeedsStatic.
  virtual absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                           void* scratch) = 0;
  virtual size_t scratch_bytes() const { return 0; }
  // Bytes kept between runs in addition to the static values themselves.
  virtual size_t packed_bytes() const { return 0; }
  // The part of packed_bytes() that runs only read: weights in the kernel's layout.
  virtual std::vector<absl::Span<const char>> PackedWeights() const { return {}; }
  // Whether Run reads static input i. Otherwise the kernel has its own copy of the values.
  virtual bool NeedsStatic(int) const { return true; }
  // How the kernel computes, for people; may be empty. KernelTiming::note shows this text.
  virtual std::string note() const { return ""; }
  // The library kernel inside a kernel made by WithDefinition; otherwise this kernel.
  virtual const Kernel* library() const { return this; }
};

// Values of static inputs, by index into spec.inputs; empty handles for other inputs.
using StaticValues = std::vector<Tensor>;

struct KernelDef {
  std::string name;
  std::vector<std::string> ops;  // names of the operators that its head may have
  // Whether this kernel takes `node`, an application of one of these operators, as its head.
  bool (*accepts)(const Node& node) = nullptr;
  // Whether `user` may be fused behind the last node. `user` is the only user
  // of that node's output or the first node of an activation pair
  // (IsActivationPair). For the kernel of integer products, it may also be one
  // of several element-wise nodes on parallel paths that start from the output
  // and end in one node. nullptr: never.
  bool (*fuses)(const CpuKernelSpec& spec, const Node& user) = nullptr;
  // Whether the kernel may also fuse users that change the element type.
  bool fuses_casts = false;
  // Called when no further user can be fused: how many of the spec's nodes the kernel takes,
  // counted from the first node. nullptr: all.
  size_t (*takes)(const CpuKernelSpec& spec) = nullptr;
  // Whether the kernel of `nodes`, of which the first one is the head, may read integers of 8 bits
  // in place of the head's operand 0, if that is an IntegerOperand (integers/operands.h) with known
  // zero and scales. The nodes that compute the operand then precede the head in the spec. nullptr:
  // never.
  bool (*reads_integers)(const std::vector<NodePtr>& nodes) = nullptr;
  // Whether the kernel may read bf16 numbers where its head multiplies them (MultipliesBf16 in
  // bf16_products.h). The nodes that widen operands 0 and 1 then precede the head in the spec; a
  // static operand 1 may also be f32.
  bool reads_bf16 = false;
  // Completes a spec whose inputs have the strides of their values: replaces strides that the
  // kernel cannot take, and sets the outputs' strides and in_place. `wanted`: strides that the
  // users of output 0 prefer; empty if they have no preference. If `wanted` is not dense, only a
  // kernel that can write any strides follows it.
  void (*layouts)(CpuKernelSpec& spec, const Strides& wanted) = nullptr;
  // strided_output: whether output 0 may be written with `strides`: they have gaps, but the same
  // order of dimensions as the output's own strides. strided_input: whether operand `operand` of
  // nodes[node] may be read with gaps. nullptr: never.
  bool (*strided_output)(const CpuKernelSpec& spec, const Strides& strides) = nullptr;
  bool (*strided_input)(const std::vector<NodePtr>& nodes, int node, int operand) = nullptr;
  absl::StatusOr<std::unique_ptr<Kernel>> (*build)(const CpuKernelSpec& spec,
                                                   const StaticValues& statics) = nullptr;
  // Returns the data that another kernel has packed from the same weights;
  // nullptr if there is none. If it returns an object, it sets the elements of
  // *needed (one for each input) to false for static inputs that `build` does
  // not need: as long as the caller holds the object, `build` takes empty
  // handles for these inputs. nullptr: kernels of this kind do not share
  // weights in this way.
  std::shared_ptr<const void> (*shared_weights)(const CpuKernelSpec& spec,
                                                std::vector<bool>* needed) = nullptr;
};

// Builds the spec's kernel. If that is Unimplemented, builds a kernel that runs the definitions of
// the spec's nodes. Errors name the kernel.
absl::StatusOr<std::unique_ptr<Kernel>> BuildKernel(const CpuKernelSpec& spec,
                                                    const StaticValues& statics);

// The operations of the spec's operators, and the bytes that it reads and writes. Values between
// fused operators count no bytes. An operator whose operations cannot be counted adds none.
Work WorkOf(const CpuKernelSpec& spec);

// The specialized kernel that takes this application as its head; nullptr if there is none: then
// the definition must be run.
const KernelDef* FindKernel(const Node& node);

// Traits of an application, from a cache of the calling thread. The reference is valid as long as
// the thread lives.
const NodeTraits& NodeTraitsOf(const Node& node);
// The cache from which NodeTraitsOf takes traits.
NodeTraitsCache& TraitsOfThread();

// The exponent, if `node` raises its elements to a known power: some powers are much faster than
// others.
std::optional<double> KnownExponentOf(const Node& node);

// Whether `first` reads v, `second` reads v and `first`, and together they are one activation of v,
// as in v * sigmoid(v). A kernel that fuses activations fuses both behind v.
bool IsActivationPair(const Value& v, const Node& first, const Node& second);

// How many of `threads` threads pay off for a kernel that passes once over `floats` floats.
int ThreadsFor(int64_t floats, int threads);

// PointwiseKernel runs fused element-wise applications by their definitions, DefinitionKernel one
// application of any other kind.
const KernelDef& PointwiseKernel();
const KernelDef& DefinitionKernel();
// Copies input 0 to output 0 in another layout; has no nodes.
const KernelDef& CopyKernel();
// Executes one operator that only moves elements (a reshape, a view such as a slice or transpose,
// or a concatenation) by copies, in plans without fusion of layout operators.
const KernelDef& LayoutKernel();
// A kernel that runs `library`, which must have one input and one output, on inputs that `takes`
// accepts, and the definition of the spec's nodes on all other inputs.
absl::StatusOr<std::unique_ptr<Kernel>> WithDefinition(
    const CpuKernelSpec& spec, std::unique_ptr<Kernel> library,
    std::function<bool(const float* input)> takes);
// A kernel that copies, for any element type and any strides.
absl::StatusOr<std::unique_ptr<Kernel>> CopyByDefinition(const CpuKernelSpec& spec);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_KERNEL_H_
