// Results of checks as text.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/check.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

// How the input has to be read so that its graph is the certificate's: sizes, new weights.
std::string HowRead(const CheckResult& answer) {
  const Certificate& certificate = answer.certificate;
  std::string text;
  for (const auto& [name, size] : certificate.dims) absl::StrAppend(&text, ", ", name, " = ", size);
  for (const auto& [name, size] : answer.assumed) {
    absl::StrAppend(&text, ", ", name, " taken to be ", size);
  }
  for (const auto& [name, range] : certificate.symbolic) {
    absl::StrAppend(&text, ", every ", name, " from ", range.least,
                    range.most < SizeRange::kNoLimit ? absl::StrCat(" to ", range.most) : " on");
  }
  for (const auto& [name, value] : certificate.fixed_inputs) {
    absl::StrAppend(&text, ", input ", name, " = ", absl::StrJoin(value.ToInts(), " "));
  }
  if (certificate.reseed) {
    absl::StrAppend(&text, ", weights replaced by random ones of seed ", *certificate.reseed);
  }
  return text;
}

const char* IsOrAre(int64_t count) { return count == 1 ? " is" : " are"; }

// Kernels of one kind of schedule.
struct ScheduleRow {
  int64_t kernels = 0, right = 0;
  std::vector<double> seconds;  // by program
};

// "by tile" of "by tile 64x32x16 by 128".
std::string FamilyOf(const CheckedProgram& program) {
  if (program.kernels > 1) return "several kernels";
  const std::vector<std::string> words = absl::StrSplit(program.schedule, absl::ByAnyChar(" ,"));
  return absl::StrJoin(words.begin(), words.begin() + std::min<size_t>(2, words.size()), " ");
}

std::string SchedulesText(const KernelCheck& check) {
  std::map<std::string, ScheduleRow> rows;
  for (const CheckedProgram& program : check.programs) {
    ScheduleRow& row = rows[FamilyOf(program)];
    row.kernels += program.count();
    row.right += program.agrees ? program.count() : 0;
    row.seconds.push_back(program.seconds);
  }
  std::string text = absl::StrFormat("%-16s %8s %8s %18s %8s\n", "schedule", "kernels", "right",
                                     "seconds, median", "most");
  for (auto& [name, row] : rows) {
    absl::c_sort(row.seconds);
    absl::StrAppendFormat(&text, "%-16s %8d %8d %18.3f %8.3f\n", name, row.kernels, row.right,
                          row.seconds[row.seconds.size() / 2], row.seconds.back());
  }
  return text;
}

}  // namespace

std::string TextOf(const CheckResult& answer, const std::string& advice) {
  const Certificate& c = answer.certificate;
  const CertificateCheck& check = answer.check;
  if (!check.ok()) {
    return absl::StrCat("REJECTED: ", check.step > 0 ? absl::StrCat("step ", check.step, ": ") : "",
                        Printable(absl::StrCat(answer.problem(), advice)), "\n");
  }
  std::string text =
      absl::StrCat("checked: ", FormatCount(static_cast<int64_t>(c.steps.size()), "step"), " by ",
                   FormatCount(static_cast<int64_t>(c.rules.size()), "rule"), ", ",
                   FormatCount(static_cast<int64_t>(c.folds.size()), "constant"), " folded, ",
                   Name(c.contract), " (", Name(c.result), Printable(HowRead(answer)), ")\n");
  if (check.bodies > 0) {
    absl::StrAppend(&text, FormatCount(check.bodies, "new loop body"),
                    ", checked by a certificate inside this one\n");
  }
  for (const certificate::CheckedMutant& mutant : check.mutants) {
    absl::StrAppend(&text, "a corrected mutant is ", Name(mutant.contract), ": its ",
                    mutant.elements, " elements are equal, ", mutant.compared, " of them modulo ",
                    mutant.prime, "\n");
  }
  if (check.by_steps > 0) {
    text +=
        "each step agrees by itself; in the field, an index of the whole model is outside its "
        "tensor\n";
  } else if (check.samples > 0) {
    absl::StrAppend(&text, "input and output agree in the field: ", check.samples, " x ",
                    FormatCount(check.elements, "element"), "\n");
  }
  if (check.steps_in_double > 0) {
    absl::StrAppend(&text, FormatCount(check.steps_in_double, "step"),
                    " by laws that the field lacks, or that round constants, ",
                    check.steps_in_double == 1 ? "agrees" : "agree", " in double\n");
  }
  if (check.samples > 0 || !check.mutants.empty()) {
    absl::StrAppend(&text, "repeatable with --seed=", answer.seed, "\n");
  }
  return text;
}

std::string TextOf(const PlanCheck& check, const std::string& backend) {
  if (!check.ok()) return absl::StrCat("REJECTED: ", check.problem, "\n");
  if (backend == "cuda") {
    const int64_t launches = check.compared + check.by_definition;
    return absl::StrCat("checked: of ", launches, launches == 1 ? " launch" : " launches",
                        " each finds in memory what its operators read, in every order that the "
                        "plan allows; ",
                        check.compared, check.compared == 1 ? " is a product" : " are products",
                        ", described to the library as ", check.compared == 1 ? "its" : "their",
                        " operators mean on random values, ", check.by_definition,
                        IsOrAre(check.by_definition), " generated or copies\n");
  }
  std::string text = absl::StrCat(
      "checked: ", FormatCount(check.proved, "kernel"), " of the library", IsOrAre(check.proved),
      " proved to compute, in real numbers, what ", check.proved == 1 ? "its" : "their",
      " operators mean, ", check.compared, check.compared == 1 ? " computes" : " compute",
      " it on random values, ", check.by_definition, IsOrAre(check.by_definition),
      " generated or our own; each element stays in memory until it is read\n");
  if (check.in_blocks > 0) {
    absl::StrAppend(&text, FormatCount(check.in_blocks, "operator"), " on blocks of large values",
                    IsOrAre(check.in_blocks), " proved to compute these blocks, in real numbers\n");
  }
  return text;
}

std::string TextOf(const KernelCheck& check) {
  if (!check.ok()) return absl::StrCat("REJECTED: ", check.problem, "\n");
  std::string text = SchedulesText(check);
  int64_t kernels = 0, right = 0;
  for (const CheckedProgram& program : check.programs) {
    kernels += program.count();
    right += program.agrees ? program.count() : 0;
    if (program.agrees) continue;
    absl::StrAppend(&text, "not checked: ", program.count(), " x ", program.operators, " (",
                    program.schedule, "): ", program.reason, "\n");
  }
  absl::StrAppendFormat(
      &text,
      "%s: %d of %d generated kernels, executed for every thread in exact arithmetic, stay inside "
      "their tensors, write each element once, do not race, and give what their operators define "
      "at random points of a field (repeatable with --seed=%d)\n",
      right == kernels ? "checked" : "NOT ALL CHECKED", right, kernels, check.seed);
  return text;
}

}  // namespace lemma::api
