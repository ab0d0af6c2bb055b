// The numeric codes of TASO's file format.
#ifndef LEMMA_REWRITE_TASO_FORMAT_H_
#define LEMMA_REWRITE_TASO_FORMAT_H_

namespace lemma::taso {

// Types of operators.
enum Type {
  kConv = 3,
  kMaxPool = 6,
  kAvgPool = 7,
  kRelu = 8,
  kSigmoid = 9,
  kTanh = 10,
  kConcat = 12,
  kSplit = 13,
  kTranspose = 15,
  kAdd = 16,
  kMul = 17,
  kMatmul = 18,
  kScale = 19,
  kEnlarge = 20,
  kMergeGroups = 21,
  kIdentityMatrix = 22,
  kIdentityKernel = 23,
  kOnes = 24,
  kPoolKernel = 25,
};

// Keys of parameters.
enum Key {
  kNumInputs = 1,
  kNumOutputs = 2,
  kGroups = 3,
  kKernelH = 4,
  kKernelW = 5,
  kStrideH = 6,
  kStrideW = 7,
  kPadding = 8,
  kActivation = 9,
  kNumDims = 10,
  kAxis = 11,
  kPermutation = 12,
  kMergeCount = 14,
};

// The value of kPadding that means "same" padding. The other value is 1: "valid", no padding.
constexpr int kSamePadding = 0;

}  // namespace lemma::taso

#endif  // LEMMA_REWRITE_TASO_FORMAT_H_
