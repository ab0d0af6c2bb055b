#include "kernels/codegen/schedules.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "kernels/codegen/tile_parts.h"
#include "kernels/loops/leaf_table.h"

namespace lemma::codegen {

using lemma::Affine;
using loops::IndexLeaf;
using loops::Nest;
using Kind = ScalarExpr::Kind;

namespace {

constexpr int kBlock = 256;

int64_t Extent(const Nest& nest, const std::vector<int>& axes) {
  int64_t product = 1;
  for (int axis : axes) product *= nest.vars[axis].extent;
  return product;
}

NestPrinter::Options OptionsFor(const KernelContext& context, const Nest& nest) {
  NestPrinter::Options options;
  options.number = context.number;
  options.storage = context.storage;
  options.wide = !FitsInt(nest);
  return options;
}

// Declares the variables `axes`, the last one fastest, as digits of `number`. `names` replaces the
// printer's names.
std::string Digits(const NestPrinter& printer, const Nest& nest, const std::vector<int>& axes,
                   const std::string& number) {
  std::string text;
  int64_t inner = Extent(nest, axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = nest.vars[axes[i]].extent;
    inner /= std::max<int64_t>(extent, 1);
    absl::StrAppend(&text, "const ", printer.index_type(), " ", printer.VarName(axes[i]), " = ",
                    number);
    if (inner != 1) absl::StrAppend(&text, " / ", inner);
    if (i > 0) absl::StrAppend(&text, " % ", extent);
    absl::StrAppend(&text, ";\n");
  }
  return text;
}

std::string StoreText(NestPrinter& printer, const KernelContext& context, const Nest& nest,
                      int node) {
  const std::string value = printer.Value(node);
  return absl::StrCat("Store(p", nest.out_slot, " + ", printer.AffineText(nest.out), ", ",
                      TypeName(context.number), "(", value, "));\n");
}

int BlockFor(int64_t items) {
  return items >= kBlock ? kBlock : static_cast<int>(CeilDivide(items, 32) * 32);
}

// Declares the number of the thread's item, of which there are `items`.
std::string ItemText(const std::string& type, int block, int64_t items) {
  return absl::StrCat("const ", type, " item = static_cast<", type, ">(blockIdx.x) * ", block,
                      " + threadIdx.x;\nif (item >= ", items, ") return;\n");
}

// Whether anything in `p`'s terms depends on `var`, apart from the coefficient of var itself.
bool Bends(const Nest& nest, const Affine& p, int var) {
  return std::any_of(p.terms.begin(), p.terms.end(), [&](const auto& part) {
    const IndexLeaf& leaf = nest.leaves[part.first];
    return leaf.kind != IndexLeaf::Kind::kVar && leaf.deps.test(var);
  });
}

// Marks nodes that every element needs: under no guard and in no reduction.
void Unguarded(const Nest& nest, int n, std::vector<bool>* seen) {
  if ((*seen)[n]) return;
  (*seen)[n] = true;
  if (nest.nodes[n].kind != Kind::kApply) return;
  for (int arg : nest.nodes[n].args) Unguarded(nest, arg, seen);
}

// The number of elements that a thread computes along the last axis, and the reads that become
// packs.
int ChoosePack(const KernelContext& context, const Nest& nest, std::vector<int>* reads) {
  if (nest.axes.empty()) return 1;
  const int var = nest.axes.back();
  const int width =
      static_cast<int>(std::min<int64_t>(16 / SizeOf(context.storage[nest.out_slot]), 8));
  if (width < 2 || nest.vars[var].extent % width != 0 || !Packs(nest, nest.out, var, width)) {
    return 1;
  }
  // Does not pay if processors would be without work.
  if (Extent(nest, nest.axes) < 64 * kBlock) return 1;
  std::vector<bool> seen(nest.nodes.size(), false);
  Unguarded(nest, nest.root, &seen);
  for (size_t n = 0; n < nest.nodes.size(); ++n) {
    const loops::Node& node = nest.nodes[n];
    if (node.kind == Kind::kReduce) return 1;
    const bool pack = seen[n] && node.kind == Kind::kRead && node.checks.empty() &&
                      Packs(nest, node.index, var, width) &&
                      SizeOf(context.storage[node.slot]) * width <= 16;
    if (pack) reads->push_back(static_cast<int>(n));
  }
  return width;
}

// The index of an element at a point; unknown loads count as 0.
int64_t IndexAt(const Nest& nest, const Affine& p, const std::vector<int64_t>& vars) {
  int64_t sum = p.base;
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest.leaves[t];
    int64_t value = 0;
    if (leaf.kind == IndexLeaf::Kind::kVar) {
      value = vars[t];
    } else if (leaf.kind != IndexLeaf::Kind::kLoad) {
      const int64_t a = IndexAt(nest, leaf.a, vars), b = IndexAt(nest, leaf.b, vars);
      const int64_t q = b > 0 ? a / b - (a % b < 0 ? 1 : 0) : 0;
      value = leaf.kind == IndexLeaf::Kind::kDiv   ? q
              : leaf.kind == IndexLeaf::Kind::kMod ? a - b * q
              : leaf.kind == IndexLeaf::Kind::kMin ? std::min(a, b)
              : leaf.kind == IndexLeaf::Kind::kMax ? std::max(a, b)
                                                   : a * b;
    }
    sum += c * value;
  }
  return sum;
}

// The number of reads below `node` that move by one element with `var`.
int ReadsAlong(const Nest& nest, int node, int var) {
  std::vector<bool> seen(nest.nodes.size(), false);
  std::function<void(int)> visit = [&](int n) {
    if (seen[n]) return;
    seen[n] = true;
    for (int arg : nest.nodes[n].args) visit(arg);
  };
  visit(node);
  int count = 0;
  for (size_t n = 0; n < seen.size(); ++n) {
    if (!seen[n] || nest.nodes[n].kind != Kind::kRead) continue;
    if (std::abs(StepAlong(nest, nest.nodes[n].index, var)) == 1) ++count;
  }
  return count;
}

// Finds unguarded reductions over constant extents that depend only on axes of the output.
void FindReductions(const Nest& nest, int n, const loops::Vars& axes, std::vector<bool>* seen,
                    std::vector<int>* found) {
  if ((*seen)[n]) return;
  (*seen)[n] = true;
  const loops::Node& node = nest.nodes[n];
  if (node.kind == Kind::kReduce) {
    const bool constant = std::all_of(node.axes.begin(), node.axes.end(), [](const auto& axis) {
      return axis.second.is_const() && axis.second.base > 0;
    });
    if (!constant) return;
    if ((node.deps & ~axes).none()) found->push_back(n);
    if (node.guard != loops::kCondTrue) return;
  } else if (node.kind != Kind::kApply) {
    return;
  }
  for (int arg : node.args) FindReductions(nest, arg, axes, seen, found);
}

int64_t Steps(const Nest& nest, int n) {
  int64_t steps = 1;
  for (const auto& [var, extent] : nest.nodes[n].axes) steps *= extent.base;
  return steps;
}

// The reads that every choice of a condition leaves inside their tensors, below `n` and outside of
// reductions.
void ReadsInside(const KernelContext& context, const Nest& nest, int n, std::vector<bool>* seen,
                 std::vector<int>* reads) {
  if ((*seen)[n]) return;
  (*seen)[n] = true;
  const loops::Node& node = nest.nodes[n];
  if (node.kind == Kind::kRead && node.checks.empty()) {
    const auto bounds = BoundsOf(nest, node.index);
    int64_t elements = 1;
    for (int64_t dim : context.slots[node.slot].dims) elements *= dim;
    if (bounds && bounds->lo >= 0 && bounds->hi < elements) reads->push_back(n);
  }
  if (node.kind != Kind::kApply && node.kind != Kind::kSelect) return;
  for (int arg : node.args) ReadsInside(context, nest, arg, seen, reads);
}

// Packs for a sum of products: a thread loads 16 bytes at once of the factor that is stored in the
// narrowest type.
NestPrinter::ReductionPack PackFor(const KernelContext& context, const Nest& nest, int n) {
  NestPrinter::ReductionPack none;
  const loops::Node& node = nest.nodes[n];
  if (node.reduce != ReduceKind::kSum || node.guard != loops::kCondTrue || node.axes.empty()) {
    return none;
  }
  const auto& [var, extent] = node.axes.back();
  std::vector<bool> seen(nest.nodes.size(), false);
  std::vector<int> reads;
  ReadsInside(context, nest, node.args[0], &seen, &reads);
  for (int width = 16; width > 1; width /= 2) {
    if (extent.base % width != 0) continue;
    NestPrinter::ReductionPack pack;
    pack.width = width;
    int narrowest = -1;
    for (int read : reads) {
      const auto bytes = static_cast<int>(SizeOf(context.storage[nest.nodes[read].slot]));
      constexpr int kMostBytes = 64;  // a thread's registers hold them
      if (!Packs(nest, nest.nodes[read].index, var, width) || bytes * width > kMostBytes) continue;
      pack.reads.push_back(read);
      const int least =
          narrowest < 0 ? bytes + 1 : SizeOf(context.storage[nest.nodes[narrowest].slot]);
      if (bytes < least) narrowest = read;
    }
    constexpr int kAccess = 16;
    if (pack.reads.size() < 2) continue;
    const auto bytes = static_cast<int>(SizeOf(context.storage[nest.nodes[narrowest].slot]));
    if (bytes * width > kAccess) continue;
    return pack;
  }
  return none;
}

// The number of threads for each element's reduction; 1: sharing does not pay.
int GroupForElements(const Nest& nest, const RowPlan& plan) {
  const int64_t elements = Extent(nest, nest.axes);
  int64_t steps = 0, packs = 0;
  int along = 0, across = 0;
  for (size_t i = 0; i < plan.reductions.size(); ++i) {
    const int n = plan.reductions[i];
    steps = std::max(steps, Steps(nest, n));
    packs = std::max(packs, Steps(nest, n) / plan.packs[i].width);
    along += ReadsAlong(nest, n, nest.nodes[n].axes.back().first);
    if (!nest.axes.empty()) across += ReadsAlong(nest, n, nest.axes.back());
  }
  constexpr int64_t kManyElements = 4096, kFewSteps = 16, kWarpSteps = 1024;
  if (steps <= kFewSteps || (steps <= kWarpSteps / 4 && along == 0 && across > 0)) return 1;
  // Neighboring threads read neighboring elements, and there are enough to keep the device busy.
  if (elements >= kManyElements && (across >= along || (across > 0 && steps <= 64))) return 1;
  return packs <= kWarpSteps || elements >= 4 * kManyElements ? 32 : kBlock;
}

}  // namespace

bool Packs(const Nest& nest, const Affine& p, int var, int width) {
  if (p.CoefficientOf(var) != 1 || Bends(nest, p, var) || p.base % width != 0) return false;
  return std::all_of(p.terms.begin(), p.terms.end(), [&](const auto& part) {
    return part.first == var || part.second % width == 0;
  });
}

int64_t StepAlong(const Nest& nest, const Affine& p, int var) {
  std::vector<int64_t> at(nest.vars.size(), 0);
  const int64_t from = IndexAt(nest, p, at);
  at[var] = 1;
  return IndexAt(nest, p, at) - from;
}

namespace {

// Puts rows side by side that read the same elements of the narrowest pack, such as one row of
// weights.
void OrderRows(const KernelContext& context, const Nest& nest, RowPlan* plan) {
  for (const NestPrinter::ReductionPack& pack : plan->packs) {
    const auto bytes = [&](int read) { return SizeOf(context.storage[nest.nodes[read].slot]); };
    const auto narrowest = std::min_element(pack.reads.begin(), pack.reads.end(),
                                            [&](int a, int b) { return bytes(a) < bytes(b); });
    if (narrowest == pack.reads.end() || bytes(*narrowest) > 1) continue;
    std::stable_partition(plan->row_axes.begin(), plan->row_axes.end(),
                          [&](int axis) { return nest.nodes[*narrowest].deps.test(axis); });
  }
}

}  // namespace

Rows PlanRows(const KernelContext& context, const Nest& nest, RowPlan* plan) {
  loops::Vars axes;
  for (int axis : nest.axes) axes.set(axis);
  std::vector<bool> seen(nest.nodes.size(), false);
  FindReductions(nest, nest.root, axes, &seen, &plan->reductions);
  if (plan->reductions.empty()) return Rows::kNone;
  loops::Vars rows;
  for (int n : plan->reductions) rows |= nest.nodes[n].deps;
  for (int n : plan->reductions) {
    if (nest.nodes[n].deps != rows) return Rows::kApart;
  }
  for (int axis : nest.axes) {
    (rows.test(axis) ? plan->row_axes : plan->other_axes).push_back(axis);
  }
  for (int n : plan->reductions) plan->packs.push_back(PackFor(context, nest, n));
  if (plan->other_axes.empty()) {
    plan->group = GroupForElements(nest, *plan);
    OrderRows(context, nest, plan);
    return plan->group == 1 ? Rows::kNone : Rows::kTogether;
  }
  const int64_t count = Extent(nest, plan->row_axes);
  int64_t width = Extent(nest, plan->other_axes);
  for (int n : plan->reductions) width = std::max(width, Steps(nest, n));
  constexpr int64_t kFewRows = 32, kLargeRow = 16384;
  if (count < kFewRows && width > kLargeRow) return Rows::kApart;
  plan->group = width <= 1024 ? 32 : kBlock;
  return Rows::kTogether;
}

int64_t PartsFor(const KernelContext& context, const Nest& nest) {
  RowPlan plan;
  const Rows rows = PlanRows(context, nest, &plan);
  if (rows == Rows::kApart || !plan.other_axes.empty()) return 1;
  int64_t steps = 0;
  for (const loops::Node& node : nest.nodes) {
    if (node.kind != Kind::kReduce) continue;
    int64_t product = 1;
    for (const auto& [var, extent] : node.axes) {
      if (!extent.is_const()) return 1;
      product *= extent.base;
    }
    steps = std::max(steps, product);
  }
  // Steps that one thread does in sequence, and the number of threads.
  constexpr int64_t kManySteps = 64, kFewestSteps = 16, kEnough = 64 * 1024;
  const int64_t group = rows == Rows::kTogether ? plan.group : 1;
  const int64_t threads = std::max<int64_t>(Extent(nest, nest.axes), 1) * group;
  if (threads >= kEnough || steps < kManySteps * group) return 1;
  return std::min(2 * kEnough / threads, steps / (kFewestSteps * group));
}

GridKernel Finish(const KernelContext& context, std::vector<int> reads, int writes, bool checks,
                  int64_t blocks, int threads, bool synchronizes, std::string schedule,
                  const std::string& body,
                  const std::vector<std::pair<std::string, BulkSource>>& bulk) {
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  std::string parameters;
  for (int slot : reads) {
    absl::StrAppend(&parameters, "const ", TypeName(context.storage[slot]), "* __restrict__ p",
                    slot, ", ");
  }
  absl::StrAppend(&parameters, TypeName(context.storage[writes]), "* __restrict__ p", writes);
  if (checks) absl::StrAppend(&parameters, ", int* error");
  for (const auto& [name, source] : bulk) {
    absl::StrAppend(&parameters, ", const __grid_constant__ BulkMap ", name);
  }
  const std::string rest = absl::StrCat("(", parameters, ") {\n", body, "}\n");
  GridKernel kernel;
  kernel.name = absl::StrCat("k_", absl::Hex(HashString(rest, threads), absl::kZeroPad16));
  kernel.code = absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", threads, ")\n",
                             kernel.name, rest);
  kernel.schedule = std::move(schedule);
  kernel.blocks = blocks;
  kernel.threads = threads;
  kernel.synchronizes = synchronizes;
  kernel.reads = std::move(reads);
  kernel.writes = {writes};
  kernel.checks = checks;
  for (const auto& [name, source] : bulk) kernel.bulk.push_back(source);
  return kernel;
}

GridKernel KernelByElement(const KernelContext& context, const Nest& nest) {
  NestPrinter printer(nest, OptionsFor(context, nest));
  std::vector<int> packed;
  const int width = ChoosePack(context, nest, &packed);
  Nest threads = nest;  // for the extents
  if (width > 1) threads.vars[nest.axes.back()].extent /= width;
  const int64_t items = Extent(threads, nest.axes);
  const int block = BlockFor(items);
  const std::string type = printer.index_type();
  std::string body = ItemText(type, block, items);
  absl::StrAppend(&body, Digits(printer, threads, nest.axes, "item"));
  printer.Open(nest.axes, true);
  if (width == 1) {
    printer.Add(StoreText(printer, context, nest, nest.root));
    absl::StrAppend(&body, printer.Close());
  } else {
    const int var = nest.axes.back();
    const std::string name = printer.VarName(var);
    // Scopes: the kernel, the thread's pack, one element of it.
    absl::StrAppend(&body, "const ", type, " ", name, "_start = ", name, " * ", width, ";\n");
    printer.SetPacked(packed, var, width, "u");
    printer.Open({var}, true);
    const std::string value = printer.Value(nest.root);
    printer.Add(
        absl::StrCat("Store(&result.at[u], ", TypeName(context.number), "(", value, "));\n"));
    const std::string element = printer.Close();
    const std::string start = printer.PackStartText(nest.out);
    const std::string pack = absl::StrCat(TypeName(context.storage[nest.out_slot]), ", ", width);
    absl::StrAppend(&body, printer.Close(), "Pack<", pack,
                    "> result;\n#pragma unroll\nfor (int u = 0; u < ", width, "; ++u) {\nconst ",
                    type, " ", name, " = ", name, "_start + u;\n", element, "}\nStorePack<", width,
                    ">(p", nest.out_slot, " + ", start, ", result);\n");
  }
  return Finish(context, printer.slots(), nest.out_slot, printer.checks(), CeilDivide(items, block),
                block, false, width == 1 ? "by element" : absl::StrCat("by element x", width),
                body);
}

GridKernel KernelAtPositions(const KernelContext& context, const Nest& nest, int value,
                             const std::vector<std::pair<int, int>>& positions) {
  NestPrinter printer(nest, OptionsFor(context, nest));
  std::vector<int> fixed, others;
  for (const auto& [var, leaf] : positions) fixed.push_back(var);
  for (int axis : nest.axes) {
    if (std::count(fixed.begin(), fixed.end(), axis) == 0) others.push_back(axis);
  }
  const int64_t items = Extent(nest, others);
  const int block = BlockFor(items);
  const std::string type = printer.index_type();
  std::string body = ItemText(type, block, items);
  absl::StrAppend(&body, Digits(printer, nest, others, "item"));
  printer.Open(others, true);
  std::string inside;
  for (const auto& [var, leaf] : positions) {
    Affine position;
    position.terms = {{leaf, 1}};
    const std::string name = printer.VarName(var), text = printer.AffineText(position);
    printer.Add(absl::StrCat("const ", type, " ", name, " = ", text, ";\n"));
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", "0 <= ", name, " && ", name, " < ",
                    nest.vars[var].extent);
  }
  // What the position does not enter is read in any case, so that its errors are reported.
  printer.Open(fixed, /*transparent=*/true);
  printer.Add(StoreText(printer, context, nest, value));
  const std::string element = printer.Close();
  printer.Add(absl::StrCat("if (", inside, ") {\n", element, "}\n"));
  absl::StrAppend(&body, printer.Close());
  return Finish(context, printer.slots(), nest.out_slot, printer.checks(), CeilDivide(items, block),
                block, false, "by element at a position", body);
}

GridKernel KernelByRow(const KernelContext& context, const Nest& nest, const RowPlan& plan) {
  NestPrinter::Options options = OptionsFor(context, nest);
  options.group = plan.group;
  NestPrinter printer(nest, options);
  printer.SetCooperative(plan.reductions, plan.packs);
  const std::string type = printer.index_type();
  const int64_t rows = Extent(nest, plan.row_axes);
  const bool warps = plan.group == 32;
  const int block = warps ? 128 : plan.group;
  std::string body;
  if (warps) {
    absl::StrAppend(&body, "const int lane = threadIdx.x % 32;\nconst ", type,
                    " row = static_cast<", type, ">(blockIdx.x) * ", block / 32,
                    " + threadIdx.x / 32;\nif (row >= ", rows, ") return;\n");
  } else {
    absl::StrAppend(&body, "__shared__ ", TypeName(context.number), " shared[", block / 32,
                    "];\nconst int lane = threadIdx.x;\nconst ", type, " row = blockIdx.x;\n");
  }
  absl::StrAppend(&body, Digits(printer, nest, plan.row_axes, "row"));
  const bool one_writes = plan.other_axes.empty();
  printer.Open(plan.row_axes, true);
  // All threads reduce. The write may be in place, so only the thread that writes reads the rest.
  if (one_writes) {
    for (int reduction : plan.reductions) printer.Value(reduction);
  }
  printer.Open(plan.other_axes, /*transparent=*/!one_writes);
  printer.Add(StoreText(printer, context, nest, nest.root));
  const std::string element = printer.Close();
  absl::StrAppend(&body, printer.Close());
  if (one_writes) {
    absl::StrAppend(&body, "if (lane == 0) {\n", element, "}\n");
  } else {
    absl::StrAppend(&body, "for (", type, " item = lane; item < ", Extent(nest, plan.other_axes),
                    "; item += ", plan.group, ") {\n",
                    Digits(printer, nest, plan.other_axes, "item"), element, "}\n");
  }
  return Finish(context, printer.slots(), nest.out_slot, printer.checks(),
                warps ? CeilDivide(rows, block / 32) : rows, block, true,
                absl::StrCat("by row of ", plan.group), body);
}

}  // namespace lemma::codegen
