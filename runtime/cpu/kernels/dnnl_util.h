// Code that the oneDNN kernels share: descriptors, a kernel that runs one primitive, operations
// fused behind a primitive, and exceptions turned into statuses.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_DNNL_UTIL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_DNNL_UTIL_H_

#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The processor, as oneDNN's engine. One per process.
const dnnl::engine& Engine();

// Whether descriptors can have this element type: f32, u8, i8 and, with HasBf16Products, bf16.
bool HasDesc(DType dtype);
// A descriptor with the given strides. Strides of dimensions of size 1 are set as in a dense layout
// of the same order, since oneDNN compares them.
dnnl::memory::desc Desc(const Shape& shape, const Strides& strides, DType dtype = DType::kF32);
// A channels-last descriptor, with the same strides as oneDNN's own channels-last format. (Desc may
// give other strides to dimensions of size 1.)
dnnl::memory::desc ChannelsLastDesc(const Shape& shape, DType dtype = DType::kF32);
// A descriptor that leaves the layout to oneDNN.
dnnl::memory::desc AnyDesc(const Shape& shape, DType dtype = DType::kF32);

// Attributes that make a primitive use scratch memory that its caller passes (as DnnlKernel does),
// instead of memory that oneDNN allocates.
dnnl::primitive_attr CallerScratch();

// Runs oneDNN code that returns a Status or a StatusOr. An exception of oneDNN
// becomes ResourceExhausted if memory is exhausted, Unimplemented if oneDNN has
// no such primitive (for padding larger than the window, say), otherwise
// Internal.
template <class F>
auto CatchDnnl(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    const std::string message = std::string("oneDNN: ") + e.what();
    if (e.status == dnnl_out_of_memory) {
      return absl::ResourceExhaustedError(message + " (out of memory)");
    }
    const bool refused = e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments;
    return refused ? absl::UnimplementedError(message) : absl::InternalError(message);
  }
}

// A kernel that runs one primitive. An argument `arg` is one of oneDNN's DNNL_ARG_ numbers.
class DnnlKernel : public Kernel {
 public:
  // Call it once, before all other functions. `scratch`: a descriptor of the primitive's scratch
  // memory. `note`: the text that note() returns.
  void SetPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratch, std::string note);
  // Makes argument `arg` the input, or the output, number `index` of the kernel. `desc`: the shape
  // and layout of this operand in memory.
  void BindInput(int arg, int index, const dnnl::memory::desc& desc);
  void BindOutput(int arg, int index, const dnnl::memory::desc& desc);
  // Fixes argument `arg` to `memory`, which this kernel keeps alive. `input`: the number of the
  // input of which `memory` is a copy; -1: none. `seen_as`: the shape and layout of this input;
  // ignored if `input` is -1.
  void BindFixed(int arg, std::shared_ptr<const dnnl::memory> memory, int input = -1,
                 const dnnl::memory::desc& seen_as = {});
  // Makes argument `arg` a copy of input `index`, in memory of the kernel. Every run reorders the
  // input anew, from the layout `from` to the layout `to`.
  void BindReordered(int arg, int index, const dnnl::memory::desc& from,
                     const dnnl::memory::desc& to);
  // As BindInput and BindOutput, but the primitive reads or writes `arg` in the layout `staged`, in
  // the scratch memory of a run. Every run reorders an input from `desc` to `staged`, and an output
  // from `staged` to `desc`.
  void BindStagedInput(int arg, int index, const dnnl::memory::desc& desc,
                       const dnnl::memory::desc& staged);
  void BindStagedOutput(int arg, int index, const dnnl::memory::desc& desc,
                        const dnnl::memory::desc& staged);
  // Makes every run first copy input `input` to output 0, unless the input lies in the memory of
  // output 0 already. The input has `bytes` bytes and the layout of output 0. Call StartFrom after
  // output 0 is bound.
  void StartFrom(int input, size_t bytes);

  // For runtime/cpu/statement.h: the source or destination of an argument.
  struct Argument {
    int arg = 0;
    int index = -1;  // in the spec's inputs or outputs; -1: its elements are only in `memory`
    bool is_output = false;
    dnnl::memory::desc desc;  // of the input or output itself; if index is -1, of `memory`
    dnnl::memory memory;      // set by BindFixed; otherwise empty
  };
  const std::vector<Argument>& arguments() const { return arguments_; }
  // The layout in which the primitive reads or writes argument `arg`.
  dnnl::memory::desc PassedAs(int arg) const { return args_.at(arg).get_desc(); }
  const dnnl::primitive& primitive() const { return primitive_; }
  // The input that StartFrom copies to output 0; -1: none.
  int start_from() const { return start_from_; }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  size_t packed_bytes() const override { return packed_bytes_; }
  std::vector<absl::Span<const char>> PackedWeights() const override;
  bool NeedsStatic(int input) const override;
  std::string note() const override { return note_; }

 private:
  struct Binding {
    int index;
    bool is_output;
    dnnl::memory memory;
  };
  struct Reorder {
    int index;
    dnnl::memory from, to;
    dnnl::reorder primitive;
  };
  // An argument that the primitive reads or writes in scratch memory (`work`), while the input or
  // output itself (`outside`) has another layout.
  struct Stage {
    int index;
    bool is_output;
    size_t offset;  // of `work` in the scratch memory
    dnnl::memory outside, work;
    dnnl::reorder load;   // of an input, or of the input that an output starts from
    dnnl::reorder store;  // of an output
  };
  void BindStaged(int arg, int index, bool is_output, const dnnl::memory::desc& desc,
                  const dnnl::memory::desc& staged);
  // Loads the stages, except outputs that do not start from an input.
  void Load(absl::Span<void* const> inputs, void* scratch);
  void Store(absl::Span<void* const> outputs);

  dnnl::primitive primitive_;
  std::vector<Binding> bindings_;
  std::vector<Reorder> reorders_;
  std::vector<Stage> stages_;
  std::unordered_map<int, dnnl::memory> args_;
  std::vector<int> fixed_;  // arguments
  std::vector<std::shared_ptr<const dnnl::memory>> kept_;
  std::vector<Argument> arguments_;
  dnnl::memory scratch_;
  size_t scratch_bytes_ = 0, packed_bytes_ = 0;
  int start_from_ = -1;
  size_t start_bytes_ = 0;
  bool start_is_staged_ = false;
  std::string note_;
};

// A copy of `value` in the layout `to`. `from` describes how to read value's row-major elements.
dnnl::memory Packed(const Tensor& value, const dnnl::memory::desc& from,
                    const dnnl::memory::desc& to);
// A copy of `values`, owned by the memory object.
std::shared_ptr<const dnnl::memory> CopyOf(const std::vector<float>& values,
                                           const dnnl::memory::desc& desc);

// The operations fused behind a convolution or matrix product.
struct Epilogue {
  struct Operand {
    int arg;    // one of oneDNN's DNNL_ARG_ numbers
    int input;  // index of the spec's input; -1: the elements are `fixed`
    dnnl::memory::desc desc;
    std::vector<float> fixed;
  };
  dnnl::post_ops ops;
  std::vector<Operand> operands;
  int bias = -1;  // index of the spec's input that is the bias; -1: none
  int sum = -1;   // index of the spec's input that is added (kSum below); -1: none
};

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
// The function that `node` applies to each element of the f32 value `v`, if oneDNN has it; nullopt
// otherwise. The function is recognized by its definition, where known scalars count as numbers.
std::optional<Eltwise> EltwiseOf(const Node& node, const Value& v);
// The same for the function that two nodes compute together: `first` reads `v`, and `second` reads
// `v` and `first`.
std::optional<Eltwise> EltwiseOfPair(const Value& v, const Node& first, const Node& second);

// How `user`, which reads `v`, can be fused behind a kernel that computes `v`: not at all (kNo); as
// a function of each element (kEltwise); as the addition of a vector along the channels (kBias) or
// of a tensor of v's type that is not static (kSum); or as a multiplication by one known vector
// along the channels and the addition of another known vector (kChannelAffine). `channel`: the
// channels' dimension of `v`.
enum class PostOpKind { kNo, kEltwise, kBias, kSum, kChannelAffine };
PostOpKind PostOpKindOf(const Node& user, const Value& v, int channel);
// Fills *scale and *shift, which must be empty, with one number per channel, such that the
// kChannelAffine `node` computes y = scale * x + shift. `parameters`: the static values of the
// node's operands except the first. Evaluates the node's definition at 0 and 1 in double.
// Unimplemented if a coefficient is not finite.
absl::Status AffineCoefficients(const Node& node, absl::Span<const Tensor> parameters, int channel,
                                std::vector<float>* scale, std::vector<float>* shift);
// For KernelDef::fuses: whether oneDNN accepts `user` behind the spec's nodes in one primitive.
// `user` may also round the result of a product of bf16 numbers to bf16; then nothing is fused
// behind it. `channel`: as in PostOpKindOf. `may_bias`: whether the kernel can take a bias.
bool FusesBehind(const CpuKernelSpec& spec, const Node& user, int channel, bool may_bias);

// The epilogue that computes all nodes of a spec behind the head. `channel`: the channels'
// dimension of the output's shape in the graph. `per_channel`: the primitive's descriptor of an
// operand with one element per channel, for example of shape {1, C, 1, 1}. `takes_no_bias`: whether
// the primitive already has a bias or takes none; then a fused bias becomes a post-operation.
// Internal if a node cannot be fused (PostOpKindOf); other errors are those of AffineCoefficients.
absl::StatusOr<Epilogue> MakeEpilogue(const CpuKernelSpec& spec, const StaticValues& statics,
                                      int channel, const dnnl::memory::desc& per_channel,
                                      bool takes_no_bias);
// Binds Epilogue::operands to the kernel's arguments. Does not bind `bias` and `sum`.
void BindEpilogue(const Epilogue& epilogue, DnnlKernel* kernel);
// If the epilogue has a sum, makes the kernel first copy the input Epilogue::sum to output 0:
// oneDNN adds to the numbers that the output holds.
void BindEpilogueSum(const CpuKernelSpec& spec, const Epilogue& epilogue, DnnlKernel* kernel);
// Attributes of a primitive with this epilogue and the caller's scratch memory.
dnnl::primitive_attr EpilogueAttributes(const Epilogue& epilogue);
// The index of the spec's input that a fused addition adds (kSum); -1: none.
int FusedSum(const CpuKernelSpec& spec, int channel);

// Binds the weights, input number `input`: packs static weights; makes the kernel reorder dynamic
// weights in every run. `from`: the weights' layout in memory; `to`: the primitive's layout.
void BindWeights(const CpuKernelSpec& spec, const StaticValues& statics, int input,
                 const dnnl::memory::desc& from, const dnnl::memory::desc& to, DnnlKernel* kernel);
// Binds the bias, input number `input`; does nothing if `input` is negative.
void BindBias(const CpuKernelSpec& spec, const StaticValues& statics, int input,
              const dnnl::memory::desc& desc, DnnlKernel* kernel);

// Whether `v` depends only on weights and constants.
bool IsStaticValue(const Value& v);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_DNNL_UTIL_H_
