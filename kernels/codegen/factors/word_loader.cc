#include "kernels/codegen/factors/word_loader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

// The numbers in 16 bytes, if every read moves along `var` in memory, in such packs, and none
// needs a check; else 1.
int ChoosePack(const KernelContext& context, const Nest& nest, int var, int64_t total,
               std::vector<int>* reads) {
  int pack = 8;
  for (const loops::Node& node : nest.nodes) {
    if (node.kind != ScalarExpr::Kind::kRead) continue;
    pack = std::min(pack, static_cast<int>(16 / SizeOf(context.storage[node.slot])));
  }
  if (pack < 4 || total % pack != 0) return 1;
  for (size_t n = 0; n < nest.nodes.size(); ++n) {
    const loops::Node& node = nest.nodes[n];
    if (node.kind == ScalarExpr::Kind::kSelect || node.kind == ScalarExpr::Kind::kReduce) {
      return 1;
    }
    if (node.kind != ScalarExpr::Kind::kRead) continue;
    if (!node.checks.empty() || !Packs(nest, node.index, var, pack)) return 1;
    reads->push_back(static_cast<int>(n));
  }
  return reads->empty() ? 1 : pack;
}

std::string Zeros(const std::string& next, int step, int count, const std::string& at) {
  return absl::StrCat("#pragma unroll\nfor (int z = 0; z < ", count, "; ++z) ", next, "[",
                      at.empty() ? "" : absl::StrCat(at, step, " + "), "z] = 0;\n");
}

}  // namespace

WordLoader::WordLoader(const KernelContext& context, const Nest& nest, int batch,
                       const FactorTile& tile, WordFormat format)
    : printer_(nest, TileOptions(context, nest, tile.name)),
      tile_(tile),
      format_(std::move(format)) {
  const int row = batch, deep = batch + 1;
  along_depth_ = PrefersSecond(nest, row, deep);
  std::vector<int> packed;
  const int pack = ChoosePack(context, nest, along_depth_ ? deep : row,
                              along_depth_ ? tile.total_depth : tile.total_rows, &packed);
  unit_rows_ = along_depth_ ? 1 : pack;
  unit_depth_ = along_depth_ ? std::max(pack, format_.numbers) : format_.numbers;
  row_name_ = printer_.VarName(row);
  depth_name_ = printer_.VarName(deep);
  std::vector<int> kernel_vars;
  kernel_vars.reserve(batch + 1);
  for (int i = 0; i < batch; ++i) kernel_vars.push_back(i);
  if (pack > 1) {
    printer_.SetPacked(packed, along_depth_ ? deep : row, pack, along_depth_ ? "v" : "r");
  }
  // Scopes: the kernel; a unit; its rows or depths that are not packed; those inside the factor;
  // one number.
  const bool row_fixed = !along_depth_ && pack == 1;
  if (row_fixed) kernel_vars.push_back(row);
  printer_.Open(kernel_vars, true);
  printer_.Open(along_depth_ ? std::vector<int>{row} : std::vector<int>{}, true);
  printer_.Open(along_depth_ && pack > 1 ? std::vector<int>{} : std::vector<int>{deep}, true);
  printer_.Open({}, false);
  printer_.Open(pack == 1 ? std::vector<int>{} : std::vector<int>{along_depth_ ? deep : row}, true);
  const std::string value = printer_.Value(nest.root);
  const std::string number = printer_.Close(), inside = printer_.Close(), single = printer_.Close(),
                    unit = printer_.Close(), kernel = printer_.Close();
  Write(pack, value, number, inside, single, unit, kernel);
}

void WordLoader::Write(int pack, const std::string& value, const std::string& number,
                       const std::string& inside, const std::string& single,
                       const std::string& unit, const std::string& kernel) {
  const std::string n = tile_.name, type = printer_.index_type();
  const int64_t depth = tile_.words * format_.numbers;
  // Units side by side in the fast direction, and of the whole tile.
  const int64_t fast = along_depth_ ? depth / unit_depth_ : tile_.rows / unit_rows_;
  const int64_t units = tile_.rows * depth / (unit_rows_ * unit_depth_);
  const int64_t rounds = CeilDivide(units, tile_.threads);
  const std::string thread = "static_cast<int>(threadIdx.x)";
  const std::string fast_at = absl::StrCat(thread, " % ", fast);
  const std::string slow_at = absl::StrCat("(", thread, " + u * ", tile_.threads, ") / ", fast);
  // NAME_row and NAME_depth: the unit's first row and depth within the tile.
  const std::string row_at = absl::StrCat(
      "const int ", n, "_row = (", along_depth_ ? slow_at : fast_at, ") * ", unit_rows_, ";\n");
  const std::string depth_at = absl::StrCat(
      "const int ", n, "_depth = (", along_depth_ ? fast_at : slow_at, ") * ", unit_depth_, ";\n");
  auto declare = [&](const std::string& name, const std::string& at) {
    return absl::StrCat("const ", type, " ", name, " = ", at, ";\n");
  };
  const std::string row_value = absl::StrCat(n, "_first + ", n, "_row");
  const std::string depth_value = absl::StrCat("depth + ", n, "_depth");
  const std::string unroll = "#pragma unroll\n";
  const int numbers = unit_rows_ * unit_depth_;
  before_ = absl::StrCat(format_.type, " ", n, "_next[", rounds, "][", numbers, "];\n");
  const bool packed_row = !along_depth_ && pack > 1, packed_depth = along_depth_ && pack > 1;
  if (!along_depth_) {
    absl::StrAppend(&before_, row_at,
                    declare(packed_row ? row_name_ + "_start" : row_name_, row_value));
  }
  absl::StrAppend(&before_, kernel);
  const std::string in_range =
      units % tile_.threads == 0
          ? ""
          : absl::StrCat("if (", thread, " + u * ", tile_.threads, " < ", units, ") ");
  const std::string rounds_loop =
      absl::StrCat(unroll, "for (int u = 0; u < ", rounds, "; ++u) ", in_range, "{\n");
  const std::string next = absl::StrCat(n, "_next[u]");
  load_ = rounds_loop;
  if (along_depth_) absl::StrAppend(&load_, row_at, declare(row_name_, row_value));
  absl::StrAppend(&load_, depth_at);
  if (packed_depth) absl::StrAppend(&load_, declare(depth_name_ + "_start", depth_value));
  absl::StrAppend(&load_, unit);
  const std::string row_border = packed_row ? row_name_ + "_start" : row_name_;
  const std::string depth_border = packed_depth ? depth_name_ + "_start" : depth_name_;
  const std::string check = CheckText(
      {{row_border, tile_.total_rows, tile_.rows}, {depth_border, tile_.total_depth, depth}});
  if (packed_depth) {
    absl::StrAppend(&load_, single, Zeros(next, 0, numbers, ""), check, "{\n", inside, unroll,
                    "for (int v = 0; v < ", pack, "; ++v) {\n",
                    declare(depth_name_, depth_name_ + "_start + v"), number, next, "[v] = ", value,
                    ";\n}\n}\n}\n");
  } else {
    absl::StrAppend(&load_, unroll, "for (int v = 0; v < ", unit_depth_, "; ++v) {\n",
                    declare(depth_name_, depth_value + " + v"), single);
    if (packed_row) {
      absl::StrAppend(&load_, Zeros(next, pack, pack, "v * "), check, "{\n", inside, unroll,
                      "for (int r = 0; r < ", pack, "; ++r) {\n",
                      declare(row_name_, row_name_ + "_start + r"), number, next, "[v * ", pack,
                      " + r] = ", value, ";\n}\n}\n");
    } else {
      absl::StrAppend(&load_, next, "[v] = 0;\n", check, "{\n", inside, number, next,
                      "[v] = ", value, ";\n}\n");
    }
    absl::StrAppend(&load_, "}\n}\n");
  }
  store_ = StoreText(rounds_loop, row_at, depth_at);
}

std::string WordLoader::StoreText(const std::string& rounds_loop, const std::string& row_at,
                                  const std::string& depth_at) const {
  const std::string n = tile_.name, next = absl::StrCat(n, "_next[u]"), unroll = "#pragma unroll\n";
  // A unit's words are adjacent: along the depth, or along the rows. At most four are one access.
  const int adjacent = along_depth_ ? unit_depth_ / format_.numbers : unit_rows_;
  const int access = std::min(adjacent, 4), across = along_depth_ ? format_.numbers : 1;
  const std::string word = absl::StrCat("(q + w) * ", across);
  std::string numbers;  // of a word; an argument that is not used repeats the first one
  for (int i = 0; i < format_.arguments; ++i) {
    const int step = format_.numbers == 1 ? 0 : i * (along_depth_ ? 1 : unit_rows_);
    absl::StrAppend(&numbers, i > 0 ? ", " : "", next, "[", word,
                    i > 0 ? absl::StrCat(" + ", step) : "", "]");
  }
  const std::string row = along_depth_ ? n + "_row" : n + "_row + q";
  const std::string at = absl::StrCat(n, "_depth / ", format_.numbers, along_depth_ ? " + q" : "");
  return absl::StrCat(rounds_loop, row_at, depth_at, unroll, "for (int q = 0; q < ", adjacent,
                      "; q += ", access, ") {\nPack<unsigned int, ", access, "> words;\n", unroll,
                      "for (int w = 0; w < ", access, "; ++w) words.at[w] = ", format_.make, "(",
                      numbers, ");\nStorePack<", access, ">(&", At(row, at), ", words);\n}\n}\n");
}

}  // namespace lemma::codegen
