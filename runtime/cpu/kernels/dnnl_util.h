// What the oneDNN kernels share. Exceptions of the library end here.
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

const dnnl::engine& Engine();

// f32 by strides. Strides of dimensions of size 1 are set as in a dense layout of the same order,
// since oneDNN compares them.
dnnl::memory::desc Desc(const Shape& shape, const Strides& strides);
// f32 and channels last, spelled as oneDNN's own such layouts: where C, H or W is 1 the strides
// alone do not tell it from a row-major one.
dnnl::memory::desc ChannelsLastDesc(const Shape& shape);
dnnl::memory::desc AnyDesc(const Shape& shape);

// Attributes by which a primitive uses the scratch memory that it is given.
dnnl::primitive_attr OwnScratch();

// Runs oneDNN code; what it throws becomes Unimplemented where it has no such primitive (a padding
// that is larger than the window, say), else Internal.
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

// A primitive and the memory it runs on.
class DnnlKernel : public Kernel {
 public:
  void SetPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratch, std::string note);
  // Argument `arg` is input or output `index` of the kernel.
  void BindInput(int arg, int index, const dnnl::memory::desc& desc);
  void BindOutput(int arg, int index, const dnnl::memory::desc& desc);
  // Argument `arg` stays the same; this kernel keeps it. `input`: whose elements it has, which lie
  // there as `seen_as` says; -1: numbers of its own.
  void BindFixed(int arg, dnnl::memory memory, int input = -1,
                 const dnnl::memory::desc& seen_as = {});
  // A dynamic input that is reordered before every run.
  void BindReordered(int arg, int index, const dnnl::memory::desc& from,
                     const dnnl::memory::desc& to);
  // Output 0 is copied from that input before the run, unless it lies there already.
  void StartFrom(int input, size_t bytes) {
    start_from_ = input;
    start_bytes_ = bytes;
  }

  // For statement.h: where an argument comes from, or goes to.
  struct Argument {
    int arg = 0;
    int index = -1;  // of the spec's inputs or outputs; -1: `memory`
    bool is_output = false;
    dnnl::memory::desc desc;  // of the operand as it lies in memory
    dnnl::memory memory;
  };
  const std::vector<Argument>& arguments() const { return arguments_; }
  const dnnl::primitive& primitive() const { return primitive_; }
  // The input that is in the output's memory when the primitive runs; -1: none.
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
  dnnl::primitive primitive_;
  std::vector<Binding> bindings_;
  std::vector<Reorder> reorders_;
  std::unordered_map<int, dnnl::memory> args_;
  std::vector<int> fixed_;  // arguments
  std::vector<Argument> arguments_;
  dnnl::memory scratch_;
  size_t scratch_bytes_ = 0, packed_bytes_ = 0;
  int start_from_ = -1;
  size_t start_bytes_ = 0;
  std::string note_;
};

// A copy of `value` (row-major, seen as `from`) in the layout `to`.
dnnl::memory Packed(const Tensor& value, const dnnl::memory::desc& from,
                    const dnnl::memory::desc& to);
// Floats kept by the memory object itself.
dnnl::memory Vector(const std::vector<float>& values, const dnnl::memory::desc& desc);

// What follows a convolution or matrix product in the same kernel.
struct Epilogue {
  struct Operand {
    int arg;    // dnnl argument
    int input;  // of the spec; -1: `fixed`
    dnnl::memory::desc desc;
    std::vector<float> fixed;
  };
  dnnl::post_ops ops;
  std::vector<Operand> operands;
  int bias = -1;  // input that is the bias
  int sum = -1;   // input that is added in full
};

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
// The activation that the application is, if oneDNN has it.
std::optional<Eltwise> EltwiseOf(const Node& node);
// The same of `user` of `v`, or its multiplication by a known number.
std::optional<Eltwise> EltwiseBehind(const Node& user, const Value& v);

// How `user` of `v` follows a kernel: not at all; as a function of the element; plus a vector along
// the channels; plus a tensor of its own size; or times and plus known vectors. `channel`: the
// channels' dimension of the kernel's output.
enum class PostOpKind { kNo, kEltwise, kBias, kSum, kChannelAffine };
PostOpKind PostOpKindOf(const Node& user, const Value& v, int channel);
// y = scale * x + shift per channel, for a kChannelAffine `node` with those static parameters: from
// its definition, whose values at 0 and 1 it takes in double. Unimplemented where they are not
// finite.
absl::Status AffineCoefficients(const Node& node, absl::Span<const Tensor> parameters,
                                std::vector<float>* scale, std::vector<float>* shift);
// For KernelDef::fuses: not more than oneDNN takes behind one primitive. `may_bias`: the head has
// no bias of its own.
bool FusesBehind(const CpuKernelSpec& spec, const Node& user, int channel, bool may_bias);

// The epilogue of nodes 1… of a spec. `channel`: the channels' dimension of the output's logical
// shape; `channel_shape`: a per-channel operand over the primitive's output, "{1, C, 1, 1}".
absl::StatusOr<Epilogue> MakeEpilogue(const CpuKernelSpec& spec, const StaticValues& statics,
                                      int channel, const Shape& channel_shape, bool has_bias);
void BindEpilogue(const Epilogue& epilogue, DnnlKernel* kernel);
void BindEpilogueSum(const CpuKernelSpec& spec, const Epilogue& epilogue, DnnlKernel* kernel);
dnnl::primitive_attr EpilogueAttributes(const Epilogue& epilogue);
// The input that a fused addition adds in full; -1: none.
int FusedSum(const CpuKernelSpec& spec, int channel);

// Packs a static weight, or has a dynamic one reordered in every run. `input` < 0: no bias.
void BindWeights(const CpuKernelSpec& spec, const StaticValues& statics, int input,
                 const dnnl::memory::desc& from, const dnnl::memory::desc& to, DnnlKernel* kernel);
void BindBias(const CpuKernelSpec& spec, const StaticValues& statics, int input,
              const dnnl::memory::desc& desc, DnnlKernel* kernel);

// Depends on weights and constants alone.
bool IsStaticValue(const Value& v);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_DNNL_UTIL_H_
