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

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

Nest LowerOf(const KernelContext& context, const ScalarExpr& body, int slot, const Idx& out,
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
  options.storage = context.storage;
  options.prefix = prefix;
  options.wide = !FitsInt(nest);
  return options;
}

namespace {
NestPrinter::Options ResultOptions(const KernelContext& context, const Nest& out, int sum_slot) {
  NestPrinter::Options options = TileOptions(context, out, "");
  options.value_slot = sum_slot;
  options.value = "sum[i][j]";
  return options;
}
}  // namespace

ResultPrinter::ResultPrinter(const KernelContext& context, const Nest& out, int sum_slot,
                             const std::vector<Axis>& batch)
    : printer_(out, ResultOptions(context, out, sum_slot)),
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

ProductSize SizeOf(const KernelContext& context, const loops::ContractionSource& c, int* fresh) {
  auto work = [&](const ScalarExpr& factor, const std::vector<Axis>& rows) {
    const Nest nest = LowerOf(context, factor, 0, {}, c.batch, rows, c.k, fresh);
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
    const Nest nest = LowerOf(context, factor, 0, {}, c.batch, rows, c.k, fresh);
    const loops::Node& root = nest.nodes[nest.root];
    return root.kind == ScalarExpr::Kind::kRead && root.checks.empty() ? root.slot : -1;
  };
  const int a = slot(c.a, c.m);
  return {a, slot(c.b, c.n)};
}

}  // namespace lemma::codegen
