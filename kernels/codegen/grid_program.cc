#include "kernels/codegen/grid_program.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/expr/compose.h"
#include "graph/expr/simplify.h"
#include "kernels/codegen/factors/byte_product.h"
#include "kernels/codegen/factors/factor_numbers.h"
#include "kernels/codegen/polyphase.h"
#include "kernels/codegen/prelude.h"
#include "kernels/codegen/reductions.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"
#include "kernels/loops/contraction.h"
#include "kernels/loops/leaf_table.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_lowering.h"
#include "kernels/loops/loop_passes.h"

namespace lemma::codegen {

using loops::ContractionSource;
using loops::Nest;
using loops::NestSource;

namespace {

DType StorageOf(Number number) {
  return number == Number::kFloat    ? DType::kF32
         : number == Number::kDouble ? DType::kF64
                                     : DType::kI64;
}

int64_t ElementsOf(const ExprType& type) {
  int64_t elements = 1;
  for (const IndexExpr& dim : type.dims) elements *= dim.value();
  return elements;
}

// Gives an output that is an input or a repeated output a tensor of its own.
void CopySharedOutputs(Definition* d) {
  for (size_t i = 0; i < d->outputs.size(); ++i) {
    const TensorId id = d->outputs[i];
    const bool repeated = std::count(d->outputs.begin(), d->outputs.begin() + i, id) > 0;
    if (id >= d->num_inputs() && !repeated) continue;
    const ExprType type = d->TypeOf(id);
    TensorExpr copy{type.dtype, {}, 0};
    Idx index;
    for (const IndexExpr& dim : type.dims) {
      copy.axes.push_back({d->num_vars, dim});
      index.push_back(IndexExpr::Var(d->num_vars++));
    }
    copy.body = ScalarExpr::Read(id, std::move(index));
    d->outputs[i] = d->num_inputs() + static_cast<TensorId>(d->tensors.size());
    d->tensors.push_back(std::move(copy));
  }
}

// The tensor that `tensor` copies at its own indices, possibly in part; or -1.
TensorId CopiedBy(const TensorExpr& tensor) {
  if (tensor.body.kind() != ScalarExpr::Kind::kRead) return -1;
  const Idx& index = tensor.body.indices();
  if (index.size() != tensor.axes.size()) return -1;
  for (size_t i = 0; i < index.size(); ++i) {
    const IndexExpr& at = index[i];
    if (at.kind() != IndexExpr::Kind::kVar || at.var() != tensor.axes[i].var) return -1;
  }
  return tensor.body.tensor();
}

// If an output only copies a local, in the type it would be stored in, the local becomes the
// output. So a normalization's statistics that are also results are computed once and not copied.
void StoreLocalsAsOutputs(Definition* d, DType storage) {
  for (TensorId& output : d->outputs) {
    const TensorExpr& copy = d->tensors[output - d->num_inputs()];
    const TensorId local = CopiedBy(copy);
    if (local < d->num_inputs() || std::count(d->outputs.begin(), d->outputs.end(), local) > 0) {
      continue;
    }
    const TensorExpr& source = d->tensors[local - d->num_inputs()];
    if (copy.dtype != storage || source.dtype != storage) continue;
    if (ElementsOf(d->TypeOf(local)) != ElementsOf(d->TypeOf(output))) continue;
    output = local;
  }
}

// Makes all tensors below a single output one kernel, if that repeats no reduction.
std::optional<Definition> AsOneKernel(const Definition& definition) {
  if (definition.outputs.size() != 1 || definition.tensors.size() < 2) return std::nullopt;
  Definition whole = Inline(definition);
  if (!loops::CheckEvaluable(whole).ok()) return std::nullopt;
  int fresh = whole.num_vars;
  const NestSource source =
      SimplifiedSource(whole.tensors.back(), static_cast<int>(whole.outputs[0]), &fresh);
  if (loops::IsEmpty(source)) return whole;
  if (FindContraction(loops::SplitMixedAxes(source, &fresh))) {
    // With several reductions, one thread would compute each sum for each element.
    if (OuterReductions(source.body).size() != 1) return std::nullopt;
    return whole;
  }
  const Nest nest = loops::Lower(source, loops::DenseSlots(whole));
  const auto reductions =
      std::count_if(nest.nodes.begin(), nest.nodes.end(),
                    [](const loops::Node& node) { return node.kind == ScalarExpr::Kind::kReduce; });
  RowPlan plan;
  KernelContext context;
  context.slots = loops::DenseSlots(whole);
  for (size_t id = 0; id < context.slots.size(); ++id) {
    context.storage.push_back(whole.TypeOf(static_cast<TensorId>(id)).dtype);
  }
  if (PlanRows(context, nest, &plan) == Rows::kApart ||
      static_cast<size_t>(reductions) != plan.reductions.size()) {
    return std::nullopt;
  }
  return whole;
}

class Builder {
 public:
  Builder(const Definition& definition, Number number, const GridOptions& options)
      : options_(options), fresh_(definition.num_vars) {
    context_.number = number;
    if (context_.number == Number::kFloat) context_.precision = options.precision;
    context_.architecture = options.architecture;
    context_.slots = loops::DenseSlots(definition);
    program_.num_inputs = definition.num_inputs();
    for (size_t id = 0; id < context_.slots.size(); ++id) {
      const TensorId tensor = static_cast<TensorId>(id);
      const bool output = std::count(definition.outputs.begin(), definition.outputs.end(), tensor);
      const ExprType type = definition.TypeOf(tensor);
      const bool local = tensor >= definition.num_inputs() && !output;
      AddSlot(local ? StorageOf(context_.number) : type.dtype, ElementsOf(type));
    }
    for (TensorId id : definition.outputs) program_.outputs.push_back(id);
  }

  void Add(const TensorExpr& tensor, int slot) { Emit(SimplifiedSource(tensor, slot, &fresh_)); }

  // Makes the whole definition, a result of StreamedForm, one kernel that streams; false: it
  // cannot.
  bool AddStreamed(const Definition& form) {
    const int sum_slot = static_cast<int>(context_.slots.size()), score_slot = sum_slot + 1;
    auto source = MatchStreamed(form, sum_slot, score_slot, &fresh_);
    if (!source) return false;
    AddRegisters(source->source.axes);
    std::vector<Axis> scores = source->batch;
    for (const auto* axes : {&source->m, &source->keys}) {
      scores.insert(scores.end(), axes->begin(), axes->end());
    }
    AddRegisters(scores);
    std::optional<GridKernel> kernel = KernelByStream(context_, *source, options_, &fresh_);
    for (int i = 0; i < 2; ++i) DropRegisters();
    if (kernel) program_.kernels.push_back(*std::move(kernel));
    return kernel.has_value();
  }

  GridProgram Take() { return std::move(program_); }

 private:
  void AddSlot(DType dtype, int64_t elements) {
    context_.storage.push_back(dtype);
    program_.slots.push_back({dtype, elements});
  }

  // A slot whose elements, one for each value of `axes`, stay in registers.
  void AddRegisters(const std::vector<Axis>& axes) {
    loops::Slot slot;
    for (const Axis& axis : axes) slot.dims.push_back(axis.extent.value());
    slot.strides.assign(slot.dims.size(), 1);
    context_.slots.push_back(std::move(slot));
    context_.storage.push_back(StorageOf(context_.number));
  }
  void DropRegisters() {
    context_.slots.pop_back();
    context_.storage.pop_back();
  }

  // Gives storage to slots that a pass appended.
  void AddStorage() {
    for (size_t i = context_.storage.size(); i < context_.slots.size(); ++i) {
      int64_t elements = 1;
      for (int64_t dim : context_.slots[i].dims) elements *= dim;
      AddSlot(StorageOf(context_.number), elements);
    }
  }

  NestSource Extracted(const NestSource& source, bool all, const ScalarNode* keep, bool* any) {
    std::vector<NestSource> before;
    NestSource rest = MoveReductionsOut(source, all, keep, &context_.slots, &before);
    AddStorage();
    for (const NestSource& nest : before) Emit(nest);
    *any = !before.empty();
    return rest;
  }

  TileChoice ChoiceFor(const ProductSize& size) const {
    const std::vector<TileChoice> all = TileChoices(size, context_.precision);
    const bool forced =
        options_.tile && std::any_of(all.begin(), all.end(), [&](const TileChoice& choice) {
          return choice.tile == options_.tile->tile && choice.parts == options_.tile->parts;
        });
    return forced ? *options_.tile : Chosen(size);
  }
  TileChoice Chosen(const ProductSize& size) const {
    return options_.tiles ? options_.tiles->Choose(size, context_.precision)
                          : ChooseTile(size, context_.precision);
  }

  // Splits `reduce`, the only reduction of `source`, into parts and a reduction over the parts.
  NestSource Split(const NestSource& source, const ScalarExpr& reduce, int64_t parts,
                   NestSource* partial) {
    NestSource rest = source;
    rest.body =
        Replace(source.body, reduce.node().get(),
                SplitReduction(reduce, source.axes, parts, &fresh_, &context_.slots, partial));
    AddStorage();
    return rest;
  }

  // Sets the context's precision for this contraction: kBytes if its factors are bytes, and with
  // kStored, that of its factors.
  void ChoosePrecision(const ContractionSource& c, bool bytes) {
    context_.precision = ProductPrecision::kF32;
    if (bytes && ByteProductOf(context_, c)) {
      context_.precision = ProductPrecision::kBytes;
    }
    if (context_.precision == ProductPrecision::kBytes || context_.number != Number::kFloat) return;
    context_.precision = options_.precision;
    if (options_.precision != ProductPrecision::kStored) return;
    context_.precision =
        JointPrecision(PrecisionOf(c.a, context_.storage), PrecisionOf(c.b, context_.storage));
  }

  // FindContraction, and sums with few rows or columns whose factors the copy engine can move.
  // `bytes`: whether factors may be multiplied as bytes.
  FoundContraction FindTiled(const NestSource& source, bool bytes = true) {
    FoundContraction found = FindContraction(source);
    if (found) ChoosePrecision(found->second, bytes);
    if (!found) {
      found = FindContraction(source, 1);
      if (found) ChoosePrecision(found->second, bytes);
      // With few of both, as in a sum of squares, almost all of a tile would be empty.
      if (!found || std::max(Size(found->second.m), Size(found->second.n)) < loops::kLeastRows) {
        return std::nullopt;
      }
      found->second = BatchedForBulk(context_, found->second, &fresh_);
      if (!CopiesInBulk(context_, found->second, &fresh_)) return std::nullopt;
    }
    found->second = BatchedForBulk(context_, found->second, &fresh_);
    return found;
  }

  // Handles a reduction, by element or by row, that would occupy too few threads.
  bool EmitInParts(const NestSource& source) {
    const std::vector<ScalarExpr> reductions = OuterReductions(source.body);
    if (reductions.size() != 1) return false;
    const int64_t parts = PartsFor(context_, loops::Lower(source, context_.slots));
    if (parts < 2) return false;
    NestSource partial;
    const NestSource rest = Split(source, reductions[0], parts, &partial);
    EmitLoops(partial);
    EmitLoops(rest);
    return true;
  }

  void Emit(const NestSource& source) {
    if (loops::IsEmpty(source)) return;
    if (EmitFewRows(source)) return;
    if (EmitTiles(loops::SplitMixedAxes(source, &fresh_))) return;
    if (EmitInParts(source)) return;
    EmitLoops(source);
  }

  // Emits a sum of products of a few rows and a matrix of weights that are computed from bytes. Its
  // time is that of reading the weights, so a thread reads many bytes at once.
  bool EmitFewRows(const NestSource& source) {
    constexpr int64_t kFewRows = 8;
    if (context_.number != Number::kFloat) return false;
    const auto found = FindContraction(source, 1);
    if (!found || OuterReductions(source.body).size() != 1) return false;
    const ContractionSource& c = found->second;
    if (std::min(Size(c.m), Size(c.n)) > kFewRows) return false;
    // Products of bytes with bytes are better by tile.
    const bool bytes_a = ReadsBytes(c.a), bytes_b = ReadsBytes(c.b);
    if (bytes_a == bytes_b) return false;
    NestSource split = source;
    const ScalarExpr& reduce = found->first;
    const ScalarExpr digits = loops::SplitMixedReduction(reduce, source.axes, &fresh_);
    split.body =
        Replace(source.body, reduce.node().get(), UnrolledShortAxes(digits, source.axes, &fresh_));
    if (!EmitInParts(split)) EmitLoops(split);
    return true;
  }

  static bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }
  bool ReadsBytes(const ScalarExpr& e) const {
    if (e.kind() == ScalarExpr::Kind::kRead) return IsByte(context_.storage[e.tensor()]);
    return std::any_of(e.args().begin(), e.args().end(),
                       [this](const ScalarExpr& arg) { return ReadsBytes(arg); });
  }

  void EmitLoops(const NestSource& source) {
    const Nest nest = loops::Lower(source, context_.slots);
    RowPlan plan;
    switch (PlanRows(context_, nest, &plan)) {
      case Rows::kTogether:
        program_.kernels.push_back(KernelByRow(context_, nest, plan));
        return;
      case Rows::kApart: {
        bool any = false;
        const NestSource rest = Extracted(source, false, nullptr, &any);
        if (any) return Emit(rest);
        break;
      }
      case Rows::kNone:
        break;
    }
    program_.kernels.push_back(KernelByElement(context_, nest));
  }

  // Emits each phase of a strided gradient separately, if one of them is large enough for tiles.
  bool EmitPhases(const NestSource& source) {
    const std::vector<ScalarExpr> reductions = OuterReductions(source.body);
    if (reductions.size() != 1) return false;
    const std::vector<NestSource> phases = SplitIntoPhases(source, reductions[0], &fresh_);
    const bool worthwhile = std::any_of(phases.begin(), phases.end(), [](const NestSource& phase) {
      return FindContraction(phase).has_value();
    });
    if (!worthwhile) return false;
    for (const NestSource& phase : phases) {
      if (!EmitTiles(phase)) EmitLoops(phase);
    }
    return true;
  }

  // Emits the sum of products of `source`, if one is large enough for tiles, with the computation
  // on it.
  bool EmitTiles(const NestSource& source) {
    if (EmitPhases(source)) return true;
    auto found = FindTiled(source);
    if (!found) return false;
    bool any = false;
    const NestSource whole = Extracted(source, true, found->first.node().get(), &any);
    found = FindTiled(whole);
    if (!found) return false;  // its factors did not have the expected form
    const ProductSize size = SizeOf(context_, found->second, &fresh_);
    const TileUse use{size, ChoiceFor(size), context_.precision};
    if (use.choice.parts > 1) {
      NestSource partial;
      const NestSource rest = Split(whole, found->first, use.choice.parts, &partial);
      // A part may be exact where the whole sum is not.
      if (auto part = FindTiled(partial, use.precision == ProductPrecision::kBytes)) {
        EmitTile(partial, *part, use);
        EmitLoops(rest);
        return true;
      }
      context_.precision = use.precision;  // FindTiled has chosen the part's
    }
    EmitTile(whole, *found, {size, {use.choice.tile, 1}, use.precision});
    return true;
  }

  void EmitTile(const NestSource& source, const std::pair<ScalarExpr, ContractionSource>& found,
                const TileUse& use) {
    TiledSource tiled{source, found.second, static_cast<int>(context_.slots.size())};
    Idx index;
    for (const Axis& axis : source.axes) index.push_back(IndexExpr::Var(axis.var));
    AddRegisters(source.axes);
    tiled.source.body = Replace(source.body, found.first.node().get(),
                                ScalarExpr::Read(tiled.sum_slot, std::move(index)));
    TileUse used = use;
    if (used.precision != context_.precision) {
      // A part of the sum, whose factors have another form.
      used.size = SizeOf(context_, found.second, &fresh_);
      used.choice.tile = Chosen(used.size).tile;
      used.precision = context_.precision;
    }
    const TileShape* tile = &TileShapes(context_.precision)[used.choice.tile];
    if (tile->stages > 0 && !CopiesInBulk(context_, found.second, &fresh_)) {
      // A part of the sum, whose factors begin where the copy engine cannot.
      used.size.bulk = false;
      used.choice.tile = Chosen(used.size).tile;
      tile = &TileShapes(context_.precision)[used.choice.tile];
    }
    GridKernel kernel = tile->stages > 0     ? KernelByBulkTile(context_, tiled, *tile, &fresh_)
                        : tile->tensor_cores ? KernelByTensorTile(context_, tiled, *tile, &fresh_)
                                             : KernelByTile(context_, tiled, *tile, &fresh_);
    std::tie(used.a_slot, used.b_slot) = FactorSlots(context_, found.second, &fresh_);
    used.a_tensor = TensorOf(found.second.a);
    used.b_tensor = TensorOf(found.second.b);
    kernel.tile = used;
    if (used.precision != ProductPrecision::kBytes) kernel.gemm = MatchGemm(context_, tiled);
    if (kernel.gemm) NumberArguments(kernel, &*kernel.gemm);
    DropRegisters();
    program_.kernels.push_back(std::move(kernel));
  }

  const GridOptions& options_;
  KernelContext context_;
  GridProgram program_;
  int fresh_;
};

}  // namespace

namespace {

// Integers of 4 and 2 bits and floats of 8 and 4 bits have no form in the language of kernels.
absl::Status CheckTypes(const Definition& definition) {
  auto check = [](DType dtype) {
    if (BitsOf(dtype) >= 8 && !IsSmallFloat(dtype)) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("unsupported: values of element type ", Name(dtype), " on a GPU"));
  };
  for (const ExprType& input : definition.inputs) {
    if (absl::Status s = check(input.dtype); !s.ok()) return s;
  }
  for (const TensorExpr& tensor : definition.tensors) {
    if (absl::Status s = check(tensor.dtype); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GridProgram> MakeGridProgram(const Definition& original,
                                            const GridOptions& options) {
  if (absl::Status s = loops::CheckEvaluable(original); !s.ok()) return s;
  if (absl::Status s = CheckTypes(original); !s.ok()) return s;
  Definition definition = original;
  CopySharedOutputs(&definition);
  // Locals are not rounded to the type of this number, so it stays the same without them: a float
  // between integers may be a local.
  const Number number = NumberFor(definition);
  StoreLocalsAsOutputs(&definition, StorageOf(number));
  if (auto form = StreamedForm(definition)) {
    Builder builder(*form, number, options);
    if (builder.AddStreamed(*form)) return builder.Take();
  }
  if (auto whole = AsOneKernel(definition)) {
    definition = *std::move(whole);
  } else {
    // A reduced tensor stays a tensor.
    const Definition d = definition;
    definition = Inline(
        d, [&](TensorId local) { return !HasReduction(d.tensors[local - d.num_inputs()].body); });
    if (!loops::CheckEvaluable(definition).ok()) definition = d;  // too many variables
  }
  Builder builder(definition, number, options);
  for (size_t i = 0; i < definition.tensors.size(); ++i) {
    builder.Add(definition.tensors[i], definition.num_inputs() + static_cast<int>(i));
  }
  return builder.Take();
}

bool IsOneKernel(const Definition& definition) {
  return loops::CheckEvaluable(definition).ok() && AsOneKernel(definition).has_value();
}

std::optional<StreamSize> StreamedSize(const Definition& definition, const GridOptions& options) {
  if (!StreamedForm(definition)) return std::nullopt;
  absl::StatusOr<GridProgram> program = MakeGridProgram(definition, options);
  if (!program.ok() || program->kernels.size() != 1) return std::nullopt;
  return program->kernels[0].streamed;
}

bool KeepsOrder(const Definition& definition) {
  if (definition.num_inputs() != 1 || definition.tensors.size() != 1 ||
      definition.outputs != std::vector<TensorId>{1} || !IsEvaluable(definition)) {
    return false;
  }
  int fresh = definition.num_vars;
  const NestSource source = SimplifiedSource(definition.tensors[0], 1, &fresh);
  if (loops::IsEmpty(source)) return false;
  const Nest nest = loops::Lower(source, loops::DenseSlots(definition));
  const loops::Node& root = nest.nodes[nest.root];
  return root.kind == ScalarExpr::Kind::kRead && root.checks.empty() && root.index == nest.out;
}

bool IsEvaluable(const Definition& definition) {
  return loops::CheckEvaluable(Inline(definition)).ok();
}

GridProgram WithAliases(const GridProgram& program) {
  GridProgram result = program;
  for (GridKernel& kernel : result.kernels) {
    const std::string name = absl::StrCat(kernel.name, "_aliases");
    kernel.code = absl::StrReplaceAll(kernel.code, {{kernel.name, name}, {"__restrict__ ", ""}});
    kernel.name = name;
  }
  return result;
}

std::string SourceOf(const std::vector<const GridKernel*>& kernels) {
  std::string text = absl::StrCat(kPrelude, "\nnamespace lemma_gpu {\n");
  absl::flat_hash_set<std::string> done;
  for (const GridKernel* kernel : kernels) {
    if (done.insert(kernel->name).second) absl::StrAppend(&text, "\n", kernel->code);
  }
  return absl::StrCat(text, "\n}  // namespace lemma_gpu\n");
}

}  // namespace lemma::codegen
