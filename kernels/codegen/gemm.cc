// Recognizes tiled sums of products that are plain matrix products.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_lowering.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

// A read of a tensor at offset + the sum of stride * variable.
struct AffineRead {
  int slot = -1;
  int64_t offset = 0;
  std::map<int, int64_t> strides;  // by the variable of an axis

  int64_t StrideOf(const Axis& axis) const {
    const auto found = strides.find(axis.var);
    return found == strides.end() ? 0 : found->second;
  }
};

std::optional<AffineRead> MatchAffine(const Nest& nest, const std::vector<Axis>& axes, int slot,
                                      const Affine& index) {
  AffineRead read;
  read.slot = slot;
  read.offset = index.base;
  for (const auto& [term, stride] : index.terms) {
    const bool is_axis = nest.leaves[term].kind == loops::IndexLeaf::Kind::kVar &&
                         term < static_cast<int>(axes.size());
    if (!is_axis) return std::nullopt;
    read.strides[axes[term].var] = stride;
  }
  return read;
}

// Matches node `n` if it reads a tensor of this type at an affine index that is always in bounds.
std::optional<AffineRead> MatchRead(const KernelContext& context, const Nest& nest,
                                    const std::vector<Axis>& axes, int n,
                                    DType dtype = DType::kF32) {
  const loops::Node& node = nest.nodes[n];
  const bool plain = node.kind == ScalarExpr::Kind::kRead && node.checks.empty() &&
                     context.storage[node.slot] == dtype;
  return plain ? MatchAffine(nest, axes, node.slot, node.index) : std::nullopt;
}

Nest LowerAt(const KernelContext& context, const loops::NestSource& source) {
  return loops::Lower(source, context.slots, loops::LowerOptions{/*merge_axes=*/false});
}

std::optional<AffineRead> MatchFactor(const KernelContext& context, const ScalarExpr& factor,
                                      std::vector<Axis> axes, const std::vector<Axis>& rows,
                                      const std::vector<Axis>& depths, DType dtype) {
  axes.insert(axes.end(), rows.begin(), rows.end());
  axes.insert(axes.end(), depths.begin(), depths.end());
  loops::NestSource source;
  source.slot = 0;
  source.axes = axes;
  source.body = factor;
  const Nest nest = LowerAt(context, source);
  return MatchRead(context, nest, axes, nest.root, dtype);
}

// The type of both factors, as far as it can be told before they match.
DType FactorType(const KernelContext& context, const ScalarExpr& factor) {
  const bool reads = factor.kind() == ScalarExpr::Kind::kRead;
  const DType dtype = reads ? context.storage[factor.tensor()] : DType::kF32;
  // 16-bit factors are exact on tensor cores.
  const bool narrow = (dtype == DType::kF16 || dtype == DType::kBF16) &&
                      context.precision != ProductPrecision::kF32;
  return narrow ? dtype : DType::kF32;
}

// Matches the addends of the sum, each of which must be a read; false if node `n` is anything else.
bool MatchSum(const KernelContext& context, const Nest& nest, const std::vector<Axis>& axes,
              int sum_slot, int n, int* sums, std::vector<AffineRead>* addends) {
  const loops::Node& node = nest.nodes[n];
  if (node.kind == ScalarExpr::Kind::kApply && node.fn == ScalarFn::kAdd) {
    return std::all_of(node.args.begin(), node.args.end(), [&](int arg) {
      return MatchSum(context, nest, axes, sum_slot, arg, sums, addends);
    });
  }
  if (node.kind == ScalarExpr::Kind::kRead && node.slot == sum_slot) {
    ++*sums;
    return true;
  }
  auto read = MatchRead(context, nest, axes, n);
  if (!read) return false;
  addends->push_back(*std::move(read));
  return true;
}

// Axes that all tensors traverse as if they were one axis, with one stride per tensor.
struct Line {
  int64_t extent = 1;
  std::vector<int64_t> strides;
};
constexpr size_t kA = 0, kB = 1, kD = 2, kAddends = 3;

std::vector<Line> LinesOf(const std::vector<Axis>& axes,
                          const std::vector<const AffineRead*>& reads) {
  std::vector<Line> lines;
  for (const Axis& axis : axes) {
    if (axis.extent.value() == 1) continue;
    lines.push_back({axis.extent.value(), {}});
    for (const AffineRead* read : reads) lines.back().strides.push_back(read->StrideOf(axis));
  }
  return lines;
}

// Merges into as few lines as possible; the one with the largest stride in tensor `by` comes first.
std::vector<Line> Merged(std::vector<Line> lines, size_t by) {
  std::stable_sort(lines.begin(), lines.end(),
                   [by](const Line& x, const Line& y) { return x.strides[by] > y.strides[by]; });
  std::vector<Line> merged;
  for (const Line& line : lines) {
    bool joins = !merged.empty();
    for (size_t i = 0; joins && i < line.strides.size(); ++i) {
      joins = merged.back().strides[i] == line.strides[i] * line.extent;
    }
    if (joins) {
      merged.back().extent *= line.extent;
      merged.back().strides = line.strides;
    } else {
      merged.push_back(line);
    }
  }
  return merged;
}

bool Fits(int64_t size) { return size >= 0 && size <= std::numeric_limits<int32_t>::max(); }

// A matrix of `rows` by `columns`, if one is contiguous and the other does not overlap.
std::optional<GemmMatrix> MatrixOf(const AffineRead& read, size_t tensor, const Line& rows,
                                   const Line& columns, const Line& batch) {
  GemmMatrix matrix;
  matrix.argument = read.slot;
  matrix.offset = read.offset;
  matrix.batch_stride = batch.strides[tensor];
  matrix.transposed = rows.strides[tensor] != 1;
  const Line& inner = matrix.transposed ? columns : rows;
  matrix.leading = (matrix.transposed ? rows : columns).strides[tensor];
  const bool valid = inner.strides[tensor] == 1 && matrix.leading >= inner.extent &&
                     Fits(matrix.leading) && matrix.batch_stride >= 0;
  return valid ? std::make_optional(matrix) : std::nullopt;
}

// Places C or the bias.
bool PlaceAddend(const AffineRead& read, size_t tensor, const Line& rows, const Line& columns,
                 const Line& batch, GemmCall* call) {
  // Libraries load the bias in packs.
  constexpr int64_t kPack = 4;
  if (call->bias_argument < 0 && rows.strides[tensor] == 1 && columns.strides[tensor] == 0 &&
      batch.strides[tensor] == 0 && read.offset % kPack == 0) {
    call->bias_argument = read.slot;
    call->bias_offset = read.offset;
    return true;
  }
  const auto matrix = MatrixOf(read, tensor, rows, columns, batch);
  if (call->c.argument >= 0 || !matrix || matrix->transposed) return false;
  call->c = *matrix;
  return true;
}

}  // namespace

std::optional<GemmCall> MatchGemm(const KernelContext& context, const TiledSource& tiled) {
  const loops::ContractionSource& c = tiled.contraction;
  const loops::NestSource& source = tiled.source;
  // Libraries have no products of split factors.
  if (context.number != Number::kFloat || context.precision == ProductPrecision::kF32x3 ||
      (context.storage[source.slot] != DType::kF32 &&
       context.storage[source.slot] != FactorType(context, c.a))) {
    return std::nullopt;
  }
  const DType factors = FactorType(context, c.a), stored = context.storage[source.slot];
  const auto a = MatchFactor(context, c.a, c.batch, c.m, c.k, factors);
  const auto b = MatchFactor(context, c.b, c.batch, c.n, c.k, factors);
  const Nest out = LowerAt(context, source);
  const auto d = MatchAffine(out, source.axes, source.slot, out.out);
  int sums = 0;
  std::vector<AffineRead> addends;
  if (!a || !b || !d ||
      !MatchSum(context, out, source.axes, tiled.sum_slot, out.root, &sums, &addends) ||
      sums != 1 || (stored != DType::kF32 && !addends.empty())) {
    return std::nullopt;
  }
  std::vector<const AffineRead*> reads = {&*a, &*b, &*d};
  for (const AffineRead& addend : addends) reads.push_back(&addend);

  const std::vector<Line> k = Merged(LinesOf(c.k, reads), kA);
  std::vector<Line> m = Merged(LinesOf(c.m, reads), kD), n = Merged(LinesOf(c.n, reads), kD);
  if (k.size() != 1 || m.empty() || n.empty()) return std::nullopt;
  // Outer rows that are not contiguous become a batch with the same other factor.
  std::vector<Line> batches = LinesOf(c.batch, reads);
  for (const std::vector<Line>* lines : {&m, &n}) {
    batches.insert(batches.end(), lines->begin(), lines->end() - 1);
  }
  batches = Merged(std::move(batches), kD);
  if (batches.size() > 1) return std::nullopt;
  const Line batch = batches.empty() ? Line{1, std::vector<int64_t>(reads.size(), 0)} : batches[0];
  // D is stored column by column.
  const bool swapped = n.back().strides[kD] == 1;
  const Line &rows = swapped ? n.back() : m.back(), &columns = swapped ? m.back() : n.back();
  const auto left =
      swapped ? MatrixOf(*b, kB, rows, k[0], batch) : MatrixOf(*a, kA, rows, k[0], batch);
  const auto right =
      swapped ? MatrixOf(*a, kA, k[0], columns, batch) : MatrixOf(*b, kB, k[0], columns, batch);
  const auto result = MatrixOf(*d, kD, rows, columns, batch);
  if (!left || !right || !result || result->transposed) return std::nullopt;
  GemmCall call;
  call.precision = context.precision;
  call.factors = factors;
  call.result = stored;
  call.batch = batch.extent;
  call.m = rows.extent;
  call.n = columns.extent;
  call.k = k[0].extent;
  if (!Fits(call.batch) || !Fits(call.m) || !Fits(call.n) || !Fits(call.k)) return std::nullopt;
  call.a = *left;
  call.b = *right;
  call.d = *result;
  for (size_t i = 0; i < addends.size(); ++i) {
    if (!PlaceAddend(addends[i], kAddends + i, rows, columns, batch, &call)) return std::nullopt;
  }
  return call;
}

void NumberArguments(const GridKernel& kernel, GemmCall* call) {
  auto number = [&](int* slot) {
    if (*slot < 0) return;
    const auto read = std::find(kernel.reads.begin(), kernel.reads.end(), *slot);
    *slot = static_cast<int>(read - kernel.reads.begin());  // the written slot follows them
  };
  for (int* slot :
       {&call->a.argument, &call->b.argument, &call->c.argument, &call->bias_argument}) {
    number(slot);
  }
  call->d.argument = static_cast<int>(kernel.reads.size());
}

}  // namespace lemma::codegen
