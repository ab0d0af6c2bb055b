#include "kernels/codegen/tiles/tile_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace lemma::codegen {
namespace {

constexpr TileShape kTiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 8, 8, 8}, {64, 128, 8, 8, 8}, {64, 64, 16, 4, 4},
    {64, 32, 16, 4, 4},  {32, 64, 16, 4, 4}, {32, 32, 32, 4, 4}, {32, 32, 32, 2, 2},
    {16, 64, 16, 2, 4},  {64, 16, 16, 4, 2},
};

// Microseconds of a step of `depth` products: of a block alone on its multiprocessor, and of each
// of several blocks on one multiprocessor, of which there is a maximum number; the latter also per
// element's unit of work. Fitted by tools/gpu/fit_tiles.py to data/measurements/gpu_tiles_h100.txt.
struct StepTime {
  double alone, beside, work;
  int64_t together;
};
constexpr StepTime kStepTimes[] = {
    {0.643, 1.090, 2.57e-05, 5}, {0.463, 0.605, 2.30e-05, 8}, {0.465, 0.431, 3.76e-05, 3},
    {0.619, 0.574, 1.40e-05, 5}, {0.243, 0.385, 4.84e-06, 5}, {0.296, 0.281, 1.62e-05, 5},
    {0.396, 0.337, 1.78e-05, 5}, {0.475, 0.478, 9.95e-06, 5}, {0.241, 0.217, 1.43e-05, 5},
    {0.242, 0.214, 5.20e-06, 5},
};
static_assert(std::size(kStepTimes) == std::size(kTiles));
// A thread's work in a step, per loaded element and unit of work.
constexpr double kThreadWork = 0.0092;
// Microseconds of a kernel besides its steps, and of a second kernel that adds up parts; the bytes
// per microsecond of the latter.
constexpr double kLaunch = 2.40, kCombine = 0.67, kBytesPerMicrosecond = 2.9e6;

constexpr int64_t kMultiprocessors = 132;

// Tiles on tensor cores; how many blocks of each run on one multiprocessor, and how much longer its
// steps take than the constants below say.
constexpr TileShape kTensorTiles[] = {
    {256, 128, 16, 64, 64, true},
    {128, 256, 16, 64, 64, true},
    {128, 128, 16, 64, 64, true},
    {128, 128, 16, 64, 32, true},
    {128, 64, 16, 64, 32, true},
    {64, 128, 16, 32, 64, true},
    {64, 64, 16, 32, 32, true},
    {64, 32, 16, 32, 16, true},
    {32, 64, 16, 16, 32, true},
    {32, 32, 16, 16, 16, true},
    // By warpgroup.
    {128, 256, 32, 16, 256, true, 4, 4},
    {128, 128, 32, 16, 128, true, 3, 1},
    {128, 128, 32, 16, 128, true, 6, 1},
    {64, 256, 32, 16, 256, true, 4, 1},
    {64, 128, 32, 16, 128, true, 4, 1},
    {128, 64, 32, 16, 64, true, 4, 1},
    {64, 64, 32, 16, 64, true, 4, 1},
    {64, 64, 32, 16, 64, true, 8, 1},
};
constexpr int64_t kTensorTogether[] = {1, 1, 2, 1, 3, 3, 4, 6, 6, 8, 1, 2, 1, 1, 2, 2, 3, 1};
constexpr double kTensorSlower[] = {1.18, 1.17, 0.99, 1.11, 1.08, 1.06, 1.04, 0.82, 0.89,
                                    1.0,  0.93, 1.05, 1.1,  1.0,  1.0,  1.0,  1.0,  1.0};
static_assert(std::size(kTensorTogether) == std::size(kTensorTiles));
static_assert(std::size(kTensorSlower) == std::size(kTensorTiles));
// Cycles of a step at least; products per cycle of a multiprocessor for pairs of 16 bits; bytes of
// factors per cycle that reach it; cycles per element and unit of work. Fitted by
// tools/gpu/fit_tensor_tiles.py to data/measurements/gpu_precision.json.
constexpr double kStepLatency = 677, kProductsPerCycle = 636, kBytesPerCycle = 79,
                 kTensorWork = 0.047, kCyclesPerMicrosecond = 1700;
// By warpgroup: cycles from a copy's start to its arrival, products per cycle, cycles of a block
// besides its steps, and elements of the result per cycle; fitted like those above. The
// microseconds of a kernel, here and for mma.sync, and of a second one that adds up parts, are not:
// the fit's contain the replay of a CUDA graph. They are set so that both kinds of tiles compare as
// measured.
constexpr double kBulkLatency = 3722, kBulkProductsPerCycle = 1679, kBulkEnd = 1977,
                 kResultsPerCycle = 4.70;
constexpr double kBulkLaunch = 1.0, kTensorLaunch = 5.0, kBulkCombine = 2.4;

int ElementsPerWord(ProductPrecision precision) {
  if (precision == ProductPrecision::kBytes) return 4;
  return precision == ProductPrecision::kF16 || precision == ProductPrecision::kBf16 ? 2 : 1;
}

int64_t Blocks(const ProductSize& size, const TileShape& tile) {
  return CeilDivide(size.m, tile.rows) * CeilDivide(size.n, tile.columns) * size.batch;
}

// The units of work to load the factors' elements of a step.
double WorkOf(const ProductSize& size, const TileShape& tile, int64_t depth) {
  return static_cast<double>((tile.rows * size.a_work + tile.columns * size.b_work) * depth);
}

double StepMicroseconds(const ProductSize& size, const TileShape& tile, const StepTime& time,
                        int64_t together) {
  const double work = WorkOf(size, tile, tile.depth);
  return std::max(time.alone + kThreadWork * work / tile.threads(),
                  (time.beside + time.work * work) * static_cast<double>(together));
}

double TensorStepMicroseconds(const ProductSize& size, int number, ProductPrecision precision,
                              int64_t together) {
  const TileShape& tile = kTensorTiles[number];
  if (tile.stages > 0) {
    const double products = static_cast<double>(tile.rows * tile.columns * tile.depth * 2);
    const double busy = kTensorSlower[number] * products / kBulkProductsPerCycle;
    return std::max(kBulkLatency / tile.stages, busy * static_cast<double>(together)) /
           kCyclesPerMicrosecond;
  }
  const int64_t depth = tile.depth * ElementsPerWord(precision);
  const double times = precision == ProductPrecision::kF32x3 ? 3 : 1;
  const double products = static_cast<double>(tile.rows * tile.columns * tile.depth) * 2 * times;
  // A guess for bytes, which nobody has measured: a word takes as long as a pair of 16-bit numbers
  // (it has twice the products, and their rate is twice as high), and a byte has one byte.
  const double size_of = precision == ProductPrecision::kBytes ? 1 : sizeof(float);
  const double bytes = static_cast<double>((tile.rows + tile.columns) * depth) * size_of;
  const double busy =
      kTensorSlower[number] * (products / kProductsPerCycle + bytes / kBytesPerCycle +
                               kTensorWork * WorkOf(size, tile, depth));
  return std::max(kStepLatency, busy * static_cast<double>(together)) / kCyclesPerMicrosecond;
}

}  // namespace

std::string TileShape::ToString() const {
  return absl::StrCat(rows, "x", columns, "x", depth, " by ", threads(),
                      stages > 0 ? absl::StrCat(" in ", stages, " stages") : "");
}

absl::Span<const TileShape> TileShapes(ProductPrecision precision) {
  if (precision == ProductPrecision::kF32) return kTiles;
  return kTensorTiles;
}

std::vector<TileChoice> TileChoices(const ProductSize& size, ProductPrecision precision) {
  constexpr int64_t kFewestSteps = 32, kMostBlocks = 12 * kMultiprocessors;
  constexpr int kMostSumsOfWarp = 64 * 32;
  std::vector<TileChoice> choices;
  const absl::Span<const TileShape> tiles = TileShapes(precision);
  for (size_t t = 0; t < tiles.size(); ++t) {
    const TileShape& tile = tiles[t];
    if (tile.tensor_cores && (tile.stages > 0) != size.bulk) continue;
    // The sums of zero points take registers that the largest tiles do not have.
    if (precision == ProductPrecision::kBytes &&
        tile.thread_rows * tile.thread_columns > kMostSumsOfWarp) {
      continue;
    }
    const int least = tile.stages > 0 ? 64 : 32;
    const bool wasted = (2 * size.m <= tile.rows && tile.rows > least) ||
                        (2 * size.n <= tile.columns && tile.columns > least);
    if (wasted) continue;
    for (int64_t parts = 1; parts == 1 || (size.k >= parts * kFewestSteps &&
                                           Blocks(size, tile) * parts <= kMostBlocks);
         parts *= 2) {
      choices.push_back({static_cast<int>(t), parts});
    }
  }
  return choices;
}

double PredictedMicroseconds(const ProductSize& size, const TileChoice& choice,
                             ProductPrecision precision) {
  const TileShape& tile = TileShapes(precision)[choice.tile];
  const int64_t blocks = Blocks(size, tile) * choice.parts;
  const int64_t limit =
      tile.tensor_cores ? kTensorTogether[choice.tile] : kStepTimes[choice.tile].together;
  const int64_t together = std::min(limit, CeilDivide(blocks, kMultiprocessors));
  const double rounds =
      std::max(1.0, static_cast<double>(blocks) / static_cast<double>(kMultiprocessors * together));
  const int numbers = tile.stages > 0 ? 2 : tile.tensor_cores ? ElementsPerWord(precision) : 1;
  const int depth = tile.depth * numbers;
  const double steps = static_cast<double>(CeilDivide(CeilDivide(size.k, choice.parts), depth));
  const double step = tile.tensor_cores
                          ? TensorStepMicroseconds(size, choice.tile, precision, together)
                          : StepMicroseconds(size, tile, kStepTimes[choice.tile], together);
  const double launch = tile.stages > 0 ? kBulkLaunch : tile.tensor_cores ? kTensorLaunch : kLaunch;
  double result = launch + rounds * steps * step;
  if (tile.stages > 0) {
    const double results = static_cast<double>(tile.rows * tile.columns * together);
    result += rounds * (kBulkEnd + results / kResultsPerCycle) / kCyclesPerMicrosecond;
  }
  if (choice.parts > 1) {
    const double partial = static_cast<double>(size.batch * size.m * size.n * choice.parts);
    result += (tile.stages > 0 ? kBulkCombine : kCombine) + 8 * partial / kBytesPerMicrosecond;
  }
  return result;
}

namespace {

// Microseconds of a step of a streamed kernel, as in StepTime; measured by gpu_check --precision on
// an H200, those of 256 columns and of 192 rows of 128 columns estimated. Tiles for whose sums and
// scores a thread has too few registers are missing.
struct StreamStep {
  int rows, keys, columns;
  double alone, beside;
  int64_t together;
};
constexpr StreamStep kStreamSteps[] = {
    {64, 64, 64, 0.56, 0.40, 3},    {64, 128, 64, 0.83, 0.72, 2},  {128, 64, 64, 0.77, 0.77, 1},
    {128, 128, 64, 1.25, 1.25, 1},  {192, 64, 64, 1.05, 1.05, 1},  {192, 128, 64, 1.78, 1.78, 1},
    {64, 64, 128, 0.75, 0.57, 2},   {64, 128, 128, 1.25, 1.16, 1}, {128, 64, 128, 1.04, 1.04, 1},
    {128, 128, 128, 1.68, 1.68, 1}, {192, 64, 128, 1.50, 1.50, 1}, {64, 64, 256, 1.2, 1.1, 1},
    {128, 64, 256, 1.9, 1.9, 1},
};
const StreamStep* StreamStepOf(int rows, int keys, int columns) {
  const auto* const step =
      std::find_if(std::begin(kStreamSteps), std::end(kStreamSteps), [&](const StreamStep& s) {
        return s.rows == rows && s.keys == keys && s.columns == columns;
      });
  return step == std::end(kStreamSteps) ? nullptr : step;
}

}  // namespace

std::vector<StreamTile> StreamTiles(const StreamSize& size) {
  constexpr int64_t kMost = 256, kSharedBytes = 227 * 1024, kBarriers = 1024, kLine = 128;
  std::vector<StreamTile> tiles;
  if (size.depth > kMost || size.n > kMost) return tiles;
  const int64_t depth_lines = CeilDivide(size.depth, 64);
  const int columns = size.n <= 64 ? 64 : size.n <= 128 ? 128 : 256;
  for (int rows : {64, 128, 192}) {
    for (int keys : {64, 128}) {
      if (StreamStepOf(rows, keys, columns) == nullptr) continue;
      // Loads of a mask would spill the registers of the largest tile.
      if (size.masked && rows == 192 && keys == 128) continue;
      if ((size.keys <= 64 && keys > 64) || size.m <= rows - 64) continue;
      const int64_t stage = std::max(depth_lines * keys, int64_t{keys} / 64 * columns) * kLine;
      const int64_t left = kSharedBytes - kBarriers - depth_lines * rows * kLine;
      const int stages = static_cast<int>(std::min<int64_t>(4, left / stage));
      if (stages >= 2) tiles.push_back({rows, keys, columns, stages});
    }
  }
  return tiles;
}

std::optional<StreamTile> ChooseStreamTile(const StreamSize& size) {
  const std::vector<StreamTile> tiles = StreamTiles(size);
  const auto best =
      std::min_element(tiles.begin(), tiles.end(), [&](const StreamTile& a, const StreamTile& b) {
        return StreamedMicroseconds(size, a) < StreamedMicroseconds(size, b);
      });
  if (best == tiles.end()) return std::nullopt;
  return *best;
}

double StreamedMicroseconds(const StreamSize& size, const StreamTile& tile) {
  constexpr double kEnds = 7.9, kEndsOfSeveral = 10;  // of a kernel, besides its steps
  const StreamStep& step = *StreamStepOf(tile.rows, tile.keys, tile.columns);
  const double depth = static_cast<double>(CeilDivide(size.depth, 64) * 64);
  // The steps were measured where the depth is the number of columns.
  const double products = (depth + tile.columns) / (2.0 * tile.columns);
  const int64_t blocks = CeilDivide(size.m, tile.rows) * size.batch;
  const int64_t together = std::min(step.together, CeilDivide(blocks, kMultiprocessors));
  const double rounds =
      std::ceil(static_cast<double>(blocks) / static_cast<double>(kMultiprocessors * together));
  const double steps = static_cast<double>(CeilDivide(size.keys, tile.keys));
  return (tile.rows == 64 ? kEnds : kEndsOfSeveral) +
         rounds * steps * std::max(1.0, products) *
             std::max(step.alone, step.beside * static_cast<double>(together));
}

double SeparateMicroseconds(const StreamSize& size, ProductPrecision precision) {
  ProductSize scores{size.batch, size.m, size.keys, size.depth};
  ProductSize sums{size.batch, size.m, size.n, size.keys};
  scores.bulk = true;
  sums.bulk = size.keys % 8 == 0;  // the copy engine's step between rows
  constexpr double kSoftmaxBytes = 4 + 2;
  const double elements = static_cast<double>(size.batch * size.m * size.keys);
  double time = MovingMicroseconds(kSoftmaxBytes * elements);
  for (const ProductSize& product : {scores, sums}) {
    time += PredictedMicroseconds(product, ChooseTile(product, precision), precision);
  }
  return time;
}

double MovingMicroseconds(double bytes) { return kLaunch + bytes / kBytesPerMicrosecond; }

TileChoice ChooseTile(const ProductSize& size, ProductPrecision precision,
                      absl::Span<const double> factors) {
  // Parts need memory, and the model is not exact.
  constexpr double kWorthParts = 0.9;
  auto time = [&](const TileChoice& choice) {
    return PredictedMicroseconds(size, choice, precision) / (choice.parts > 1 ? kWorthParts : 1) *
           (factors.empty() ? 1 : factors[choice.tile]);
  };
  const std::vector<TileChoice> choices = TileChoices(size, precision);
  return *std::min_element(
      choices.begin(), choices.end(),
      [&](const TileChoice& a, const TileChoice& b) { return time(a) < time(b); });
}

}  // namespace lemma::codegen
