#include "kernels/loops/loop_lowering.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

// The loops that compute the definition's only tensor from inputs of these strides.
loops::Nest LoopsOf(const Definition& definition,
                    const std::vector<std::vector<int64_t>>& strides) {
  std::vector<loops::Slot> slots = loops::DenseSlots(definition);
  for (size_t i = 0; i < slots.size(); ++i) slots[i].strides = strides[i];
  int fresh = definition.num_vars;
  const int out = static_cast<int>(slots.size()) - 1;
  return loops::Lower(loops::SourceOf(definition.tensors[0], out, &fresh), slots);
}

std::vector<int64_t> ExtentsOf(const loops::Nest& nest) {
  std::vector<int64_t> extents;
  for (int axis : nest.axes) extents.push_back(nest.vars[axis].extent);
  return extents;
}

TEST(LoopLowering, AdjacentElementsAreOneLoopInAnyLayout) {
  DefinitionBuilder b;
  const TensorId x = b.Input({2, 3, 4, 5});
  b.Output({2, 3, 4, 5}, [&](const Idx& o) { return Apply(ScalarFn::kExp, Read(x, o)); });
  const std::vector<int64_t> rows = {60, 20, 5, 1}, channels_last = {60, 1, 15, 3};
  EXPECT_EQ(ExtentsOf(LoopsOf(b.definition(), {rows, rows})), (std::vector<int64_t>{120}));
  EXPECT_EQ(ExtentsOf(LoopsOf(b.definition(), {channels_last, channels_last})),
            (std::vector<int64_t>{120}));
  // The loops follow the result: images, rows and columns as one, channels.
  EXPECT_EQ(ExtentsOf(LoopsOf(b.definition(), {rows, channels_last})),
            (std::vector<int64_t>{2, 20, 3}));
}

TEST(LoopLowering, AVectorOfChannelsIsALoopOfItsOwn) {
  DefinitionBuilder b;
  const TensorId x = b.Input({2, 3, 4, 5}), scale = b.Input({3});
  b.Output({2, 3, 4, 5}, [&](const Idx& o) { return Read(x, o) * Read(scale, {o[1]}); });
  const std::vector<int64_t> channels_last = {60, 1, 15, 3};
  EXPECT_EQ(ExtentsOf(LoopsOf(b.definition(), {channels_last, {1}, channels_last})),
            (std::vector<int64_t>{40, 3}));
}

}  // namespace
}  // namespace lemma
