#include "rewrite/taso/operators.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rewrite/taso/format.h"

namespace lemma::taso {
namespace {

constexpr int kLastKey = kMergeCount;
constexpr int kMostOperands = 16;
constexpr int kMostParts = 16;
constexpr int kHighestRank = 6;
constexpr int kLargest = 1024;  // limit on kernels, strides and counts

struct TypeInfo {
  const char* name;
  int min_inputs, max_inputs;
  const char* problem;  // why it is not supported; nullptr if it is
};
constexpr const char* kNoOperator = "a tensor, no operator";
constexpr TypeInfo kTypes[] = {
    {"input", 0, 0, kNoOperator},
    {"weight", 0, 0, kNoOperator},
    {"any", 0, 0, "it stands for any operator"},
    {"conv2d", 2, 2, nullptr},
    {"dropout", 0, 0, "it is random"},
    {"linear", 0, 0, "the format does not say what it does"},
    {"pool2d_max", 1, 1, nullptr},
    {"pool2d_avg", 1, 1, nullptr},
    {"relu", 1, 1, nullptr},
    {"sigmoid", 1, 1, nullptr},
    {"tanh", 1, 1, nullptr},
    {"batchnorm", 0, 0, "the format does not give its epsilon"},
    {"concat", 2, kMostOperands, nullptr},
    {"split", 1, 1, nullptr},
    {"reshape", 0, 0, "the format does not give its shape"},
    {"transpose", 1, 1, nullptr},
    {"ewadd", 2, 2, nullptr},
    {"ewmul", 2, 2, nullptr},
    {"matmul", 2, 2, nullptr},
    {"mul", 2, 2, nullptr},
    {"enlarge", 1, 2, nullptr},
    {"merge_gconv", 1, 1, nullptr},
    {"constant_imm", 0, 0, nullptr},
    {"constant_iconv", 0, 0, nullptr},
    {"constant_one", 0, 0, nullptr},
    {"constant_pool", 0, 0, nullptr},
};
constexpr int kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]);

const char* NameOf(int key) {
  static constexpr const char* kNames[] = {
      "operator type", "number of inputs", "number of outputs",    "groups",
      "kernel height", "kernel width",     "stride height",        "stride width",
      "padding",       "activation",       "number of dimensions", "axis",
      "permutation",   "output shuffled",  "merge count"};
  return kNames[key];
}

}  // namespace

const char* TasoOp::name() const { return kTypes[type_].name; }

absl::Status TasoOp::Require(int key, int lo, int hi) {
  auto it = parameters_.find(key);
  if (it == parameters_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", key, " (", NameOf(key), ") is missing"));
  }
  if (it->second < lo || it->second > hi) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", key, " (", NameOf(key), ") is ",
                                                   it->second, ", not in [", lo, ", ", hi, "]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TasoOp> TasoOp::Read(const Operator& op) {
  if (!op.has_type()) return absl::InvalidArgumentError("its type is missing");
  if (op.type() < 0 || op.type() >= kNumTypes) {
    return absl::InvalidArgumentError(absl::StrCat("there is no operator type ", op.type()));
  }
  TasoOp result;
  result.type_ = op.type();
  const TypeInfo& info = kTypes[op.type()];
  if (info.problem != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(info.name, " (operator type ", op.type(),
                                                   ") is not supported: ", info.problem));
  }
  if (op.input_size() < info.min_inputs || op.input_size() > info.max_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        info.name, " has ", op.input_size(), " operands, it takes ", info.min_inputs,
        info.max_inputs > info.min_inputs ? absl::StrCat(" to ", info.max_inputs) : ""));
  }
  absl::Status status = result.ReadParameters(op);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(info.name, ": ", status.message()));
  }
  return result;
}

absl::Status TasoOp::ReadParameters(const Operator& op) {
  for (const Parameter& p : op.para()) {
    if (!p.has_key() || !p.has_value()) {
      return absl::InvalidArgumentError("a parameter lacks its key or its value");
    }
    if (p.key() < 0 || p.key() > kLastKey) {
      return absl::InvalidArgumentError(absl::StrCat("there is no parameter ", p.key()));
    }
    if (!parameters_.emplace(p.key(), p.value()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", p.key(), " (", NameOf(p.key()), ") is given twice"));
    }
  }
  const bool pools = type_ == kMaxPool || type_ == kAvgPool;
  if (type_ == kMatmul || type_ == kConv) LEMMA_RETURN_IF_ERROR(Require(kActivation, 0, 3));
  if (parameters_.count(kActivation)) LEMMA_RETURN_IF_ERROR(Require(kActivation, 0, 3));
  if (type_ == kConv || pools) {
    LEMMA_RETURN_IF_ERROR(Require(kStrideH, 1, kLargest));
    LEMMA_RETURN_IF_ERROR(Require(kStrideW, 1, kLargest));
    LEMMA_RETURN_IF_ERROR(Require(kPadding, 0, 1));
  }
  const bool enlarges = type_ == kEnlarge && op.input_size() == 1;
  if (pools || enlarges || type_ == kIdentityKernel || type_ == kPoolKernel) {
    LEMMA_RETURN_IF_ERROR(Require(kKernelH, 1, kLargest));
    LEMMA_RETURN_IF_ERROR(Require(kKernelW, 1, kLargest));
  }
  if (type_ == kConcat) LEMMA_RETURN_IF_ERROR(CheckConcat(op.input_size()));
  if (type_ == kSplit) {
    LEMMA_RETURN_IF_ERROR(Require(kNumOutputs, 2, kMostParts));
    LEMMA_RETURN_IF_ERROR(Require(kAxis, 0, kHighestRank - 1));
    num_outputs_ = At(kNumOutputs);
  }
  if (type_ == kTranspose) LEMMA_RETURN_IF_ERROR(CheckTranspose());
  if (type_ == kMergeGroups) {
    if (!parameters_.count(kMergeCount) && parameters_.count(kGroups)) {
      parameters_[kMergeCount] = At(kGroups);
    }
    LEMMA_RETURN_IF_ERROR(Require(kMergeCount, 1, kMostParts));
  }
  return absl::OkStatus();
}

absl::Status TasoOp::CheckConcat(size_t inputs) const {
  TasoOp* self = const_cast<TasoOp*>(this);
  LEMMA_RETURN_IF_ERROR(self->Require(kNumDims, 1, kHighestRank));
  LEMMA_RETURN_IF_ERROR(self->Require(kAxis, 0, At(kNumDims) - 1));
  if (parameters_.count(kNumInputs) && At(kNumInputs) != static_cast<int>(inputs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter 1 (number of inputs) is ", At(kNumInputs), ", there are ", inputs));
  }
  return absl::OkStatus();
}

// Digits of the permutation in base number-of-dimensions, least significant last.
absl::Status TasoOp::CheckTranspose() {
  LEMMA_RETURN_IF_ERROR(Require(kNumDims, 1, kHighestRank));
  const int rank = At(kNumDims);
  LEMMA_RETURN_IF_ERROR(Require(kPermutation, 0, INT32_MAX));
  int code = At(kPermutation);
  permutation_.assign(rank, 0);
  for (int i = rank - 1; i >= 0; --i) {
    permutation_[i] = code % rank;
    code /= rank;
  }
  std::vector<int64_t> sorted = permutation_;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < rank; ++i) {
    if (sorted[i] != i || code != 0) {
      return absl::InvalidArgumentError(absl::StrCat("parameter 12 (permutation) is ",
                                                     At(kPermutation), ", no permutation of ", rank,
                                                     " dimensions"));
    }
  }
  return absl::OkStatus();
}

TasoOp::Ranks TasoOp::ranks() const {
  Ranks ranks;
  switch (type_) {
    case kConv:
    case kMaxPool:
    case kAvgPool:
    case kEnlarge:
    case kMergeGroups:
    case kIdentityKernel:
    case kPoolKernel:
      ranks.fixed = 4;
      break;
    case kIdentityMatrix:
      ranks.fixed = 2;
      break;
    case kConcat:
    case kTranspose:
      ranks.fixed = At(kNumDims);
      break;
    case kSplit:
      ranks.least = At(kAxis) + 1;
      ranks.counts_from_first = true;
      break;
    case kMatmul:
      ranks.least = 2;
      break;
    case kScale:
      ranks.scalar_operand = true;
      break;
    default:
      break;
  }
  return ranks;
}

bool TasoOp::TakesWeight(int i) const {
  return (type_ == kConv && i == 1) || type_ == kEnlarge || type_ == kMergeGroups;
}

}  // namespace lemma::taso
