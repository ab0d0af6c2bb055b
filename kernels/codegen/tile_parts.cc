#include "kernels/codegen/tile_parts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/expr/substitute.h"
#include "kernels/loops/loop_lowering.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

// One variable for all of `axes`, the last one fastest, and the substitution for each.
Axis Flatten(const std::vector<Axis>& axes, int* fresh, ExprSubstitution* substitution) {
  Axis flat{(*fresh)++, Size(axes)};
  int64_t inner = Size(axes);
  for (const Axis& axis : axes) {
    inner /= std::max<int64_t>(axis.extent.value(), 1);
    substitution->vars[axis.var] = Mod(FloorDiv(IndexExpr::Var(flat.var), inner), axis.extent);
  }
  return flat;
}

}  // namespace

int64_t Size(const std::vector<Axis>& axes) {
  int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.extent.value();
  return size;
}

Nest LowerMerged(const KernelContext& context, const ScalarExpr& body, int slot, const Idx& out,
                 const std::vector<Axis>& batch, const std::vector<Axis>& first,
                 const std::vector<Axis>& second, int* fresh) {
  ExprSubstitution flatten;
  loops::NestSource source;
  source.slot = slot;
  source.axes = batch;
  source.axes.push_back(Flatten(first, fresh, &flatten));
  source.axes.push_back(Flatten(second, fresh, &flatten));
  for (const IndexExpr& index : out) source.out.push_back(Substitute(index, flatten));
  flatten.fresh = fresh;
  source.body = Substitute(body, flatten);
  Nest nest = loops::Lower(source, context.slots, loops::LowerOptions{/*merge_axes=*/false});
  nest.axes.clear();  // their product is not needed
  return nest;
}

bool PrefersSecond(const Nest& nest, int first, int second) {
  int score = 0;
  for (const loops::Node& node : nest.nodes) {
    if (node.kind != ScalarExpr::Kind::kRead) continue;
    score += std::abs(StepAlong(nest, node.index, second)) == 1 ? 1 : 0;
    score -= std::abs(StepAlong(nest, node.index, first)) == 1 ? 1 : 0;
  }
  return score > 0;
}

std::string CheckText(const std::vector<Border>& borders) {
  std::vector<std::string> checks;
  for (const Border& border : borders) {
    if (border.total % border.tile == 0) continue;
    checks.push_back(absl::StrCat(border.at, " < ", border.total));
  }
  return checks.empty() ? "" : absl::StrCat("if (", absl::StrJoin(checks, " && "), ") ");
}

const char* IndexTypeFor(int64_t most, const std::vector<const NestPrinter*>& printers) {
  const bool wide = std::any_of(printers.begin(), printers.end(),
                                [](const NestPrinter* printer) { return printer->options().wide; });
  return wide || most >= (1 << 30) ? "int64" : "int";
}

std::string BatchDigits(const NestPrinter& printer, const std::vector<Axis>& batch) {
  std::string text;
  int64_t inner = Size(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    inner /= batch[i].extent.value();
    absl::StrAppend(&text, "const ", printer.index_type(), " ",
                    printer.VarName(static_cast<int>(i)), " = batch / ", inner, " % ",
                    batch[i].extent.value(), ";\n");
  }
  return text;
}

NestPrinter::Options TileOptions(const KernelContext& context, const Nest& nest,
                                 const char* prefix) {
  NestPrinter::Options options;
  options.number = context.number;
  options.prefix = prefix;
  options.wide = !FitsInt(nest);
  return options;
}

namespace {
NestPrinter::Options ResultOptions(const KernelContext& context, const Nest& out, int sum_slot,
                                   const std::string& value) {
  NestPrinter::Options options = TileOptions(context, out, "");
  options.value_slot = sum_slot;
  options.value = value;
  return options;
}
}  // namespace

ResultPrinter::ResultPrinter(const KernelContext& context, const Nest& out, int sum_slot,
                             const std::vector<Axis>& batch, const std::string& sum)
    : printer_(out, ResultOptions(context, out, sum_slot, sum)),
      row_var_(static_cast<int>(batch.size())) {
  std::vector<int> batches;
  for (int i = 0; i < row_var_; ++i) batches.push_back(i);
  printer_.Open(batches, true);
  printer_.Open({row_var_}, true);
  printer_.Open({row_var_ + 1}, true);
  printer_.Open({}, false);
  const std::string value = printer_.Value(out.root);
  printer_.Add(absl::StrCat("Store(p", out.out_slot, " + ", printer_.AffineText(out.out), ", ",
                            TypeName(context.number), "(", value, "));\n"));
  inside_ = printer_.Close();
  at_column_ = printer_.Close();
  at_row_ = printer_.Close();
  at_kernel_ = printer_.Close();
}

std::string ResultPrinter::Code(const TileShape& tile, int rows, int columns,
                                const std::string& row, const std::string& column,
                                int64_t total_rows, int64_t total_columns,
                                const char* index_type) const {
  const std::string r = printer_.VarName(row_var_), c = printer_.VarName(row_var_ + 1);
  return absl::StrCat(at_kernel_, "#pragma unroll\nfor (int i = 0; i < ", rows, "; ++i) {\nconst ",
                      index_type, " ", r, " = a_first + ", row, ";\n", at_row_,
                      "#pragma unroll\nfor (int j = 0; j < ", columns, "; ++j) {\nconst ",
                      index_type, " ", c, " = b_first + ", column, ";\n", at_column_,
                      CheckText({{r, total_rows, tile.rows}, {c, total_columns, tile.columns}}),
                      "{\n", inside_, "}\n}\n}\n");
}

ResultPacking ChooseResultPacking(const KernelContext& context, const Nest& out, int sum_slot,
                                  int batch, int64_t rows, int64_t columns) {
  ResultPacking packing;
  const int bytes = SizeOf(context.storage[out.out_slot]);
  const int width = 16 / bytes;
  if (bytes != 2 && bytes != 4) return packing;
  const int row = batch, column = batch + 1;
  if (columns % width == 0 && Packs(out, out.out, column, width)) {
    packing.width = width;
  } else if (rows % width == 0 && Packs(out, out.out, row, width)) {
    packing.width = width;
    packing.rows_adjacent = true;
  } else {
    return packing;
  }
  // Reads below a condition may lie outside their tensors.
  const bool conditions =
      std::any_of(out.nodes.begin(), out.nodes.end(),
                  [](const loops::Node& node) { return node.kind == ScalarExpr::Kind::kSelect; });
  for (size_t n = 0; n < out.nodes.size() && !conditions; ++n) {
    const loops::Node& node = out.nodes[n];
    const bool packs = node.kind == ScalarExpr::Kind::kRead && node.slot != sum_slot &&
                       node.checks.empty() && SizeOf(context.storage[node.slot]) * width <= 16 &&
                       Packs(out, node.index, packing.rows_adjacent ? row : column, width);
    if (packs) packing.reads.push_back(static_cast<int>(n));
  }
  return packing;
}

PackedResultPrinter::PackedResultPrinter(const KernelContext& context, const Nest& out,
                                         int sum_slot, const std::vector<Axis>& batch,
                                         ResultPacking packing)
    : printer_(out, ResultOptions(context, out, sum_slot, "sums.at[u]")),
      row_var_(static_cast<int>(batch.size())),
      packing_(std::move(packing)),
      type_(TypeName(context.storage[out.out_slot])),
      slot_(out.out_slot) {
  const int line = packing_.rows_adjacent ? row_var_ + 1 : row_var_;
  const int packed = packing_.rows_adjacent ? row_var_ : row_var_ + 1;
  std::vector<int> batches;
  for (int i = 0; i < row_var_; ++i) batches.push_back(i);
  printer_.Open(batches, true);
  printer_.Open({line}, true);
  printer_.Open({}, false);
  printer_.SetPacked(packing_.reads, packed, packing_.width, "u");
  printer_.Open({packed}, true);
  const std::string value = printer_.Value(out.root);
  printer_.Add(
      absl::StrCat("Store(&result.at[u], ", TypeName(context.number), "(", value, "));\n"));
  element_ = printer_.Close();
  start_ = printer_.PackStartText(out.out);
  at_pack_ = printer_.Close();
  at_line_ = printer_.Close();
  at_kernel_ = printer_.Close();
}

std::string PackedResultPrinter::Code(const TileShape& tile, const std::string& first_row,
                                      int64_t total_rows, int64_t total_columns,
                                      const char* index_type) const {
  constexpr int kWarpRows = 16;
  const int width = packing_.width;
  const bool rows = packing_.rows_adjacent;
  // Lines of packs.
  const int packs = (rows ? kWarpRows : tile.columns) / width;
  const int lines = rows ? tile.columns : kWarpRows;
  const std::string row = printer_.VarName(row_var_), column = printer_.VarName(row_var_ + 1);
  const std::string line_name = rows ? column : row, packed = rows ? row : column;
  const std::string start = packed + "_start";
  const std::string row_first = absl::StrCat("a_first + ", first_row), column_first = "b_first";
  auto declare = [&](const std::string& name, const std::string& value) {
    return absl::StrCat("const ", index_type, " ", name, " = ", value, ";\n");
  };
  return absl::StrCat(
      at_kernel_, "#pragma unroll 4\nfor (int item = threadIdx.x % 32; item < ", lines * packs,
      "; item += 32) {\nconst int line = item / ", packs, ", place = item % ", packs, " * ", width,
      ";\n", declare(line_name, absl::StrCat(rows ? column_first : row_first, " + line")),
      declare(start, absl::StrCat(rows ? row_first : column_first, " + place")), at_line_,
      CheckText({{rows ? start : row, total_rows, tile.rows},
                 {rows ? column : start, total_columns, tile.columns}}),
      "{\n", at_pack_, "const Pack<float, ", width, "> sums = LoadStaged<", width,
      ">(&staged[line][place]);\nPack<", type_, ", ", width,
      "> result;\n#pragma unroll\nfor (int u = 0; u < ", width, "; ++u) {\n",
      declare(packed, start + " + u"), element_, "}\nStorePack<", width, ">(p", slot_, " + ",
      start_, ", result);\n}\n}\n");
}

ProductSize SizeOf(const KernelContext& context, const loops::ContractionSource& c, int* fresh) {
  auto work = [&](const ScalarExpr& factor, const std::vector<Axis>& rows) {
    const Nest nest = LowerMerged(context, factor, 0, {}, c.batch, rows, c.k, fresh);
    constexpr size_t kConstants = 2;
    return static_cast<int>(nest.conds.size() - kConstants + nest.leaves.size() - nest.vars.size());
  };
  return {Size(c.batch),
          Size(c.m),
          Size(c.n),
          Size(c.k),
          work(c.a, c.m),
          work(c.b, c.n),
          CopiesInBulk(context, c, fresh)};
}

std::pair<int, int> FactorSlots(const KernelContext& context, const loops::ContractionSource& c,
                                int* fresh) {
  auto slot = [&](const ScalarExpr& factor, const std::vector<Axis>& rows) {
    const Nest nest = LowerMerged(context, factor, 0, {}, c.batch, rows, c.k, fresh);
    const loops::Node& root = nest.nodes[nest.root];
    return root.kind == ScalarExpr::Kind::kRead && root.checks.empty() ? root.slot : -1;
  };
  const int a = slot(c.a, c.m);
  return {a, slot(c.b, c.n)};
}

}  // namespace lemma::codegen
