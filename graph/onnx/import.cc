#include "graph/onnx/import.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/sizes/totals.h"

namespace lemma {

bool LooksLikeOnnx(absl::string_view bytes) {
  // Field 1 of ModelProto, the IR version, is written first and is a small number.
  return bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] < 64;
}

std::map<std::string, int> UnknownOperators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->IsOp("opaque")) continue;
    const std::string& domain = node->String("domain");
    ++counts[absl::StrCat(domain, domain.empty() ? "" : ".", node->String("op_type"))];
  }
  return counts;
}

static absl::Status ParseModel(absl::string_view bytes, onnx::ModelProto* model) {
  if (static_cast<int64_t>(bytes.size()) > kMaxProtoBytes) {
    return absl::InvalidArgumentError(
        "larger than 2 GB; such a model keeps weights in external data");
  }
  bool parsed = model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (parsed && model->has_graph()) return absl::OkStatus();
  return absl::InvalidArgumentError(LooksLikeOnnx(bytes) ? "the ONNX model is truncated or damaged"
                                                         : "not an ONNX model");
}

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes,
                                              const ImportOptions& options) {
  onnx::ModelProto model;
  if (auto status = ParseModel(bytes, &model); !status.ok()) return status;
  return ModelImporter(&model, options, "").Run();
}

namespace {

// A model's file, whose import may be tried several times: with dimensions fixed to numbers.
class Import {
 public:
  Import(const std::string& path, const ImportOptions& options) : path_(path), options_(options) {}

  absl::StatusOr<ImportedModel> Run() {
    if (!options_.fixes_sizes || !options_.symbolic) return Attempt();
    const bool has_values = !options_.inputs.empty() || !options_.input_values.empty();
    const bool keeps_loops = std::exchange(options_.keeps_loops, true);
    auto imported = Fixed();
    if (imported.ok() || keeps_loops || !has_values) return imported;
    options_.keeps_loops = false;
    return Fixed();
  }

 private:
  // The import with fixes_sizes.
  absl::StatusOr<ImportedModel> Fixed() {
    usual_.clear();
    const std::map<std::string, int64_t> dims = options_.dims;
    auto imported = FixedFrom(Attempt());
    options_.dims = dims;
    return imported;
  }

  absl::StatusOr<ImportedModel> FixedFrom(absl::StatusOr<ImportedModel> first) {
    const DimValues needed = needed_;
    if (auto longer = WithLongerDims(first)) return *std::move(longer);
    needed_ = needed;
    if (first.ok() || !Fix()) return first;
    // Which sizes a model accepts, and which of them have to be equal, only trying can tell. Sizes
    // at which fewer operators are kept as they are count as better.
    std::optional<ImportedModel> best;
    const auto take = [&](absl::StatusOr<ImportedModel> imported) {
      if (!imported.ok() || (best && CountKept(*imported) >= CountKept(*best))) return;
      best = *std::move(imported);
      for (const auto& [name, size] : usual_) best->bound_dims[name] = options_.dims.at(name);
    };
    const bool has_values = !options_.inputs.empty() || !options_.input_values.empty();
    const auto begin = std::chrono::steady_clock::now();
    for (const int64_t length : {0, 256, 512, 1024, 2048}) {
      for (uint32_t ones = 0; ones < kMaxChoices && ones >> Lengths() == 0; ++ones) {
        Choose(length, ones);
        absl::StatusOr<ImportedModel> imported = Attempt();
        while (!imported.ok() && Fix()) imported = Attempt();
        take(std::move(imported));
        if (best && CountKept(*best) == 0) return Noted(*std::move(best), first.status());
        const auto limit = best ? kMostTimeForBetter : kMostTime;
        const bool is_late = std::chrono::steady_clock::now() - begin > limit;
        if (!has_values && !is_late) continue;
        if (best) return Noted(*std::move(best), first.status());
        return first;
      }
    }
    if (best) return Noted(*std::move(best), first.status());
    return first;
  }

  // The import with raised least lengths (ImportOptions::fixes_sizes); nullopt if it is no better
  // than `first`, the result of the last attempt.
  std::optional<ImportedModel> WithLongerDims(const absl::StatusOr<ImportedModel>& first) {
    constexpr int kMostAttempts = 8;
    const std::map<std::string, SizeRange> given = options_.ranges;
    std::map<std::string, std::string> reasons;  // by dimension
    std::optional<ImportedModel> best;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kMostAttempts && Raise(given, first.ok(), &reasons); ++i) {
      if (std::chrono::steady_clock::now() - begin > kMostTime) break;
      auto imported = Attempt();
      if (!imported.ok()) continue;
      const int kept = CountKept(*imported);
      if (best ? kept >= CountKept(*best) : first.ok() && kept >= CountKept(*first)) break;
      best = *std::move(imported);
      for (const auto& [name, reason] : reasons) {
        const int64_t least = options_.ranges.at(name).least;
        best->notes.push_back(absl::StrCat("dimension ", name, " is at least ", least,
                                           " here (shorter ones are left out), for ", reason,
                                           "; --range ", name, "=LEAST:MOST gives another range"));
      }
    }
    options_.ranges = given;
    return best;
  }

  // Raises the least lengths of dimensions without a given range to those that the last attempt
  // asked for; false if there is nothing to raise.
  bool Raise(const std::map<std::string, SizeRange>& given, bool only_errors,
             std::map<std::string, std::string>* reasons) {
    bool raised = false;
    for (const AskedSize& asked : asked_) {
      if (only_errors && !asked.is_error) continue;
      const auto length = LeastLength(asked);
      if (!length || given.count(length->first) > 0 || IsUsedBelow(*length)) continue;
      SizeRange& range = options_.ranges[length->first];
      if (range.least >= length->second) continue;
      range.least = length->second;
      (*reasons)[length->first] = asked.node;
      raised = true;
    }
    return raised;
  }

  // Whether the model is used at a size below this least length.
  bool IsUsedBelow(const std::pair<std::string, int64_t>& length) const {
    for (const DimValues* sizes : {&options_.used_sizes, &of_values_}) {
      const auto used = sizes->find(length.first);
      if (used != sizes->end() && used->second < length.second) return true;
    }
    return false;
  }

  absl::StatusOr<ImportedModel> Attempt() {
    needed_.clear();
    asked_.clear();
    auto file = MappedFile::Open(path_);
    if (!file.ok()) return file.status();
    onnx::ModelProto model;
    LEMMA_RETURN_IF_ERROR(ParseModel((*file)->bytes(), &model));
    *file = nullptr;  // its bytes have been copied
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    ModelImporter importer(&model, options_, folder.empty() ? "." : folder);
    auto imported = importer.Run();
    sizes_ = importer.UsualSizes();
    asked_ = importer.asked_sizes();
    of_values_ = importer.SizesOfValues();
    // With numbers, an invalid size is what it says, and no other dimension is the reason.
    const bool is_invalid = !usual_.empty() && absl::IsInvalidArgument(imported.status());
    if (!imported.ok() && !is_invalid) needed_ = importer.needed_sizes();
    if (imported.ok() || importer.default_dims().empty()) return imported;
    return absl::Status(
        imported.status().code(),
        absl::StrCat(imported.status().message(), "; ",
                     absl::StrJoin(importer.default_dims(), ", "),
                     importer.default_dims().size() == 1 ? " is" : " are", " taken to be ",
                     options_.default_dim, " here: --dim NAME=SIZE gives another size"));
  }

  static int CountKept(const ImportedModel& model) {
    int count = 0;
    for (const auto& [name, times] : UnknownOperators(model.graph)) count += times;
    return count;
  }

  ImportedModel Noted(ImportedModel imported, const absl::Status& why) const {
    for (const auto& [name, usual] : usual_) {
      imported.notes.push_back(absl::StrCat("dimension ", name, " is fixed to ",
                                            imported.bound_dims.at(name), "; --dim ", name,
                                            "=SIZE gives another size"));
    }
    imported.notes.push_back(absl::StrCat("they are fixed, since ", why.message()));
    return imported;
  }

  // Fixes the dimensions that the last attempt needs numbers for to usual sizes; false if it needs
  // none, or if a range is given for one.
  bool Fix() {
    for (const auto& [name, size] : needed_) {
      if (options_.ranges.count(name) > 0) return false;
    }
    for (const auto& [name, size] : needed_) usual_[name] = options_.dims[name] = size;
    return !needed_.empty();
  }

  // The number of fixed dimensions that are not usually 1.
  int Lengths() const {
    const auto count = std::count_if(usual_.begin(), usual_.end(),
                                     [](const auto& dim) { return dim.second != 1; });
    return static_cast<int>(std::min<int64_t>(count, 31));
  }

  // Gives the fixed dimensions that are not usually 1 this length, or their usual sizes if it is 0;
  // those whose bit in `ones` is set become 1. Totals are the sums of their parts then.
  void Choose(int64_t length, uint32_t ones) {
    DimValues sizes = sizes_;
    std::set<std::string> fixed;
    for (const auto& [name, size] : sizes) fixed.insert(name);
    int bit = 0;
    for (const auto& [name, size] : usual_) {
      fixed.erase(name);
      if (size == 1) continue;
      sizes[name] = (ones >> bit & 1) != 0 ? 1 : length == 0 ? size : length;
      bit = std::min(bit + 1, 31);
    }
    FitTotals(fixed, &sizes);
    for (const auto& [name, size] : usual_) options_.dims[name] = sizes.at(name);
  }

  static constexpr uint32_t kMaxChoices = 1 << 4;
  static constexpr std::chrono::seconds kMostTime{10}, kMostTimeForBetter{2};

  const std::string path_;
  ImportOptions options_;
  DimValues needed_;              // by the last attempt, with usual sizes
  std::vector<AskedSize> asked_;  // by the last attempt
  DimValues of_values_;           // sizes that given values of inputs have
  DimValues usual_;               // of the dimensions that are fixed
  DimValues sizes_;               // of all dimensions in the last attempt
};

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  auto imported = Import(path, options).Run();
  // A file that cannot be read names itself.
  if (imported.ok() || absl::StartsWith(imported.status().message(), path)) return imported;
  return absl::Status(imported.status().code(),
                      absl::StrCat(path, ": ", imported.status().message()));
}

}  // namespace lemma
