#include "api/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/draw.h"
#include "api/execution/backends.h"
#include "api/version.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "graph/text/text.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::api {
namespace {

using State = ExaminedPart::State;

// The value of a line "key : value" of /proc/cpuinfo; empty if there is none.
std::string ProcessorInfo(absl::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return "";
}

ExaminedPart Processor() {
  const std::vector<std::string> flags = absl::StrSplit(ProcessorInfo("flags"), ' ');
  std::vector<std::string> found;
  for (const char* flag :
       {"avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_tile"}) {
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) found.push_back(flag);
  }
  ExaminedPart finding{"processor", State::kWorks, ProcessorInfo("model name"), ""};
  absl::StrAppend(
      &finding.detail, finding.detail.empty() ? "" : ", ", std::thread::hardware_concurrency(),
      " threads, ",
      found.empty() ? "no vector instructions that Lemma uses" : absl::StrJoin(found, " "));
  if (std::find(found.begin(), found.end(), "avx2") == found.end()) {
    finding.use = "without AVX2, kernels are several times slower";
  }
  return finding;
}

ExaminedPart Memory() {
  const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return {"memory", State::kWorks, FormatBytes(bytes), ""};
}

// A product, a sum over an axis and an element-wise operator, with results that are exact.
constexpr char kGraph[] =
    "graph trial() { x = constant f32[2,3] [1.0, -2.0, 3.0, 0.5, 4.0, -1.0] "
    "w = constant f32[3,2] [2.0, 0.0, 1.0, -1.0, 0.0, 4.0] p = matmul(x, w) r = relu(p) "
    "s = reduce_sum(r) {axes = [1]} return s }";
constexpr double kResults[] = {14, 5};

absl::StatusOr<bool> GivesRightResults(Backend& backend) {
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, ParseGraph(kGraph));
  LEMMA_ASSIGN_OR_RETURN(const auto executable, backend.Compile(graph, {}));
  LEMMA_ASSIGN_OR_RETURN(const auto results, executable->Run({}));
  return results[0].AtDouble(0) == kResults[0] && results[0].AtDouble(1) == kResults[1];
}

ExaminedPart TryBackend(const std::string& name) {
  ExaminedPart finding{absl::StrCat("back end ", name), State::kWorks, "", ""};
  auto backend = MakeBackend(name);
  if (!backend.ok()) {
    finding.state = State::kBroken;
    finding.detail = std::string(backend.status().message());
    return finding;
  }
  finding.detail = (*backend)->version();
  const auto right = GivesRightResults(**backend);
  if (right.ok() && *right) return finding;
  const absl::Status& status = right.status();
  const bool missing = absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status) ||
                       absl::IsNotFound(status) || absl::IsUnavailable(status);
  finding.state = missing ? State::kMissing : State::kBroken;
  if (right.ok()) {
    absl::StrAppend(&finding.detail, ": wrong results");
  } else if (finding.detail != status.message()) {
    absl::StrAppend(&finding.detail, ": ", status.message());
  }
  if (missing) finding.use = IsTarget(name) ? "needed for --target and hunt" : "needed for a GPU";
  return finding;
}

ExaminedPart Solver() {
  ExaminedPart finding{"cvc5", State::kMissing, "not in PATH", "needed for --recheck=cvc5"};
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string file = absl::StrCat(folder, "/cvc5");
    if (access(file.c_str(), X_OK) != 0) continue;
    return {"cvc5", State::kWorks, file, ""};
  }
  return finding;
}

ExaminedPart Drawing() {
  const auto svg = DotToSvg("digraph { a -> b }");
  if (svg.ok()) return {"drawing", State::kWorks, "Graphviz draws SVG", ""};
  return {"drawing", State::kBroken, std::string(svg.status().message()),
          "pictures in reports are left out"};
}

ExaminedPart Costs(const std::string& path) {
  if (path.empty()) {
    return {"costs", State::kMissing, "no home folder", "--cost-db=FILE keeps measured costs"};
  }
  if (access(path.c_str(), F_OK) != 0) {
    return {"costs", State::kWorks, absl::StrCat(path, ": no measured kernels yet"), ""};
  }
  auto database = optimizer::CostDb::Open(path);
  auto count = database.ok() ? (*database)->Count() : database.status();
  if (!count.ok()) return {"costs", State::kBroken, std::string(count.status().message()), ""};
  return {"costs", State::kWorks, absl::StrCat(path, ": ", *count, " measured kernels"), ""};
}

}  // namespace

const char* Name(ExaminedPart::State state) {
  static constexpr const char* kNames[] = {"works", "missing", "broken"};
  return kNames[static_cast<int>(state)];
}

std::vector<ExaminedPart> Examine(const std::string& costs) {
  std::vector<ExaminedPart> findings = {Processor(), Memory()};
  std::vector<std::string> backends = BackendNames();
  for (const std::string& name : TargetNames()) backends.push_back(name);
  for (const std::string& name : backends) findings.push_back(TryBackend(name));
  findings.push_back(Solver());
  findings.push_back(Drawing());
  findings.push_back(Costs(costs));
  return findings;
}

bool IsBroken(const std::vector<ExaminedPart>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const ExaminedPart& part) { return part.state == State::kBroken; });
}

std::string TextOf(const std::vector<ExaminedPart>& parts) {
  TextTable table({absl::StrCat("lemma ", kVersion), "<", "<"});
  for (const ExaminedPart& part : parts) {
    table.Row({part.what, Name(part.state),
               absl::StrCat(part.detail, part.use.empty() ? "" : "; ", part.use)});
  }
  return table.ToString();
}

}  // namespace lemma::api
