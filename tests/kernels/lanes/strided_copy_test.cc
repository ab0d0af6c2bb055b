#include "kernels/lanes/strided_copy.h"

#include <numeric>

#include "gtest/gtest.h"

namespace lemma {
namespace {

// Copies elements of type E as described and compares with a plain loop.
template <class E>
void ExpectCopies(const std::vector<CopyAxis>& axes, int64_t to_first, int64_t from_first,
                  int64_t size) {
  std::vector<E> from(size), to(size, 0), expected(size, 0);
  std::iota(from.begin(), from.end(), E(1));
  int64_t total = 1;
  for (const CopyAxis& axis : axes) total *= axis.extent;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, to_at = to_first, from_at = from_first;
    for (const CopyAxis& axis : axes) {
      to_at += rest % axis.extent * axis.to_stride;
      from_at += rest % axis.extent * axis.from_stride;
      rest /= axis.extent;
    }
    expected[to_at] = from[from_at];
  }
  for (int threads : {1, 3}) {
    StridedCopy(to.data() + to_first, from.data() + from_first, sizeof(E), axes, threads);
    EXPECT_EQ(to, expected);
  }
}

TEST(StridedCopy, AgreesWithALoop) {
  ExpectCopies<uint32_t>({{1, 0, 0}}, 3, 5, 10);
  ExpectCopies<uint8_t>({{3, 20, 30}, {20, 1, 1}}, 0, 0, 100);
  ExpectCopies<uint16_t>({{70, 1, 50}, {50, 70, 1}}, 0, 0, 3500);
  ExpectCopies<uint64_t>({{7, 35, 1}, {5, 7, 49}, {7, 1, 7}}, 0, 0, 245);
  ExpectCopies<uint32_t>({{10, -1, 0}, {4, 10, -3}}, 9, 30, 40);
  ExpectCopies<uint64_t>({{300, 400, 1}, {400, 1, 300}}, 0, 0, 120000);
  ExpectCopies<uint32_t>({{0, 1, 1}, {4, 10, 3}}, 0, 0, 40);
}

}  // namespace
}  // namespace lemma
