#include "api/report/words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

struct Noun {
  std::string one, many;
};

// The operator's name as a noun.
Noun NounOf(const std::string& op) {
  static const auto* const kNouns = new std::map<std::string, Noun>({
      {"add", {"addition", "additions"}},
      {"avg_pool2d", {"average pooling", "average poolings"}},
      {"batch_norm", {"normalization", "normalizations"}},
      {"cast", {"conversion", "conversions"}},
      {"concat", {"concatenation", "concatenations"}},
      {"conv2d", {"convolution", "convolutions"}},
      {"conv_transpose2d", {"transposed convolution", "transposed convolutions"}},
      {"div", {"division", "divisions"}},
      {"expand", {"expansion", "expansions"}},
      {"gelu", {"GELU", "GELUs"}},
      {"layer_norm", {"layer normalization", "layer normalizations"}},
      {"matmul", {"matrix product", "matrix products"}},
      {"max_pool2d", {"max pooling", "max poolings"}},
      {"mul", {"multiplication", "multiplications"}},
      {"neg", {"negation", "negations"}},
      {"pad", {"padding", "paddings"}},
      {"pow", {"power", "powers"}},
      {"reduce_mean", {"mean", "means"}},
      {"reduce_sum", {"sum", "sums"}},
      {"relu", {"ReLU", "ReLUs"}},
      {"reshape", {"reshape", "reshapes"}},
      {"scalar_mul", {"scaling", "scalings"}},
      {"silu", {"SiLU", "SiLUs"}},
      {"slice", {"slice", "slices"}},
      {"softmax", {"softmax", "softmaxes"}},
      {"split", {"split", "splits"}},
      {"sqrt", {"square root", "square roots"}},
      {"sub", {"subtraction", "subtractions"}},
      {"transpose", {"transposition", "transpositions"}},
      {"where", {"selection", "selections"}},
  });
  if (auto it = kNouns->find(op); it != kNouns->end()) return it->second;
  const std::string name = absl::StrReplaceAll(op, {{"_", " "}});
  return {name, name};
}

using Counts = std::map<std::string, int>;

// The operators of the pattern that depend on more than weights. Sets *prepares, unless it is null,
// to whether there are others.
Counts RunningOperators(const Pattern& pattern, const std::vector<PatternVar>& vars,
                        bool* prepares = nullptr) {
  std::vector<bool> runs;
  Counts counts;
  for (const PatternNode& node : pattern.nodes) {
    runs.push_back(
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](const PatternValue& value) {
          return value.is_var() ? vars[value.index].role == VarRole::kAny : runs[value.node];
        }));
    if (node.op != nullptr && runs.back()) ++counts[node.op->name];
    if (node.op != nullptr && !runs.back() && prepares != nullptr) *prepares = true;
  }
  return counts;
}

Counts Minus(const Counts& a, const Counts& b) {
  Counts rest;
  for (const auto& [op, count] : a) {
    const auto it = b.find(op);
    const int left = count - (it == b.end() ? 0 : it->second);
    if (left > 0) rest[op] = left;
  }
  return rest;
}

// "a, b and c"
std::string Listed(const std::vector<std::string>& texts) {
  if (texts.size() < 2) return absl::StrJoin(texts, "");
  return absl::StrCat(absl::StrJoin(texts.begin(), texts.end() - 1, ", "), " and ", texts.back());
}

// "3 additions and 1 ReLU"
std::string Counted(const Counts& counts, int times) {
  std::vector<std::string> texts;
  for (const auto& [op, count] : counts) {
    const Noun noun = NounOf(op);
    texts.push_back(absl::StrCat(count * times, " ", count * times == 1 ? noun.one : noun.many));
  }
  return Listed(texts);
}

// "convolutions and ReLUs"; of one application "a convolution and a ReLU".
std::string Uncounted(const Counts& counts, int times) {
  std::vector<std::string> texts;
  for (const auto& [op, count] : counts) {
    const Noun noun = NounOf(op);
    const bool vowel = std::string("aeiou").find(noun.one[0]) != std::string::npos;
    texts.push_back(count * times > 1 ? noun.many : absl::StrCat(vowel ? "an " : "a ", noun.one));
  }
  return Listed(texts);
}

}  // namespace

std::string WordsOf(const Substitution& rule, int times) {
  const Counts before = RunningOperators(rule.source, rule.vars);
  bool prepares = false;
  const Counts after = RunningOperators(rule.target, rule.vars, &prepares);
  const Counts gone = Minus(before, after), fresh = Minus(after, before);
  const Counts kept = Minus(before, gone);
  if (!gone.empty() && fresh.empty()) {
    if (kept.size() > 2 && prepares)
      return absl::StrCat(Counted(gone, times), " folded into weights");
    if (kept.empty() || kept.size() > 2) return absl::StrCat(Counted(gone, times), " removed");
    // Of two equal operators, one is left: "4 transpositions merged" says it best.
    if (gone.begin()->first == kept.begin()->first && kept.size() == 1 && gone.size() == 1) {
      return absl::StrCat(Counted(before, times), " merged into ", Counted(kept, times));
    }
    return absl::StrCat(Counted(gone, times), " folded into ", Uncounted(kept, times));
  }
  if (!gone.empty()) {
    return absl::StrCat(Counted(gone, times), " replaced by ", Counted(fresh, times));
  }
  if (!fresh.empty()) return absl::StrCat(Counted(fresh, times), " added");
  return absl::StrCat(Counted(kept, times), " rearranged");
}

std::string WordsOf(FloatContract contract) {
  switch (contract) {
    case FloatContract::kBitExact:
      return "same bits";
    case FloatContract::kReassociates:
      return "may round differently";
    case FloatContract::kRealOnly:
      return "may also differ in overflow and NaN";
    case FloatContract::kBounded:
      return "may differ by a proved bound";
  }
  return "";
}

std::string ChangeText(double ms) {
  if (std::abs(ms) < 5e-5) return "0 us";  // FormatMs would give "0.0 us"
  return absl::StrCat(ms < 0 ? "-" : "+", FormatMs(std::abs(ms)));
}

std::string ShellText(const std::vector<std::string>& words) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  return absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text->append(word);
    } else {
      absl::StrAppend(text, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
    }
  });
}

}  // namespace lemma::api
