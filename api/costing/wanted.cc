// Kernels whose costs a search estimated: as a file, and measured.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/costs.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "graph/barrier.h"
#include "graph/text/text.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::api {
namespace {

constexpr int kRepetitions = 3;
constexpr char kHeading[] = "# lemma wanted kernels 1", kDevice[] = "# device ",
               kKernel[] = "# kernel ";

struct WantedKernel {
  std::string signature;
  Graph graph;
};

struct WantedFile {
  std::string device;
  std::vector<WantedKernel> kernels;
};

absl::StatusOr<WantedFile> ReadWanted(const std::string& file) {
  constexpr int64_t kMostBytes = int64_t{256} << 20;
  LEMMA_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMostBytes));
  if (!absl::StartsWith(text, kHeading)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": not a file of wanted kernels, which begins with '", kHeading, "'"));
  }
  WantedFile wanted;
  std::vector<std::string> signatures;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, kDevice)) wanted.device = std::string(line);
    if (absl::ConsumePrefix(&line, kKernel)) signatures.emplace_back(line);
  }
  ParseOptions options;
  options.file = file;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Graph> graphs, ParseGraphs(text, options));
  if (graphs.size() != signatures.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", signatures.size(), " kernels, but ", graphs.size(), " graphs"));
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    wanted.kernels.push_back({signatures[i], graphs[i]});
  }
  return wanted;
}

}  // namespace

void WantedKernels::Add(const PlannedKernel& kernel, double ms) {
  if (kernel.nodes.empty() || IsOffload(*kernel.nodes.front())) return;
  const absl::StatusOr<Graph> graph =
      GraphOfNodes(kernel.nodes, absl::StrCat("k", kernels_.size()));
  if (!graph.ok()) {
    ++left_out_;
    return;
  }
  kernels_.push_back({ms, absl::StrCat(kKernel, kernel.signature, "\n", PrintGraph(*graph))});
}

std::string WantedKernels::Text() const {
  std::vector<std::pair<double, std::string>> sorted = kernels_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = absl::StrCat(kHeading, "\n", kDevice, device_, "\n");
  for (const auto& [ms, kernel] : sorted) absl::StrAppend(&text, kernel, "\n");
  return text;
}

absl::StatusOr<MeasuredKernels> MeasureWanted(const std::string& file,
                                              const MeasureWantedOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const WantedFile wanted, ReadWanted(file));
  const std::vector<WantedKernel>& kernels = wanted.kernels;
  KernelMeasurer* measurer = nullptr;
  std::vector<std::string> devices;
  for (KernelMeasurer* other : options.measurers) {
    devices.push_back(absl::StrCat("'", other->device(), "'"));
    if (other->device() == wanted.device) measurer = other;
  }
  if (measurer == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(file, ": has kernels of '", wanted.device,
                                                      "'; this machine is ",
                                                      absl::StrJoin(devices, " or ")));
  }
  LEMMA_ASSIGN_OR_RETURN(const auto db, optimizer::CostDb::Open(options.database));
  MeasuredKernels result;
  result.device = wanted.device;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (options.deadline.Passed()) break;
    LEMMA_ASSIGN_OR_RETURN(const auto known, db->Find(result.device, kernels[i].signature));
    if (known) {
      ++result.known;
      continue;
    }
    PlannedKernel kernel;
    kernel.signature = kernels[i].signature;
    for (const NodePtr& node : kernels[i].graph.nodes()) {
      if (node->is_op()) kernel.nodes.push_back(node);
    }
    std::vector<double> ms;
    for (int k = 0; k < kRepetitions; ++k) {
      const absl::StatusOr<double> once = measurer->MeasureMs(kernel);
      if (absl::IsUnimplemented(once.status()) || absl::IsResourceExhausted(once.status())) break;
      if (!once.ok()) return once.status();
      ms.push_back(*once);
    }
    if (ms.empty()) {
      ++result.failed;
      continue;
    }
    const Work work = measurer->WorkOf(kernel);
    optimizer::MeasuredCost cost = optimizer::Summarize(ms);
    cost.flops = work.flops;
    cost.bytes = work.bytes_read + work.bytes_written;
    if (absl::Status s = db->Put(result.device, kernel.signature, cost).status(); !s.ok()) return s;
    ++result.measured;
    if (options.on_kernel) {
      options.on_kernel(kernel.signature, static_cast<int>(kernels.size() - i - 1));
    }
  }
  result.left = static_cast<int>(kernels.size()) - result.measured - result.known - result.failed;
  return result;
}

std::vector<std::unique_ptr<KernelMeasurer>> WantedMeasurers() {
  BackendOptions by_model;
  by_model.tiles = kModelTiles;
  std::vector<std::unique_ptr<KernelMeasurer>> measurers;
  for (const char* backend : {"cuda", "cuda-generated"}) {
    measurers.push_back(MakeMeasurer(backend, 1, by_model));
  }
  return measurers;
}

std::string TextOf(const MeasuredKernels& done) {
  std::string text =
      absl::StrCat(FormatCount(done.measured, "kernel"), " measured on ", done.device);
  if (done.known > 0)
    absl::StrAppend(&text, "; ", done.known, done.known == 1 ? " was" : " were", " known");
  if (done.failed > 0) absl::StrAppend(&text, "; ", done.failed, " cannot run there");
  if (done.left > 0)
    absl::StrAppend(&text, "; ", done.left, done.left == 1 ? " is" : " are", " left");
  return text + "\n";
}

}  // namespace lemma::api
