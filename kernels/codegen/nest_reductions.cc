// Prints reductions: by one thread, or by the threads of a warp or a block together.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/number.h"

namespace lemma::codegen {

using loops::kCondTrue;

// Emits the statements of one reduction step into the innermost scope.
void NestPrinter::Accumulate(const loops::Node& node, Number number, const std::string& name) {
  auto step = [&] {
    const std::string value = Argument(node.args[0], number);
    Add(absl::StrCat(name, " = ", ReduceFunction(node.reduce), "(", name, ", ", value, ");\n"));
  };
  if (node.guard == kCondTrue) return step();
  const std::string condition = Condition(node.guard);
  Open({}, false);
  step();
  const std::string text = Close();
  Add(absl::StrCat("if (", condition, ") {\n", text, "}\n"));
}

std::string NestPrinter::Reduce(int n, Number number, const std::string& name) {
  const loops::Node& node = nest_.nodes[n];
  Add(absl::StrCat(TypeName(number), " ", name, " = ", Literal(IdentityOf(node.reduce), number),
                   ";\n"));
  std::vector<std::string> heads;
  for (const auto& [var, extent] : node.axes) {
    const std::string v = VarName(var);
    heads.push_back(absl::StrCat("for (", index_type(), " ", v, " = 0; ", v, " < ",
                                 AffineText(extent), "; ++", v, ") {\n"));
    Open({var}, extent.is_const() && extent.base > 0);
  }
  Accumulate(node, number, name);
  for (size_t i = heads.size(); i-- > 0;) {
    const std::string body = Close();
    Add(absl::StrCat(heads[i], body, "}\n"));
  }
  return name;
}

// Emits the steps that one thread takes with one set of packs.
void NestPrinter::AccumulatePacks(const loops::Node& node, Number number, const std::string& name,
                                  const ReductionPack& pack) {
  const int var = node.axes.back().first;
  const std::string u = name + "_u", v = VarName(var);
  SetPacked(pack.reads, var, pack.width, u);
  Open({var}, true);
  Accumulate(node, number, name);
  const std::string step = Close();
  SetPacked({}, -1, 1, "");
  Add(absl::StrCat("#pragma unroll\nfor (int ", u, " = 0; ", u, " < ", pack.width, "; ++", u,
                   ") {\nconst ", index_type(), " ", v, " = ", v, "_start + ", u, ";\n", step,
                   "}\n"));
}

std::string NestPrinter::CooperativeReduce(int n, Number number, const std::string& name) {
  const loops::Node& node = nest_.nodes[n];
  const std::string part = name + "_part", step = name + "_step", type = TypeName(number);
  const auto which = std::find(cooperative_.begin(), cooperative_.end(), n) - cooperative_.begin();
  const ReductionPack pack =
      which < static_cast<std::ptrdiff_t>(packs_.size()) ? packs_[which] : ReductionPack();
  const bool packs = pack.width > 1;
  int64_t steps = 1;
  std::vector<int> vars;
  for (const auto& [var, extent] : node.axes) {
    steps *= extent.base;
    vars.push_back(var);
  }
  steps /= pack.width;
  Add(absl::StrCat(type, " ", part, " = ", Literal(IdentityOf(node.reduce), number), ";\n"));
  Open(packs ? std::vector<int>(vars.begin(), vars.end() - 1) : vars, true);
  int64_t inner = steps;
  for (size_t i = 0; i < node.axes.size(); ++i) {
    const bool packed = packs && i + 1 == node.axes.size();
    const int64_t extent = node.axes[i].second.base / (packed ? pack.width : 1);
    inner /= extent;
    std::string digit = step;
    if (inner != 1) absl::StrAppend(&digit, " / ", inner);
    if (i > 0) absl::StrAppend(&digit, " % ", extent);
    Add(absl::StrCat("const ", index_type(), " ", VarName(vars[i]),
                     packed ? absl::StrCat("_start = (", digit, ") * ", pack.width) : " = " + digit,
                     ";\n"));
  }
  if (packs) {
    AccumulatePacks(node, number, part, pack);
  } else {
    Accumulate(node, number, part);
  }
  const std::string body = Close();
  Add(absl::StrCat("for (", index_type(), " ", step, " = lane; ", step, " < ", steps, "; ", step,
                   " += ", options_.group, ") {\n", body, "}\n"));
  return Declare(number, name,
                 options_.group == 32
                     ? absl::StrCat("WarpReduce<", ReduceName(node.reduce), ">(", part, ")")
                     : absl::StrCat("BlockReduce<", ReduceName(node.reduce), ", ", options_.group,
                                    ">(", part, ", shared)"));
}

}  // namespace lemma::codegen
