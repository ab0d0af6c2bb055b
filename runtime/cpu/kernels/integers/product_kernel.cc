#include "runtime/cpu/kernels/integers/product_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/chain_program.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/integers/packed_product.h"
#include "runtime/cpu/kernels/integers/requantization/requantize.h"
#include "runtime/cpu/kernels/integers/segments.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::cpu {
namespace {

int ChannelOf(const Node& head) {
  return HeadOf(head) == ProductHead::kConvolution ? 1 : head.type(0).rank() - 1;
}

class IntegerProductRunner : public Kernel {
 public:
  IntegerProductRunner(const CpuKernelSpec& spec, IntegerProduct product, PackedProduct packed)
      : spec_(spec), product_(std::move(product)), packed_(std::move(packed)) {
    source_ = spec.InputIndex(product_.x.source);
    zero_ = product_.x.zero ? spec.InputIndex(product_.x.zero) : -1;
    for (const Value& scale : product_.x.scales) scales_.push_back(spec.InputIndex(scale));
    const Node& head = *spec.head_node();
    if (head.inputs().size() > 2) bias_ = spec.InputIndex(head.inputs()[2]);
    channel_ = ChannelOf(head);
    const CpuKernelSpec::Operand& out = spec.outputs[0];
    row_steps_.assign(spec.inputs.size(), packed_.sizes().outputs);
    row_step_ = RowStepOf(out.type.shape, out.strides, packed_.sizes().outputs).value_or(0);
    ChooseBlocks();
  }

  absl::Status Compile() {
    // Otherwise the product would be computed without them.
    const bool complete = source_ >= 0 && (zero_ >= 0) == static_cast<bool>(product_.x.zero) &&
                          std::count(scales_.begin(), scales_.end(), -1) == 0 && row_step_ > 0 &&
                          (bias_ >= 0) == (spec_.head_node()->inputs().size() > 2);
    if (!complete) return absl::InternalError("an operand of a product of integers is missing");
    const WindowSizes& s = packed_.sizes();
    segments_ = SegmentsBehind(spec_, channel_);
    for (const Segment& segment : segments_) {
      const bool has_gaps = &segment == &segments_.back() && row_step_ != s.outputs;
      std::vector<BlockProgram> programs;
      for (int64_t rows : {block_rows_, s.rows % block_rows_}) {
        for (int64_t columns : {block_columns_, s.outputs % block_columns_}) {
          if (rows == 0 || columns == 0) continue;
          LEMMA_ASSIGN_OR_RETURN(
              BlockProgram program,
              CompileSegment(spec_, segment, channel_, rows * s.columns, columns, has_gaps));
          programs.push_back(std::move(program));
        }
      }
      programs_.push_back(std::move(programs));
    }
    return absl::OkStatus();
  }

  void SetWeightScale(std::vector<float> scale) { weight_scale_ = std::move(scale); }

  // Computes the factors once if all numbers that they need are static.
  void Prepare(const StaticValues& statics) {
    std::vector<int> read = scales_;
    if (bias_ >= 0) read.push_back(bias_);
    if (segments_.size() == 1 && EndsWithChain()) AddRead(last_chain(), &read);
    const std::optional<std::vector<void*>> inputs = KnownInputs(read, statics);
    if (inputs) FillFactors(*inputs, &known_.emplace());
    PrepareEnd(statics);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const WindowSizes& s = packed_.sizes();
    Factors of_run;
    if (!known_) FillFactors(inputs, &of_run);
    const Factors& factors = known_ ? *known_ : of_run;
    const int64_t row_blocks = (s.rows + block_rows_ - 1) / block_rows_;
    const int64_t column_blocks = (s.outputs + block_columns_ - 1) / block_columns_;
    const int64_t tasks = s.images * row_blocks * column_blocks;
    const int64_t workers = std::min<int64_t>(spec_.threads, tasks);
    std::vector<absl::Status> status(workers);
    ParallelFor(static_cast<int>(workers), workers, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker) {
        char* own = static_cast<char*>(scratch) + worker * worker_bytes();
        int64_t filled = -1;  // the block of rows in the patch
        for (int64_t t = tasks * worker / workers; t < tasks * (worker + 1) / workers; ++t) {
          const int64_t rows = t / column_blocks;
          absl::Status done = RunBlock(rows / row_blocks, rows % row_blocks, t % column_blocks,
                                       filled != rows, factors, inputs, outputs[0], own);
          filled = rows;
          if (!done.ok()) status[worker] = done;
        }
      }
    });
    for (const absl::Status& s_of_worker : status) LEMMA_RETURN_IF_ERROR(s_of_worker);
    return absl::OkStatus();
  }

  size_t scratch_bytes() const override { return worker_bytes() * spec_.threads; }
  size_t packed_bytes() const override {
    return packed_.packed_bytes() + weight_scale_.size() * sizeof(float);
  }
  // The weight is packed, but something else may have the same value.
  bool NeedsStatic(int input) const override {
    const Value& v = spec_.inputs[input].value;
    return (v != product_.integers && v != product_.weight_scale) || Reads(input);
  }
  std::string note() const override { return "integers"; }

  IntegerProductParts Parts() const {
    IntegerProductParts parts;
    parts.product = &packed_;
    parts.is_float = product_.is_float;
    parts.source = source_;
    parts.zero = zero_;
    parts.bias = bias_;
    parts.row_step = row_step_;
    parts.scales = scales_;
    parts.weight_scale = weight_scale_;
    for (size_t n = 0; n < segments_.size(); ++n) {
      parts.parts.push_back({segments_[n].start, segments_[n].nodes,
                             segments_[n].chain ? &*segments_[n].chain : nullptr});
    }
    return parts;
  }

 private:
  // Whether a run reads this input.
  bool Reads(int input) const {
    bool reads = input == source_ || input == zero_ || input == bias_ ||
                 std::count(scales_.begin(), scales_.end(), input) > 0;
    for (const std::vector<BlockProgram>& programs : programs_) {
      for (const BlockProgram& program : programs) {
        reads = reads || std::count(program.operands.begin(), program.operands.end(), input) > 0;
      }
    }
    for (const Segment& segment : segments_) {
      if (!segment.chain) continue;
      for (const ChainProgram::Source& source : segment.chain->sources()) {
        reads = reads || source.input == input;
      }
    }
    return reads;
  }

  bool EndsWithChain() const { return !segments_.empty() && segments_.back().chain.has_value(); }
  const ChainProgram& last_chain() const { return *segments_.back().chain; }

  // Adds the inputs that are numbers or vectors of the chain's steps.
  static void AddRead(const ChainProgram& chain, std::vector<int>* read) {
    for (const ChainProgram::Source& source : chain.sources()) {
      if (!chain.IsLoaded(source) && !chain.IsGate(source)) read->push_back(source.input);
    }
  }
  // The inputs of a run, as far as `read`; nullopt if one of these is not static.
  std::optional<std::vector<void*>> KnownInputs(const std::vector<int>& read,
                                                const StaticValues& statics) const {
    std::vector<void*> inputs(spec_.inputs.size(), nullptr);
    for (const int i : read) {
      if (!spec_.inputs[i].is_static) return std::nullopt;
      inputs[i] = const_cast<void*>(statics[i].raw());
    }
    return inputs;
  }

  // Finds a shorter computation of the last of several segments.
  void PrepareEnd(const StaticValues& statics) {
    if (segments_.size() < 2 || !EndsWithChain()) return;
    if (kernels::BestIntegerIsa() != kernels::IntegerIsa::kVnni) return;
    if (last_chain().result() == kernels::ChainResult::kF32) return;
    if (segments_.back().start.dtype() != DType::kF32) return;
    std::vector<int> read;
    AddRead(last_chain(), &read);
    const std::optional<std::vector<void*>> inputs = KnownInputs(read, statics);
    if (!inputs) return;
    end_ = kernels::Requantization::Of(kernels::Requantization::Start::kFloats, nullptr, nullptr,
                                       packed_.sizes().outputs,
                                       last_chain().Bound(*inputs, {0, 0, 0, 0, row_steps_}));
  }

  static int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // A block's patch and sums should stay in the second-level cache, and every thread should have
  // work. The weights are read anew for every block of rows.
  void ChooseBlocks() {
    constexpr int64_t kPatchBytes = 200 << 10, kSumsBytes = 128 << 10, kFewColumns = 256;
    const WindowSizes& s = packed_.sizes();
    const int64_t patch_row = std::max<int64_t>(2, packed_.PatchBytes(2) - packed_.PatchBytes(1));
    const int64_t few = s.groups > 1 ? s.outputs : std::min(s.outputs, kFewColumns);
    int64_t rows = std::min(kPatchBytes / patch_row, kSumsBytes / (s.columns * few * 4));
    rows = std::clamp<int64_t>(rows, 1, s.rows);
    int64_t blocks = (s.rows + rows - 1) / rows;
    const int64_t threads = spec_.threads;
    if (s.images * s.rows >= threads) blocks = (blocks + threads - 1) / threads * threads;
    block_rows_ = (s.rows + blocks - 1) / blocks;
    constexpr int64_t kPanel = kernels::kPanelColumns;
    const int64_t panels = (s.outputs + kPanel - 1) / kPanel;
    int64_t columns = std::max(few, kSumsBytes / (block_rows_ * s.columns * 4) / kPanel * kPanel);
    if (s.images * s.rows < threads) columns = (panels + threads - 1) / threads * kPanel;
    block_columns_ = s.groups > 1 ? s.outputs : std::min(columns, s.outputs);
  }

  int64_t sums_step() const {
    return (block_columns_ + kernels::kPanelColumns - 1) / kernels::kPanelColumns *
               kernels::kPanelColumns +
           (packed_.sizes().groups > 1 ? kernels::kPanelColumns : 0);
  }
  int64_t patch_bytes() const { return Aligned(packed_.PatchBytes(block_rows_)); }
  int64_t sums_bytes() const {
    return Aligned(block_rows_ * packed_.sizes().columns * sums_step() * 8);
  }
  int64_t worker_bytes() const {
    return patch_bytes() + sums_bytes() * (segments_.size() > 1 ? 3 : 1);
  }

  // What the sums of each channel are multiplied by.
  struct Factors {
    std::vector<float> scale;  // empty: 1
    std::vector<double> wide;  // empty if `scale` holds all of them with full precision
    std::optional<kernels::Requantization> requantization;  // with everything behind the sums
  };

  void FillFactors(absl::Span<void* const> inputs, Factors* factors) const {
    if (!scales_.empty() || !weight_scale_.empty()) {
      double x = 1;
      for (const int i : scales_) x *= *static_cast<const float*>(inputs[i]);
      bool plain = true;
      for (int64_t j = 0; j < packed_.sizes().outputs; ++j) {
        const double w =
            weight_scale_.empty() ? 1 : weight_scale_[weight_scale_.size() == 1 ? 0 : j];
        factors->wide.push_back(x * w);
        factors->scale.push_back(static_cast<float>(x * w));
        plain = plain && std::abs(x * w) > 0x1p-100 && std::abs(x * w) < 0x1p+90;
      }
      if (plain) factors->wide.clear();
    }
    const bool may_be_short = kernels::BestIntegerIsa() == kernels::IntegerIsa::kVnni &&
                              product_.is_float && factors->wide.empty() && segments_.size() == 1 &&
                              EndsWithChain();
    // Its preparation takes as long as some rows do.
    constexpr int64_t kFewRows = 64;
    const WindowSizes& s = packed_.sizes();
    if (!may_be_short || (!known_ && s.images * s.rows * s.columns < kFewRows)) return;
    factors->requantization = kernels::Requantization::Of(
        kernels::Requantization::Start::kSums,
        factors->scale.empty() ? nullptr : factors->scale.data(),
        bias_ < 0 ? nullptr : static_cast<const float*>(inputs[bias_]), packed_.sizes().outputs,
        last_chain().Bound(inputs, {0, 0, 0, 0, row_steps_}));
  }

  int Zero(absl::Span<void* const> inputs) const {
    if (zero_ < 0) return 0;
    const void* at = inputs[zero_];
    return spec_.inputs[zero_].type.dtype == DType::kF32
               ? static_cast<int>(*static_cast<const float*>(at))
               : *static_cast<const int32_t*>(at);
  }

  absl::Status RunBlock(int64_t image, int64_t row_block, int64_t column_block, bool fill,
                        const Factors& factors, absl::Span<void* const> inputs, void* output,
                        char* scratch) const {
    const WindowSizes& s = packed_.sizes();
    const int64_t begin = row_block * block_rows_, end = std::min(begin + block_rows_, s.rows);
    const int64_t first = column_block * block_columns_;
    const int64_t last = std::min(first + block_columns_, s.outputs);
    char* patch = scratch;
    auto* sums = reinterpret_cast<int32_t*>(scratch + patch_bytes());
    const int zero = Zero(inputs);
    const bool is_u8 = spec_.inputs[source_].type.dtype == DType::kU8;
    if (fill) {
      const int64_t from = image * s.height * s.width * s.channels;
      if (is_u8) {
        packed_.FillPatch(static_cast<const uint8_t*>(inputs[source_]) + from, zero, begin, end,
                          patch);
      } else {
        packed_.FillPatch(static_cast<const int8_t*>(inputs[source_]) + from, zero, begin, end,
                          patch);
      }
    }
    packed_.Multiply(
        patch, is_u8 ? PackedProduct::InBytes<uint8_t>(zero) : PackedProduct::InBytes<int8_t>(zero),
        begin, end, first, last, sums, sums_step());
    const int64_t rows = (end - begin) * s.columns;
    const int64_t pixel = (image * s.rows + begin) * s.columns;
    if (factors.requantization) {
      Requantize(*factors.requantization, inputs, pixel, first, rows, last - first, sums,
                 sums_step(), output);
      return absl::OkStatus();
    }
    // Chains read and write few enough rows at a time for the first-level cache.
    constexpr int64_t kChunk = 4096;  // elements
    const int64_t columns = last - first;
    const bool in_chunks = std::all_of(segments_.begin(), segments_.end(),
                                       [](const Segment& part) { return part.chain.has_value(); });
    const int64_t chunk = in_chunks ? std::clamp<int64_t>(kChunk / columns, 1, rows) : rows;
    for (int64_t i = 0; i < rows; i += chunk) {
      const int64_t count = std::min(chunk, rows - i);
      int32_t* part = sums + i * sums_step();
      Scale(factors, inputs, first, count, columns, part);
      LEMMA_RETURN_IF_ERROR(Finish(pixel + i, count, first, columns, inputs, output,
                                   reinterpret_cast<char*>(part),
                                   scratch + patch_bytes() + sums_bytes()));
    }
    return absl::OkStatus();
  }

  // Makes the sums numbers of the product's type, without gaps between the rows.
  void Scale(const Factors& factors, absl::Span<void* const> inputs, int64_t first, int64_t rows,
             int64_t columns, int32_t* sums) const {
    if (!product_.is_float) return kernels::CompactTile(sums, rows, columns, sums_step());
    const auto* bias = bias_ < 0 ? nullptr : static_cast<const float*>(inputs[bias_]) + first;
    if (!factors.wide.empty()) {
      kernels::ScaleTileWide(sums, rows, columns, sums_step(), factors.wide.data() + first, bias);
      return;
    }
    const float* scale = factors.scale.empty() ? nullptr : factors.scale.data() + first;
    kernels::ScaleTile(sums, rows, columns, sums_step(), scale, bias);
  }

  // Computes the last segment. x: the sums or floats of the block, rows `x_step` elements apart.
  void Requantize(const kernels::Requantization& requantization, absl::Span<void* const> inputs,
                  int64_t pixel, int64_t first, int64_t rows, int64_t columns, const void* x,
                  int64_t x_step, void* output) const {
    const int64_t outputs = packed_.sizes().outputs;
    kernels::Requantization::Rows block;
    for (const ChainProgram::Source& source : last_chain().sources()) {
      const auto* at = static_cast<const char*>(inputs[source.input]);
      if (last_chain().IsLoaded(source)) block.other = at + pixel * outputs + first;
      if (last_chain().IsGate(source)) block.gates = at;
    }
    block.rows = rows;
    block.first = first;
    block.columns = columns;
    block.x = x;
    block.x_step = x_step;
    block.other_step = outputs;
    block.y = static_cast<char*>(output) + pixel * row_step_ + first;
    block.y_step = row_step_;
    requantization.Run(block);
  }

  // Computes the segments; `tile` holds the sums, and `spare` has room for two more tiles.
  absl::Status Finish(int64_t pixel, int64_t rows, int64_t first, int64_t columns,
                      absl::Span<void* const> inputs, void* output, char* tile, char* spare) const {
    const int64_t outputs = packed_.sizes().outputs;
    if (segments_.empty()) {
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(static_cast<int32_t*>(output) + (pixel + i) * row_step_ + first,
                    reinterpret_cast<int32_t*>(tile) + i * columns, columns * 4);
      }
      return absl::OkStatus();
    }
    char* from = tile;
    for (size_t n = 0; n < segments_.size(); ++n) {
      const bool is_last = n + 1 == segments_.size();
      const auto bytes = static_cast<int64_t>(SizeOf(segments_[n].nodes.back()->type(0).dtype));
      char* to = is_last ? static_cast<char*>(output) + (pixel * row_step_ + first) * bytes
                         : spare + n % 2 * sums_bytes();
      if (is_last && end_) {
        Requantize(*end_, inputs, pixel, first, rows, columns, from, columns, output);
        continue;
      }
      if (segments_[n].chain) {
        segments_[n].chain->Run(inputs, {pixel, first, rows, columns, row_steps_},
                                reinterpret_cast<const float*>(from), columns, to,
                                is_last ? row_step_ : columns);
        from = to;
        continue;
      }
      const BlockProgram* program = nullptr;
      for (const BlockProgram& p : programs_[n]) {
        if (p.rows == rows && p.columns == columns) program = &p;
      }
      const int64_t start = pixel * outputs + first;
      std::vector<TensorView> in = {{from, program->from, {columns, 1}}};
      for (size_t i = 0; i < program->operands.size(); ++i) {
        const CpuKernelSpec::Operand& operand = spec_.inputs[program->operands[i]];
        const auto* at = static_cast<const char*>(inputs[program->operands[i]]);
        const int64_t size = SizeOf(operand.type.dtype);
        switch (program->forms[i]) {
          case EpilogueGraph::Form::kFull:
            in.push_back({at + start * size, operand.type.dtype, {outputs, 1}});
            break;
          case EpilogueGraph::Form::kVector:
            in.push_back({at + first * size, operand.type.dtype, {1}});
            break;
          case EpilogueGraph::Form::kNumber:
            in.push_back({at, operand.type.dtype, {}});
            break;
        }
      }
      const MutableTensorView out = {to, program->to, {is_last ? row_step_ : columns, 1}};
      LEMMA_RETURN_IF_ERROR(RunIn(program->arithmetic, program->program, in, {&out, 1}));
      from = to;
    }
    return absl::OkStatus();
  }

  const CpuKernelSpec spec_;
  const IntegerProduct product_;
  const PackedProduct packed_;
  std::vector<float> weight_scale_;  // of each output, or one
  std::optional<Factors> known_;     // of every run
  int source_ = 0, zero_ = -1, bias_ = -1, channel_ = 1;
  std::vector<int> scales_;
  std::vector<int64_t> row_steps_;  // of full operands
  int64_t row_step_ = 0;            // of the result: elements between pixels or rows
  int64_t block_rows_ = 1, block_columns_ = 1;
  std::vector<std::vector<BlockProgram>> programs_;  // of each segment
  std::vector<Segment> segments_;
  std::optional<kernels::Requantization> end_;  // the last of several segments, which is a chain
};

// Whether `user` can be computed behind the spec's nodes, block by block.
bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  const Value v(spec.nodes.back(), 0);
  const NodePtr& head = spec.head_node();
  const bool is_conv = HeadOf(*head) == ProductHead::kConvolution;
  for (const Value& in : user.inputs()) {
    if (in != v && in.type().num_elements() == 0) return false;
    // A static operand is row-major, but a block reads channels innermost.
    if (is_conv && in.shape() == v.shape() && IsStaticValue(in)) return false;
  }
  const NodePtr node = Node::Apply(&user.op(), user.inputs(), user.attrs(), user.types());
  return MakeEpilogueGraph(v, {&node, 1}, ChannelOf(*head), 1, v.shape()[ChannelOf(*head)]).ok();
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  const NodePtr head = spec.head_node();
  const bool conv = HeadOf(*head) == ProductHead::kConvolution;
  auto strides_of = [&](const Shape& shape) {
    return conv && shape.size() == 4 ? ChannelsLast(shape) : RowMajorStrides(shape);
  };
  spec.outputs[0].strides = strides_of(spec.outputs[0].type.shape);
  const Value source = IntegerProductOf(*head)->x.source;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    CpuKernelSpec::Operand& in = spec.inputs[i];
    const bool full = in.type.shape == spec.outputs[0].type.shape;
    in.strides = !in.is_static && (full || in.value == source) ? strides_of(in.type.shape)
                                                               : RowMajorStrides(in.type.shape);
    if (full && !in.is_static && in.type == spec.outputs[0].type && in.value != source) {
      spec.in_place.push_back(static_cast<int>(i));
    }
  }
}

// The result may be a part of a concatenation along the channels.
bool StridedOutput(const CpuKernelSpec& spec, const Strides& strides) {
  const Shape& shape = spec.outputs[0].type.shape;
  return RowStepOf(shape, strides, shape[ChannelOf(spec.head())]).has_value();
}

// What is subtracted from the source, if it is static.
std::optional<int> KnownZero(const CpuKernelSpec& spec, const IntegerProduct& product,
                             const StaticValues& statics) {
  if (!product.x.zero) return 0;
  const int input = spec.InputIndex(product.x.zero);
  if (input < 0 || !spec.inputs[input].is_static) return std::nullopt;
  return static_cast<int>(statics[input].AtDouble(0));
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  const NodePtr& head = spec.head_node();
  std::optional<IntegerProduct> product = IntegerProductOf(*head);
  if (!product) return absl::InternalError("a product that is not one of integers");
  LEMMA_ASSIGN_OR_RETURN(
      PackedProduct packed,
      PackedProduct::Pack(*head, *product, statics[spec.InputIndex(product->integers)],
                          KnownZero(spec, *product, statics)));
  std::vector<float> weight_scale;
  if (product->weight_scale) {
    const Tensor& scale = statics[spec.InputIndex(product->weight_scale)];
    weight_scale.assign(scale.data<float>().begin(), scale.data<float>().end());
  }
  auto kernel =
      std::make_unique<IntegerProductRunner>(spec, *std::move(product), std::move(packed));
  kernel->SetWeightScale(std::move(weight_scale));
  LEMMA_RETURN_IF_ERROR(kernel->Compile());
  kernel->Prepare(statics);
  return kernel;
}

}  // namespace

std::optional<IntegerProductParts> PartsOf(const Kernel& kernel) {
  const auto* runner = dynamic_cast<const IntegerProductRunner*>(&kernel);
  return runner == nullptr ? std::nullopt : std::make_optional(runner->Parts());
}

namespace {

KernelDef MakeIntegerProductKernel() {
  KernelDef def;
  def.name = "integer product";
  def.ops = {"conv2d", "matmul"};  // as HeadOf reads them
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.build = Build;
  return def;
}

}  // namespace

const KernelDef& IntegerProductKernel() {
  static const auto* def = new KernelDef(MakeIntegerProductKernel());
  return *def;
}

ProductHead HeadOf(const Node& node) {
  if (!node.is_op()) return ProductHead::kNone;
  const std::vector<std::string>& ops = IntegerProductKernel().ops;
  if (node.op().name == ops[0]) return ProductHead::kConvolution;
  return node.op().name == ops[1] ? ProductHead::kMatrices : ProductHead::kNone;
}

}  // namespace lemma::cpu
