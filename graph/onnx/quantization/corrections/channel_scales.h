// Multiplies constants of a model by powers of two, channel by channel. Internal to
// graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_SCALES_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_SCALES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/tensor.h"

namespace lemma {

// Which channel each element of a constant belongs to. The channel follows from the element's index
// along one axis.
struct ChannelMap {
  int64_t inner = 1;  // the number of elements for each index along the axis
  int64_t size = 1;   // the size of the axis
  int64_t run = 1;    // how many consecutive indices belong to one channel
  // For the weight of a grouped convolution: the number of output channels of a group. Each group
  // has `size` input channels of its own. 0: there are no groups.
  int64_t rows = 0;

  int64_t Of(int64_t element) const {
    const int64_t channel = element / inner % size / run;
    return rows == 0 ? channel : element / (inner * size) / rows * size + channel;
  }
};
// The index along `axis` is the channel.
ChannelMap AlongAxis(const Shape& shape, size_t axis);

// An f32 constant that a node reads.
struct ScaledOperand {
  int position = 0;  // of the node in the graph
  int operand = 0;   // its number among the node's operands, from 0
  ChannelMap channels;
};

// Copies of constants of a model. Move scales the copies; Write puts them into the model.
class ChannelScales {
 public:
  // `index` must outlive the object.
  explicit ChannelScales(const ModelIndex& index) : index_(index) {}

  // Reads the constant. The other functions take only constants that were read. Returns false if an
  // element is not finite. An error if the data cannot be read.
  absl::StatusOr<bool> Read(const ScaledOperand& constant);
  // The largest |element| of each of `count` channels, after all calls of Move.
  std::vector<double> Largest(const ScaledOperand& constant, int64_t count) const;
  // Sets to 0 the exponents of channels that Move cannot scale exactly: an element of the channel
  // is infinite, NaN or subnormal, or a product would be infinite or below the normal numbers.
  // `exponents` has an entry for each channel.
  void Limit(const std::vector<ScaledOperand>& from, const std::vector<ScaledOperand>& to,
             std::vector<int>* exponents) const;
  // Multiplies channel c of each constant in `to` by 2^exponents[c], and of each constant in `from`
  // by 2^-exponents[c]. All products are exact if Limit has set the exponents.
  void Move(const std::vector<ScaledOperand>& from, const std::vector<ScaledOperand>& to,
            const std::vector<int>& exponents);
  // Replaces the operands of nodes whose constants changed. Each operand gets a constant of its
  // own, also if other nodes read the old constant.
  absl::Status Write(ModelEditor* editor) const;

 private:
  struct Constant {
    Shape shape;
    std::vector<float> elements;
    bool changed = false;
  };
  static std::pair<int, int> KeyOf(const ScaledOperand& c) { return {c.position, c.operand}; }
  // Sets to 0 the exponents of channels that cannot be scaled by 2^(sign * exponent).
  void Refuse(const ScaledOperand& constant, int sign, std::vector<int>* exponents) const;

  const ModelIndex& index_;
  std::map<std::pair<int, int>, Constant> constants_;  // by node and operand
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_CHANNEL_SCALES_H_
